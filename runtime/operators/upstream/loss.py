"""Losses."""

from __future__ import annotations

from runtime import ops
from runtime.base.tensor import Tensor
from runtime.operators.helpers import loss


def apply_loss_reduction(unreduced: Tensor, reduction: int) -> Tensor:
    """The loss of a batch from that of its elements: 0 none, 1 mean, 2 sum."""
    return loss.reduced(unreduced, reduction)


# -- binary cross entropy


def binary_cross_entropy_target_backward(
    grad: Tensor, self: Tensor, target: Tensor, weight: Tensor | None, reduction: int
) -> Tensor:
    """The gradient of the target, in which the loss is linear."""
    return loss.each(grad, loss.bce_target_slope(self, weight), reduction)


def binary_cross_entropy_double_backward(
    grad_output: Tensor, grad: Tensor, input: Tensor, target: Tensor, weight: Tensor | None, reduction: int
) -> Tensor:
    """The gradient of `binary_cross_entropy_backward` in its input."""
    return loss.each(grad * grad_output, loss.bce_bend(input, target, weight), reduction)


def binary_cross_entropy_double_backward_grad_output(
    grad: Tensor, input: Tensor, target: Tensor, weight: Tensor | None, reduction: int
) -> Tensor:
    """The gradient of `binary_cross_entropy_backward` in the gradient that it was given, not yet summed.

    The formula for forward mode calls it too, with the tangent of that gradient.
    """
    return ops.binary_cross_entropy_backward(grad, input, target, weight, reduction)


def binary_cross_entropy_double_backward_target(
    grad: Tensor, grad_output: Tensor, self: Tensor, target: Tensor, weight: Tensor | None, reduction: int
) -> Tensor:
    """The gradient of `binary_cross_entropy_backward` in the target."""
    return loss.each(grad * grad_output, loss.bce_mixed_bend(self, weight), reduction)


def binary_cross_entropy_with_logits_backward(
    grad: Tensor,
    input: Tensor,
    target: Tensor,
    weight_opt: Tensor | None,
    pos_weight_opt: Tensor | None,
    reduction: int,
) -> Tensor:
    """The gradient of the logits."""
    return loss.each(grad, loss.bce_logits_slope(input, target, weight_opt, pos_weight_opt), reduction)


def binary_cross_entropy_with_logits_target_backward(
    grad_output: Tensor,
    self: Tensor,
    target: Tensor,
    weight: Tensor | None,
    pos_weight: Tensor | None,
    reduction: int,
) -> Tensor:
    """The gradient of the target, in which the loss is linear."""
    return loss.each(grad_output, loss.bce_logits_target_slope(self, weight, pos_weight), reduction)


# -- distances


def mse_loss_double_backward(grad: Tensor, input: Tensor, reduction: int) -> Tensor:
    """The second derivative of the square is 2; `grad` has one value for each element."""
    twice = grad * 2
    return twice / max(input.numel(), 1) if reduction == 1 else twice


def smooth_l1_loss_double_backward(grad: Tensor, input: Tensor, target: Tensor, reduction: int, beta: float) -> Tensor:
    """The loss bends only where input and target are nearer than `beta`."""
    return loss.each(grad, loss.smooth_l1_bend(input, target, beta), reduction)


def huber_loss_double_backward(grad: Tensor, input: Tensor, target: Tensor, reduction: int, delta: float) -> Tensor:
    """The gradient of `huber_loss_backward` in its input; `grad` holds the gradient of the loss as a factor."""
    return loss.each(grad, loss.huber_bend(input, target, delta), reduction)


def huber_loss_double_backward_grad_output(
    grad: Tensor, grad_output: Tensor, input: Tensor, target: Tensor, reduction: int, delta: float
) -> Tensor:
    """The gradient of `huber_loss_backward` in the gradient that it was given."""
    return loss.reduced(ops.huber_loss_backward(grad, input, target, 0, delta), reduction)


# -- margins


def soft_margin_loss_double_backward(grad: Tensor, input: Tensor, target: Tensor, reduction: int) -> Tensor:
    """The gradient of `soft_margin_loss_backward` in its input; `grad` holds the gradient of the loss as a factor."""
    return loss.each(grad, loss.soft_margin_bend(input, target), reduction)


def soft_margin_loss_double_backward_grad_output(
    grad: Tensor, grad_output: Tensor, input: Tensor, target: Tensor, reduction: int
) -> Tensor:
    """The gradient of `soft_margin_loss_backward` in the gradient that it was given."""
    return loss.reduced(ops.soft_margin_loss_backward(grad, input, target, 0), reduction)


# -- connectionist temporal classification on devices, whose kernels give the gradient with the loss


def _cudnn_ctc_loss_backward(grad_out: Tensor, loss: Tensor, raw_grad: Tensor, zero_infinity: bool) -> Tensor:
    """The gradient for each sample, (time, batch, classes), times that of its loss.

    With `zero_infinity` a loss of 0 is one that was infinite, and has none.
    """
    if zero_infinity:
        raw_grad = raw_grad.masked_fill((loss == 0).reshape([1, -1, 1]), 0)
    return raw_grad * grad_out.reshape([1, -1, 1])


def _miopen_ctc_loss_backward(grad_out: Tensor, loss: Tensor, raw_grad: Tensor, zero_infinity: bool) -> Tensor:
    """As that of the other device."""
    return _cudnn_ctc_loss_backward(grad_out, loss, raw_grad, zero_infinity)
