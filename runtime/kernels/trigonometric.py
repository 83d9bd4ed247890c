"""Trigonometric and hyperbolic functions of arrays, and their inverses."""

from __future__ import annotations

import numpy as np

from runtime.kernels._common import Array

sin = np.sin
cos = np.cos
tan = np.tan
asin = np.arcsin
acos = np.arccos
atan = np.arctan
atan2 = np.arctan2
sinh = np.sinh
cosh = np.cosh
tanh = np.tanh
asinh = np.arcsinh
acosh = np.arccosh
atanh = np.arctanh


def sinc(self: Array) -> Array:
    """`sin(pi x) / (pi x)`, and 1 at 0."""
    angle = np.multiply(self, np.pi)
    zero = np.equal(angle, 0)
    quotient = np.true_divide(np.sin(angle), np.where(zero, np.ones((), angle.dtype), angle))
    return np.where(zero, np.ones((), angle.dtype), quotient)
