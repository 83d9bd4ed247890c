"""Losses and their gradients.  `reduction`: 0 none, 1 mean, 2 sum."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from runtime.base.arrays import Array, type_name

_SMALLEST = 1e-12  # of x * (1 - x), where the gradient of binary_cross_entropy divides by it
_LEAST_LOG = -100.0  # of the logarithms in binary_cross_entropy: its value at 0 and 1 is finite


def _reduced(values: Array, reduction: int) -> Array:
    if reduction == 0:
        return values
    total = np.asarray(np.add.reduce(values, axis=None))
    return np.asarray(total / values.dtype.type(values.size)) if reduction == 1 else total


def _spread(grad_output: Array, values: Array, reduction: int) -> Array:
    """`grad_output` times `values`, the gradient of each element before the reduction."""
    out = np.multiply(grad_output, values)
    if reduction == 1:
        out /= out.dtype.type(values.size)
    return np.asarray(out)


# -- distances


def mse_loss(self: Array, target: Array, reduction: int = 1) -> Array:
    """The squares of the differences, their mean or their sum."""
    away = np.subtract(self, target)
    if reduction == 0:
        return np.multiply(away, away)
    total = np.asarray(np.vdot(away, away), away.dtype)
    return np.asarray(total / away.dtype.type(away.size)) if reduction == 1 else total


def mse_loss_backward(grad_output: Array, self: Array, target: Array, reduction: int) -> Array:
    away = np.subtract(self, target)
    factor = 2 / max(away.size, 1) if reduction == 1 else 2.0
    return np.asarray(away * (grad_output * away.dtype.type(factor)))


def smooth_l1_loss(self: Array, target: Array, reduction: int = 1, beta: float = 1.0) -> Array:
    """Quadratic up to a distance of `beta`, linear beyond."""
    if beta < 0:
        raise RuntimeError("smooth_l1_loss does not support negative values for beta.")
    distance = np.asarray(np.abs(np.subtract(self, target)))
    limit = distance.dtype.type(beta)
    if limit == 0:
        return _reduced(distance, reduction)
    # With q for the part of the distance below beta: q (q / beta) / 2 + (d - q), and no branch.
    near = np.asarray(np.minimum(distance, limit))
    distance -= near
    near *= near / limit
    near *= near.dtype.type(0.5)
    distance += near
    return _reduced(distance, reduction)


def smooth_l1_loss_backward(grad_output: Array, self: Array, target: Array, reduction: int, beta: float) -> Array:
    away = np.asarray(np.subtract(self, target))
    if beta == 0:
        return _spread(grad_output, np.sign(away), reduction)
    away /= away.dtype.type(beta)
    slope = np.clip(away, -1, 1, out=away)
    return _spread(grad_output, slope, reduction)


def huber_loss(self: Array, target: Array, reduction: int = 1, delta: float = 1.0) -> Array:
    """As smooth_l1_loss, times `delta`."""
    if delta <= 0:
        raise RuntimeError("huber_loss does not support non-positive values for delta.")
    distance = np.abs(np.subtract(self, target))
    linear = delta * (distance - 0.5 * delta)
    return _reduced(np.where(distance < delta, 0.5 * distance * distance, linear), reduction)


def huber_loss_backward(grad_output: Array, self: Array, target: Array, reduction: int, delta: float) -> Array:
    return _spread(grad_output, np.clip(np.subtract(self, target), -delta, delta), reduction)


# -- yes or no


def binary_cross_entropy(self: Array, target: Array, weight: Array | None = None, reduction: int = 1) -> Array:
    """`-(t * log(x) + (1 - t) * log(1 - x))` of probabilities."""
    for operand in (target, weight):
        if operand is not None and operand.dtype != self.dtype:
            raise RuntimeError(f"Found dtype {type_name(operand.dtype)} but expected {type_name(self.dtype)}")
    for name, operand in (("input", self), ("target", target)):
        if operand.size and not (np.min(operand) >= 0 and np.max(operand) <= 1):
            raise RuntimeError(f"all elements of {name} should be between 0 and 1")
    yes = np.maximum(np.log(self), _LEAST_LOG)
    no = np.maximum(np.log1p(-self), _LEAST_LOG)
    loss = (target - 1) * no - target * yes
    return _reduced(np.asarray(loss if weight is None else loss * weight), reduction)


def binary_cross_entropy_backward(
    grad_output: Array, self: Array, target: Array, weight: Array | None = None, reduction: int = 1
) -> Array:
    slope = (self - target) / np.maximum(self * (1 - self), _SMALLEST)
    return _spread(grad_output, np.asarray(slope if weight is None else slope * weight), reduction)


def binary_cross_entropy_with_logits(
    self: Array, target: Array, weight: Array | None = None, pos_weight: Array | None = None, reduction: int = 1
) -> Array:
    """`binary_cross_entropy` of `sigmoid(x)`, without computing it: log(sigmoid(x)) is -log(1 + exp(-x))."""
    below = np.log1p(np.exp(-np.abs(self))) + np.maximum(-self, 0)
    if pos_weight is not None:
        below = below * ((pos_weight - 1) * target + 1)
    loss = (1 - target) * self + below
    return _reduced(np.asarray(loss if weight is None else loss * weight), reduction)


# -- one class of several


def _check_classes(classes: int, target: Array, weight: Array | None, ignore_index: int) -> Array | None:
    """Refuse targets that are no class.  Gives which of them count, None for all."""
    if target.dtype not in (np.int64, np.uint8):
        raise RuntimeError(f"expected target dtype to be Long or Byte, but got {type_name(target.dtype)}")
    if weight is not None and weight.shape != (classes,):
        raise RuntimeError(
            f"weight tensor should be defined either for all {classes} classes or no classes but got weight tensor of "
            f"shape: {list(weight.shape)}"
        )
    if target.size == 0:
        return None
    low, high = int(np.min(target)), int(np.max(target))
    if low >= 0 and high < classes and not low <= ignore_index <= high:
        return None
    counted = np.asarray(target != ignore_index)
    wrong = ((target < 0) | (target >= classes)) & counted
    if wrong.any():
        raise IndexError(f"Target {target[wrong].flat[0]} is out of bounds.")
    return counted.reshape(-1)


def _chosen(self: Array, target: Array, weight: Array | None, counted: Array | None) -> tuple[Array, Array]:
    """For rows of log-probabilities: the negative one of each row's class, and the weight of that class."""
    zero = self.dtype.type(0)
    classes = target if counted is None else np.where(counted, target, 0)
    if self.shape[1] == 0:
        return np.zeros(len(self), self.dtype), np.zeros(len(self), self.dtype)
    losses = -self[np.arange(len(self)), classes]
    weights = np.ones(len(self), self.dtype) if weight is None else weight[classes]
    if weight is not None:
        losses *= weights
    if counted is None:
        return losses, weights
    return np.where(counted, losses, zero), np.where(counted, weights, zero)


