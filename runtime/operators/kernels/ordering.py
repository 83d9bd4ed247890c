"""Operators that put elements in order: sort, topk, median, running extrema.  NaN is the greatest value."""

from __future__ import annotations

from typing import Any

import numpy as np

from runtime.base.arrays import Array, normalize_dim


def sort(self: Array, dim: int = -1, descending: bool = False) -> tuple[Array, Array]:
    """The elements along a dimension in order, and where they were."""
    return sort_stable(self, None, dim, descending)


def sort_stable(self: Array, stable: bool | None, dim: int = -1, descending: bool = False) -> tuple[Array, Array]:
    """Every sort here is stable: `stable` asks for nothing more."""
    axis = normalize_dim(dim, self.ndim)
    if self.ndim == 0:
        return self.copy(), np.zeros((), np.int64)
    order = _order(self, axis, descending)
    return np.take_along_axis(self, order, axis), order


def topk(self: Array, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> tuple[Array, Array]:
    """The result is in order whether `sorted` asks for it or not."""
    axis = normalize_dim(dim, self.ndim)
    if not 0 <= k <= (self.shape[axis] if self.ndim else 1):
        raise RuntimeError("selected index k out of range")
    if self.ndim == 0:
        return self.copy(), np.zeros((), np.int64)
    order = np.ascontiguousarray(_leading(_order(self, axis, largest), axis, k))
    return np.take_along_axis(self, order, axis), order


def median_all(self: Array) -> Array:
    if self.size == 0:
        if self.dtype.kind in "iu":
            return np.asarray(np.iinfo(self.dtype).min, self.dtype)
        return np.asarray(np.nan, self.dtype)
    return median_dim(self.reshape(-1), 0)[0]


def median_dim(self: Array, dim: int, keepdim: bool = False) -> tuple[Array, Array]:
    """The lower of the two middle values; the first NaN where there is one."""
    axis = normalize_dim(dim, self.ndim)
    if self.ndim == 0:
        return self.copy(), np.zeros((), np.int64)
    size = self.shape[axis]
    if size == 0:
        raise IndexError(f"median(): Expected reduction dim {axis} to have non-zero size.")
    place = kth_places(self, (size - 1) // 2, axis)
    if self.dtype.kind in "fV":
        missing = np.isnan(self)
        place = np.where(missing.any(axis, keepdims=True), missing.argmax(axis, keepdims=True), place)
    values = np.take_along_axis(self, place, axis)
    return (values, place) if keepdim else (values.squeeze(axis), place.squeeze(axis))


def cummax(self: Array, dim: int) -> tuple[Array, Array]:
    """The largest element so far along a dimension, and where it was."""
    return _running_extremum(self, dim, np.maximum, np.greater_equal)


def cummin(self: Array, dim: int) -> tuple[Array, Array]:
    """The smallest element so far along a dimension, and where it was."""
    return _running_extremum(self, dim, np.minimum, np.less_equal)


def _running_extremum(self: Array, dim: int, extremum: np.ufunc, reaches: np.ufunc) -> tuple[Array, Array]:
    """Each running extremum with its last place so far."""
    axis = normalize_dim(dim, self.ndim)
    if self.ndim == 0:
        return self.copy(), np.zeros((), np.int64)
    values = np.asarray(extremum.accumulate(self, axis=axis))
    here = np.asarray(reaches(self, values))
    if self.dtype.kind in "fV":
        here = here | np.isnan(self)
    along = np.arange(self.shape[axis]).reshape([-1 if place == axis else 1 for place in range(self.ndim)])
    return values, np.asarray(np.maximum.accumulate(np.where(here, along, 0), axis=axis))


def _order(self: Array, axis: int, descending: bool) -> Array:
    """Indices that sort along `axis`, equal elements in the order they stand."""
    keys: np.ndarray[Any, Any] = self.astype(np.float32) if self.dtype.kind == "V" else self
    if not descending:
        return np.argsort(keys, axis=axis, kind="stable")
    backwards = np.argsort(np.flip(keys, axis), axis=axis, kind="stable")
    return np.ascontiguousarray(self.shape[axis] - 1 - np.flip(backwards, axis))


def kth_places(self: Array, number: int, axis: int) -> Array:
    """Where along `axis` the element stands that has this number in the order; of equal ones the first comes first."""
    keys: np.ndarray[Any, Any] = self.astype(np.float32) if self.dtype.kind == "V" else self
    value = np.partition(keys, number, axis).take([number], axis)
    same, less = keys == value, keys < value
    if self.dtype.kind in "fV" and np.isnan(value).any():
        missing, last = np.isnan(keys), np.isnan(value)
        same, less = np.where(last, missing, same), np.where(last, ~missing, less)
    rest = number - np.count_nonzero(less, axis=axis, keepdims=True)
    if rest.any():  # some of the equal ones are passed over
        same &= np.cumsum(same, axis=axis) == rest + 1
    return np.asarray(np.argmax(same, axis=axis, keepdims=True))


def _leading(array: Array, axis: int, count: int) -> Array:
    return array[(slice(None),) * axis + (slice(count),)]
