"""Parts by index, sums into places, and elements written to places: the standard itself writes to none."""

from __future__ import annotations

import math
from collections.abc import Sequence

from runtime.operators.array_api._common import Array, Namespace, Number, index_along, number, one_dim, written


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
    places = _places_of(xp, self, indices)
    taken = xp.take(xp.reshape(self, (-1,)), xp.reshape(places, (-1,)), axis=0)
    return xp.reshape(taken, places.shape)


def index_put(
    xp: Namespace, self: Array, indices: Sequence[Array | None], values: Array, accumulate: bool = False
) -> Array:
    places = _places_of(xp, self, indices)
    new = xp.reshape(xp.broadcast_to(values, places.shape), (-1,))
    flat, where = xp.reshape(self, (-1,)), xp.reshape(places, (-1,))
    out = index_add(xp, flat, 0, where, new) if accumulate else written(xp, flat, where, new)
    return xp.reshape(out, self.shape)


# -- what several of these need


def _places(xp: Namespace, index: Array, length: int, like: Array) -> Array:
    """A matrix with a one where the row is what the index of the column says."""
    numbers = xp.expand_dims(xp.arange(length, dtype=index.dtype), axis=1)
    return xp.astype(numbers == xp.expand_dims(index, axis=0), like.dtype)


def _places_of(xp: Namespace, self: Array, indices: Sequence[Array | None]) -> Array:
    """The place of each element that is asked for, counted as if the array were flat, in the shape of the result."""
    by_dim: list[Array | None] = []
    for index in indices:
        if index is not None and xp.isdtype(index.dtype, "bool"):  # a mask stands for as many dimensions as it has
            by_dim += xp.nonzero(index) if index.ndim else [None]
        else:
            by_dim.append(index)
    by_dim += [None] * (self.ndim - len(by_dim))
    dims = [dim for dim, index in enumerate(by_dim) if index is not None]
    strides = [math.prod(self.shape[dim + 1 :]) for dim in range(self.ndim)]
    joint = None
    for dim in dims:
        step = xp.astype(_from_front(xp, by_dim[dim], self.shape[dim]), xp.int64) * strides[dim]
        joint = step if joint is None else joint + step
    if joint is None:
        return xp.reshape(xp.arange(math.prod(self.shape), dtype=xp.int64), self.shape)
    # Where the indexed dimensions are neighbours the result has those of the indices in their place, else in front.
    together = dims == list(range(dims[0], dims[-1] + 1))
    front = list(range(dims[0])) if together else []
    rest = [dim for dim in range(self.ndim) if dim not in dims and dim not in front]
    ndim = len(front) + joint.ndim + len(rest)
    places = xp.reshape(joint, (*[1] * len(front), *joint.shape, *[1] * len(rest)))
    for axis, dim in [*enumerate(front), *enumerate(rest, len(front) + joint.ndim)]:
        shape = tuple(self.shape[dim] if each == axis else 1 for each in range(ndim))
        places = places + xp.reshape(xp.arange(self.shape[dim], dtype=xp.int64) * strides[dim], shape)
    return places


def _from_front(xp: Namespace, index: Array, length: int) -> Array:
    return xp.where(index < 0, index + length, index)
