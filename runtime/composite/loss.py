"""Losses that are made of other operators.  `reduction`: 0 none, 1 mean, 2 sum."""

from __future__ import annotations

import math

from runtime import ops
from runtime.base.tensor import Tensor
from runtime.helpers.loss import reduced


def l1_loss(self: Tensor, target: Tensor, reduction: int = 1) -> Tensor:
    return reduced((self - target).abs(), reduction)


def kl_div(self: Tensor, target: Tensor, reduction: int = 1, *, log_target: bool = False) -> Tensor:
    """`target * (log(target) - self)`; both are logarithms with `log_target`."""
    if log_target:
        return reduced(target.exp() * (target - self), reduction)
    return reduced(ops.xlogy(target, target) - target * self, reduction)


def nll_loss(
    self: Tensor, target: Tensor, weight: Tensor | None = None, reduction: int = 1, ignore_index: int = -100
) -> Tensor:
    output: Tensor = ops.nll_loss_forward(self, target, weight, reduction, ignore_index)[0]
    return output


def nll_loss2d(
    self: Tensor, target: Tensor, weight: Tensor | None = None, reduction: int = 1, ignore_index: int = -100
) -> Tensor:
    output: Tensor = ops.nll_loss2d_forward(self, target, weight, reduction, ignore_index)[0]
    return output


def nll_loss_nd(
    self: Tensor, target: Tensor, weight: Tensor | None = None, reduction: int = 1, ignore_index: int = -100
) -> Tensor:
    """`nll_loss` with the classes in dimension 1 of any number of dimensions."""
    ndim = self.dim()
    if ndim < 1:
        raise ValueError("Expected 1 or more dimensions (got 0)")
    if ndim > 1 and (target.dim() < 1 or self.shape[0] != target.shape[0]):
        labels = target.shape[0] if target.dim() else 0
        raise ValueError(f"Expected input batch_size ({self.shape[0]}) to match target batch_size ({labels}).")
    if ndim <= 2:
        return ops.nll_loss(self, target, weight, reduction, ignore_index)
    if ndim == 4:
        return ops.nll_loss2d(self, target, weight, reduction, ignore_index)
    batch, classes, *places = self.shape
    wanted = [batch, *places]
    if list(target.shape) != wanted:
        raise RuntimeError(f"Expected target size {wanted}, got {list(target.shape)}")
    count = math.prod(places)
    picture = self.reshape([batch, classes, 1, count])
    loss = ops.nll_loss2d(picture, target.reshape([batch, 1, count]), weight, reduction, ignore_index)
    return loss.reshape(wanted) if reduction == 0 else loss


def cross_entropy_loss(
    self: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    reduction: int = 1,
    ignore_index: int = -100,
    label_smoothing: float = 0.0,
) -> Tensor:
    """`log_softmax` and the negative log-likelihood; the target holds classes, or a probability for each of them."""
    class_dim = 0 if self.dim() == 1 else 1
    if list(self.shape) == list(target.shape):
        if not target.is_floating_point():
            raise RuntimeError(
                f"Expected floating point type for target with class probabilities, got {target.dtype.scalar_name}"
            )
        if ignore_index >= 0:
            raise RuntimeError("ignore_index is not supported for floating point target")
        return _loss_of_probabilities(self, target, weight, reduction, label_smoothing, class_dim)
    if not 0 <= label_smoothing <= 1:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing:g}")
    scores = self.log_softmax(class_dim)
    loss = ops.nll_loss_nd(scores, target, weight, reduction, ignore_index)
    if label_smoothing == 0:
        return loss
    share = label_smoothing / self.size(class_dim)
    even = _loss_of_all_classes(scores, target, weight, reduction, ignore_index, class_dim)
    return loss * (1 - label_smoothing) + even * share


def _along_classes(weight: Tensor, ndim: int, class_dim: int) -> Tensor:
    sizes = [1] * ndim
    sizes[class_dim] = weight.size(0)
    return weight.reshape(sizes)


def _loss_of_probabilities(
    self: Tensor, target: Tensor, weight: Tensor | None, reduction: int, label_smoothing: float, class_dim: int
) -> Tensor:
    classes = self.size(class_dim)
    if weight is not None and list(weight.shape) != [classes]:
        raise RuntimeError(
            f"cross_entropy: weight tensor should be defined either for all {classes} classes or no classes but got "
            f"weight tensor of shape: {list(weight.shape)}"
        )
    if not 0 <= label_smoothing <= 1:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing:g}")
    if label_smoothing:
        target = target * (1 - label_smoothing) + label_smoothing / classes
    products = self.log_softmax(class_dim) * target
    if weight is not None:
        products = products * _along_classes(weight, self.dim(), class_dim)
    if reduction == 0:
        return -products.sum([class_dim])
    if reduction == 2:
        return -products.sum()
    return -products.sum() / max(self.numel() // max(classes, 1), 1)


def _loss_of_all_classes(
    scores: Tensor, target: Tensor, weight: Tensor | None, reduction: int, ignore_index: int, class_dim: int
) -> Tensor:
    """The part of label smoothing: every class counts, with its weight; averaged as `nll_loss` averages."""
    counted = scores if weight is None else scores * _along_classes(weight, scores.dim(), class_dim)
    ignored = target == ignore_index
    losses = (-counted.sum([class_dim])).masked_fill(ignored, 0)
    if reduction != 1:
        return reduced(losses, reduction)
    if weight is None:
        return losses.sum() / ignored.logical_not().sum()
    classes = target.masked_fill(ignored, 0).reshape([-1])
    return losses.sum() / weight.index_select(0, classes).masked_fill(ignored.reshape([-1]), 0).sum()
