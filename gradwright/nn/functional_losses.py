"""Losses of `nn.functional`.

They add to the operators names for reductions, checks of sizes, and weights.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence

from gradwright.autograd import no_grad
from gradwright.nn.linear_cross_entropy import LinearCrossEntropyOptions
from runtime import ops
from runtime.base import dtypes
from runtime.base.tensor import Tensor
from runtime.operators.composite.loss import triplet_loss
from runtime.operators.helpers.loss import reduced as _reduced

__all__ = [
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "cosine_embedding_loss",
    "cross_entropy",
    "ctc_loss",
    "gaussian_nll_loss",
    "hinge_embedding_loss",
    "huber_loss",
    "kl_div",
    "l1_loss",
    "linear_cross_entropy",
    "margin_ranking_loss",
    "mse_loss",
    "multi_margin_loss",
    "multilabel_margin_loss",
    "multilabel_soft_margin_loss",
    "nll_loss",
    "poisson_nll_loss",
    "reduction_of_flags",
    "smooth_l1_loss",
    "soft_margin_loss",
    "triplet_margin_loss",
    "triplet_margin_with_distance_loss",
]

# Reductions as operators count them.
_REDUCTIONS = {"none": 0, "mean": 1, "elementwise_mean": 1, "sum": 2}


def _reduction(name: str, size_average: bool | None = None, reduce: bool | None = None) -> int:
    """The number of a reduction; the two flags, older than its names, decide where they are given."""
    if size_average is not None or reduce is not None:
        name = reduction_of_flags(size_average, reduce)
    if name not in _REDUCTIONS:
        raise ValueError(f"{name} is not a valid value for reduction")
    return _REDUCTIONS[name]


def reduction_of_flags(size_average: bool | None, reduce: bool | None, stacklevel: int = 4) -> str:
    """The name of the reduction that the two flags mean, with a warning that there are names now."""
    average = size_average is None or size_average
    name = "none" if reduce is False else "mean" if average else "sum"
    warnings.warn(
        f"size_average and reduce args will be deprecated, please use reduction='{name}' instead.",
        stacklevel=stacklevel,
    )
    return name


def _check_same_size(input: Tensor, target: Tensor) -> None:
    if input.shape != target.shape:
        warnings.warn(
            f"Using a target size ({target.shape}) that is different to the input size ({input.shape}). This will "
            "likely lead to incorrect results due to broadcasting. Please ensure they have the same size.",
            stacklevel=3,
        )


def _weighted(loss: Tensor, weight: Tensor, input: Tensor, reduction: int) -> Tensor:
    """The losses of elements times their weights; a mean is one by weight."""
    if weight.shape != input.shape:
        raise ValueError("Weights and input must have the same size.")
    weighted = loss * weight
    return weighted.sum() / weight.sum() if reduction == 1 else _reduced(weighted, reduction)


def mse_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    _check_same_size(input, target)
    number = _reduction(reduction, size_average, reduce)
    if weight is not None:
        return _weighted(ops.mse_loss(input, target, 0), weight, input, number)
    return ops.mse_loss(input, target, number)


def l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    _check_same_size(input, target)
    number = _reduction(reduction, size_average, reduce)
    if weight is not None:
        return _weighted(ops.l1_loss(input, target, 0), weight, input, number)
    return ops.l1_loss(input, target, number)


def smooth_l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    beta: float = 1.0,
) -> Tensor:
    _check_same_size(input, target)
    return ops.smooth_l1_loss(input, target, _reduction(reduction, size_average, reduce), beta)


def huber_loss(
    input: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0, weight: Tensor | None = None
) -> Tensor:
    _check_same_size(input, target)
    number = _reduction(reduction)
    if weight is not None:
        if weight.shape != input.shape:
            raise ValueError("Weights and input must have the same size.")
        return _reduced(ops.huber_loss(input, target, 0, delta) * weight, number)
    return ops.huber_loss(input, target, number, delta)


def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    return ops.nll_loss_nd(input, target, weight, _reduction(reduction, size_average, reduce), ignore_index)


def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    number = _reduction(reduction, size_average, reduce)
    return ops.cross_entropy_loss(input, target, weight, number, ignore_index, label_smoothing)


def linear_cross_entropy(
    input: Tensor,
    linear_weight: Tensor,
    target: Tensor,
    *,
    linear_bias: Tensor | None = None,
    weight: Tensor | None = None,
    reduction: str = "mean",
    ignore_index: int | None = None,
    label_smoothing: float = 0.0,
    options: LinearCrossEntropyOptions | None = None,
) -> Tensor:
    """The cross entropy of an affine map: `cross_entropy(linear(input, linear_weight, linear_bias), target)`.

    Args:
        input: (N, in_features), or without N.
        linear_weight: (C, in_features), or (C, d1, ..., in_features) for a loss at each of these places.
        target: classes, (N) or (N, d1, ...), or probabilities of all of them, (N, C) or (N, C, d1, ...).
        linear_bias: of the sizes of `linear_weight` but the last.
        weight: a number for each class.
        reduction: `none`, `mean` or `sum`.
        ignore_index: a class that does not count.
        label_smoothing: the part of the target that is spread over all classes.
        options: with them the logits of a part of the batch are computed at a time, and again for the gradient, so
            that they are never all in memory. The result is the same.

    Raises:
        RuntimeError: the shapes do not fit, or `ignore_index` is given with probabilities.
        ValueError: there is no such reduction.
    """
    _check_linear_classes(input, linear_weight, linear_bias)
    classes, *places, features = linear_weight.shape
    batch = input.shape[:-1]
    if target.shape == (*batch, classes, *places) and ignore_index is not None:
        raise RuntimeError("ignore_index cannot be specified when target contains probabilities")
    ignored = -100 if ignore_index is None else ignore_index
    if options is not None:
        if (
            not places
            and label_smoothing == 0
            and reduction in ("mean", "sum", "none")
            and target.dtype is dtypes.int64
        ):
            return options.by_parts(input, linear_weight, target, linear_bias, weight, reduction, ignored)
        warnings.warn(
            "linear_cross_entropy: ``options`` ignored; parts of a batch need reduction in {'mean','sum','none'}, "
            "label_smoothing == 0, target.dtype == int64, out_features == (). Got "
            f"reduction={reduction!r}, label_smoothing={label_smoothing}, target.dtype={target.dtype}, "
            f"out_features={tuple(places)}.",
            stacklevel=2,
        )
    bias = None if linear_bias is None else linear_bias.reshape([-1])
    logits = ops.linear(input, linear_weight.reshape([-1, features]), bias).reshape([*batch, classes, *places])
    return cross_entropy(
        logits, target, weight, ignore_index=ignored, reduction=reduction, label_smoothing=label_smoothing
    )


def _check_linear_classes(input: Tensor, linear_weight: Tensor, linear_bias: Tensor | None) -> None:
    if input.dim() not in (1, 2):
        raise RuntimeError(f"expected input with dimensionality 1 or 2, got {input.dim()}")
    if linear_weight.dim() < 2:
        raise RuntimeError(f"expected linear_weight with dimensionality at least 2, got {linear_weight.dim()}")
    if input.shape[-1] != linear_weight.shape[-1]:
        raise RuntimeError(
            "expected equal input and linear_weight last dimensions (in_features), "
            f"got {input.shape[-1]} and {linear_weight.shape[-1]}, respectively"
        )
    if linear_bias is not None and linear_bias.shape != linear_weight.shape[:-1]:
        raise RuntimeError(
            f"expected linear_bias shape {tuple(linear_weight.shape[:-1])}, got {tuple(linear_bias.shape)}"
        )
    if linear_weight.dim() > 2 and input.dim() == 1:
        raise RuntimeError(
            f"K-dimensional loss defined by linear_weight shape {tuple(linear_weight.shape)} requires batched input, "
            f"(N, {input.shape[-1]}), got unbatched input with shape {tuple(input.shape)}"
        )


def binary_cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    number = _reduction(reduction, size_average, reduce)
    if target.shape != input.shape:
        raise ValueError(
            f"Using a target size ({target.shape}) that is different to the input size ({input.shape}) is deprecated. "
            "Please ensure they have the same size."
        )
    if weight is not None:
        weight = ops.broadcast_to(weight, target.shape)
    return ops.binary_cross_entropy(input, target, weight, number)


def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    number = _reduction(reduction, size_average, reduce)
    if target.shape != input.shape:
        raise ValueError(f"Target size ({target.shape}) must be the same as input size ({input.shape})")
    return ops.binary_cross_entropy_with_logits(input, target, weight, pos_weight, number)


def kl_div(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> Tensor:
    """The Kullback-Leibler divergence; `batchmean` divides the sum by the size of the batch, as its definition does."""
    if reduction == "batchmean" and size_average is None and reduce is None:
        total = ops.kl_div(input, target, 2, log_target=log_target)
        return total / input.shape[0] if input.dim() else total
    number = _reduction(reduction, size_average, reduce)
    if number == 1:
        warnings.warn(
            "reduction: 'mean' divides the total loss by both the batch size and the support size. 'batchmean' divides "
            "only by the batch size, and aligns with the KL div math definition.",
            stacklevel=2,
        )
    return ops.kl_div(input, target, number, log_target=log_target)


# Margins.


def soft_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    return ops.soft_margin_loss(input, target, _reduction(reduction, size_average, reduce))


def multi_margin_loss(
    input: Tensor,
    target: Tensor,
    p: int = 1,
    margin: float = 1.0,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    number = _reduction(reduction, size_average, reduce)
    if p not in (1, 2):
        raise ValueError("only p == 1 and p == 2 supported")
    if weight is not None and weight.dim() != 1:
        raise ValueError("weight must be one-dimensional")
    return ops.multi_margin_loss(input, target, p, margin, weight, number)


def multilabel_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    return ops.multilabel_margin_loss(input, target, _reduction(reduction, size_average, reduce))


def multilabel_soft_margin_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The mean over the classes, which are the last dimension, of the cross entropy between each logit and 0 or 1."""
    number = _reduction(reduction, size_average, reduce)
    loss = -(target * ops.log_sigmoid(input) + (1 - target) * ops.log_sigmoid(-input))
    if weight is not None:
        loss = loss * weight
    return _reduced(loss.sum([-1]) / input.size(input.dim() - 1), number)


