"""Activation functions."""

from __future__ import annotations

import math

from runtime import ops
from runtime.base.half import in_float32
from runtime.base.tensor import Tensor
from runtime.base.types import Scalar
from runtime.operators.helpers import activation


def gelu_double_backward(ggI: Tensor, gO: Tensor, input: Tensor, approximate: str) -> Tensor:
    """The gradient of `gelu_backward` in its input."""
    return ggI * gO * activation.gelu_bend(input, approximate)


def infinitely_differentiable_logit_backward(grad: Tensor, self: Tensor, eps: float | None) -> Tensor:
    """The gradient of `logit`: NaN outside [0, 1], and with `eps` 0 outside [eps, 1 - eps]."""
    low, outside = (0.0, math.nan) if eps is None else (eps, 0.0)
    inside = (self >= low).logical_and(self <= 1 - low)
    inner = ops.where(inside, self, 0.5)
    return grad * ops.where(inside, 1 / (inner * (1 - inner)), outside)


@in_float32
def infinitely_differentiable_mish_backward(grad_output: Tensor, input: Tensor) -> Tensor:
    """The gradient of `mish`, from operators that have derivatives themselves."""
    tanh = ops.softplus(input).tanh()
    return grad_output * (tanh + input * input.sigmoid() * (1 - tanh * tanh))


@in_float32
def infinitely_differentiable_silu_backward(grad_output: Tensor, input: Tensor) -> Tensor:
    """The gradient of `silu`, from operators that have derivatives themselves."""
    gate = input.sigmoid()
    return grad_output * (gate * (input * (1 - gate) + 1)).conj()


def elu_double_backward(
    grad: Tensor,
    grad_output: Tensor,
    alpha: Scalar,
    scale: Scalar,
    input_scale: Scalar,
    is_result: bool,
    self_or_result: Tensor,
) -> Tensor:
    """The slope of elu is exponential below zero and constant above; in its result it is linear below zero."""
    bend = ops.ones_like(self_or_result) if is_result else (self_or_result * input_scale).exp() * alpha * scale
    bend = bend * input_scale if is_result else bend * (input_scale * input_scale)
    return grad * grad_output * ops.where(self_or_result <= 0, bend, 0)


def softplus_double_backward(grad: Tensor, input: Tensor, beta: Scalar, threshold: Scalar) -> Tensor:
    """The slope of softplus is a sigmoid up to the threshold, and 1 beyond."""
    scaled = input * beta
    gate = scaled.sigmoid()
    return ops.where(scaled > threshold, 0, grad * gate * (1 - gate) * beta)


def glu_double_backward(grad: Tensor, grad_output: Tensor, input: Tensor, dim: int) -> Tensor:
    """The gradient of glu_backward, `[g s, g a s (1 - s)]` with `s = sigmoid(b)`, for both halves `a` and `b`."""
    (first, second), (grad_first, grad_second) = ops.chunk(input, 2, dim), ops.chunk(grad, 2, dim)
    gate = second.sigmoid()
    bend = grad_output * gate * (1 - gate)
    return ops.cat([grad_second * bend, (grad_first + grad_second * first * (1 - 2 * gate)) * bend], dim)


def glu_double_backward_grad_output(grad: Tensor, input: Tensor, dim: int) -> Tensor:
    """glu_backward is linear in the gradient that comes in."""
    (first, second), (grad_first, grad_second) = ops.chunk(input, 2, dim), ops.chunk(grad, 2, dim)
    gate = second.sigmoid()
    return gate * (grad_first + grad_second * first * (1 - gate))


def log_sigmoid_double_backward(grad: Tensor, input: Tensor) -> Tensor:
    """With s for the sigmoid, the slope of `log_sigmoid` is 1 - s, and the slope of that -s (1 - s)."""
    sigmoid = input.sigmoid()
    return grad * sigmoid * (sigmoid - 1)
