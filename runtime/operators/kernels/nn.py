"""Softmax, normalization, dropout and embeddings."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from runtime.base.arrays import Array, normalize_dim, shaped, type_name
from runtime.operators.kernels._indices import accumulate_at, check_integer, check_range

DType = np.dtype[Any]


def _axis(dim: int, array: Array) -> int | None:
    place = normalize_dim(dim, array.ndim)
    return place if array.ndim else None


# -- softmax


def _shifted(self: Array, axis: int | None) -> Array:
    """A fresh array: `self` less its maximum, so that no exponential overflows."""
    return np.asarray(np.subtract(self, np.max(self, axis=axis, keepdims=True)))


def _check_softmax(name: str, self: Array, half_to_float: bool) -> None:
    if half_to_float:
        raise RuntimeError(f"{name} with half to float conversion is not supported on CPU")


def softmax_kernel(self: Array, dim: int, half_to_float: bool) -> Array:
    _check_softmax("softmax", self, half_to_float)
    axis = _axis(dim, self)
    if self.size == 0:
        return self.copy()
    out = _shifted(self, axis)
    np.exp(out, out=out)
    np.divide(out, np.add.reduce(out, axis=axis, keepdims=True), out=out)
    return out.astype(self.dtype, copy=False)


def log_softmax_kernel(self: Array, dim: int, half_to_float: bool) -> Array:
    _check_softmax("log_softmax", self, half_to_float)
    axis = _axis(dim, self)
    if self.size == 0:
        return self.copy()
    out = _shifted(self, axis)
    np.subtract(out, np.log(np.add.reduce(np.exp(out), axis=axis, keepdims=True)), out=out)
    return out.astype(self.dtype, copy=False)


def softmax_backward_data(grad_output: Array, output: Array, dim: int, input_dtype: DType) -> Array:
    """`y * (g - sum(g * y))`."""
    axis = _axis(dim, output)
    if axis is not None and axis == output.ndim - 1:
        total = np.einsum("...j,...j->...", grad_output, output)[..., None]
    else:
        total = np.add.reduce(grad_output * output, axis=axis, keepdims=True)
    out = np.asarray(grad_output - total)
    np.multiply(out, output, out=out)
    return np.ascontiguousarray(out, input_dtype).reshape(out.shape)


def log_softmax_backward_data(grad_output: Array, output: Array, dim: int, input_dtype: DType) -> Array:
    """`g - exp(y) * sum(g)`."""
    axis = _axis(dim, output)
    out = np.asarray(np.exp(output))
    np.multiply(out, np.add.reduce(grad_output, axis=axis, keepdims=True), out=out)
    np.subtract(grad_output, out, out=out)
    return np.ascontiguousarray(out, input_dtype).reshape(out.shape)


# -- layer normalization


def _check_normalized(
    shape: tuple[int, ...], normalized_shape: Sequence[int], weight: Array | None, bias: Array | None
) -> None:
    wanted = tuple(normalized_shape)
    if not wanted:
        raise RuntimeError(
            "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element, but got "
            "normalized_shape = []"
        )
    for name, parameter in (("weight", weight), ("bias", bias)):
        if parameter is not None and parameter.shape != wanted:
            raise RuntimeError(
                f"Expected {name} to be of same shape as normalized_shape, but got {name} of shape "
                f"{list(parameter.shape)} "
                f"and normalized_shape = {list(wanted)}"
            )
    if shape[max(len(shape) - len(wanted), 0) :] != wanted:
        raise RuntimeError(
            f"Given normalized_shape={list(wanted)}, expected input with shape "
            f"[*, {', '.join(map(str, wanted))}], but got input of size{list(shape)}"
        )


def native_layer_norm(
    input: Array, normalized_shape: Sequence[int], weight: Array | None, bias: Array | None, eps: float
) -> tuple[Array, Array, Array]:
    """The input with mean 0 and variance 1 over its last dimensions, scaled and moved; the means; 1 / deviations."""
    _check_normalized(input.shape, normalized_shape, weight, bias)
    for parameter in (weight, bias):
        if parameter is not None and parameter.dtype != input.dtype:
            raise RuntimeError(f"mixed dtype (CPU): expect parameter to have scalar type of {type_name(input.dtype)}")
    dtype = input.dtype
    width = math.prod(normalized_shape)
    outer = input.shape[: input.ndim - len(normalized_shape)]
    rows = np.ascontiguousarray(input).reshape(math.prod(outer), width)
    # Sums over rows and columns are products with a vector: the fastest pass over a matrix that there is.
    mean = (rows @ np.ones(width, rows.dtype))[:, None] / rows.dtype.type(max(width, 1))
    out = rows - mean
    variance = np.einsum("ij,ij->i", out, out)[:, None] / rows.dtype.type(width)
    rstd = 1 / np.sqrt(variance + rows.dtype.type(eps))
    out *= rstd
    if weight is not None:
        out *= weight.reshape(width)
    if bias is not None:
        out += bias.reshape(width)
    stats = outer + (1,) * len(normalized_shape)
    return (
        out.reshape(input.shape).astype(dtype, copy=False),
        mean.reshape(stats).astype(dtype, copy=False),
        rstd.reshape(stats).astype(dtype, copy=False),
    )


def _check_groups(
    input: Array, weight: Array | None, bias: Array | None, samples: int, channels: int, places: int, groups: int
) -> None:
    if input.size != samples * channels * places:
        raise RuntimeError(
            f"Expected an input of {samples} * {channels} * {places} elements, but got the shape {list(input.shape)}"
        )
    if groups <= 0:
        raise RuntimeError(f"Expected num groups to be greater than 0, got {groups}")
    if channels % groups:
        raise RuntimeError(
            "Expected number of channels in input to be divisible by num_groups, but got input of shape "
            f"{list(input.shape)} and num_groups={groups}"
        )
    for name, parameter in (("weight", weight), ("bias", bias)):
        if parameter is not None and parameter.shape != (channels,):
            raise RuntimeError(
                f"Expected {name} to be a vector of size equal to the number of channels in input, but got {name} of "
                f"shape {list(parameter.shape)} and input of shape {list(input.shape)}"
            )


def native_group_norm(
    input: Array, weight: Array | None, bias: Array | None, N: int, C: int, HxW: int, group: int, eps: float
) -> tuple[Array, Array, Array]:
    """Groups of the `C` channels of `N` samples normalized; their means, and 1 / deviations, (N, group)."""
    _check_groups(input, weight, bias, N, C, HxW, group)
    width = C // group * HxW
    normal, mean, rstd = native_layer_norm(input.reshape(N * group, width), [width], None, None, eps)
    out = normal.reshape(N, C, HxW)
    if weight is not None:
        out = out * weight[:, None]
    if bias is not None:
        out = out + bias[:, None]
    return out.reshape(input.shape), mean.reshape(N, group), rstd.reshape(N, group)


def native_group_norm_shape(
    input: Array, weight: Array | None, bias: Array | None, N: int, C: int, HxW: int, group: int, eps: float
) -> tuple[Array, Array, Array]:
    """The results of `native_group_norm` without data, for the same arguments."""
    _check_groups(input, weight, bias, N, C, HxW, group)
    dtype = np.result_type(*(array.dtype for array in (input, weight, bias) if array is not None))
    return shaped(input.shape, dtype), shaped((N, group), input.dtype), shaped((N, group), input.dtype)


def native_layer_norm_backward(
    grad_out: Array,
    input: Array,
    normalized_shape: Sequence[int],
    mean: Array,
    rstd: Array,
    weight: Array | None,
    bias: Array | None,
    output_mask: Sequence[bool],
) -> tuple[Array | None, Array | None, Array | None]:
    """The gradients of input, weight and bias; None for those that `output_mask` leaves out.

    Mean and deviation count as what they are: functions of the input.
    """
    _check_normalized(input.shape, normalized_shape, weight, None)
    width = math.prod(normalized_shape)
    dtype, shape = input.dtype, tuple(normalized_shape)
    of_input = of_weight = of_bias = None
    if input.size == 0:
        shapes = (input.shape, shape, shape)
        of_input, of_weight, of_bias = (
            np.zeros(size, dtype) if wanted else None for size, wanted in zip(shapes, output_mask, strict=True)
        )
        return of_input, of_weight, of_bias
    gradient = np.ascontiguousarray(grad_out).reshape(-1, width)
    scale = rstd.reshape(-1, 1)
    centred = input.reshape(gradient.shape) - mean.reshape(-1, 1)
    product = gradient * centred
    if output_mask[2]:
        of_bias = (np.ones(len(gradient), gradient.dtype) @ gradient).reshape(shape).astype(dtype, copy=False)
    if output_mask[1]:
        of_weight = (scale[:, 0] @ product).reshape(shape).astype(dtype, copy=False)
    if output_mask[0]:
        factors = np.ones(width, gradient.dtype) if weight is None else weight.reshape(width)
        along = (product @ factors)[:, None] * (scale * scale) / gradient.dtype.type(width)
        level = (gradient @ factors)[:, None] / gradient.dtype.type(width)
        out = gradient - level if weight is None else np.multiply(gradient, factors, out=product)
        if weight is not None:
            out -= level
        centred *= along
        out -= centred
        out *= scale
        of_input = out.reshape(input.shape).astype(dtype, copy=False)
    return of_input, of_weight, of_bias


# -- dropout


# -- gated linear units


def glu(self: Array, dim: int = -1) -> Array:
    """The first half along `dim`, times the sigmoid of the second."""
    from scipy import special

    first, second = _halves(self, dim)
    return np.asarray(first * special.expit(second))


def _halves(self: Array, dim: int) -> tuple[Array, Array]:
    if self.ndim == 0:
        raise RuntimeError("glu does not support 0-dimensional tensors")
    place = normalize_dim(dim, self.ndim)
    size = self.shape[place]
    if size % 2:
        raise RuntimeError(f"Halving dimension must be even, but dimension {place} is size {size}")
    before = (slice(None),) * place
    return self[(*before, slice(0, size // 2))], self[(*before, slice(size // 2, size))]


# -- rows of a table


def embedding(
    weight: Array, indices: Array, padding_idx: int = -1, scale_grad_by_freq: bool = False, sparse: bool = False
) -> Array:
    """The rows of `weight` that `indices` name.  The flags only speak of the gradient."""
    if weight.ndim != 2:
        raise RuntimeError("'weight' must be 2-D")
    _check_table_index(indices)
    check_range(indices, weight.shape[0], "index out of range in self", IndexError)
    return weight.take(indices, axis=0)


def _check_table_index(indices: Array) -> None:
    check_integer(
        indices,
        "Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; but got "
        f"{type_name(indices.dtype)}Tensor instead (while checking arguments for embedding)",
    )


def embedding_dense_backward(
    grad_output: Array, indices: Array, num_weights: int, padding_idx: int, scale_grad_by_freq: bool
) -> Array:
    """The gradient of the table: the rows of `grad_output` added up by their index; none arrives at `padding_idx`."""
    _check_table_index(indices)
    flat = indices.reshape(-1)
    if grad_output.ndim == 0:
        raise IndexError("Dimension specified as -1 but tensor has no dimensions")
    if grad_output.shape[:-1] != indices.shape:
        raise RuntimeError(
            f"embedding_dense_backward: expected a gradient of shape {[*indices.shape, '*']}, but got "
            f"{list(grad_output.shape)}"
        )
    width = grad_output.shape[-1]
    rows = grad_output.reshape(flat.size, width)
    if padding_idx >= 0:
        kept = flat != padding_idx
        if not kept.all():
            flat, rows = flat[kept], rows[kept]
    if scale_grad_by_freq:
        rows = rows / np.bincount(flat, minlength=num_weights)[flat][:, None].astype(rows.dtype)
    out = np.zeros((num_weights, width), grad_output.dtype)
    if rows.size:
        accumulate_at(out, flat[:, None] * np.int64(width) + np.arange(width), rows)
    return out