def margin_ranking_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    number = _reduction(reduction, size_average, reduce)
    if not input1.dim() == input2.dim() == target.dim():
        raise RuntimeError(
            "margin_ranking_loss : All input tensors should have same dimension but got sizes: "
            f"input1: {input1.shape}, input2: {input2.shape}, target: {target.shape} "
        )
    return ops.margin_ranking_loss(input1, input2, target, margin, number)


def hinge_embedding_loss(
    input: Tensor,
    target: Tensor,
    margin: float = 1.0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    return ops.hinge_embedding_loss(input, target, margin, _reduction(reduction, size_average, reduce))


def cosine_embedding_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    return ops.cosine_embedding_loss(input1, input2, target, margin, _reduction(reduction, size_average, reduce))


def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-6,
    swap: bool = False,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    number = _reduction(reduction, size_average, reduce)
    _check_margin(margin)
    return ops.triplet_margin_loss(anchor, positive, negative, margin, p, eps, swap, number)


def _check_margin(margin: float) -> None:
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")


def triplet_margin_with_distance_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    *,
    distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """`triplet_margin_loss` by any distance, which is `pairwise_distance` if left out."""
    number = _reduction(reduction)
    _check_margin(margin)
    distance = ops.pairwise_distance if distance_function is None else distance_function
    return triplet_loss(anchor, positive, negative, distance, margin, swap, number)


# Sequences.


def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Tensor | Sequence[int],
    target_lengths: Tensor | Sequence[int],
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Tensor:
    return ops.ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, _reduction(reduction), zero_infinity)  # type: ignore[arg-type]


