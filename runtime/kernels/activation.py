"""Activation functions of neural networks."""

from __future__ import annotations

import math

import numpy as np

from runtime.kernels import special
from runtime.kernels._common import Array, Number, element
from runtime.kernels.selection import pick

_SQRT_HALF = math.sqrt(0.5)
_SQRT_2_OVER_PI = math.sqrt(2 / math.pi)
_GELU_CUBIC = 0.044715


def threshold(self: Array, threshold: Number, value: Number) -> Array:
    if self.dtype.kind in "iu":
        threshold, value = element(threshold, self.dtype), element(value, self.dtype)
    return pick(np.less_equal(self, threshold), np.asarray(value, self.dtype), self)


def logit(self: Array, eps: float | None = None) -> Array:
    """`log(x / (1 - x))`, of `x` moved into [eps, 1 - eps] first if `eps` is given."""
    inner = self if eps is None else np.clip(self, eps, 1 - eps)
    return np.log(np.true_divide(inner, np.subtract(1, inner)))


def gelu(self: Array, approximate: str = "none") -> Array:
    """`x` times the normal distribution function at `x`, or with "tanh" an approximation of it."""
    if approximate == "none":
        return np.multiply(np.add(special.erf(np.multiply(self, _SQRT_HALF)), 1), np.multiply(self, 0.5))
    if approximate != "tanh":
        raise RuntimeError("approximate argument must be either none or tanh.")
    return np.multiply(np.add(_gelu_tanh(self), 1), np.multiply(self, 0.5))


def _gelu_tanh(self: Array) -> Array:
    cubic = np.add(np.multiply(np.square(self), _GELU_CUBIC), 1)
    return np.tanh(np.multiply(np.multiply(cubic, self), _SQRT_2_OVER_PI))


def gelu_backward(grad_output: Array, self: Array, approximate: str = "none") -> Array:
    """`grad_output` times the derivative of `gelu`."""
    if approximate == "none":
        distribution = np.multiply(np.add(special.erf(np.multiply(self, _SQRT_HALF)), 1), 0.5)
        density = np.multiply(np.exp(np.multiply(np.square(self), -0.5)), 0.5 * _SQRT_2_OVER_PI)
        return np.multiply(np.add(distribution, np.multiply(density, self)), grad_output)
    if approximate != "tanh":
        raise RuntimeError("approximate argument must be either none or tanh.")
    tanh = _gelu_tanh(self)
    slope = np.multiply(np.add(np.multiply(np.square(self), 3 * _GELU_CUBIC), 1), _SQRT_2_OVER_PI)
    bend = np.multiply(np.multiply(np.subtract(1, np.square(tanh)), slope), self)
    return np.multiply(np.multiply(np.add(np.add(tanh, 1), bend), 0.5), grad_output)


def hardtanh(self: Array, min_val: Number = -1, max_val: Number = 1) -> Array:
    if self.dtype.kind in "iu":
        if self.dtype.kind == "u" and (min_val.real < 0 or max_val.real < 0):
            raise RuntimeError("cannot do hardtanh on an unsigned type with negative limits")
        return np.asarray(np.minimum(np.maximum(self, element(min_val, self.dtype)), element(max_val, self.dtype)))
    return np.minimum(np.maximum(self, min_val), max_val)


def softshrink(self: Array, lambd: Number = 0.5) -> Array:
    """`x` moved towards 0 by `lambd`, and 0 if it lies nearer than that."""
    if lambd < 0:  # type: ignore[operator]
        raise RuntimeError(f"lambda must be greater or equal to 0, but found to be {lambd}.")
    return np.where(
        np.greater(np.absolute(self), lambd), np.subtract(self, np.multiply(np.sign(self), lambd)), np.multiply(self, 0)
    )
