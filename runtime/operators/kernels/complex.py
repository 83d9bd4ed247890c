"""Absolute value, sign and angle; making and conjugating complex arrays."""

from __future__ import annotations

import numpy as np

from runtime.base.arrays import Array, is_half
from runtime.base.dtypes import complex32

conjugate = np.conjugate
magnitude = np.absolute


def sgn(self: Array) -> Array:
    """`x / abs(x)`, and 0 at 0.  A real NaN has the sign 0."""
    kind = self.dtype.kind
    if kind == "b":
        return self.copy()
    if kind in "iuc":
        return np.sign(self)
    return np.where(np.isnan(self), np.zeros((), self.dtype), np.sign(self))


def sign(self: Array) -> Array:
    """-1, 0 or 1, as the element is below, at or above 0."""
    return sgn(self)


def signbit(self: Array) -> Array:
    """Whether the sign of the element is negative, also that of -0."""
    if self.dtype.kind in "iub":
        return np.less(self, 0)
    return np.signbit(self)


def angle(self: Array) -> Array:
    """The argument of each element: for real numbers 0 or pi, and NaN where the element is NaN."""
    if self.dtype.kind == "c":
        return np.asarray(np.arctan2(self.imag, self.real))
    half_turn = np.where(np.less(self, 0), np.asarray(np.pi, self.dtype), np.zeros((), self.dtype))
    return np.where(np.isnan(self), self, half_turn)


def complex_(real: Array, imag: Array) -> Array:
    """Complex numbers of real and imaginary parts."""
    _check_parts("complex", real, imag)
    shape = np.broadcast_shapes(real.shape, imag.shape)
    if is_half(real.dtype):
        if real.dtype != np.float16:
            raise RuntimeError("Expected both inputs to be Half, Float or Double tensors but got BFloat16 and BFloat16")
        halves = np.empty(shape, complex32.numpy)
        halves["real"], halves["imag"] = real, imag
        return halves
    result = np.empty(shape, np.result_type(real.dtype, np.complex64))
    result.real = real
    result.imag = imag
    return result


def _check_parts(name: str, first: Array, second: Array) -> None:
    """The two real numbers that make a complex one must be of one dtype."""
    if first.dtype != second.dtype:
        raise RuntimeError(f"{name}: expected both arguments to be {first.dtype}, but the second is {second.dtype}")
