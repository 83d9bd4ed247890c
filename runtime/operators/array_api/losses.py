"""Softmax, normalization and losses, with their gradients."""

from __future__ import annotations

import math
from collections.abc import Sequence

from runtime.operators.array_api._common import (
    Array,
    DType,
    Namespace,
    count_along,
    is_integral,
    number,
    one_dim,
    size_of,
)

_MEAN, _SUM = 1, 2


# -- softmax


def _softmax(xp: Namespace, self: Array, dim: int, half_to_float: bool) -> Array:
    axis = _axis(self, dim)
    powers = xp.exp(_shifted(xp, self, axis))
    return powers / xp.sum(powers, axis=axis, keepdims=True)


def _log_softmax(xp: Namespace, self: Array, dim: int, half_to_float: bool) -> Array:
    axis = _axis(self, dim)
    shifted = _shifted(xp, self, axis)
    return shifted - xp.log(xp.sum(xp.exp(shifted), axis=axis, keepdims=True))


def _softmax_backward_data(xp: Namespace, grad_output: Array, output: Array, dim: int, input_dtype: DType) -> Array:
    product = grad_output * output
    return xp.astype(product - output * xp.sum(product, axis=_axis(output, dim), keepdims=True), input_dtype)


def _log_softmax_backward_data(xp: Namespace, grad_output: Array, output: Array, dim: int, input_dtype: DType) -> Array:
    total = xp.sum(grad_output, axis=_axis(output, dim), keepdims=True)
    return xp.astype(grad_output - xp.exp(output) * total, input_dtype)


def _axis(self: Array, dim: int) -> int | None:
    axis = one_dim(dim, self.ndim)
    return axis if self.ndim else None


def _shifted(xp: Namespace, self: Array, axis: int | None) -> Array:
    if not size_of(self):
        return self
    return self - xp.max(self, axis=axis, keepdims=True)


# -- layer norm


def native_layer_norm(
    xp: Namespace, input: Array, normalized_shape: Sequence[int], weight: Array | None, bias: Array | None, eps: float
) -> tuple[Array, Array, Array]:
    axes = _normalized(input, normalized_shape)
    count = count_along(input, axes) or math.nan
    mean = xp.sum(input, axis=axes, keepdims=True) / count
    away = input - mean
    rstd = 1 / xp.sqrt(xp.sum(away * away, axis=axes, keepdims=True) / count + eps)
    out = away * rstd
    if weight is not None:
        out = out * weight
    return out if bias is None else out + bias, mean, rstd


def native_layer_norm_backward(
    xp: Namespace,
    grad_out: Array,
    input: Array,
    normalized_shape: Sequence[int],
    mean: Array,
    rstd: Array,
    weight: Array | None,
    bias: Array | None,
    output_mask: Sequence[bool],
) -> tuple[Array | None, Array | None, Array | None]:
    axes = _normalized(input, normalized_shape)
    outer = tuple(range(input.ndim - len(normalized_shape)))
    normal = (input - mean) * rstd
    of_input = of_weight = of_bias = None
    if output_mask[0]:
        grad = grad_out if weight is None else grad_out * weight
        count = count_along(input, axes) or math.nan
        middle = xp.sum(grad, axis=axes, keepdims=True) / count
        tilt = xp.sum(grad * normal, axis=axes, keepdims=True) / count
        of_input = (grad - middle - normal * tilt) * rstd
    if output_mask[1] and weight is not None:
        of_weight = xp.sum(grad_out * normal, axis=outer) if outer else grad_out * normal
    if output_mask[2] and bias is not None:
        of_bias = xp.sum(grad_out, axis=outer) if outer else grad_out
    return of_input, of_weight, of_bias


