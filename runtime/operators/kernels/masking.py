"""Elements picked and written by masks."""

from __future__ import annotations

import numpy as np

from runtime.base.arrays import Array, Number, element, type_name
from runtime.operators.kernels._indices import contiguous_copy, held_as


def _check_mask(name: str, mask: Array) -> None:
    if mask.dtype.kind != "b":
        raise RuntimeError(f"{name} only supports boolean masks, but got mask with dtype {mask.dtype.name}")


def masked_fill(self: Array, mask: Array, value: Number) -> Array:
    """A copy with a number wherever the mask holds."""
    _check_mask("masked_fill_", mask)
    return np.where(mask, np.asarray(element(value, self.dtype)), self)


def masked_fill_tensor(self: Array, mask: Array, value: Array) -> Array:
    _check_mask("masked_fill_", mask)
    if value.ndim:
        raise RuntimeError(
            f"masked_fill_ only supports a 0-dimensional value tensor, but got tensor with {value.ndim} dimension(s)."
        )
    return np.where(mask, held_as(value, self.dtype), self)


def masked_select(self: Array, mask: Array) -> Array:
    """The elements under the mask, in order, as a vector."""
    if mask.dtype.kind != "b":
        raise RuntimeError("masked_select: expected BoolTensor for mask")
    array, mask = np.broadcast_arrays(self, mask)
    selected: Array = array[mask]
    return selected


def masked_scatter(self: Array, mask: Array, source: Array) -> Array:
    """`self` with its elements under the mask replaced by the first ones of `source`."""
    if source.dtype != self.dtype:
        raise RuntimeError(
            f"masked_scatter: expected self and source to have same dtypes but got {type_name(self.dtype)} and "
            f"{type_name(source.dtype)}"
        )
    target, mask = np.broadcast_arrays(self, mask)
    if mask.dtype.kind != "b":
        raise RuntimeError(
            f"masked_scatter_ only supports boolean masks, but got mask with dtype {type_name(mask.dtype)}"
        )
    count = int(np.count_nonzero(mask))
    if source.size < count:
        raise RuntimeError("Number of elements of source < number of ones in mask")
    out = contiguous_copy(target)
    out[mask] = source.reshape(-1)[:count]
    return out


def nonzero(self: Array) -> Array:
    """The indices of elements that are not 0, a row for each."""
    return np.argwhere(self).astype(np.int64, copy=False)


def nonzero_static(self: Array, size: int, fill_value: int = -1) -> Array:
    """The first `size` rows of `nonzero`, with rows of `fill_value` after them where there are fewer."""
    if size < 0:
        raise RuntimeError("nonzero_static: 'size' must be an non-negative integer")
    found = np.argwhere(self)[:size]
    result = np.full((size, self.ndim), fill_value, np.int64)
    result[: len(found)] = found
    return result
