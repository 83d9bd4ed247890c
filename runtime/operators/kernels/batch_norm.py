"""Batch normalization: each channel with mean 0 and variance 1 over the batch and all places."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from runtime.base.arrays import Array, is_half


def _wide(array: Array) -> Array:
    return array.astype(np.float32) if is_half(array.dtype) else array


def _each(values: Array, like: Array) -> Array:
    """A number for each channel, over an input."""
    return values.reshape(-1, *(1,) * (like.ndim - 2))


def _flat(values: Array) -> Array:
    """With all the places of a channel in one dimension."""
    return values.reshape(*values.shape[:2], math.prod(values.shape[2:]))


def _axes(input: Array) -> tuple[int, ...]:
    return (0, *range(2, input.ndim))


def _check(input: Array, **numbers: Array | None) -> None:
    if input.ndim < 2:
        raise RuntimeError("batch_norm: expected an input of at least two dimensions")
    for name, values in numbers.items():
        if values is not None and values.shape != (input.shape[1],):
            raise RuntimeError(f"{name} should contain {input.shape[1]} elements not {values.size}")
        if values is not None and values.dtype != input.dtype and not is_half(input.dtype):
            raise RuntimeError("mixed dtype (CPU): expect parameter to have scalar type of the input")


def _affine(normal: Array, weight: Array | None, bias: Array | None, dtype: np.dtype[np.generic]) -> Array:
    """Scaled and moved, in the place of `normal`."""
    if weight is not None:
        normal *= _each(_wide(weight), normal)
    if bias is not None:
        normal += _each(_wide(bias), normal)
    return normal.astype(dtype, copy=False)


def batch_norm_of_batch(
    input: Array, weight: Array | None, bias: Array | None, training: bool, momentum: float, eps: float
) -> tuple[Array, Array, Array]:
    """Normalized by its own mean and variance, which are returned: the means, and 1 / deviations."""
    _check(input, weight=weight, bias=bias)
    if not input.size:
        raise RuntimeError(f"input tensor must have at least one element, but got input_sizes = {list(input.shape)}")
    values = _wide(input)
    mean = values.mean(axis=_axes(input))
    out = np.asarray(values - _each(mean, values))
    count = max(values.size // max(values.shape[1], 1), 1)
    variance = np.einsum("ncs,ncs->c", *(_flat(out),) * 2) / count
    invstd = (1 / np.sqrt(variance + values.dtype.type(eps))).astype(values.dtype, copy=False)
    out *= _each(invstd, out)
    kept = values.dtype if weight is None or not is_half(weight.dtype) else weight.dtype
    out = _affine(out, weight, bias, input.dtype)
    return out, mean.astype(kept, copy=False), invstd.astype(kept, copy=False)


def batch_norm_of_running(
    input: Array,
    weight: Array | None,
    bias: Array | None,
    running_mean: Array,
    running_var: Array,
    momentum: float,
    eps: float,
) -> tuple[Array, Array, Array]:
    """Normalized by a mean and variance of earlier batches; what would be the statistics of this one is empty."""
    _check(input, weight=weight, bias=bias, running_mean=running_mean, running_var=running_var)
    values = _wide(input)
    out = np.asarray(values - _each(_wide(running_mean), values))
    out *= _each(1 / np.sqrt(_wide(running_var) + values.dtype.type(eps)), values)
    nothing = np.empty(0, values.dtype)
    return _affine(out, weight, bias, input.dtype), nothing, nothing.copy()


def native_batch_norm_backward(
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
    """The gradients of input, weight and bias; in training, mean and deviation are functions of the input."""
    _check(input, weight=weight)
    gradient, values = _wide(grad_out), _wide(input)
    axes, dtype = _axes(input), values.dtype
    if train:
        assert save_mean is not None
        assert save_invstd is not None
        mean, scale = _wide(save_mean), _wide(save_invstd)
    else:
        assert running_mean is not None
        assert running_var is not None
        mean, scale = _wide(running_mean), 1 / np.sqrt(_wide(running_var) + dtype.type(eps))
    centred = values - _each(mean, values)
    total = gradient.sum(axis=axes)
    along = np.einsum("ncs,ncs->c", _flat(gradient), _flat(centred))
    kept = input.dtype if weight is None else weight.dtype
    of_input = None
    if output_mask[0]:
        factor = scale if weight is None else scale * _wide(weight)
        out = gradient * _each(factor, values)
        if train:
            count = dtype.type(max(values.size // max(values.shape[1], 1), 1))
            centred *= _each(along * scale * scale / count * factor, values)
            centred += _each(total / count * factor, values)
            out -= centred
        of_input = np.asarray(out).astype(input.dtype, copy=False)
    of_weight = (along * scale).astype(kept, copy=False) if output_mask[1] else None
    return of_input, of_weight, total.astype(kept, copy=False) if output_mask[2] else None