def native_group_norm(
    xp: Namespace,
    input: Array,
    weight: Array | None,
    bias: Array | None,
    N: int,
    C: int,
    HxW: int,
    group: int,
    eps: float,
) -> tuple[Array, Array, Array]:
    rows = xp.reshape(input, (N * group, C // group * HxW))
    normal, mean, rstd = native_layer_norm(xp, rows, rows.shape[1:], None, None, eps)
    out = xp.reshape(normal, (N, C, HxW))
    if weight is not None:
        out = out * xp.reshape(weight, (C, 1))
    if bias is not None:
        out = out + xp.reshape(bias, (C, 1))
    return xp.reshape(out, input.shape), xp.reshape(mean, (N, group)), xp.reshape(rstd, (N, group))


def native_batch_norm_backward(
    xp: Namespace,
    grad_out: Array,
    input: Array,
    weight: Array | None,
    running_mean: Array | None,
    running_var: Array | None,
    save_mean: Array | None,
    save_invstd: Array | None,
    train: bool,
    eps: float,
    output_mask: Sequence[bool],
) -> tuple[Array | None, Array | None, Array | None]:
    axes = tuple(axis for axis in range(input.ndim) if axis != 1)
    channels = tuple(-1 if axis == 1 else 1 for axis in range(input.ndim))
    if train:
        mean, scale = save_mean, save_invstd
    else:
        assert running_var is not None
        mean, scale = running_mean, 1 / xp.sqrt(running_var + eps)
    centred = input - xp.reshape(mean, channels)
    total = xp.sum(grad_out, axis=axes)
    along = xp.sum(grad_out * centred, axis=axes)
    of_input = None
    if output_mask[0]:
        factor = scale if weight is None else scale * weight
        of_input = grad_out * xp.reshape(factor, channels)
        if train:
            count = max(size_of(input) // max(input.shape[1], 1), 1)
            of_input = of_input - centred * xp.reshape(along * scale * scale / count * factor, channels)
            of_input = of_input - xp.reshape(total / count * factor, channels)
    return of_input, along * scale if output_mask[1] else None, total if output_mask[2] else None


def _native_batch_norm_legit_no_stats(
    xp: Namespace,
    input: Array,
    weight: Array | None,
    bias: Array | None,
    training: bool,
    momentum: float,
    eps: float,
) -> tuple[Array, Array, Array]:
    _check_channels(input, weight, bias)
    if not size_of(input):
        raise RuntimeError(f"input tensor must have at least one element, but got input_sizes = {list(input.shape)}")
    axes = tuple(axis for axis in range(input.ndim) if axis != 1)
    channels = tuple(-1 if axis == 1 else 1 for axis in range(input.ndim))
    mean = xp.mean(input, axis=axes)
    centred = input - xp.reshape(mean, channels)
    invstd = 1 / xp.sqrt(xp.mean(centred * centred, axis=axes) + eps)
    return _affine(xp, centred * xp.reshape(invstd, channels), weight, bias, channels), mean, invstd


def _native_batch_norm_legit_no_training(
    xp: Namespace,
    input: Array,
    weight: Array | None,
    bias: Array | None,
    running_mean: Array,
    running_var: Array,
    momentum: float,
    eps: float,
) -> tuple[Array, Array, Array]:
    _check_channels(input, weight, bias, running_mean, running_var)
    channels = tuple(-1 if axis == 1 else 1 for axis in range(input.ndim))
    scale = xp.reshape(1 / xp.sqrt(running_var + eps), channels)
    nothing = xp.empty((0,), dtype=input.dtype)
    out = _affine(xp, (input - xp.reshape(running_mean, channels)) * scale, weight, bias, channels)
    return out, nothing, nothing


def _check_channels(input: Array, *numbers: Array | None) -> None:
    if input.ndim < 2:
        raise RuntimeError("batch_norm: expected an input of at least two dimensions")
    for each in numbers:
        if each is not None and tuple(each.shape) != (input.shape[1],):
            raise RuntimeError(
                f"batch_norm: expected {input.shape[1]} numbers for the channels, but got {list(each.shape)}"
            )


def _affine(xp: Namespace, normal: Array, weight: Array | None, bias: Array | None, channels: tuple[int, ...]) -> Array:
    """Scaled and moved, each channel by its own numbers."""
    if weight is not None:
        normal = normal * xp.reshape(weight, channels)
    return normal if bias is None else normal + xp.reshape(bias, channels)


def native_dropout_backward(xp: Namespace, grad_output: Array, mask: Array, scale: float) -> Array:
    if is_integral(xp, grad_output):
        raise NotImplementedError("native_dropout_backward is not implemented for integers")
    return grad_output * xp.astype(mask, grad_output.dtype) * scale


def _normalized(input: Array, normalized_shape: Sequence[int]) -> tuple[int, ...]:
    count = len(normalized_shape)
    if not count or tuple(input.shape[-count:]) != tuple(normalized_shape):
        raise RuntimeError(
            f"Given normalized_shape={list(normalized_shape)}, expected input with shape [*, "
            f"{', '.join(map(str, normalized_shape))}], but got input of size{list(input.shape)}"
        )
    return tuple(range(input.ndim - count, input.ndim))


# -- losses


def mse_loss(xp: Namespace, self: Array, target: Array, reduction: int = _MEAN) -> Array:
    away = self - target
    return _reduced(xp, away * away, reduction)


def mse_loss_backward(xp: Namespace, grad_output: Array, self: Array, target: Array, reduction: int) -> Array:
    return _spread(xp, grad_output, self - target, reduction) * 2


def smooth_l1_loss(xp: Namespace, self: Array, target: Array, reduction: int = _MEAN, beta: float = 1.0) -> Array:
    away = xp.abs(self - target)
    if beta == 0:
        return _reduced(xp, away, reduction)
    return _reduced(xp, xp.where(away < beta, away * away * (0.5 / beta), away - 0.5 * beta), reduction)


def smooth_l1_loss_backward(
    xp: Namespace, grad_output: Array, self: Array, target: Array, reduction: int, beta: float
) -> Array:
    away = self - target
    slope = xp.sign(away) if beta == 0 else xp.where(xp.abs(away) < beta, away / beta, xp.sign(away))
    return _spread(xp, grad_output, slope, reduction)


def huber_loss(xp: Namespace, self: Array, target: Array, reduction: int = _MEAN, delta: float = 1.0) -> Array:
    away = xp.abs(self - target)
    return _reduced(xp, xp.where(away < delta, away * away * 0.5, (away - 0.5 * delta) * delta), reduction)


def huber_loss_backward(
    xp: Namespace, grad_output: Array, self: Array, target: Array, reduction: int, delta: float
) -> Array:
    away = self - target
    slope = xp.where(xp.abs(away) < delta, away, xp.sign(away) * delta)
    return _spread(xp, grad_output, slope, reduction)


def binary_cross_entropy_with_logits(
    xp: Namespace,
    self: Array,
    target: Array,
    weight: Array | None = None,
    pos_weight: Array | None = None,
    reduction: int = _MEAN,
) -> Array:
    log_weight = 1 if pos_weight is None else (pos_weight - 1) * target + 1
    low = xp.minimum(self, number(xp, 0, self))
    loss = (1 - target) * self + log_weight * (xp.log1p(xp.exp(-xp.abs(self))) - low)
    return _reduced(xp, loss if weight is None else loss * weight, reduction)


def nll_loss_forward(
    xp: Namespace, self: Array, target: Array, weight: Array | None, reduction: int, ignore_index: int
) -> tuple[Array, Array]:
    chosen = _weights_of_classes(xp, self, target, weight, ignore_index)
    losses = -xp.sum(xp.where(chosen != 0, self * chosen, number(xp, 0, self)), axis=-1)
    total = xp.sum(chosen)
    if reduction == _MEAN:
        return xp.sum(losses) / total, total
    if reduction == _SUM:
        return xp.sum(losses), total
    return losses, number(xp, 0, self) if self.ndim == 2 else total


def nll_loss_backward(
    xp: Namespace,
    grad_output: Array,
    self: Array,
    target: Array,
    weight: Array | None,
    reduction: int,
    ignore_index: int,
    total_weight: Array,
) -> Array:
    chosen = _weights_of_classes(xp, self, target, weight, ignore_index)
    if reduction == _MEAN:
        grad_output = grad_output / total_weight
    if reduction not in (_MEAN, _SUM) and self.ndim == 2:
        grad_output = xp.expand_dims(grad_output, axis=-1)
    return xp.where(chosen != 0, -chosen * grad_output, number(xp, 0, self))


def nll_loss2d_forward(
    xp: Namespace, self: Array, target: Array, weight: Array | None, reduction: int, ignore_index: int
) -> tuple[Array, Array]:
    rows = xp.moveaxis(self, 1, -1)
    loss, total = nll_loss_forward(xp, rows, target, weight, reduction, ignore_index)
    return loss, total if reduction in (_MEAN, _SUM) else number(xp, 0, self)


def nll_loss2d_backward(
    xp: Namespace,
    grad_output: Array,
    self: Array,
    target: Array,
    weight: Array | None,
    reduction: int,
    ignore_index: int,
    total_weight: Array,
) -> Array:
    if reduction not in (_MEAN, _SUM):
        grad_output = xp.expand_dims(grad_output, axis=-1)
    rows = xp.moveaxis(self, 1, -1)
    grad = nll_loss_backward(xp, grad_output, rows, target, weight, reduction, ignore_index, total_weight)
    return xp.moveaxis(grad, -1, 1)


def binary_cross_entropy(
    xp: Namespace, self: Array, target: Array, weight: Array | None = None, reduction: int = _MEAN
) -> Array:
    """Whether elements are probabilities is not looked at: that would have to wait for the device."""
    least = number(xp, -100, self)
    yes, no = xp.maximum(xp.log(self), least), xp.maximum(xp.log1p(-self), least)
    loss = (target - 1) * no - target * yes
    return _reduced(xp, loss if weight is None else loss * weight, reduction)


def binary_cross_entropy_backward(
    xp: Namespace,
    grad_output: Array,
    self: Array,
    target: Array,
    weight: Array | None = None,
    reduction: int = _MEAN,
) -> Array:
    slope = (self - target) / xp.maximum(self * (1 - self), number(xp, 1e-12, self))
    return _spread(xp, grad_output, slope if weight is None else slope * weight, reduction)


def soft_margin_loss(xp: Namespace, self: Array, target: Array, reduction: int = _MEAN) -> Array:
    zero = number(xp, 0, self)
    return _reduced(xp, xp.astype(xp.logaddexp(zero, -self * xp.astype(target, self.dtype)), self.dtype), reduction)


def soft_margin_loss_backward(xp: Namespace, grad_output: Array, self: Array, target: Array, reduction: int) -> Array:
    return _spread(xp, grad_output, -target / (1 + xp.exp(self * target)), reduction)


def _weights_of_classes(xp: Namespace, self: Array, target: Array, weight: Array | None, ignore_index: int) -> Array:
    """For each row of `self`, the weight of its class in the place of that class, and zeros elsewhere."""
    classes = xp.arange(self.shape[-1], dtype=target.dtype)
    places = xp.expand_dims(target, axis=-1)
    chosen = xp.astype((classes == places) & (places != ignore_index), self.dtype)
    return chosen if weight is None else chosen * weight


def _reduced(xp: Namespace, losses: Array, reduction: int) -> Array:
    if reduction == _MEAN:
        return xp.sum(losses) / (size_of(losses) or math.nan)
    return xp.sum(losses) if reduction == _SUM else losses


def _spread(xp: Namespace, grad_output: Array, slope: Array, reduction: int) -> Array:
    if is_integral(xp, slope):
        raise NotImplementedError("gradients of losses are not implemented for integers")
    grad = slope * grad_output
    return grad / (size_of(slope) or math.nan) if reduction == _MEAN else grad
