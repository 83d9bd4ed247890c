"""Parts by index, and sums into places, as far as the standard has indices: along one dimension."""

from __future__ import annotations

import math
from collections.abc import Sequence

from runtime.operators.array_api._common import Array, Namespace, Number, index_along, number, one_dim, unsupported


def index_select(xp: Namespace, self: Array, dim: int, index: Array) -> Array:
    if not self.ndim:
        one_dim(dim, 0)
        return self
    if index.ndim > 1:
        raise IndexError("index_select(): Index is supposed to be a vector")
    index = index if index.ndim else xp.reshape(index, (1,))
    return xp.take(self, index, axis=one_dim(dim, self.ndim))


def gather(xp: Namespace, self: Array, dim: int, index: Array, sparse_grad: bool = False) -> Array:
    place = one_dim(dim, self.ndim)
    if not self.ndim:
        return self if not index.ndim else xp.broadcast_to(self, index.shape)
    for other, (size, have) in enumerate(zip(index.shape, self.shape, strict=True)):
        if other != place:
            self = self[index_along(self.ndim, other, slice(0, min(size, have)))]
    return xp.take_along_axis(self, index, axis=place)


def masked_fill_Scalar(xp: Namespace, self: Array, mask: Array, value: Number) -> Array:
    return xp.where(mask, number(xp, value, self), self)


def masked_fill_Tensor(xp: Namespace, self: Array, mask: Array, value: Array) -> Array:
    if value.ndim:
        raise RuntimeError(
            f"masked_fill_ only supports a 0-dimensional value tensor, but got tensor with {value.ndim} dimension(s)."
        )
    return xp.where(mask, xp.astype(value, self.dtype), self)


def embedding(
    xp: Namespace,
    weight: Array,
    indices: Array,
    padding_idx: int = -1,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Array:
    rows = xp.take(weight, xp.reshape(indices, (-1,)), axis=0)
    return xp.reshape(rows, (*indices.shape, *weight.shape[1:]))


def embedding_dense_backward(
    xp: Namespace, grad_output: Array, indices: Array, num_weights: int, padding_idx: int, scale_grad_by_freq: bool
) -> Array:
    flat = xp.reshape(indices, (-1,))
    rows = xp.reshape(grad_output, (flat.shape[0], grad_output.shape[-1]))
    places = _places(xp, flat, num_weights, grad_output)
    if padding_idx >= 0:
        places = places * xp.astype(xp.expand_dims(flat != padding_idx, axis=0), places.dtype)
    if scale_grad_by_freq:
        often = xp.sum(places, axis=1, keepdims=True)
        places = places / xp.where(often == 0, number(xp, 1, often), often)
    return xp.matmul(places, rows)


def index_add(xp: Namespace, self: Array, dim: int, index: Array, source: Array, alpha: Number = 1) -> Array:
    if not self.ndim:
        one_dim(dim, 0)
        total = xp.sum(source, dtype=self.dtype)
        return self + (total if alpha == 1 else total * alpha)
    place = one_dim(dim, self.ndim)
    index = index if index.ndim else xp.reshape(index, (1,))
    front = xp.moveaxis(source, place, 0)
    rest = front.shape[1:]
    rows = xp.reshape(front, (index.shape[0], math.prod(rest)))
    total = xp.matmul(_places(xp, index, self.shape[place], self), rows)
    total = xp.moveaxis(xp.reshape(total, (self.shape[place], *rest)), 0, place)
    return self + (total if alpha == 1 else total * alpha)


def scatter_add(xp: Namespace, self: Array, dim: int, index: Array, src: Array) -> Array:
    """One step for each entry of `index` along the dimension: the standard can not add to places."""
    place = one_dim(dim, self.ndim)
    if not self.ndim:
        return self + xp.sum(src)
    for axis, (size, have) in enumerate(zip(index.shape, self.shape, strict=True)):
        src = src[index_along(src.ndim, axis, slice(0, size))]
        if axis != place and size < have:  # beyond the index nothing is added
            gap = (*index.shape[:axis], have - size, *index.shape[axis + 1 :])
            index = xp.concat([index, xp.zeros(gap, dtype=index.dtype)], axis=axis)
            src = xp.concat([src, xp.zeros(gap, dtype=src.dtype)], axis=axis)
    shape = tuple(self.shape[place] if axis == place else 1 for axis in range(self.ndim))
    numbers = xp.reshape(xp.arange(self.shape[place], dtype=index.dtype), shape)
    for step in range(index.shape[place]):
        one = index_along(self.ndim, place, slice(step, step + 1))
        self = self + xp.where(numbers == index[one], src[one], number(xp, 0, src))
    return self


def index_Tensor(xp: Namespace, self: Array, indices: Sequence[Array | None]) -> Array:
    place, index = _only_index(xp, self, indices)
    taken = xp.take(self, xp.reshape(_from_front(xp, index, self.shape[place]), (-1,)), axis=place)
    return xp.reshape(taken, (*self.shape[:place], *index.shape, *self.shape[place + 1 :]))


def index_put(
    xp: Namespace, self: Array, indices: Sequence[Array | None], values: Array, accumulate: bool = False
) -> Array:
    place, index = _only_index(xp, self, indices)
    if not accumulate:
        raise unsupported("write to places: index_put adds to them only")
    wanted = (*self.shape[:place], *index.shape, *self.shape[place + 1 :])
    flat = xp.reshape(_from_front(xp, index, self.shape[place]), (-1,))
    source = xp.reshape(xp.broadcast_to(values, wanted), (*self.shape[:place], flat.shape[0], *self.shape[place + 1 :]))
    return index_add(xp, self, place, flat, source)


# -- what several of these need


def _places(xp: Namespace, index: Array, length: int, like: Array) -> Array:
    """A matrix with a one where the row is what the index of the column says."""
    numbers = xp.expand_dims(xp.arange(length, dtype=index.dtype), axis=1)
    return xp.astype(numbers == xp.expand_dims(index, axis=0), like.dtype)


def _only_index(xp: Namespace, self: Array, indices: Sequence[Array | None]) -> tuple[int, Array]:
    """The dimension that is indexed, and the index."""
    given = [(place, index) for place, index in enumerate(indices) if index is not None]
    if len(given) != 1 or not xp.isdtype(given[0][1].dtype, "integral"):
        raise unsupported("index of several arrays, or of a mask")
    return given[0]


def _from_front(xp: Namespace, index: Array, length: int) -> Array:
    return xp.where(index < 0, index + length, index)
