"""Sums into places and elements written to places: on the GPU each is one step.

The kernels over the array API standard go by matrices of zeros and ones, or place by place, because the standard can
not write. Where several elements are for one place, sums are rounded in any order, and of what is written any counts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import cupy
import cupyx

from gradwright_cupy.arrays import Array

Number = bool | int | float | complex

# What CUDA adds atomically, and what others are added as.
_ATOMIC = frozenset(("int32", "uint32", "uint64", "float16", "float32", "float64", "complex64", "complex128"))


def _add_at(self: Array, where: Any, values: Array) -> Array:
    """A copy of an array with values added at places."""
    if self.dtype.name in _ATOMIC:
        out = self.copy()
        cupyx.scatter_add(out, where, values.astype(self.dtype, copy=False))
        return out
    # Two's complement adds up alike, signed or not.
    wide = self.astype(cupy.int64).view(cupy.uint64)
    return _add_at(wide, where, values.astype(cupy.int64).view(cupy.uint64)).view(cupy.int64).astype(self.dtype)


def _along(self: Array, dim: int, index: Array) -> tuple[Array, ...]:
    """The places of `index` along a dimension, with its own places along the others."""
    ndim = index.ndim
    own = [
        cupy.reshape(cupy.arange(size), tuple(-1 if axis == each else 1 for each in range(ndim)))
        for axis, size in enumerate(index.shape)
    ]
    own[dim] = index
    return tuple(own)


def _first(src: Array, shape: Sequence[int]) -> Array:
    """As much of an array as there are indices."""
    return src[tuple(slice(0, size) for size in shape)]


def _axis(self: Array, dim: int) -> int:
    limit = self.ndim or 1
    if not -limit <= dim < limit:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-limit}, {limit - 1}], but got {dim})")
    return dim % limit


def scatter_add(self: Array, dim: int, index: Array, src: Array) -> Array:
    axis = _axis(self, dim)
    if not self.ndim:
        return self + cupy.sum(src, dtype=self.dtype)
    return _add_at(self, _along(self, axis, index), _first(src, index.shape))


def scatter_src(self: Array, dim: int, index: Array, src: Array) -> Array:
    axis = _axis(self, dim)
    if not self.ndim:
        return cupy.reshape(src, ()) if index.size else self
    out = self.copy()
    out[_along(self, axis, index)] = _first(src, index.shape)
    return out


def scatter_value(self: Array, dim: int, index: Array, value: Number) -> Array:
    return scatter_src(self, dim, index, cupy.full(index.shape, value, dtype=self.dtype))


def index_add(self: Array, dim: int, index: Array, source: Array, alpha: Number = 1) -> Array:
    axis = _axis(self, dim)
    scaled = source if alpha == 1 else source * alpha
    if not self.ndim:
        return self + cupy.sum(scaled, dtype=self.dtype)
    where = (slice(None),) * axis + (cupy.reshape(index, (-1,)),)
    return _add_at(self, where, scaled if source.ndim else cupy.reshape(scaled, (1,)))


def index_put(self: Array, indices: Sequence[Array | None], values: Array, accumulate: bool = False) -> Array:
    where = _indices(self, indices)
    if accumulate:
        return _add_at(self, where, values)
    out = self.copy()
    out[where] = values
    return out


def index_Tensor(self: Array, indices: Sequence[Array | None]) -> Array:
    return self[_indices(self, indices)]


def _indices(self: Array, indices: Sequence[Array | None]) -> tuple[Any, ...]:
    """An index of CuPy's; a mask stands for the places where it holds, as many dimensions as it has."""
    found: list[Any] = []
    for index in indices:
        if index is None or (index.dtype.kind == "b" and not index.ndim):
            found.append(slice(None))
        elif index.dtype.kind == "b":
            found += cupy.nonzero(index)
        else:
            found.append(index)
    return tuple(found)


def embedding_dense_backward(
    grad_output: Array, indices: Array, num_weights: int, padding_idx: int, scale_grad_by_freq: bool
) -> Array:
    flat = cupy.reshape(indices, (-1,))
    rows = cupy.reshape(grad_output, (flat.shape[0], grad_output.shape[-1]))
    if padding_idx >= 0:
        rows = rows * cupy.expand_dims(flat != padding_idx, -1).astype(rows.dtype)
    if scale_grad_by_freq:
        rows = rows / cupy.expand_dims(cupy.bincount(flat, minlength=num_weights)[flat], -1).astype(rows.dtype)
    return _add_at(cupy.zeros((num_weights, rows.shape[-1]), dtype=rows.dtype), flat, rows)


# -- the places of maxima


def _unpooled(grad_output: Array, self: Array, indices: Array, dims: int) -> Array:
    """The gradient at the places where the maxima were, counted as if each picture were flat."""
    outer, plane = math.prod(self.shape[:-dims]), math.prod(self.shape[-dims:])
    count = math.prod(indices.shape[-dims:])
    where = cupy.reshape(indices, (outer, count)) + cupy.expand_dims(cupy.arange(outer), -1) * plane
    blank = cupy.zeros((outer * plane,), dtype=grad_output.dtype)
    return cupy.reshape(_add_at(blank, where, cupy.reshape(grad_output, (outer, count))), self.shape)


def max_pool2d_with_indices_backward(
    grad_output: Array,
    self: Array,
    kernel_size: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    ceil_mode: bool,
    indices: Array,
) -> Array:
    return _unpooled(grad_output, self, indices, 2)


def max_pool3d_with_indices_backward(
    grad_output: Array,
    self: Array,
    kernel_size: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    ceil_mode: bool,
    indices: Array,
) -> Array:
    return _unpooled(grad_output, self, indices, 3)
