"""Exponentials, logarithms, powers and roots of arrays."""

from __future__ import annotations

import numpy as np

from runtime.base.arrays import Array, Number, element

exp = np.exp
exp2 = np.exp2
expm1 = np.expm1
log = np.log
log2 = np.log2
log10 = np.log10
sqrt = np.sqrt
logaddexp2 = np.logaddexp2


def log1p(self: Array) -> Array:
    """log(1 + self), exact near 0."""
    if self.dtype.kind != "c":
        return np.log1p(self)
    from scipy import special  # NumPy's loses the real part near 0, and where 1 + x is near the unit circle

    return np.asarray(special.log1p(self))


def logaddexp(self: Array, other: Array) -> Array:
    """`log(exp(self) + exp(other))`; of complex numbers, that with the larger real part is taken out of the sum."""
    if self.dtype.kind != "c":
        return np.logaddexp(self, other)
    first = np.asarray((self.real >= other.real) | np.isnan(self))
    larger, smaller = np.where(first, self, other), np.where(first, other, self)
    result = log1p(np.exp(smaller - larger)) + larger
    equal = np.isinf(larger.real) & (larger.real == smaller.real)
    if equal.any():  # their difference is not a number
        of_infinite = np.where(larger.real < 0, smaller, np.log(np.exp(smaller) + np.exp(larger)))
        result = np.where(equal, of_infinite, result)
    return np.asarray(np.where(np.isnan(smaller), smaller, result))


def pow_tensor_scalar(self: Array, exponent: Number) -> Array:
    """The power of `self` to the exponent."""
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
        exponent = element(exponent, self.dtype)
    elif exponent == 0.5:
        return np.sqrt(self)
    elif exponent == -1:
        return np.reciprocal(self)
    elif exponent == -0.5:
        return np.reciprocal(np.sqrt(self))
    return np.power(self, exponent)


def pow_tensor_tensor(self: Array, exponent: Array) -> Array:
    """The power of `self` to the exponent."""
    return _integer_power(self, exponent) if exponent.dtype.kind == "i" else np.power(self, exponent)


def pow_scalar_tensor(self: Number, exponent: Array) -> Array:
    """The power of `self` to the exponent."""
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


def frexp(self: Array) -> tuple[Array, Array]:
    """A fraction from 1/2 to 1 and the power of 2 that it is to be multiplied with, int32."""
    mantissa, exponent = np.frexp(self)
    return mantissa, exponent
