"""Anomaly mode: an error in backward shows the forward call that recorded the Node."""

from __future__ import annotations

import sys
import threading
import warnings
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any

import numpy as np

from runtime.base import modes
from runtime.base.errors import flag
from runtime.base.identity import PACKAGES
from runtime.base.tensor import Tensor
from runtime.base.threads import ThreadState
from runtime.graph.node import Node

_TRACEBACK = "traceback_"
_PARENT = "parent_"
_FAILED = "failed_"


class _State:
    """What is switched on, for the whole process."""

    enabled = False
    check_nan = True


_state = _State()
_changing = threading.RLock()


class _Running(ThreadState):
    node: Node | None = None  # whose backward runs on this thread


_running = _Running()


def is_anomaly_enabled() -> bool:
    """Whether anomaly mode is on."""
    return _state.enabled


def is_anomaly_check_nan_enabled() -> bool:
    """Whether anomaly mode, where it is on, looks for NaN in gradients."""
    return _state.check_nan


def set_anomaly_enabled(enabled: bool, check_nan: bool = True) -> None:
    """Switch anomaly mode on or off.

    Raises:
        TypeError: `enabled` or `check_nan` is no bool.
    """
    for name, value in (("enabled", enabled), ("check_nan", check_nan)):
        flag("set_anomaly_enabled", name, value)
    _set(enabled, check_nan)


def _set(enabled: bool, check_nan: bool) -> None:
    with _changing:
        if enabled != _state.enabled:
            if enabled:
                modes.process_handlers.recorded = (*modes.process_handlers.recorded, _remember_call)
                modes.process_handlers.nodes = (*modes.process_handlers.nodes, _watch_node)
                modes.enter_unusual()
            else:
                modes.process_handlers.recorded = tuple(
                    [c for c in modes.process_handlers.recorded if c is not _remember_call]
                )
                modes.process_handlers.nodes = tuple([h for h in modes.process_handlers.nodes if h is not _watch_node])
                modes.leave_unusual()
        _state.enabled, _state.check_nan = enabled, check_nan


class set_detect_anomaly:
    """Switch anomaly mode on or off at once; as a context manager, back at the end of the block.

    Args:
        mode: whether it is on.
        check_nan: whether a gradient with NaN in it is an error.
    """

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        self._before = (_state.enabled, _state.check_nan)
        _set(mode, check_nan)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc_info: object) -> None:
        _set(*self._before)


class detect_anomaly:
    """Anomaly mode for a `with` block: records the Python stack of each call, which costs time.

    An error in a backward inside warns with the stack of the call that recorded the failing Node, and carries it as a
    note. With `check_nan` a gradient with NaN in it raises a RuntimeError.
    """

    def __init__(self, check_nan: bool = True) -> None:
        self._before: tuple[bool, bool] | None = None
        self.check_nan = check_nan
        warnings.warn(
            "Anomaly Detection has been enabled. This mode will increase the runtime and should only be enabled for "
            "debugging.",
            stacklevel=2,
        )

    def __enter__(self) -> None:
        self._before = (_state.enabled, _state.check_nan)
        _set(True, self.check_nan)

    def __exit__(self, *exc_info: object) -> None:
        assert self._before is not None
        _set(*self._before)


def _remember_call(node: Node) -> None:
    node.metadata[_TRACEBACK] = _user_stack()
    if _running.node is not None:
        node.metadata[_PARENT] = _running.node


def _user_stack() -> list[str]:
    import traceback  # needed in anomaly mode only

    return traceback.format_list(traceback.extract_stack()[: 1 - _user_level()])


def _user_level() -> int:
    """How many frames up from the caller, itself the first, the user's call is."""
    frame: FrameType | None = sys._getframe(1)
    level = 1
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] in PACKAGES:
        frame = frame.f_back
        level += 1
    return level


def _watch_node(node: Node, proceed: Callable[[], Sequence[Any]]) -> Sequence[Any]:
    """Run a Node, and say where it comes from when it fails."""
    outer, _running.node = _running.node, node
    try:
        results = proceed()
        if _state.check_nan:
            _check_nan(node, results)
    except Exception as error:
        node.metadata[_FAILED] = True
        text = _origin(node)
        warnings.warn(text, stacklevel=_user_level())
        error.add_note(text)
        raise
    finally:
        _running.node = outer
    return results


def failed_in_backward(node: Node) -> bool:
    """Whether anomaly mode has seen an error in it."""
    return _FAILED in node.metadata


def _check_nan(node: Node, results: Sequence[Any]) -> None:
    for position, grad in enumerate(results):
        if isinstance(grad, Tensor) and grad._array.dtype.kind in "fcV" and np.isnan(grad._array).any():
            raise RuntimeError(f"Function '{node.name()}' returned nan values in its {position}th output.")


def _origin(node: Node) -> str:
    """Which calls recorded `node`, and the Nodes in whose backward it was recorded."""
    stack = node.metadata.get(_TRACEBACK)
    if stack is None:
        return (
            f"Error detected in {node.name()}. No forward pass information available. Enable detect anomaly during "
            "forward pass for more information."
        )
    text = f"Error detected in {node.name()}. Traceback of forward call that caused the error:\n{''.join(stack)}"
    parent = node.metadata.get(_PARENT)
    while parent is not None:
        stack = parent.metadata.get(_TRACEBACK)
        if stack is None:
            return f"{text}\nNo forward pass information available for {parent.name()}, whose backward recorded it."
        text += (
            f"\n\nPrevious calculation was induced by {parent.name()}. Traceback of forward call that induced the "
            f"previous calculation:\n{''.join(stack)}"
        )
        parent = parent.metadata.get(_PARENT)
    return text