# Counts and measurements.


def poisson_nll_loss(
    input: Tensor,
    target: Tensor,
    log_input: bool = True,
    full: bool = False,
    size_average: bool | None = None,
    eps: float = 1e-8,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    return ops.poisson_nll_loss(input, target, log_input, full, eps, _reduction(reduction, size_average, reduce))


def gaussian_nll_loss(
    input: Tensor,
    target: Tensor,
    var: Tensor | float,
    full: bool = False,
    eps: float = 1e-6,
    reduction: str = "mean",
) -> Tensor:
    """Minus the logarithm of the normal density of the target with this mean and variance, which is at least `eps`.

    The variance is a number, a Tensor of the input's shape, or one for each row of its last dimension.  How `eps`
    bounds it is not differentiated.  `full` adds the constant log(2 pi) / 2.
    """
    if isinstance(var, float):
        if var < 0:
            raise ValueError("var has negative entry/entries")
        var = ops.full_like(input, var)
    elif (var < 0).any():
        raise ValueError("var has negative entry/entries")
    if var.shape != input.shape:
        if input.shape[:-1] == var.shape:
            var = var.unsqueeze(-1)
        elif input.shape[:-1] != var.shape[:-1] or var.shape[-1] != 1:
            raise ValueError("var is of incorrect size")
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{reduction} is not valid")
    bounded = var.clone()
    with no_grad():
        bounded.clamp_(min=eps)
    loss = (bounded.log() + (input - target).square() / bounded) * 0.5
    if full:
        loss = loss + 0.5 * math.log(2 * math.pi)
    return _reduced(loss, _REDUCTIONS[reduction])
