"""Forward mode: tangents that travel along with the values of a call.

There is one level at a time, as in PyTorch.  While it is open `modes.plain` is empty, so every operator comes to its
general path, and that asks here.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from runtime import modes
from runtime.tensor import Tensor, wrap

if TYPE_CHECKING:
    from runtime.dispatch import Operator


class _State(threading.local):
    depth = 0
    paused = False
    level: object = None  # a tangent belongs to one opening of the level and is void after it


_state = _State()


def active() -> bool:
    """Whether operators of this thread carry tangents along."""
    return _state.depth > 0 and not _state.paused


def enter() -> int:
    """Open a level and give its number.

    Raises:
        RuntimeError: a level is open already.
    """
    if _state.depth:
        raise RuntimeError("Nested forward mode AD is not supported at the moment")
    _state.depth += 1
    _state.level = object()
    modes.enter_unusual()
    return _state.depth - 1


def leave() -> None:
    """Close the level."""
    if not _state.depth:
        raise RuntimeError("exit_dual_level() is called, but no level is open")
    _state.depth -= 1
    _state.level = None
    modes.leave_unusual()


def is_open() -> bool:
    """Whether a level is open on this thread."""
    return _state.depth > 0


def tangent_of(tensor: Tensor) -> Tensor | None:
    """The tangent that a Tensor carries in the level that is open."""
    found = None if tensor._extra is None else tensor._extra.tangent
    return found[1] if found is not None and found[0] is _state.level else None


def set_tangent(tensor: Tensor, tangent: Tensor) -> None:
    """Let a Tensor carry a tangent until the level is closed."""
    tensor.extra.tangent = (_state.level, tangent)


def drop_tangent(operator: Operator, tensor: Tensor) -> None:
    """Take away the tangent of a Tensor that was overwritten with what has none.

    Raises:
        NotImplementedError: the operator has no formulas; its entry does not say that there is no derivative, either.
    """
    if tangent_of(tensor) is None:
        return
    if operator.record is None and not operator.never_differentiable:
        raise _no_formula(operator)
    tensor.extra.tangent = None


def _no_formula(operator: Operator) -> NotImplementedError:
    return NotImplementedError(
        f"Trying to use forward AD with {operator.name} that does not support it because it has not been implemented "
        "yet"
    )


def tangents_of(operator: Operator, values: Sequence[Any]) -> list[Any] | None:
    """The tangents of the differentiable arguments, zeros for those without; None where no argument has one."""
    given: list[Any] = []
    for position in operator._differentiable_positions:
        value = values[position]
        if isinstance(value, list):
            given.append([None if item is None else tangent_of(item) for item in value])
        else:
            given.append(None if value is None else tangent_of(value))
    if not any(any(t is not None for t in item) if isinstance(item, list) else item is not None for item in given):
        return None
    filled: list[Any] = []
    for position, item in zip(operator._differentiable_positions, given, strict=True):
        value = values[position]
        if isinstance(item, list):
            filled.append([_zeros(v) if t is None and v is not None else t for v, t in zip(value, item, strict=True)])
        else:
            filled.append(_zeros(value) if item is None and value is not None else item)
    return filled


def apply(operator: Operator, out: Any, values: Sequence[Any], tangents: list[Any] | None = None) -> None:
    """Give the results of a call their tangents.

    Raises:
        NotImplementedError: the operator has no forward formula.
    """
    if tangents is None:
        tangents = tangents_of(operator, values)
    if tangents is None:
        return
    if operator.jvp is None:
        raise _no_formula(operator)
    with paused():
        results = operator.jvp(out, *values, *tangents)
    if isinstance(out, Tensor):
        _attach(out, results)
    else:
        for tensor, tangent in zip(out, results, strict=True):
            _attach(tensor, tangent)


@contextmanager
def paused() -> Iterator[None]:
    """A block whose operators carry no tangents along."""
    before, _state.paused = _state.paused, True
    try:
        yield
    finally:
        _state.paused = before


def _attach(tensor: Tensor | None, tangent: Tensor | None) -> None:
    if tensor is None or tangent is None:
        return
    if tangent._array.dtype is not tensor._array.dtype or tangent._array.shape != tensor._array.shape:
        from runtime import edge

        if tangent._array.shape == tensor._array.shape:
            tangent = edge.fit(tangent, tensor._array.shape, tensor._array.dtype, "forward mode")
        else:
            from runtime import ops

            tangent = ops.expand(tangent, tensor._array.shape)
    set_tangent(tensor, tangent)


def _zeros(tensor: Tensor) -> Tensor:
    return wrap(np.zeros_like(tensor._array))