def _total(losses: Array, weights: Array, reduction: int) -> tuple[Array, Array]:
    total_weight = np.asarray(np.add.reduce(weights, axis=None))
    total = np.asarray(np.add.reduce(losses, axis=None))
    return (np.asarray(total / total_weight) if reduction == 1 else total), total_weight


def nll_loss_forward(
    self: Array, target: Array, weight: Array | None, reduction: int, ignore_index: int
) -> tuple[Array, Array]:
    """The loss of each row's class, and the sum of the weights of the classes that count."""
    _check_nll(self, target)
    counted = _check_classes(self.shape[-1], target, weight, ignore_index)
    losses, weights = _chosen(self.reshape(-1, self.shape[-1]), target.reshape(-1), weight, counted)
    if self.ndim == 1:
        output, total_weight = _total(losses, weights, reduction)
        return output, total_weight
    if reduction == 0:
        return losses, np.zeros((), self.dtype)
    return _total(losses, weights, reduction)


def _check_nll(self: Array, target: Array) -> None:
    if self.ndim not in (1, 2):
        raise RuntimeError("input tensor should be 1D or 2D")
    if target.ndim > 1:
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    if self.ndim == 1 and target.ndim == 1 and target.shape[0] != 1:
        raise RuntimeError("For 1D input, 1D target must have size 1, but got target size: " + str(target.shape[0]))
    if self.ndim == 2 and target.shape != self.shape[:1]:
        raise RuntimeError(f"size mismatch (got input: {list(self.shape)}, target: {list(target.shape)})")


