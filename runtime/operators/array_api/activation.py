"""Activation functions and their gradients."""

from __future__ import annotations

from runtime.operators.array_api._common import Array, Namespace, Number, check_number, number


def relu(xp: Namespace, self: Array) -> Array:
    return xp.maximum(self, number(xp, 0, self))


def threshold(xp: Namespace, self: Array, threshold: Number, value: Number) -> Array:
    check_number(xp, threshold, self, "threshold")
    return xp.where(self <= threshold, number(xp, value, self), self)


def threshold_backward(xp: Namespace, grad_output: Array, self: Array, threshold: Number) -> Array:
    check_number(xp, threshold, self, "threshold")
    return xp.where(self <= threshold, number(xp, 0, grad_output), grad_output)


def leaky_relu(xp: Namespace, self: Array, negative_slope: Number = 0.01) -> Array:
    return xp.where(self > 0, self, self * negative_slope)


def elu(xp: Namespace, self: Array, alpha: Number = 1, scale: Number = 1, input_scale: Number = 1) -> Array:
    below = xp.minimum(self, number(xp, 0, self))  # so that nothing overflows where it is not taken
    return xp.where(self > 0, self * scale, xp.expm1(below * input_scale) * (alpha * scale))


def sigmoid(xp: Namespace, self: Array) -> Array:
    if xp.isdtype(self.dtype, "complex floating"):
        return 1 / (1 + xp.exp(-self))
    small = xp.exp(-xp.abs(self))
    return xp.where(self >= 0, number(xp, 1, self), small) / (1 + small)


def sigmoid_backward(xp: Namespace, grad_output: Array, output: Array) -> Array:
    slope = (1 - output) * output
    return grad_output * (xp.conj(slope) if xp.isdtype(output.dtype, "complex floating") else slope)


def tanh_backward(xp: Namespace, grad_output: Array, output: Array) -> Array:
    slope = 1 - output * output
    return grad_output * (xp.conj(slope) if xp.isdtype(output.dtype, "complex floating") else slope)


def log_sigmoid(xp: Namespace, self: Array) -> Array:
    return xp.minimum(self, number(xp, 0, self)) - xp.log1p(xp.exp(-xp.abs(self)))


def silu(xp: Namespace, self: Array) -> Array:
    return self * sigmoid(xp, self)


def mish(xp: Namespace, self: Array) -> Array:
    return self * xp.tanh(softplus(xp, self))


def softplus(xp: Namespace, self: Array, beta: Number = 1, threshold: Number = 20) -> Array:
    scaled = self * beta
    below = xp.minimum(scaled, number(xp, threshold, self))
    return xp.where(scaled > threshold, self, xp.log1p(xp.exp(below)) / beta)


def hardtanh(xp: Namespace, self: Array, min_val: Number = -1, max_val: Number = 1) -> Array:
    return _between(xp, self, min_val, max_val)


def hardsigmoid(xp: Namespace, self: Array) -> Array:
    return _between(xp, self + 3, 0, 6) / 6


def hardswish(xp: Namespace, self: Array) -> Array:
    return self * _between(xp, self + 3, 0, 6) / 6


def softshrink(xp: Namespace, self: Array, lambd: Number = 0.5) -> Array:
    return self - _between(xp, self, -lambd, lambd)


def hardshrink(xp: Namespace, self: Array, lambd: Number = 0.5) -> Array:
    return xp.where(xp.abs(self) <= lambd, number(xp, 0, self), self)


def glu(xp: Namespace, self: Array, dim: int = -1) -> Array:
    dim = dim % self.ndim
    half = self.shape[dim] // 2
    if self.shape[dim] % 2:
        raise RuntimeError(f"Halving dimension must be even, but dimension {dim} is size {self.shape[dim]}")
    first = self[(slice(None),) * dim + (slice(0, half), ...)]
    second = self[(slice(None),) * dim + (slice(half, None), ...)]
    return first * sigmoid(xp, second)


def _between(xp: Namespace, self: Array, low: Number, high: Number) -> Array:
    return xp.minimum(xp.maximum(self, number(xp, low, self)), number(xp, high, self))
