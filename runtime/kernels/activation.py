"""Activation functions of neural networks."""

from __future__ import annotations

import math

import numpy as np

from runtime.kernels import special
from runtime.kernels._common import ONE, ZERO, Array, Number, element, unsupported
from runtime.kernels.selection import keep, pick

_SQRT_HALF = math.sqrt(0.5)
_SQRT_2_OVER_PI = math.sqrt(2 / math.pi)
_GELU_CUBIC = 0.044715

_FLOAT32 = np.dtype(np.float32)
_ZERO32 = ZERO[_FLOAT32]


def relu(self: Array) -> Array:
    if self.dtype is _FLOAT32:
        return np.maximum(self, _ZERO32)
    return np.maximum(self, ZERO[self.dtype])


def threshold(self: Array, threshold: Number, value: Number) -> Array:
    if self.dtype.kind in "iu":
        threshold, value = element(threshold, self.dtype), element(value, self.dtype)
    return pick(np.less_equal(self, threshold), np.asarray(value, self.dtype), self)


def threshold_backward(grad_output: Array, self: Array, threshold: Number) -> Array:
    bound = ZERO[self.dtype] if threshold == 0 else threshold
    # What is neither above nor below, NaN, passes.
    return keep(np.logical_not(np.less_equal(self, bound)), grad_output)


def leaky_relu(self: Array, negative_slope: Number = 0.01) -> Array:
    below = np.multiply(self, negative_slope)
    if 0 < negative_slope <= 1:  # type: ignore[operator]
        return np.maximum(self, below)
    return pick(np.greater(self, ZERO[self.dtype]), self, below)


def elu(self: Array, alpha: Number = 1, scale: Number = 1, input_scale: Number = 1) -> Array:
    """`scale * x` above 0, and `scale * alpha * (exp(input_scale * x) - 1)` below."""
    zero = ZERO[self.dtype]
    above, below = np.maximum(self, zero), np.minimum(self, zero)
    below = np.expm1(below if input_scale == 1 else np.multiply(below, input_scale))
    if scale != 1:
        above = np.multiply(above, scale)
    factor = alpha * scale
    return np.add(above, below if factor == 1 else np.multiply(below, factor))


def sigmoid(self: Array) -> Array:
    one = ONE[self.dtype]
    result = np.negative(self)
    if self.ndim == 0:
        return np.reciprocal(np.add(np.exp(result), one))
    np.exp(result, result)
    np.add(result, one, result)
    return np.reciprocal(result, result)


def _needs_one_temporary(grad_output: Array, output: Array) -> bool:
    """Real arrays of one shape: their derivative needs one temporary, written over again."""
    return output.ndim > 0 and output.dtype.kind == "f" and grad_output.shape == output.shape


def sigmoid_backward(grad_output: Array, output: Array) -> Array:
    """`grad_output` times the conjugate derivative of `sigmoid`, from its `output`."""
    slope = np.subtract(ONE[output.dtype], output)
    if _needs_one_temporary(grad_output, output):
        np.multiply(output, slope, slope)
        return np.multiply(grad_output, slope, slope)
    return np.multiply(grad_output, np.conjugate(np.multiply(output, slope)))


def tanh_backward(grad_output: Array, output: Array) -> Array:
    """`grad_output` times the conjugate derivative of `tanh`, from its `output`."""
    slope = np.multiply(output, output)
    if _needs_one_temporary(grad_output, output):
        np.subtract(ONE[output.dtype], slope, slope)
        return np.multiply(grad_output, slope, slope)
    return np.multiply(grad_output, np.conjugate(np.subtract(ONE[output.dtype], slope)))


def log_sigmoid(self: Array) -> Array:
    return np.subtract(np.minimum(self, 0), np.log1p(np.exp(np.negative(np.absolute(self)))))


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


def silu(self: Array) -> Array:
    _check_inexact("silu", self)
    return np.multiply(self, sigmoid(self))


def mish(self: Array) -> Array:
    return np.multiply(self, np.tanh(np.logaddexp(self, np.zeros((), self.dtype))))


def softplus(self: Array, beta: Number = 1, threshold: Number = 20) -> Array:
    """`log(1 + exp(beta x)) / beta`, and `x` itself where `beta x` lies above `threshold`."""
    scaled = self if beta == 1 else np.multiply(self, beta)
    smooth = np.log1p(np.exp(scaled))
    return np.where(np.greater(scaled, threshold), self, smooth if beta == 1 else np.true_divide(smooth, beta))


def hardtanh(self: Array, min_val: Number = -1, max_val: Number = 1) -> Array:
    if self.dtype.kind in "iu":
        if self.dtype.kind == "u" and (min_val.real < 0 or max_val.real < 0):
            raise RuntimeError("cannot do hardtanh on an unsigned type with negative limits")
        return np.asarray(np.minimum(np.maximum(self, element(min_val, self.dtype)), element(max_val, self.dtype)))
    return np.minimum(np.maximum(self, min_val), max_val)


def hardsigmoid(self: Array) -> Array:
    return np.true_divide(np.minimum(np.maximum(np.add(self, 3), 0), 6), 6)


def hardswish(self: Array) -> Array:
    return np.true_divide(np.multiply(np.minimum(np.maximum(np.add(self, 3), 0), 6), self), 6)


def softshrink(self: Array, lambd: Number = 0.5) -> Array:
    """`x` moved towards 0 by `lambd`, and 0 if it lies nearer than that."""
    if lambd < 0:  # type: ignore[operator]
        raise RuntimeError(f"lambda must be greater or equal to 0, but found to be {lambd}.")
    return np.where(
        np.greater(np.absolute(self), lambd), np.subtract(self, np.multiply(np.sign(self), lambd)), np.multiply(self, 0)
    )


def hardshrink(self: Array, lambd: Number = 0.5) -> Array:
    """`x`, and 0 if it lies nearer to 0 than `lambd`."""
    return keep(np.logical_not(np.less_equal(np.absolute(self), lambd)), self)


def _check_inexact(name: str, self: Array) -> None:
    if self.dtype.kind in "biu":
        raise unsupported(name, self)
