"""Losses that are made of other operators.  `reduction`: 0 none, 1 mean, 2 sum."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from runtime import ops
from runtime.base import dtypes
from runtime.base.tensor import Tensor
from runtime.base.types import Scalar
from runtime.operators.helpers.loss import reduced


def kl_div(self: Tensor, target: Tensor, reduction: int = 1, *, log_target: bool = False) -> Tensor:
    """`target * (log(target) - self)`; both are logarithms with `log_target`."""
    if log_target:
        return reduced(target.exp() * (target - self), reduction)
    return reduced(ops.xlogy(target, target) - target * self, reduction)


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


# Margins.


def multi_margin_loss_backward(
    grad_output: Tensor,
    self: Tensor,
    target: Tensor,
    p: Scalar,
    margin: Scalar,
    weight: Tensor | None = None,
    reduction: int = 1,
) -> Tensor:
    """The slope at each other class that is too near, and minus their sum at the own class."""
    rows, own = _rows(self), target.reshape([-1, 1])
    if weight is not None and (weight.dim() > 1 or weight.numel() != rows.size(1)):
        raise RuntimeError(f"inconsistent weight size, expected {rows.size(1)} but got {list(weight.shape)}")
    lacking = rows + (margin - rows.gather(1, own))
    near = (lacking > 0).logical_and((lacking > 0).scatter(1, own, 0))
    slopes = ops.ones_like(rows) if int(p.real) == 1 else lacking * 2
    if weight is not None:
        slopes = slopes * weight.reshape([-1]).index_select(0, own.reshape([-1])).unsqueeze(1)
    slopes = slopes.where(near, 0)
    slopes = slopes.scatter_add(1, own, -slopes.sum([1], True)) / rows.size(1)
    return _of_rows(grad_output, slopes, self, reduction)


def multilabel_margin_loss_backward(
    grad_output: Tensor, self: Tensor, target: Tensor, reduction: int, is_target: Tensor
) -> Tensor:
    """How many labels each other class comes too near to, and at each label minus the number of such classes."""
    if is_target.shape != target.shape:
        raise RuntimeError(
            f"Expected tensor for argument #3 'target' to have same size as tensor for argument #5 'is_target'; but "
            f"{list(target.shape)} does not equal {list(is_target.shape)}"
        )
    rows, labels = _rows(self), _rows(target)
    counted = (labels < 0).cumsum(1) == 0
    places = labels.masked_fill(counted.logical_not(), 0)
    lacking = rows.unsqueeze(1) + (1 - rows.gather(1, places)).unsqueeze(2)
    near = (lacking > 0).logical_and(counted.unsqueeze(2)).logical_and((_rows(is_target) == 0).unsqueeze(1))
    pairs = near.to(self.dtype)
    slopes = pairs.sum([1]).scatter_add(1, places, -pairs.sum([2])) / rows.size(1)
    return _of_rows(grad_output, slopes, self, reduction)


def _rows(self: Tensor) -> Tensor:
    if self.dim() > 2 or (self.numel() == 0 and (self.dim() < 2 or self.size(1) == 0)):
        raise RuntimeError(
            f"Expected non-empty vector or matrix with optional 0-dim batch size, but got: {list(self.shape)}"
        )
    return self if self.dim() == 2 else self.reshape([1, -1])


def _of_rows(grad_output: Tensor, slopes: Tensor, self: Tensor, reduction: int) -> Tensor:
    """The gradient of `self` from the slopes of the losses of its rows."""
    count = slopes.size(0)
    if reduction == 0 and grad_output.numel() != count:
        raise RuntimeError(f"Expected a gradient for each of {count} rows, but got one of shape {grad_output.shape}")
    grads = grad_output.reshape([-1, 1]) * slopes
    return (grads / max(count, 1) if reduction == 1 else grads).reshape(self.shape)


def cosine_embedding_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: int = 1
) -> Tensor:
    """1 - cos where the target is 1, what cos is above the margin where it is -1, and 0 elsewhere."""
    ndim = target.dim()
    if ndim > 1:
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    if input1.dim() != ndim + 1 or input2.dim() != ndim + 1:
        raise RuntimeError(
            f"{ndim}D target tensor expects {ndim + 1}D input tensors, but found inputs with sizes "
            f"{list(input1.shape)} and {list(input2.shape)}."
        )
    squares = [(each * each).sum([ndim]) + 1e-12 for each in (input1, input2)]
    cosine = (input1 * input2).sum([ndim]) / (squares[0] * squares[1]).sqrt()
    unlike = (cosine - margin).clamp_min(0)
    return reduced(ops.where(target == 1, 1 - cosine, 0) + ops.where(target == -1, unlike, 0), reduction)


def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-06,
    swap: bool = False,
    reduction: int = 1,
) -> Tensor:
    """By how much the positive sample is not nearer than the negative one by the margin (Balntas et al., 2016)."""
    return triplet_loss(
        anchor,
        positive,
        negative,
        lambda one, other: ops.pairwise_distance(one, other, p, eps),
        margin,
        swap,
        reduction,
    )


def triplet_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    distance: Callable[[Tensor, Tensor], Tensor],
    margin: float,
    swap: bool,
    reduction: int,
) -> Tensor:
    """`triplet_margin_loss` by any distance."""
    dims = [each.dim() for each in (anchor, positive, negative)]
    if dims[0] != dims[1] or dims[0] != dims[2]:
        raise RuntimeError(
            "The anchor, positive, and negative tensors are expected to have the same number of dimensions, but got: "
            f"anchor {dims[0]}D, positive {dims[1]}D, and negative {dims[2]}D inputs"
        )
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = far.minimum(distance(positive, negative))
    return reduced((near - far + margin).clamp_min(0), reduction)


# Counts.


def poisson_nll_loss(input: Tensor, target: Tensor, log_input: bool, full: bool, eps: float, reduction: int) -> Tensor:
    """Minus the logarithm of the Poisson distribution's probability of the target; with Stirling's term if `full`."""
    loss = input.exp() - target * input if log_input else input - target * (input + eps).log()
    if full:
        small = target <= 1
        large = target.masked_fill(small, 1)  # so that the logarithm has a gradient everywhere
        stirling = large * large.log() - large + (large * (2 * math.pi)).log() * 0.5
        loss = loss + stirling.masked_fill(small, 0)
    return reduced(loss, reduction)


# Sequences of labels.


def ctc_loss_IntList(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Sequence[int],
    target_lengths: Sequence[int],
    blank: int = 0,
    reduction: int = 1,
    zero_infinity: bool = False,
) -> Tensor:
    """The loss of sequences of labels; a mean is one over the batch of losses by the lengths of the targets."""
    batch = log_probs if log_probs.dim() == 3 else log_probs.unsqueeze(1)
    labels = targets.to(dtypes.int64)
    losses: Tensor = ops._ctc_loss(batch, labels, input_lengths, target_lengths, blank, zero_infinity)[0]
    if zero_infinity:
        losses = ops.where(losses == math.inf, 0, losses)
    if reduction == 1:
        losses = losses / losses.new_tensor([max(length, 1) for length in target_lengths])
    return reduced(losses if log_probs.dim() == 3 or reduction else losses.squeeze(0), reduction)


def ctc_loss_Tensor(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Tensor,
    target_lengths: Tensor,
    blank: int = 0,
    reduction: int = 1,
    zero_infinity: bool = False,
) -> Tensor:
    """As with lists of lengths."""
    for name, lengths in (("input", input_lengths), ("target", target_lengths)):
        if lengths.is_floating_point() or lengths.is_complex() or lengths.dtype is dtypes.bool:
            raise RuntimeError(f"{name}_lengths must be integral")
    times, counts = input_lengths.reshape([-1]).tolist(), target_lengths.reshape([-1]).tolist()
    return ops.ctc_loss(log_probs, targets, times, counts, blank, reduction, zero_infinity)
