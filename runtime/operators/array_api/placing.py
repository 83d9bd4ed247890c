"""Elements written to places, and parts of arrays that lie across them; the standard itself writes to none."""

from __future__ import annotations

import math
from collections.abc import Sequence

from runtime.operators.array_api._common import Array, Namespace, Number, index_along, number, one_dim, written
from runtime.operators.array_api.indexing import index_add

# -- diagonals


def diagonal(xp: Namespace, self: Array, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Array:
    last = _with_last(xp, self, dim1, dim2)
    rows, columns = last.shape[-2:]
    count = _length_of_diagonal(rows, columns, offset)
    first = max(-offset, 0) * columns + max(offset, 0)
    places = xp.arange(count, dtype=xp.int64) * (columns + 1) + first
    return xp.take(xp.reshape(last, (*last.shape[:-2], rows * columns)), places, axis=-1)


def trace(xp: Namespace, self: Array) -> Array:
    if self.ndim != 2:
        raise RuntimeError(f"trace: expected a matrix, but got tensor with dim {self.ndim}")
    return xp.sum(diagonal(xp, self))


def diagonal_backward(
    xp: Namespace, grad_output: Array, input_sizes: Sequence[int], offset: int, dim1: int, dim2: int
) -> Array:
    return diagonal_scatter(xp, xp.zeros(tuple(input_sizes), dtype=grad_output.dtype), grad_output, offset, dim1, dim2)


def diagonal_scatter(xp: Namespace, self: Array, src: Array, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Array:
    last = _with_last(xp, self, dim1, dim2)
    rows, columns = last.shape[-2:]
    count = _length_of_diagonal(rows, columns, offset)
    if not count:
        return self
    down = xp.arange(rows, dtype=xp.int64)
    across = xp.arange(columns, dtype=xp.int64)
    is_on = xp.expand_dims(across, axis=0) - xp.expand_dims(down, axis=1) == offset
    nearest = xp.clip(down - max(-offset, 0), 0, count - 1)
    values = xp.expand_dims(xp.take(src, nearest, axis=-1), axis=-1)
    written = xp.where(is_on, values, last)
    first, second = one_dim(dim1, self.ndim), one_dim(dim2, self.ndim)
    return xp.moveaxis(written, (-2, -1), (first, second))


def diag_embed(xp: Namespace, self: Array, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Array:
    side = self.shape[-1] + abs(offset)
    matrices = xp.zeros((*self.shape[:-1], side, side), dtype=self.dtype)
    embedded = diagonal_scatter(xp, matrices, self, offset, -2, -1)
    ndim = self.ndim + 1
    return xp.moveaxis(embedded, (-2, -1), (one_dim(dim1, ndim), one_dim(dim2, ndim)))


def _with_last(xp: Namespace, self: Array, dim1: int, dim2: int) -> Array:
    """The array with two dimensions as the last ones."""
    first, second = one_dim(dim1, self.ndim), one_dim(dim2, self.ndim)
    if first == second:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    return xp.moveaxis(self, (first, second), (-2, -1))


def _length_of_diagonal(rows: int, columns: int, offset: int) -> int:
    return max(min(rows - max(-offset, 0), columns - max(offset, 0)), 0)


# -- slices


def select_scatter(xp: Namespace, self: Array, src: Array, dim: int, index: int) -> Array:
    place = one_dim(dim, self.ndim)
    here = _along(xp, self, place) == index % self.shape[place]
    return xp.where(here, xp.expand_dims(src, axis=place), self)


def slice_scatter(
    xp: Namespace,
    self: Array,
    src: Array,
    dim: int = 0,
    start: int | None = None,
    end: int | None = None,
    step: int = 1,
) -> Array:
    place = one_dim(dim, self.ndim)
    first, last, step = slice(start, end, step).indices(self.shape[place])
    count = src.shape[place]
    if not count:
        return self
    along = _along(xp, self, place)
    here = (along >= first) & (along < last) & ((along - first) % step == 0)
    nearest = xp.clip((xp.reshape(along, (-1,)) - first) // step, 0, count - 1)
    return xp.where(here, xp.take(src, nearest, axis=place), self)


def unfold(xp: Namespace, self: Array, dimension: int, size: int, step: int) -> Array:
    if not self.ndim:
        one_dim(dimension, 0)
        return xp.reshape(self, (1,)) if size else xp.zeros((0,), dtype=self.dtype)
    place = one_dim(dimension, self.ndim)
    places = _windows(xp, self.shape[place], size, step)
    taken = xp.take(self, xp.reshape(places, (-1,)), axis=place)
    shape = (*self.shape[:place], *places.shape, *self.shape[place + 1 :])
    return xp.moveaxis(xp.reshape(taken, shape), place + 1, -1)


def unfold_backward(xp: Namespace, grad_in: Array, input_sizes: Sequence[int], dim: int, size: int, step: int) -> Array:
    if not input_sizes:
        return xp.sum(grad_in)
    place = one_dim(dim, len(input_sizes))
    places = xp.reshape(_windows(xp, input_sizes[place], size, step), (-1,))
    shape = (*input_sizes[:place], places.shape[0], *input_sizes[place + 1 :])
    parts = xp.reshape(xp.moveaxis(grad_in, -1, place + 1), shape)
    return index_add(xp, xp.zeros(tuple(input_sizes), dtype=grad_in.dtype), place, places, parts)


def _windows(xp: Namespace, length: int, size: int, step: int) -> Array:
    """The places of the elements of each window."""
    starts = xp.arange((length - size) // step + 1, dtype=xp.int64) * step
    return xp.expand_dims(starts, axis=1) + xp.expand_dims(xp.arange(size, dtype=xp.int64), axis=0)


def _along(xp: Namespace, self: Array, dim: int) -> Array:
    """The place of each element along a dimension, in a shape that broadcasts."""
    shape = tuple(self.shape[dim] if axis == dim else 1 for axis in range(self.ndim))
    return xp.reshape(xp.arange(self.shape[dim], dtype=xp.int64), shape)


# -- places by index


def scatter_src(xp: Namespace, self: Array, dim: int, index: Array, src: Array) -> Array:
    """One step for each entry of `index` along the dimension; of two for one place the last counts."""
    if not self.ndim:
        return xp.reshape(src, ()) if math.prod(index.shape) else self
    place = one_dim(dim, self.ndim)
    for axis, (size, have) in enumerate(zip(index.shape, self.shape, strict=True)):
        src = src[index_along(src.ndim, axis, slice(0, size))]
        if axis != place and size < have:  # beyond the index nothing is written
            shape = (*index.shape[:axis], have - size, *index.shape[axis + 1 :])
            index = xp.concat([index, xp.full(shape, -1, dtype=index.dtype)], axis=axis)
            src = xp.concat([src, xp.zeros(shape, dtype=src.dtype)], axis=axis)
    along = xp.astype(_along(xp, self, place), index.dtype)
    for step in range(index.shape[place]):
        one = index_along(self.ndim, place, slice(step, step + 1))
        self = xp.where(along == index[one], src[one], self)
    return self


def scatter_value(xp: Namespace, self: Array, dim: int, index: Array, value: Number) -> Array:
    return scatter_src(xp, self, dim, index, xp.full(index.shape, value, dtype=self.dtype))


def index_fill_int_Scalar(xp: Namespace, self: Array, dim: int, index: Array, value: Number) -> Array:
    if not self.ndim:
        return number(xp, value, self) if math.prod(index.shape) else self
    place = one_dim(dim, self.ndim)
    flat = xp.reshape(xp.where(index < 0, index + self.shape[place], index), (-1,))
    numbers = xp.expand_dims(xp.arange(self.shape[place], dtype=index.dtype), axis=1)
    here = xp.any(numbers == xp.expand_dims(flat, axis=0), axis=1)
    shape = tuple(self.shape[place] if axis == place else 1 for axis in range(self.ndim))
    return xp.where(xp.reshape(here, shape), number(xp, value, self), self)


def index_copy(xp: Namespace, self: Array, dim: int, index: Array, source: Array) -> Array:
    if not self.ndim:
        return xp.reshape(source, ())
    place = one_dim(dim, self.ndim)
    rows = xp.moveaxis(self, place, 0)
    new = xp.moveaxis(source, place, 0) if source.ndim else xp.reshape(source, (1,))
    return xp.moveaxis(written(xp, rows, xp.reshape(index, (-1,)), new), 0, place)


def take(xp: Namespace, self: Array, index: Array) -> Array:
    flat = xp.reshape(self, (-1,))
    places = xp.reshape(xp.where(index < 0, index + flat.shape[0], index), (-1,))
    return xp.reshape(xp.take(flat, places, axis=0), index.shape)


def put(xp: Namespace, self: Array, index: Array, source: Array, accumulate: bool = False) -> Array:
    flat = xp.reshape(self, (-1,))
    places = xp.reshape(xp.where(index < 0, index + flat.shape[0], index), (-1,))
    values = xp.reshape(source, (-1,))
    out = index_add(xp, flat, 0, places, values) if accumulate else written(xp, flat, places, values)
    return xp.reshape(out, self.shape)


def masked_select(xp: Namespace, self: Array, mask: Array) -> Array:
    array, mask = xp.broadcast_arrays(self, mask)
    return array[mask]


def masked_scatter(xp: Namespace, self: Array, mask: Array, source: Array) -> Array:
    target, mask = xp.broadcast_arrays(self, mask)
    (places,) = xp.nonzero(xp.reshape(mask, (-1,)))
    if source.dtype != self.dtype:
        raise RuntimeError("masked_scatter: expected self and source to have same dtypes")
    if math.prod(source.shape) < places.shape[0]:
        raise RuntimeError("Number of elements of source < number of ones in mask")
    values = xp.reshape(source, (-1,))[: places.shape[0]]
    return xp.reshape(written(xp, xp.reshape(target, (-1,)), places, values), target.shape)
