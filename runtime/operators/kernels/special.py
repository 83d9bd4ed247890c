"""The error function, the gamma function and their relatives."""

from __future__ import annotations

from collections.abc import Callable
from math import factorial

import numpy as np

from runtime.base.arrays import Array, Number


def _in_scipy(function: Callable[[Array], Array], self: Array) -> Array:
    """`function` of SciPy on `self`; half precision numbers, which SciPy lacks, go through float32."""
    if self.dtype.char in "fd":
        return function(self)
    return function(self.astype(np.float32)).astype(self.dtype)


def _of_two(function: Callable[..., Array], self: Array | Number, other: Array | Number) -> Array:
    """`function` of SciPy on two operands, in the dtype of those that are arrays."""
    dtype = next(operand.dtype for operand in (self, other) if isinstance(operand, np.ndarray))
    return np.asarray(function(self, other), dtype)


def erf(self: Array) -> Array:
    """The error function: 2 / sqrt(pi) times the integral of exp(-t^2) from 0 to the element."""
    from scipy import special

    return _in_scipy(special.erf, self)


def erfc(self: Array) -> Array:
    """1 - erf(self), exact where that is small."""
    from scipy import special

    return _in_scipy(special.erfc, self)


def erfinv(self: Array) -> Array:
    """The inverse of the error function."""
    from scipy import special

    return np.copysign(_in_scipy(special.erfinv, self), self)  # SciPy drops the sign of zeros


def lgamma(self: Array) -> Array:
    """The logarithm of |gamma(self)|."""
    from scipy import special

    return np.where(np.isinf(self), np.absolute(self), _in_scipy(special.gammaln, self))


def digamma(self: Array) -> Array:
    """The derivative of `lgamma`: a pole with the sign of the zero at 0, NaN at the negative integers."""
    from scipy import special

    pole = np.where(np.equal(self, 0), np.copysign(np.inf, np.negative(self)), np.nan).astype(self.dtype)
    at_pole = np.less_equal(self, 0) & np.equal(self, np.floor(self))
    return np.where(at_pole, pole, _in_scipy(special.digamma, self))


def polygamma(n: int, self: Array) -> Array:
    """The `n`-th derivative of `digamma`."""
    from scipy import special

    if n < 0:
        raise RuntimeError("polygamma(n, x) does not support negative n.")
    if n == 0:
        return digamma(self)
    if n == 1:
        return _in_scipy(_trigamma, self)

    def series(x: Array) -> Array:
        return np.asarray(special.zeta(n + 1, x) * ((-1.0) ** (n + 1) * factorial(n)))

    return _in_scipy(series, self)


def _trigamma(x: Array) -> Array:
    """The first derivative of `digamma`, below 1/2 by the reflection formula."""
    from scipy import special

    left = np.less(x, 0.5)
    right = special.zeta(2, np.where(left, 1 - x, x))
    sine = np.sin(np.multiply(np.remainder(x, 1), np.pi))
    reflected = np.subtract(np.square(np.true_divide(np.pi, sine)), right)
    return np.asarray(np.where(left, reflected, right), x.dtype)


def igamma(self: Array, other: Array) -> Array:
    """The regularized lower incomplete gamma function."""
    from scipy import special

    return _of_two(special.gammainc, self, other)


def igammac(self: Array, other: Array) -> Array:
    """The regularized upper incomplete gamma function."""
    from scipy import special

    return _of_two(special.gammaincc, self, other)


# Entropy, and the normal distribution


def special_erfcx(self: Array) -> Array:
    """exp(self^2) erfc(self), without overflow."""
    from scipy import special

    return _in_scipy(special.erfcx, self)


def special_log_ndtr(self: Array) -> Array:
    """The logarithm of the distribution function of the normal distribution."""
    from scipy import special

    return _in_scipy(special.log_ndtr, self)


def special_ndtri(self: Array) -> Array:
    """The inverse of the distribution function of the normal distribution."""
    from scipy import special

    return _in_scipy(special.ndtri, self)


# Modified Bessel functions of the first kind


def i0(self: Array) -> Array:
    """The modified Bessel function of the first kind, of order 0."""
    from scipy import special

    return _in_scipy(special.i0, self)


def special_i0e(self: Array) -> Array:
    """exp(-|self|) i0(self), without overflow."""
    from scipy import special

    return _in_scipy(special.i0e, self)


def special_i1(self: Array) -> Array:
    """The modified Bessel function of the first kind, of order 1."""
    from scipy import special

    return _in_scipy(special.i1, self)


def special_i1e(self: Array) -> Array:
    """exp(-|self|) i1(self), without overflow."""
    from scipy import special

    return _in_scipy(special.i1e, self)


# Hurwitz' zeta function


def special_zeta(self: Array | Number, other: Array | Number) -> Array:
    """The sum of `(other + k) ** -self` over k from 0: infinite for `self` 1, NaN below."""
    from scipy import special

    def from_one(self: Array, other: Array) -> Array:
        return np.where(np.less(self, 1), np.nan, special.zeta(self, other))

    return _of_two(from_one, self, other)
