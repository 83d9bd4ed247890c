"""Sums, means and maxima over bags of rows of a table."""

from __future__ import annotations

import numpy as np

from runtime.base.arrays import Array, type_name

_SUM, _MEAN, _MAX = 0, 1, 2


def _check(weight: Array, indices: Array, offsets: Array, mode: int, per_sample_weights: Array | None) -> None:
    for name, array, ndim in (("weight", weight, 2), ("indices", indices, 1), ("offsets", offsets, 1)):
        if array.ndim != ndim:
            raise RuntimeError(f"{name} has to be a {ndim}D Tensor, but got Tensor of dimension {array.ndim}")
    for name, array in (("indices", indices), ("offsets", offsets)):
        if array.dtype not in (np.int64, np.int32):
            raise RuntimeError(
                f"Expected tensor for argument #1 '{name}' to have one of the following scalar types: Long, Int; but "
                f"got {type_name(array.dtype)} instead (while checking arguments for embedding_bag)"
            )
    if mode not in (_SUM, _MEAN, _MAX):
        raise RuntimeError("`mode` must be sum, mean, or max.")
    if per_sample_weights is not None:
        if mode != _SUM:
            raise RuntimeError("embedding_bag: per_sample_weights only supported with mode='sum'")
        if per_sample_weights.dtype != weight.dtype:
            raise RuntimeError(
                f"Expected tensor for argument #1 'weight' to have the same type as tensor for argument #1 "
                f"'per_sample_weights'; but type {type_name(weight.dtype)} does not equal "
                f"{type_name(per_sample_weights.dtype)} (while checking arguments for embedding_bag)"
            )
        if per_sample_weights.shape != indices.shape:
            raise RuntimeError(
                "Expected per_sample_weights.value().numel() == indices.numel() to be true, but got false."
            )
    if offsets.size and offsets[0] != 0:
        raise RuntimeError(
            "offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from position 0. "
            f"However, got {offsets[0]}"
        )
    if offsets.size and offsets[-1] > indices.size:
        raise RuntimeError(
            f"offsets[-1] can not be greater than input's length {indices.size} but got offsets[-1] of {offsets[-1]}"
        )
    if np.any(offsets[1:] < offsets[:-1]):
        raise RuntimeError("offsets have to be in order")
    if indices.size and not (np.min(indices) >= 0 and np.max(indices) < len(weight)):
        raise RuntimeError(f"indices have to be in the range [0, {len(weight)})")


def embedding_bag_of_rows(
    weight: Array,
    indices: Array,
    offsets: Array,
    scale_grad_by_freq: bool = False,
    mode: int = 0,
    sparse: bool = False,
    per_sample_weights: Array | None = None,
    include_last_offset: bool = False,
    padding_idx: int = -1,
) -> tuple[Array, Array, Array, Array]:
    """For each bag, which begins at its offset, the sum, mean or maximum of the rows that its indices name.

    Indices that are `padding_idx` do not count; a bag of none is 0.

    Returns:
        These; the bag of each index; the number of rows of each bag that count (zeros for sums); and the row of each
        maximum, else these numbers again.
    """
    _check(weight, indices, offsets, mode, per_sample_weights)
    if include_last_offset:
        if offsets.size == 0:
            raise RuntimeError("include_last_offset: number of offsets should be at least 1")
        offsets = offsets[:-1]
    if indices.size and not offsets.size:
        raise RuntimeError(f"embedding_bag: there are {indices.size} indices, but no bag that they are in")
    bags, kind = len(offsets), np.promote_types(indices.dtype, offsets.dtype)
    lengths = np.diff(np.append(offsets, indices.size))
    bag_of = np.repeat(np.arange(bags), lengths)
    counted = indices != padding_idx
    sizes = np.bincount(bag_of[counted], minlength=bags).astype(kind)
    filled = np.flatnonzero(lengths)
    if mode != _MAX:
        out = _totals(weight, indices, offsets, counted, bag_of, filled, per_sample_weights)
        if mode == _MEAN:
            out /= np.maximum(sizes, 1)[:, None].astype(weight.dtype)
        else:
            sizes = np.zeros(bags, kind)
        return out, bag_of.astype(kind), sizes, sizes.copy()
    out, largest = _maxima(weight[indices], indices, offsets, counted, bag_of, filled, sizes)
    return out, bag_of.astype(kind), sizes, largest.astype(kind)


# From so many elements on, the construction of a sparse matrix pays.
_MANY = 1 << 14


def _totals(
    weight: Array,
    indices: Array,
    offsets: Array,
    counted: Array,
    bag_of: Array,
    filled: Array,
    per_sample_weights: Array | None,
) -> Array:
    """The weighted sum of the rows of each bag: large ones as the product of the table with a sparse matrix."""
    bags, columns = len(offsets), weight.shape[1]
    if weight.dtype.char in "fd" and indices.size * columns >= _MANY:
        from scipy import sparse

        factors = np.ones(indices.shape, weight.dtype) if per_sample_weights is None else per_sample_weights
        ends = np.append(0, np.cumsum(np.bincount(bag_of[counted], minlength=bags)))
        chosen = sparse.csr_array((factors[counted], indices[counted], ends), (bags, len(weight)))
        return np.asarray(chosen @ weight)
    rows = weight[indices]
    if per_sample_weights is not None:
        rows *= per_sample_weights[:, None]
    if not counted.all():
        rows[~counted] = 0
    out = np.zeros((bags, columns), weight.dtype)
    if len(filled):
        out[filled] = np.add.reduceat(rows, offsets[filled], axis=0)
    return out


def _maxima(
    rows: Array, indices: Array, offsets: Array, counted: Array, bag_of: Array, filled: Array, sizes: Array
) -> tuple[Array, Array]:
    """The largest element in each column of each bag, and the first index that has it."""
    shape = len(offsets), rows.shape[1]
    out, largest = np.zeros(shape, rows.dtype), np.zeros(shape, np.int64)
    if len(filled):
        rows = np.where(counted[:, None], rows, -np.inf)
        out[filled] = np.maximum.reduceat(rows, offsets[filled], axis=0)
        found = (rows == out[bag_of]) & counted[:, None]
        places = np.where(found, np.arange(len(rows))[:, None], len(rows) - 1)
        largest[filled] = indices[np.minimum.reduceat(places, offsets[filled], axis=0)]
    empty = sizes == 0
    out[empty] = 0
    largest[empty] = 0
    return out, largest
