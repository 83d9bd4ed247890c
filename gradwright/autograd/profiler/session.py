"""`profile` and `record_function`."""

from __future__ import annotations

import functools
import uuid
import warnings
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from os import PathLike
from types import TracebackType
from typing import Any, ParamSpec, TypeVar

from gradwright.autograd.profiler.chrome import write_trace
from gradwright.autograd.profiler.event_list import EventList
from gradwright.autograd.profiler.events import FunctionEventAvg
from gradwright.autograd.profiler.observing import Observer, begin_block, end_block, observing
from gradwright.autograd.profiler.recording import Recorder

P = ParamSpec("P")
R = TypeVar("R")


@dataclass
class ExperimentalConfig:
    """What may change: `capture_overload_names` keeps the names of overloads with the events."""

    capture_overload_names: bool = False


class profile:
    """A block in which operators, Nodes and named blocks of this thread are written down.

        with gradwright.autograd.profiler.profile() as prof:
            loss(x).backward()
        print(prof.key_averages().table(sort_by="self_cpu_time_total"))

    Operators that are made of others contain them. A Node that runs in a backward is inside of an
    `autograd::engine::evaluate_function` with the same extent, hooks included; its sequence number is that of the
    operator that recorded it. While the block lasts, every operator call of the process takes the general path, so
    that small ones take longer than they do otherwise.

    Args:
        enabled: False: do nothing.
        use_cuda: there is no CUDA here: warns, and changes nothing.
        use_device: there is no other device than the CPU: warns, and changes nothing.
        record_shapes: keep shapes and values of arguments.
        with_flops: count floating point operations of matrix products, sums and products, which needs the shapes.
        profile_memory: follow the memory of the arrays that operators return; see `Recorder`.
        with_stack: keep the Python stack of each event. Unlike PyTorch's, Python functions do not become events.
        with_modules: nothing: there are no scripted modules, whose hierarchy it would keep.
        use_kineto: nothing: all events are recorded in one way.
        use_cpu: must be true, as there is no other device.
        experimental_config: see `ExperimentalConfig`.
        acc_events: nothing: a block is one cycle.
        custom_trace_id_callback: makes the id of the trace, in place of a random one.

    Raises:
        AssertionError: `use_cpu` is false.
    """

    def __init__(
        self,
        enabled: bool = True,
        *,
        use_cuda: bool = False,
        use_device: str | None = None,
        record_shapes: bool = False,
        with_flops: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_modules: bool = False,
        use_kineto: bool = False,
        use_cpu: bool = True,
        experimental_config: Any = None,
        acc_events: bool = False,
        custom_trace_id_callback: Callable[[], str] | None = None,
    ) -> None:
        self.enabled = enabled
        self.use_cuda = use_cuda
        self.use_device: str | None = None
        self.record_shapes = record_shapes or with_flops
        self.with_flops = with_flops
        self.profile_memory = profile_memory
        self.with_stack = with_stack
        self.with_modules = with_modules
        self.use_cpu = use_cpu
        self.acc_events = acc_events
        self.experimental_config = experimental_config
        self.custom_trace_id_callback = custom_trace_id_callback
        self.trace_id = ""
        self.entered = False
        self._recorder: Recorder | None = None
        self._scope = ExitStack()
        self._function_events: EventList | None = None
        if not enabled:
            return
        if not use_cpu:
            if use_kineto:
                raise AssertionError("there are events of the CPU only: use_cpu must be True")
            raise AssertionError("Device-only events supported only with Kineto (use_kineto=True)")
        _warn_of_devices(use_cuda, use_device)

    # -- the block

    def __enter__(self) -> profile | None:
        if not self.enabled:
            return None
        if self.entered:
            raise RuntimeError("Profiler context manager is not reentrant")
        self.entered = True
        make_id = self.custom_trace_id_callback
        self.trace_id = uuid.uuid4().hex.upper() if make_id is None else make_id()
        overloads = bool(getattr(self.experimental_config, "capture_overload_names", False))
        self._recorder = Recorder(
            self.record_shapes, self.profile_memory, self.with_stack, self.with_flops, overload_names=overloads
        )
        self._scope.enter_context(observing(self._recorder))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._recorder is not None and self._function_events is None:
            self._scope.close()
            self._recorder.finish()
            self._function_events = self._recorder.events()

    # -- what was found

    @property
    def function_events(self) -> EventList:
        """All events, in the order in which they began.

        Raises:
            RuntimeError: the block has not ended.
        """
        if self._function_events is None:
            raise RuntimeError("Profiler didn't finish running")
        return self._function_events

    @property
    def self_cpu_time_total(self) -> float:
        """The time of all events in microseconds, none of it counted twice."""
        return self.function_events.self_cpu_time_total

    def key_averages(
        self, group_by_input_shape: bool = False, group_by_stack_n: int = 0, group_by_overload_name: bool = False
    ) -> EventList:
        """Sums of the events with the same name; see `EventList.key_averages`."""
        return self.function_events.key_averages(group_by_input_shape, group_by_stack_n, group_by_overload_name)

    def total_average(self) -> FunctionEventAvg:
        """The sum of all events; time inside of other events counts again."""
        return self.function_events.total_average()

    def table(
        self,
        sort_by: str | None = None,
        row_limit: int = 100,
        max_src_column_width: int = 75,
        max_name_column_width: int = 55,
        max_shapes_column_width: int = 80,
        header: str | None = None,
        top_level_events_only: bool = False,
    ) -> str:
        """The events as a table of plain text; see `EventList.table`."""
        return self.function_events.table(
            sort_by=sort_by,
            row_limit=row_limit,
            max_src_column_width=max_src_column_width,
            max_name_column_width=max_name_column_width,
            max_shapes_column_width=max_shapes_column_width,
            header=header,
            top_level_events_only=top_level_events_only,
        )

    def export_chrome_trace(self, path: str | PathLike[str], metadata: Mapping[str, Any] | None = None) -> None:
        """Write the profile for Chrome's trace viewer (`chrome://tracing`) and Perfetto.

        Args:
            path: the file; compressed where its name ends in `.gz`.
            metadata: goes into the file beside the events.
        """
        asked = ("record_shapes", "profile_memory", "with_stack", "with_flops", "with_modules")
        options = {name: 1 for name in asked if getattr(self, name)}
        write_trace(path, self.function_events, {"trace_id": self.trace_id, **options, **(metadata or {})})

    def export_stacks(self, path: str | PathLike[str], metric: str = "self_cpu_time_total") -> None:
        """Write the stacks for tools that draw flame graphs; see `EventList.export_stacks`.

        Raises:
            AssertionError: no stacks were kept.
        """
        events = self.function_events
        if not self.with_stack:
            raise AssertionError("export_stacks() requires with_stack=True")
        events.export_stacks(path, metric)

    def _repr_svg_(self) -> str | None:
        """The events over time as a picture, for notebooks; None before the block has ended."""
        return None if self._function_events is None else self._function_events._repr_svg_()

    def __repr__(self) -> str:
        return (
            "<unfinished gradwright.autograd.profile>" if self._function_events is None else repr(self._function_events)
        )

    def __str__(self) -> str:
        return (
            "<unfinished gradwright.autograd.profile>" if self._function_events is None else str(self._function_events)
        )


