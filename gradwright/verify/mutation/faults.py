"""What altered code calls: mistakes that show for some numbers alone, or in a dtype. Altered code knows it as `faults`.

Each says whether it made a difference: a mistake that no call reaches is none that a proof could find.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from runtime import ops
from runtime.base import dtypes
from runtime.base.tensor import Tensor, wrap

DIGITS = 1e-9  # relative
_FAR = 2.0
_LARGE = 700.0  # exponentials of larger numbers overflow soon
_PARTS = {"float32": np.float64, "complex64": np.complex128}


class _State:
    """What is known of the mistake that runs.

    Attributes:
        reached: whether it has made a difference so far.
        first: the first value of each place.
    """

    reached: ClassVar[bool] = False
    first: ClassVar[dict[str, Any]] = {}


def start() -> None:
    """Begin with another mistake."""
    _State.reached = False
    _State.first = {}


def is_reached() -> bool:
    """Whether the mistake has made a difference."""
    return _State.reached


def _note(changed: Any) -> None:
    _State.reached |= bool(np.any(changed))


def _of_each(change: Callable[..., Tensor]) -> Callable[..., Any]:
    """A function of the gradient of one argument, for those of several, too."""

    @functools.wraps(change)
    def run(value: Any, *others: Any) -> Any:
        if isinstance(value, list | tuple):
            return type(value)(run(each, *others) for each in value)
        return change(value, *others) if isinstance(value, Tensor) else value

    return run


@_of_each
def wide(value: Tensor) -> Tensor:
    """A gradient in twice the width."""
    if value._array.dtype.name not in _PARTS:
        return value
    _note(True)
    return value.to(dtype=dtypes.float64 if value._array.dtype.kind == "f" else dtypes.complex128)


@_of_each
def off(value: Tensor) -> Tensor:
    """A gradient that is off in its last digits."""
    _note((value._array != 0) & (value._array.dtype in (np.float64, np.complex128)))
    return value * (1 + DIGITS)


@_of_each
def off_far(value: Tensor, by: Any) -> Tensor:
    """A gradient that is wrong where the values of another Tensor are beyond 2."""
    if not _is_like(value, by):
        return value
    far = np.abs(by._array) > _FAR
    _note(far & (value._array != 0))
    return value * wrap(np.where(far, 1.5, 1).astype(value._array.real.dtype))


@_of_each
def overflowing(value: Tensor, by: Any) -> Tensor:
    """A gradient that is NaN where an exponential overflows."""
    if not _is_like(value, by):
        return value
    large = by._array.real > _LARGE
    _note(large)
    return value * wrap(np.where(large, np.nan, 1).astype(value._array.real.dtype))


@_of_each
def summed(value: Tensor) -> Tensor:
    """A gradient that is summed as if the argument was broadcast along the first dimension."""
    if value.ndim < 1:
        return value
    _note(True)
    return value.sum(0)


def constant_at_zero(value: Any) -> Any:
    """A Tensor whose zeros lead to no derivative."""
    if not isinstance(value, Tensor) or value._array.dtype.kind not in "fc":
        return value
    zeros = value._array == 0
    _note(zeros & value.requires_grad)
    return ops.where(wrap(zeros), value.detach(), value) if zeros.any() else value


def first(value: Any, place: str) -> Any:
    """A number, flag or word that stays what it was the first time."""
    if not isinstance(value, bool | int | float | complex | str):
        return value
    known = _State.first.setdefault(place, value)
    if type(known) is not type(value):
        return value
    _note(known != value)
    return known


def in_order(value: Any) -> Any:
    """Dims in the order in which they lie in the result, and not as an argument has them."""
    if not isinstance(value, list | tuple) or not all(isinstance(each, int) for each in value):
        return value
    _note(sorted(value) != list(value))
    return type(value)(sorted(value))


def _is_like(value: Tensor, other: Any) -> bool:
    return isinstance(other, Tensor) and other._array.dtype.kind in "fc" and other._array.shape == value._array.shape


def wide_kernel(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """A kernel that gives twice the width."""

    def run(*args: Any, **kwargs: Any) -> Any:
        return _mapped(kernel(*args, **kwargs), _widened)

    return run


def _widened(result: Any) -> Any:
    wider = _PARTS.get(getattr(getattr(result, "dtype", None), "name", ""))
    _note(wider is not None)
    return result if wider is None else np.asarray(result, wider)


def kernel_that_hands_back(kernel: Callable[..., Any], where_equal: bool) -> Callable[..., Any]:
    """A kernel that returns an argument for a result of its shape and dtype: any one, or only one that equals it."""

    def run(*args: Any, **kwargs: Any) -> Any:
        given = [each for each in (*args, *kwargs.values()) if isinstance(each, np.ndarray) and each.size]

        def handed_back(result: Any) -> Any:
            for each in given if isinstance(result, np.ndarray) else ():
                if (each.shape, each.dtype) != (result.shape, result.dtype) or np.shares_memory(each, result):
                    continue
                if not where_equal or np.array_equal(each, result):
                    _note(True)
                    return each
            return result

        return _mapped(kernel(*args, **kwargs), handed_back)

    return run


def _mapped(result: Any, change: Callable[[Any], Any]) -> Any:
    return type(result)(map(change, result)) if type(result) in (list, tuple) else change(result)
