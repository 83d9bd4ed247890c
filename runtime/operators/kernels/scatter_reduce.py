"""Reductions of what an index sends to one place."""

from __future__ import annotations

from typing import Any

import numpy as np

from runtime.base.arrays import Array, normalize_dim, type_name

_FUNCTIONS: dict[str, Any] = {
    "sum": np.add, "mean": np.add, "prod": np.multiply, "amax": np.maximum, "amin": np.minimum,
}  # fmt: skip


def scatter_reduce(self: Array, dim: int, index: Array, src: Array, reduce: str, include_self: bool = True) -> Array:
    """What `index` sends to a place along `dim`, and the element that is there if `include_self`."""
    if reduce not in _FUNCTIONS:
        raise RuntimeError(f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}")
    axis = normalize_dim(dim, self.ndim)
    _check(self, axis, index, src)
    rows, places, source = np.atleast_1d(self), np.atleast_1d(index), np.atleast_1d(src)
    if places.size == 0:
        return self.copy()
    _check_range(places, rows.shape[axis], axis, RuntimeError)
    taken = source[tuple(slice(size) for size in places.shape)]
    targets: list[Any] = list(np.indices(places.shape, sparse=True))
    targets[axis] = places
    return _reduced(rows, tuple(targets), taken, reduce, include_self).reshape(self.shape)


def index_reduce(self: Array, dim: int, index: Array, source: Array, reduce: str, include_self: bool = True) -> Array:
    """As `scatter_reduce`, for whole slices along `dim`."""
    if reduce not in ("prod", "mean", "amax", "amin"):
        raise RuntimeError(f"index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got {reduce}.")
    axis = normalize_dim(dim, self.ndim)
    if index.ndim > 1:
        raise IndexError(f"index_reduce_(): Index is supposed to be a vector, but got dim: {index.ndim}")
    if index.dtype.kind != "i" or index.dtype.itemsize < 4:
        raise RuntimeError("index_reduce_(): Expected dtype int32/int64 for index")
    if self.dtype != source.dtype:
        raise RuntimeError("index_reduce_(): self and source expected to have the same dtype")
    if self.dtype.kind == "c" and reduce in ("amax", "amin"):
        raise NotImplementedError(f"\"index_func_\" not implemented for '{type_name(self.dtype)}'")
    rows, places, slices = np.atleast_1d(self), np.atleast_1d(index), np.atleast_1d(source)
    if slices.shape[axis] != places.size:
        raise RuntimeError("index_reduce_(): Number of indices should be equal to self.size(dim)")
    _check_range(places, rows.shape[axis], axis)
    moved = _reduced(np.moveaxis(rows, axis, 0), (places,), np.moveaxis(slices, axis, 0), reduce, include_self)
    return np.moveaxis(moved, 0, axis).reshape(self.shape)


def _check(self: Array, axis: int, index: Array, src: Array) -> None:
    if index.dtype.kind != "i" or index.dtype.itemsize < 4:
        raise RuntimeError("scatter(): Expected dtype int32/int64 for index")
    if self.dtype != src.dtype:
        raise RuntimeError("scatter(): Expected self.dtype to be equal to src.dtype")
    if index.size == 0:
        return
    if len({max(array.ndim, 1) for array in (self, index, src)}) != 1:
        raise RuntimeError("Index tensor must have the same number of dimensions as self tensor")
    for place, size in enumerate(index.shape):
        if size > (src.shape or (1,))[place] or (place != axis and size > self.shape[place]):
            raise RuntimeError(
                f"Expected index {list(index.shape)} to be no larger than self {list(self.shape)} apart from dimension "
                f"{axis} and to be no larger size than src {list(src.shape)}"
            )


def _check_range(places: Array, size: int, axis: int, error: type[Exception] = IndexError) -> None:
    outside = (places < 0) | (places >= size)
    if outside.any():
        wrong = int(places[outside].flat[0])
        raise error(f"index {wrong} is out of bounds for dimension {axis} with size {size}")


def _reduced(rows: Array, targets: tuple[Any, ...], taken: Array, reduce: str, include_self: bool) -> Array:
    """What of `taken` goes to each target reduced; other places keep their element."""
    result = rows.copy()
    if not include_self:
        result[targets] = _neutral(reduce, rows.dtype)
    _FUNCTIONS[reduce].at(result, targets, taken)
    if reduce != "mean":
        return result
    if rows.dtype.kind == "b":
        raise NotImplementedError("\"scatter_gather_tensor_cpu_reduce_mean\" not implemented for 'Bool'")
    counts = np.full(rows.shape, 1 if include_self else 0, np.int64)
    np.add.at(counts, targets, 1)
    counts = np.maximum(counts, 1)
    return np.asarray(result / counts if rows.dtype.kind in "fc" else result // counts).astype(rows.dtype)


def _neutral(reduce: str, dtype: np.dtype[Any]) -> Any:
    if reduce in ("sum", "mean"):
        return 0
    if reduce == "prod":
        return 1
    if dtype.kind == "f":
        return -np.inf if reduce == "amax" else np.inf
    if dtype.kind == "b":
        return reduce == "amin"
    limits = np.iinfo(dtype)
    return limits.min if reduce == "amax" else limits.max