def _nll_gradient(
    gradient: Array, shape: tuple[int, int], target: Array, weight: Array | None, counted: Array | None, divisor: Any
) -> Array:
    """Rows of zeros with `-gradient * weight / divisor` at each row's class."""
    out = np.zeros(shape, gradient.dtype)
    each = -gradient if divisor is None else -gradient / divisor
    rows, classes = np.arange(len(target)), target
    if counted is not None:
        rows, classes = rows[counted], target[counted]
        if each.size != 1:
            each = each[counted]
    out[rows, classes] = each if weight is None else each * weight[classes]
    return out


def nll_loss_backward(
    grad_output: Array,
    self: Array,
    target: Array,
    weight: Array | None,
    reduction: int,
    ignore_index: int,
    total_weight: Array,
) -> Array:
    _check_nll(self, target)
    classes = self.shape[-1]
    counted = _check_classes(classes, target, weight, ignore_index)
    flat = target.reshape(-1)
    divisor = total_weight if reduction == 1 else None
    out = _nll_gradient(grad_output.reshape(-1), (flat.size, classes), flat, weight, counted, divisor)
    return out.reshape(self.shape)


def nll_loss2d_forward(
    self: Array, target: Array, weight: Array | None, reduction: int, ignore_index: int
) -> tuple[Array, Array]:
    """`nll_loss_forward` at each place of a picture: the classes are dimension 1 of 4."""
    _check_nll2d(self, target)
    classes = self.shape[1]
    counted = _check_classes(classes, target, weight, ignore_index)
    rows = self.transpose(0, 2, 3, 1).reshape(math.prod(target.shape), classes)
    losses, weights = _chosen(rows, target.reshape(-1), weight, counted)
    if reduction == 0:
        return losses.reshape(target.shape), np.zeros((), self.dtype)
    return _total(losses, weights, reduction)


def _check_nll2d(self: Array, target: Array) -> None:
    if target.ndim != 3:
        raise RuntimeError(
            "only batches of spatial targets supported (3D tensors) but got targets of dimension: " + str(target.ndim)
        )
    if self.ndim != 4:
        raise RuntimeError(
            "only batches of spatial inputs supported (4D tensors), but got input of dimension: " + str(self.ndim)
        )
    if target.shape != (self.shape[0], *self.shape[2:]):
        raise RuntimeError(f"size mismatch (got input: {list(self.shape)} , target: {list(target.shape)}")


def nll_loss2d_backward(
    grad_output: Array,
    self: Array,
    target: Array,
    weight: Array | None,
    reduction: int,
    ignore_index: int,
    total_weight: Array,
) -> Array:
    _check_nll2d(self, target)
    batch, classes, height, width = self.shape
    counted = _check_classes(classes, target, weight, ignore_index)
    divisor = total_weight if reduction == 1 else None
    flat = target.reshape(-1)
    rows = _nll_gradient(grad_output.reshape(-1), (flat.size, classes), flat, weight, counted, divisor)
    return np.ascontiguousarray(rows.reshape(batch, height, width, classes).transpose(0, 3, 1, 2))


# -- margins


def soft_margin_loss(self: Array, target: Array, reduction: int = 1) -> Array:
    """log(1 + exp(-x t)), of the shape and dtype of `self`."""
    if np.broadcast_shapes(self.shape, target.shape) != self.shape:
        raise RuntimeError(
            f"output with shape {list(self.shape)} doesn't match the broadcast shape "
            f"{list(np.broadcast_shapes(self.shape, target.shape))}"
        )
    if target.dtype.kind == "c":
        raise RuntimeError(
            f"result type {type_name(target.dtype)} can't be cast to the desired output type {type_name(self.dtype)}"
        )
    return _reduced(np.logaddexp(0, -self * target).astype(self.dtype, copy=False), reduction)


def soft_margin_loss_backward(grad_output: Array, self: Array, target: Array, reduction: int) -> Array:
    """-t / (1 + exp(x t)) for each element; the exponential may be infinite."""
    with np.errstate(over="ignore"):
        slope = -target / (1 + np.exp(self * target))
    return _spread(grad_output, np.asarray(slope), reduction)


