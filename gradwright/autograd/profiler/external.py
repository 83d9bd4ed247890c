"""Ranges for tools outside of Python: NVIDIA's through the package `nvtx`, Intel's through `ittapi`."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from contextlib import ExitStack
from types import ModuleType, TracebackType
from typing import Any

from gradwright.autograd.profiler.events import Scope
from gradwright.autograd.profiler.observing import Call, observing
from runtime.base.modes import grad_mode
from runtime.graph.node import Node, peek_sequence_nr


class _Ranges:
    """An observer that opens and closes a range for each event."""

    def __init__(self, push: Callable[[str], Any], pop: Callable[[], Any], record_shapes: bool) -> None:
        self._push = push
        self._pop = pop
        self._record_shapes = record_shapes

    def begin(self, call: Call) -> None:
        """Begin a range that is named after `call`."""
        self._push(range_name(call, self._record_shapes))

    def end(self, begun: None, result: Any) -> None:
        """End the newest range."""
        self._pop()

    def recorded(self, node: Node) -> None:
        """Nothing: a range has its name from the start."""


def range_name(call: Call, record_shapes: bool) -> str:
    """The name, the number that ties operators to Nodes, and perhaps shapes.

    An operator has `seq = N`, the number of the Node that it records if it records one; the Node that runs with that
    number has `stashed seq = N`. Other threads that record at the same time can make `N` too low.
    """
    parts = [call.name]
    if call.sequence_nr >= 0:
        parts.append(f"stashed seq = {call.sequence_nr}")
    elif call.scope is Scope.FUNCTION and call.node is None and grad_mode.enabled:
        parts.append(f"seq = {peek_sequence_nr()}")
    shapes = call.input_shapes() if record_shapes else []
    if shapes:
        parts.append(f"sizes = {shapes}")
    return ", ".join(parts)


class _Emitter:
    """What the blocks have in common."""

    _kind = ""

    def __init__(self, enabled: bool = True, record_shapes: bool = False) -> None:
        self.enabled = enabled
        self.entered = False
        self.record_shapes = record_shapes
        self._scope = ExitStack()

    def _functions(self) -> tuple[Callable[[str], Any], Callable[[], Any]]:
        """What begins a range with a name, and what ends the newest."""
        raise NotImplementedError

    def __enter__(self) -> _Emitter | None:
        if not self.enabled:
            return None
        if self.entered:
            raise RuntimeError(f"{self._kind} annotation context manager is not reentrant")
        push, pop = self._functions()
        self.entered = True
        self._scope.enter_context(observing(_Ranges(push, pop, self.record_shapes)))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._scope.close()


class emit_nvtx(_Emitter):
    """A block in which what this thread does is an NVTX range, as NVIDIA's Nsight Systems shows them.

    Args:
        enabled: False: do nothing.
        record_shapes: put the shapes of the arguments into the names of the ranges, empty for what is no Tensor.

    Raises:
        ImportError: when the block is entered: the package `nvtx` (extra `nvtx`) is not installed.
        RuntimeError: when it is entered a second time.
    """

    _kind = "NVTX"

    def _functions(self) -> tuple[Callable[[str], Any], Callable[[], Any]]:
        nvtx = _package("nvtx", "nvtx", "emit_nvtx")
        return nvtx.push_range, nvtx.pop_range


class emit_itt(_Emitter):
    """A block in which what this thread does is an ITT task, as Intel's VTune shows them.

    Args:
        enabled: False: do nothing.
        record_shapes: put the shapes of the arguments into the names of the tasks, empty for what is no Tensor.

    Raises:
        ImportError: when the block is entered: the package `ittapi` (extra `itt`) is not installed.
        RuntimeError: when it is entered a second time.
    """

    _kind = "ITT"

    def _functions(self) -> tuple[Callable[[str], Any], Callable[[], Any]]:
        itt = _package("ittapi", "itt", "emit_itt")
        domain = itt.domain("gradwright")

        def push(name: str) -> None:
            itt.task_begin(domain, itt.string_handle(name))

        def pop() -> None:
            itt.task_end(domain)

        return push, pop


def _package(name: str, extra: str, user: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ImportError(
            f"{user} needs the package '{name}', which is not installed; get it with: pip install gradwright[{extra}]"
        ) from error
