"""Comparisons, predicates, logic, bits, and choosing between elements."""

from __future__ import annotations

import numpy as np

from runtime.base.arrays import Array, Number
from runtime.operators.kernels.selection import keep, pick

eq = np.equal
ne = np.not_equal
isnan = np.isnan
isinf = np.isinf
isfinite = np.isfinite
logical_and = np.logical_and
logical_or = np.logical_or
logical_xor = np.logical_xor
logical_not = np.logical_not
bitwise_and = np.bitwise_and
bitwise_or = np.bitwise_or
bitwise_xor = np.bitwise_xor
bitwise_not = np.invert
bitwise_left_shift = np.left_shift
bitwise_right_shift = np.right_shift


# NumPy orders complex numbers by their real parts first; here they have no order.


def lt(self: Array, other: Array | Number) -> Array:
    """Whether self < other."""
    return np.less(self, other)


def le(self: Array, other: Array | Number) -> Array:
    """Whether self <= other."""
    return np.less_equal(self, other)


def gt(self: Array, other: Array | Number) -> Array:
    """Whether self > other."""
    return np.greater(self, other)


def ge(self: Array, other: Array | Number) -> Array:
    """Whether self >= other."""
    return np.greater_equal(self, other)


def maximum(self: Array, other: Array | Number) -> Array:
    """The larger of two elements; NaN where either is."""
    return np.maximum(self, other)


def minimum(self: Array, other: Array | Number) -> Array:
    """The smaller of two elements; NaN where either is."""
    return np.minimum(self, other)


def fmax(self: Array, other: Array) -> Array:
    """The larger of two elements; where one is NaN the other."""
    return np.fmax(self, other)


def fmin(self: Array, other: Array) -> Array:
    """The smaller of two elements; where one is NaN the other."""
    return np.fmin(self, other)


def clamp_min(self: Array, min: Array | Number) -> Array:
    return maximum(self, min)


def clamp_max(self: Array, max: Array | Number) -> Array:
    return minimum(self, max)


def where(condition: Array, self: Array | Number, other: Array | Number) -> Array:
    """Elements of `self` where the condition holds, and of `other` elsewhere."""
    if condition.dtype.kind != "b" and condition.dtype.char != "B":
        raise RuntimeError(
            f"where expected condition to be a boolean tensor, but got a tensor with dtype {condition.dtype}"
        )
    if condition.dtype.kind != "b":
        condition = condition.astype(np.bool_)
    if isinstance(self, np.ndarray) and isinstance(other, np.ndarray):
        return pick(condition, self, other)
    # Gradients are masked with the number 0; a float may be -0.0, which is another one.
    if isinstance(self, np.ndarray) and type(other) is int and other == 0:
        return keep(condition, self)
    if isinstance(other, np.ndarray) and type(self) is int and self == 0:
        return keep(np.logical_not(condition), other)
    return np.where(condition, self, other)


def nan_to_num(
    self: Array, nan: float | None = None, posinf: float | None = None, neginf: float | None = None
) -> Array:
    """The elements with numbers in the place of NaN and infinities."""
    if self.dtype.kind == "V":  # bfloat16, which NumPy takes for a type without NaN
        from ml_dtypes import finfo

        top = float(finfo(self.dtype).max)  # type: ignore[no-untyped-call]
        above, below = top if posinf is None else posinf, -top if neginf is None else neginf
        return nan_to_num(self.astype(np.float32), nan, above, below).astype(self.dtype)
    return np.nan_to_num(self, nan=0.0 if nan is None else nan, posinf=posinf, neginf=neginf)


def equal(self: Array, other: Array) -> bool:
    """Whether the two have the same shape and elements."""
    return np.array_equal(self, other)


def nextafter(self: Array, other: Array) -> Array:
    """The next number of the dtype from `self` towards `other`."""
    if self.dtype.name != "bfloat16":
        return np.asarray(np.nextafter(self, other))
    # The bits of positive numbers are in the order of the numbers, and so are those of negative ones, away from 0.
    away = np.where(np.greater(other, self) == np.greater(self, 0), 1, -1)
    smallest = np.where(np.signbit(other), -0x7FFF, 1)
    bits = np.where(self == 0, smallest, self.view(np.int16) + away)
    moved = np.where(self == other, other, bits.astype(np.int16).view(self.dtype))
    return np.asarray(np.where(np.isnan(self) | np.isnan(other), np.asarray(np.nan, self.dtype), moved))
