"""Exponentials, logarithms, powers and roots of arrays."""

from __future__ import annotations

import numpy as np

from runtime.kernels._common import Array, Number, unsupported

exp = np.exp
exp2 = np.exp2
expm1 = np.expm1
log = np.log
log2 = np.log2
log10 = np.log10
log1p = np.log1p
sqrt = np.sqrt
logaddexp = np.logaddexp
logaddexp2 = np.logaddexp2


def rsqrt(self: Array) -> Array:
    return np.reciprocal(np.sqrt(self))


def pow_tensor_scalar(self: Array, exponent: Number) -> Array:
    # Powers by multiplication and square roots are many times faster than the general function.
    if exponent == 2:
        return np.square(self)
    if exponent == 3:
        return np.multiply(np.square(self), self)
    if exponent == 1:
        return self.copy("K")
    if self.dtype.kind in "iu":
        if isinstance(exponent, int) and exponent < 0:
            raise RuntimeError("Integers to negative integer powers are not allowed.")
    elif exponent == 0.5:
        return np.sqrt(self)
    elif exponent == -1:
        return np.reciprocal(self)
    elif exponent == -0.5:
        return np.reciprocal(np.sqrt(self))
    return np.power(self, exponent)


def pow_tensor_tensor(self: Array, exponent: Array) -> Array:
    if exponent.dtype.kind == "b":
        raise unsupported("pow", exponent)
    return _integer_power(self, exponent) if exponent.dtype.kind == "i" else np.power(self, exponent)


def pow_scalar_tensor(self: Number, exponent: Array) -> Array:
    if exponent.dtype.kind == "i":
        return _integer_power(np.asarray(self, exponent.dtype), exponent)
    return np.power(self, exponent)


def _integer_power(base: Array, exponent: Array) -> Array:
    """Powers of integers.  A negative exponent truncates the fraction to zero, unless the base is 1 or -1."""
    negative = exponent < 0
    if not np.any(negative):
        return np.power(base, exponent)
    power = np.power(base, np.where(negative, -exponent, exponent))
    return np.where(negative & (np.abs(base) != 1), np.zeros((), power.dtype), power)


def xlogy(self: Array | Number, other: Array | Number) -> Array:
    """`self * log(other)`, and 0 where `self` is 0 (unless `other` is NaN)."""
    if not isinstance(other, np.ndarray):
        # NumPy gives the logarithm of a number double precision.
        other = np.asarray(other, np.asarray(self).dtype)
    if other.dtype.kind == "c":
        raise unsupported("xlogy", other)
    product = np.multiply(self, np.log(other))
    zero = np.logical_and(np.equal(self, 0), np.logical_not(np.isnan(other)))
    return np.where(zero, np.zeros((), product.dtype), product)
