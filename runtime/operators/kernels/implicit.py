"""Random numbers of gamma and Dirichlet distributions, and how they move with their parameters.

A number that is drawn by rejection is no function of its parameter. It moves with it all the same, if its rank
`F(x; a)` is held: `dx/da = -(dF/da) / p` with the density `p = dF/dx` (Figurnov, Mohamed and Mnih, "Implicit
reparameterization gradients", 2018). Both derivatives of the rank here are integrals of the density times the
derivative of its logarithm. Taken from the nearer tail, at logarithmic distances `s` from the number, they are
integrals over [0, inf) of functions that fall from the start, for which the substitution `s = exp(v - exp(-v))` and the
trapezoidal rule are made (Takahasi and Mori, "Double exponential formulas for numerical integration", 1974).
"""

from __future__ import annotations

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
    return _gamma_slope(self.astype(np.float64), output.astype(np.float64)).astype(self.dtype)


@blocked
def _gamma_slope(a: Array, x: Array) -> Array:
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
    return _beta_slope(place, a, total.astype(np.float64) - a, stride).astype(dtype)


@blocked
def _beta_slope(x: Array, a: Array, b: Array, stride: int) -> Array:
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