def _warn_of_devices(use_cuda: bool, use_device: str | None) -> None:
    if use_cuda:
        warnings.warn(
            "The attribute `use_cuda` will be deprecated soon, please use ``use_device = 'cuda'`` instead.",
            FutureWarning,
            stacklevel=3,
        )
    if use_cuda or use_device == "cuda":
        warnings.warn("CUDA is not available, disabling CUDA profiling", UserWarning, stacklevel=3)
    elif use_device is not None:
        warnings.warn(f"The {use_device} is not a valid device option.", UserWarning, stacklevel=3)


class record_function:
    """A name for a block of code, or for the calls of a function, in profiles that are running.

        with gradwright.autograd.profiler.record_function("loss"):
            ...

    Args:
        name: what the block is shown as.
        args: a text that is kept with it.
    """

    def __init__(self, name: str, args: str | None = None) -> None:
        self.name = name
        self.args = args
        self._begun: list[list[tuple[Observer, Any]]] = []

    def __enter__(self) -> record_function:
        if not isinstance(self.name, str):
            raise RuntimeError(f"Expected the name to be a str, but got {type(self.name).__name__}")
        self._begun.append(begin_block(self.name, self.args))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self._begun:
            raise AssertionError("Expected record to be set")
        end_block(self._begun.pop())

    def __call__(self, function: Callable[P, R]) -> Callable[P, R]:
        """`function` with a block of this name around each call."""

        @functools.wraps(function)
        def named(*args: P.args, **kwargs: P.kwargs) -> R:
            with record_function(self.name, self.args):
                return function(*args, **kwargs)

        return named
