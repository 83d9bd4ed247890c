"""Elements picked, written, added up and counted by index tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from runtime.base.arrays import Array, type_name
from runtime.operators.kernels import writing
from runtime.operators.kernels._indices import accumulate_at, check_integer, check_range, contiguous_copy

Indices = Sequence[Array | None]


# -- one index for each of several dimensions


def _key(self: Array, indices: Indices) -> tuple[Any, ...]:
    """`indices` as NumPy takes them, checked: a mask becomes one index for each of its dimensions."""
    key: list[Any] = []
    for place, index in enumerate(indices):
        if index is None:
            key.append(slice(None))
        elif index.dtype.kind == "b" or index.dtype == np.uint8:
            start = len(key)
            if start + index.ndim > self.ndim:
                raise IndexError(f"too many indices for tensor of dimension {self.ndim}")
            if self.shape[start : start + index.ndim] != index.shape:
                raise IndexError(
                    f"The shape of the mask {list(index.shape)} at index {place} does not match the shape of the "
                    f"indexed tensor {list(self.shape)} at index {start}"
                )
            key += np.nonzero(index) if index.ndim else [np.zeros(int(bool(index)), np.int64)]
        else:
            check_integer(index, "tensors used as indices must be long, int, byte or bool tensors", IndexError)
            key.append(index)
    if len(key) > self.ndim:
        raise IndexError(f"too many indices for tensor of dimension {self.ndim}")
    for dim, index in enumerate(key):
        if not isinstance(index, slice):
            size = self.shape[dim]
            message = "index {index} is out of bounds for dimension " + str(dim) + " with size {size}"
            check_range(index, size, message, IndexError, low=-size)
    return tuple(key)


def _shape_mismatch(key: Sequence[Any]) -> IndexError:
    shapes = ", ".join(str(list(part.shape)) for part in key if not isinstance(part, slice))
    return IndexError(f"shape mismatch: indexing tensors could not be broadcast together with shapes {shapes}")


def index(self: Array, indices: Indices) -> Array:
    """`self[indices]`; None takes a whole dimension."""
    key = _key(self, indices)
    places = [place for place, part in enumerate(key) if not isinstance(part, slice)]
    if not places:
        return self.copy()
    if len(places) == 1:
        picked: Array = self.take(key[places[0]], axis=places[0])
        return picked
    try:
        picked = self[key]
    except IndexError:
        raise _shape_mismatch(key) from None
    if all(key[place].ndim == 0 for place in places):  # NumPy gives a view
        return np.array(picked, order="C")
    return np.asarray(picked, order="C")


def index_put(self: Array, indices: Indices, values: Array, accumulate: bool = False) -> Array:
    """`self` with `values` written, or added, where `indices` point.  One value under one mask may be of any dtype."""
    if values.size == 1 and not accumulate and _is_one_mask(indices):
        values = writing.copy(np.empty((), self.dtype), values.reshape(()))
    if values.dtype != self.dtype:
        raise RuntimeError(
            "Index put requires the source and destination dtypes match, got "
            f"{type_name(self.dtype)} for the destination and {type_name(values.dtype)} for the source."
        )
    key = _key(self, indices)
    out = contiguous_copy(self)
    try:
        if not accumulate:
            out[key] = values
            return out
        positions = np.arange(out.size).reshape(out.shape)[key]
    except IndexError:
        raise _shape_mismatch(key) from None
    except ValueError:
        raise _not_assignable(values, np.empty(self.shape, np.bool_)[key]) from None
    try:
        values = np.broadcast_to(values, positions.shape)
    except ValueError:
        raise _not_assignable(values, positions) from None
    accumulate_at(out, positions, values)
    return out


def _is_one_mask(indices: Indices) -> bool:
    present = [index for index in indices if index is not None]
    return len(present) == 1 and present[0].dtype.kind == "b"


def _not_assignable(values: Array, target: Array) -> RuntimeError:
    return RuntimeError(
        f"shape mismatch: value tensor of shape {list(values.shape)} cannot be broadcast to indexing result of shape "
        f"{list(target.shape)}"
    )


# -- flat indices


def _flat_index(name: str, self: Array, index: Array) -> Array:
    if index.dtype != np.int64:
        raise RuntimeError(f"{name}(): Expected a long tensor for index, but got {type_name(index.dtype)}")
    if self.size == 0 and index.size:
        raise IndexError(f"{name}(): tried to {name} from an empty tensor")
    message = "out of range: tried to access index {index} on a tensor of {size} elements."
    check_range(index, self.size, message, IndexError, low=-self.size)
    return np.where(index < 0, index + self.size, index)


def take(self: Array, index: Array) -> Array:
    """The elements at `index`, counted as if `self` were flat."""
    places = _flat_index("take", self, index)
    return self.reshape(-1).take(places) if self.size else np.empty(index.shape, self.dtype)


def put(self: Array, index: Array, source: Array, accumulate: bool = False) -> Array:
    """`self` with the elements of `source` written, or added, at `index`, counted as if `self` were flat."""
    if source.dtype != self.dtype:
        raise RuntimeError(
            f"put_(): self and source expected to have the same dtype, but got self.dtype = {type_name(self.dtype)} "
            f"and source.dtype = {type_name(source.dtype)}"
        )
    if source.size != index.size:
        raise IndexError(
            "put_(): Expected source and index to have the same number of elements, but got source.numel() = "
            f"{source.size}, index.numel() = {index.size}"
        )
    out = contiguous_copy(self)
    places = _flat_index("put_", self, index)
    if accumulate:
        accumulate_at(out, places, source)
    else:
        out.reshape(-1)[places.reshape(-1)] = source.reshape(-1)
    return out


# -- counting


def bincount(self: Array, weights: Array | None = None, minlength: int = 0) -> Array:
    """How often each number occurs, or the sum of the weights of its places."""
    if minlength < 0:
        raise RuntimeError("minlength should be >= 0")
    if self.ndim != 1 or self.dtype.kind not in "iu" or (self.size and self.min() < 0):
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    if weights is None:
        return np.bincount(self, minlength=minlength).astype(np.int64)
    if weights.shape != self.shape:
        raise RuntimeError("weights should be 1-d and have the same length as input")
    counts = np.bincount(self, weights, minlength)
    return counts.astype(weights.dtype if weights.dtype == np.float32 else np.float64)