def _check_rows(self: Array) -> tuple[int, int]:
    """The number of samples and of classes: a vector is one sample, and a number is one of one class."""
    if self.ndim > 2 or (self.size == 0 and (self.ndim < 2 or self.shape[1] == 0)):
        raise RuntimeError(
            f"Expected non-empty vector or matrix with optional 0-dim batch size, but got: {list(self.shape)}"
        )
    return (self.shape[0], self.shape[1]) if self.ndim == 2 else (1, self.size)


def _check_long(target: Array) -> None:
    if target.dtype != np.int64:
        raise RuntimeError(f"expected scalar type Long but found {type_name(target.dtype)}")


def _check_multi_margin(self: Array, target: Array, p: int, weight: Array | None) -> tuple[int, int]:
    if int(p) not in (1, 2):
        raise RuntimeError("only p == 1 and p == 2 supported")
    samples, classes = _check_rows(self)
    if target.ndim > 1 or target.size != samples:
        raise RuntimeError(
            "multi_margin_loss: target tensor should be 1-D with size equal to the number of input samples (batch "
            f"size). Expected target size [{samples}], but got {list(target.shape)}. Input has shape "
            f"{list(self.shape)}."
        )
    if weight is not None and (weight.ndim > 1 or weight.size != classes):
        raise RuntimeError(f"inconsistent weight size, expected {classes} but got {list(weight.shape)}")
    _check_long(target)
    if weight is not None and weight.dtype != self.dtype:
        raise RuntimeError(f"expected scalar type {type_name(self.dtype)} but found {type_name(weight.dtype)}")
    if target.size and not (np.min(target) >= 0 and np.max(target) < classes):
        raise RuntimeError("target out of range")
    return samples, classes


def multi_margin_loss(
    self: Array, target: Array, p: int = 1, margin: float = 1, weight: Array | None = None, reduction: int = 1
) -> Array:
    """The sum over the other classes of max(0, margin - x[own] + x[other]) ** p, times the weight of the own one."""
    samples, classes = _check_multi_margin(self, target, p, weight)
    rows, own = self.reshape(samples, classes), target.reshape(samples)
    at = np.arange(samples), own
    lacking = rows + (self.dtype.type(margin) - rows[at][:, None])
    near = lacking > 0
    near[at] = False
    if int(p) == 2:
        lacking *= lacking
    if weight is not None:
        lacking *= weight.reshape(-1)[own][:, None]
    losses = np.add.reduce(np.where(near, lacking, self.dtype.type(0)), axis=1) / self.dtype.type(classes)
    return losses.reshape(target.shape) if reduction == 0 else _reduced(losses, reduction)


def multilabel_margin_loss_forward(self: Array, target: Array, reduction: int) -> tuple[Array, Array]:
    """The sum over labels j and other classes i of max(0, 1 - x[j] + x[i]), by the number of classes; and the labels.

    The labels of a sample are the numbers before its first -1.
    """
    samples, classes = _check_rows(self)
    if (target.shape != self.shape) if self.ndim == 2 else (target.ndim > 1 or target.size != classes):
        raise RuntimeError(f"inconsistent target size: {list(target.shape)} for input of size: {list(self.shape)}")
    _check_long(target)
    if target.size and not (np.min(target) >= -1 and np.max(target) < classes):
        raise RuntimeError("argument #2 'target' is out of range")
    rows, labels = self.reshape(samples, classes), target.reshape(samples, classes)
    counted = np.logical_and.accumulate(labels >= 0, axis=1)
    places = np.where(counted, labels, 0)
    sample, place = np.nonzero(counted)
    is_target = np.zeros((samples, classes), self.dtype)
    is_target[sample, labels[sample, place]] = 1
    chosen = np.take_along_axis(rows, places, axis=1)
    lacking = rows[:, None, :] + (1 - chosen)[:, :, None]
    lacking = np.where((lacking > 0) & counted[:, :, None] & (is_target == 0)[:, None, :], lacking, 0)
    losses = np.add.reduce(lacking, axis=(1, 2)) / self.dtype.type(classes)
    output = losses.reshape(self.shape[:-1]) if reduction == 0 else _reduced(losses, reduction)
    return np.asarray(output, self.dtype), is_target.reshape(target.shape)
