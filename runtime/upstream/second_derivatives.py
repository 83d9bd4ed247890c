"""Derivatives of backward operators, as PyTorch's formulas call them."""

from __future__ import annotations

from collections.abc import Sequence

from runtime import ops
from runtime.tensor import Tensor
from runtime.types import Scalar


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


def linear_double_backward(
    grads: Sequence[Tensor | None], self: Tensor, grad_output: Tensor, weight: Tensor
) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
    """The gradients of input, gradient and weight of `(g W, g^T x, sum g)`."""
    of_input, of_weight, of_bias = grads
    rows = grad_output.reshape([-1, grad_output.shape[-1]])
    grad_self = None if of_weight is None else ops.matmul(grad_output, of_weight)
    grad_weight = None
    grad_grad = None if of_bias is None else of_bias.expand(grad_output.shape)
    if of_input is not None:
        grad_weight = ops.matmul(rows.t(), of_input.reshape([-1, of_input.shape[-1]]))
        part = ops.matmul(of_input, weight.t())
        grad_grad = part if grad_grad is None else grad_grad + part
    if of_weight is not None:
        part = ops.matmul(self, of_weight.t())
        grad_grad = part if grad_grad is None else grad_grad + part
    return grad_self, grad_grad, grad_weight
