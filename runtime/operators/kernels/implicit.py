"""Random numbers of gamma and Dirichlet distributions, and how they move with their parameters.

A number that is drawn by rejection is no function of its parameter. It moves with it all the same, if its rank
`F(x; a)` is held: `dx/da = -(dF/da) / p` with the density `p = dF/dx` (Figurnov, Mohamed and Mnih, "Implicit
reparameterization gradients", 2018).

Divided by the density, the rank is a power series in the number with positive terms (8.7.1 and 8.17.8 of the NIST
Handbook; Olver et al., 2010). Its derivative multiplies each term with a difference of digamma functions, which changes
from term to term by an inverse.

Far in the tails the terms cancel, and of large parameters there are many. There both derivatives of the rank are
integrals of the density times the derivative of its logarithm. Taken from the nearer tail, at logarithmic distances `s`
from the number, they are integrals over [0, inf) of functions that fall from the start, for which the substitution
`s = exp(v - exp(-v))` and the trapezoidal rule are made (Takahasi and Mori, "Double exponential formulas for numerical
integration", 1974).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from runtime.base.arrays import Array
from runtime.operators.kernels._blocks import blocked
from runtime.random import default_generator

if TYPE_CHECKING:
    from numpy.random import Generator

_STEP = 0.1
_PLACES = np.arange(-3.6, 5.5, _STEP)
_NODES = np.exp(_PLACES - np.exp(-_PLACES))
_WEIGHTS = _STEP * (1 + np.exp(-_PLACES)) * _NODES
_RULE = list(zip(_NODES.tolist(), _WEIGHTS.tolist(), strict=True))

_MOST_TERMS, _TERMS_AT_ONCE = 320, 8
_REST = 2.0**-55  # of a sum, that more terms would not change
_MOST_CANCELLED = 100  # times the sum, that its terms have together


def _gamma(shape: Array, generator: Generator | None) -> Array:
    """As float64, and never 0: of small shapes the numbers are so small that only their logarithms could be held."""
    source = default_generator.numpy if generator is None else generator
    return np.maximum(source.standard_gamma(shape.astype(np.float64)), np.finfo(np.float64).tiny)


def standard_gamma(self: Array, generator: Generator | None) -> Array:
    """Numbers of gamma distributions of the shapes `self` and of scale 1."""
    tiny = np.finfo(np.float32 if self.dtype.itemsize < 8 else np.float64).tiny
    return np.maximum(_gamma(self, generator), tiny).astype(self.dtype)


def sample_dirichlet(self: Array, generator: Generator | None) -> Array:
    """Points of Dirichlet distributions, which lie along the last dimension: gamma distributed numbers by their sum.

    A gamma distributed number of shape `a` is one of shape `a + 1` times `U ** (1 / a)`. Small shapes are drawn so, by
    logarithms, because the numbers themselves are too small to be held.
    """
    source = default_generator.numpy if generator is None else generator
    shape = self.astype(np.float64)
    logarithms = np.log(_gamma(shape + 1, generator)) - source.standard_exponential(shape.shape) / shape
    parts = np.exp(logarithms - logarithms.max(axis=-1, keepdims=True))
    return np.asarray(parts / parts.sum(axis=-1, keepdims=True)).astype(self.dtype)


def standard_gamma_grad(self: Array, output: Array) -> Array:
    """How `output`, gamma distributed, moves with its shape `self`."""
    shape = np.broadcast_shapes(self.shape, output.shape)
    a, x = np.atleast_1d(self.astype(np.float64), output.astype(np.float64))
    return _gamma_slope(a, x).reshape(shape).astype(self.dtype)


@blocked
def _gamma_slope(a: Array, x: Array) -> Array:
    from scipy.special import digamma

    a, x = np.broadcast_arrays(a, x)
    takes = (a < 1000) & (x < 2 * a + 20)
    shape, at = np.where(takes, a, 1), np.where(takes, x, 1)

    def advance(n: int, term: Array, gap: Array) -> Array:
        inverse = 1 / (shape + (n + 1))
        quotient = at * inverse
        term *= quotient
        gap += inverse
        return quotient

    total, exact = _sum_of_series(1 / shape, digamma(shape + 1) - np.log(at), advance)
    slope = at * total
    left = np.logical_not(takes & exact)
    slope[left] = _gamma_tail(a[left], x[left])
    return np.asarray(slope)


def _sum_of_series(term: Array, gap: Array, advance: Callable[[int, Array, Array], Array]) -> tuple[Array, Array]:
    """The sums of `term * gap` from the first ones on, and which are exact enough.

    Args:
        term: positive, of one dimension or more.
        gap: of the shape of `term`.
        advance: makes the terms and gaps of `n + 1` from those of `n`, in place, and gives bounds of the quotients of
            later terms.
    """
    total = term * gap
    sizes, done = np.abs(total), np.zeros(total.shape, np.bool_)
    for n in range(0, _MOST_TERMS, _TERMS_AT_ONCE):
        for k in range(n, n + _TERMS_AT_ONCE):
            quotient = advance(k, term, gap)
            product = term * gap
            total += product
            sizes += np.abs(product)
        done = np.abs(product) * quotient <= _REST * np.abs(total) * (1 - quotient)  # less than a geometric series
        if done.all():
            break
    return total, done & (sizes <= _MOST_CANCELLED * np.abs(total))


def _gamma_tail(a: Array, x: Array) -> Array:
    """The integral of `exp(-(t - x)) (t / x)^(a - 1) (log t - digamma(a))` from `x` outwards, with `t = x exp(+-s)`."""
    from scipy.special import digamma

    side = np.where(np.less_equal(x, a), -1.0, 1.0)
    start = np.log(x) - digamma(a)
    slope = np.absolute(a - x)
    # Where the exponent has fallen by 1: it is quadratic at first, and linear from s = 1 on where t falls to 0.
    near = 2 / (slope + np.sqrt(slope * slope + 2 * x))
    scale = np.where((side < 0) & (near > 1), (1 + x) / a, near)
    total = np.zeros_like(start)
    for node, weight in _RULE:
        s = side * (node * scale)
        total += weight * np.exp(a * s - x * np.expm1(s)) * (start + s)
    return np.asarray(side * x * scale * total)


def dirichlet_grad(x: Array, alpha: Array, total: Array) -> Array:
    """How the part `x` moves with its concentration `alpha`, divided by what the other parts have together, `1 - x`."""
    # A part is beta distributed, with the concentrations of itself and of all others.
    dtype = x.dtype
    place = np.clip(x.astype(np.float64), np.finfo(np.float64).tiny, 1 - np.finfo(np.float64).epsneg)
    a = alpha.astype(np.float64)
    stride = 1 if dtype.itemsize == 8 else 2  # every second place of the rule is enough for single precision
    shape = np.broadcast_shapes(x.shape, alpha.shape, total.shape)
    place, a, b = np.atleast_1d(place, a, total.astype(np.float64) - a)
    return _beta_slope(place, a, b, stride).reshape(shape).astype(dtype)


@blocked
def _beta_slope(x: Array, a: Array, b: Array, stride: int) -> Array:
    from scipy.special import digamma

    x, a, b = np.broadcast_arrays(x, a, b)
    near, total = x <= 0.5, a + b  # from the side that is nearer: the series of the rank, or of what is above it
    at, own = np.where(near, x, 1 - x), np.where(near, a, b)

    def advance(n: int, term: Array, gap: Array) -> Array:
        inverse = 1 / (own + (n + 1))
        quotient = at * (total + n) * inverse
        term *= quotient
        gap += np.where(near, inverse, 0) - 1 / (total + n)
        return np.asarray(np.maximum(quotient, at))

    start = digamma(np.where(near, a + 1, a)) - (np.log(x) + digamma(total))
    slope, exact = _sum_of_series(1 / own, start, advance)
    slope *= np.where(near, x, -x)
    left = np.logical_not(exact)
    slope[left] = _beta_tail(x[left], a[left], b[left], stride)
    return np.asarray(slope)


def _beta_tail(x: Array, a: Array, b: Array, stride: int) -> Array:
    """The integral of the density, relative to that at `x`, times `log t - digamma(a) + digamma(a + b)`."""
    from scipy.special import digamma

    below = np.less_equal(x * (a + b), a)
    ratio = np.where(below, x / (1 - x), (1 - x) / x)
    own, other = np.where(below, a, b), np.where(below, b, a)
    start = np.log(x) - digamma(a) + digamma(a + b)
    # Where the exponent has fallen by 1: quadratic while the other factor of the density bends, else linear.
    slope = own - (other - 1) * ratio
    bend = np.maximum(other - 1, 0) * ratio * (1 + ratio)
    near = 2 / (slope + np.sqrt(slope * slope + 2 * bend))
    far = (1 + np.maximum(other - 1, 0) * np.log1p(ratio)) / own
    scale = np.where(near * (1 + ratio) > 1, far, near)
    total = np.zeros_like(start)
    for node, weight in _RULE[::stride]:
        s = node * scale
        rest = np.log1p(-ratio * np.expm1(-s))
        total += stride * weight * np.exp((other - 1) * rest - own * s) * (start + np.where(below, -s, rest))
    return np.asarray(np.where(below, -ratio, 1.0) * scale * total)
