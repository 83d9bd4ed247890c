"""The error function, the gamma function and their relatives."""

from __future__ import annotations

from collections.abc import Callable
from math import factorial

import numpy as np

from runtime.kernels._common import Array


def _in_scipy(function: Callable[[Array], Array], self: Array) -> Array:
    """`function` of SciPy on `self`; half precision numbers, which SciPy lacks, go through float32."""
    if self.dtype.char in "fd":
        return function(self)
    return function(self.astype(np.float32)).astype(self.dtype)


def erf(self: Array) -> Array:
    from scipy import special

    return _in_scipy(special.erf, self)


def erfc(self: Array) -> Array:
    from scipy import special

    return _in_scipy(special.erfc, self)


def erfinv(self: Array) -> Array:
    from scipy import special

    return _in_scipy(special.erfinv, self)


def lgamma(self: Array) -> Array:
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
