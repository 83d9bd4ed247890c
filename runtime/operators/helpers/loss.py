"""Derivatives of losses.  `reduction`: 0 none, 1 mean, 2 sum."""

from __future__ import annotations

from runtime import ops
from runtime.base.half import in_float32
from runtime.base.tensor import Tensor
from runtime.operators.helpers.pointwise import logistic


def reduced(loss: Tensor, reduction: int) -> Tensor:
    """The loss of a batch from that of its elements."""
    if reduction == 0:
        return loss
    return loss.mean() if reduction == 1 else loss.sum()


def per_element(grad: Tensor, reduction: int) -> Tensor:
    """`grad`, which has one value for each element already, divided by their number where the loss is their mean."""
    return grad / max(grad.numel(), 1) if reduction == 1 else grad


def smooth_l1_bend(self: Tensor, target: Tensor, beta: float) -> Tensor:
    """The second derivative of smooth_l1_loss."""
    away = self - target
    return (away.abs() < beta).to(away.dtype) / beta if beta else ops.zeros_like(away)


def huber_bend(self: Tensor, target: Tensor, delta: float) -> Tensor:
    """The second derivative of huber_loss."""
    away = self - target
    return (away.abs() < delta).to(away.dtype)


def _weighted(grad: Tensor, weight: Tensor | None) -> Tensor:
    return grad if weight is None else grad * weight


def bce_target_slope(self: Tensor, weight: Tensor | None) -> Tensor:
    """The derivative of binary_cross_entropy for each element of the target, with logarithms bounded as there."""
    slope = (1 - self).log().clamp_min(-100) - self.log().clamp_min(-100)
    return _weighted(slope, weight)


def each(grad: Tensor, slope: Tensor, reduction: int) -> Tensor:
    """The gradient of each element, from that of the reduced loss and the derivative of each element's loss."""
    return per_element(grad * slope, reduction)


def bce_bend(self: Tensor, target: Tensor, weight: Tensor | None) -> Tensor:
    """The second derivative of binary_cross_entropy in its input: (x^2 - 2tx + t) / (x (1 - x))^2."""
    variance = (self * (1 - self)).clamp_min(1e-12)
    return _weighted((self * self - target * self * 2 + target) / (variance * variance), weight)


def bce_mixed_bend(self: Tensor, weight: Tensor | None) -> Tensor:
    """The second derivative of binary_cross_entropy in input and target."""
    return _weighted(-(self * (1 - self)).clamp_min(1e-12).reciprocal(), weight)


@in_float32
def bce_logits_slope(self: Tensor, target: Tensor, weight: Tensor | None, pos_weight: Tensor | None) -> Tensor:
    """The derivative of binary_cross_entropy_with_logits for each element of the input."""
    if pos_weight is None:
        slope = logistic(self) - target
    else:
        slope = (1 - target) - ((pos_weight - 1) * target + 1) * logistic(-self)
    return _weighted(slope, weight)


@in_float32
def bce_logits_target_slope(self: Tensor, weight: Tensor | None, pos_weight: Tensor | None) -> Tensor:
    """The derivative of binary_cross_entropy_with_logits for each element of the target."""
    slope = -self
    if pos_weight is not None:
        slope = slope - (pos_weight - 1) * ops.log_sigmoid(self)
    return _weighted(slope, weight)


def soft_margin_bend(self: Tensor, target: Tensor) -> Tensor:
    """The second derivative of soft_margin_loss in its input: t^2 s(z) s(-z), with z = x t and the logistic s."""
    z = self * target
    return target * target * z.sigmoid() * (-z).sigmoid()


def soft_margin_mixed_bend(self: Tensor, target: Tensor) -> Tensor:
    """The second derivative of soft_margin_loss in input and target: z s(z) s(-z) - s(-z) with z = x t."""
    z = self * target
    return (z * z.sigmoid() - 1) * (-z).sigmoid()
