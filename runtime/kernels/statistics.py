"""Order statistics, the most frequent elements, histograms, and places in sorted rows."""

from __future__ import annotations

from typing import Literal

import numpy as np

from runtime.kernels._common import Array, Number, normalize_dim, type_name
from runtime.kernels.ordering import kth_places

# -- one element of each row


def kthvalue(self: Array, k: int, dim: int = -1, keepdim: bool = False) -> tuple[Array, Array]:
    """The k-th smallest of each row, NaN after all numbers, and where it is."""
    axis = normalize_dim(dim, self.ndim)
    size = self.shape[axis] if self.ndim else 1
    if size == 0:
        raise IndexError(f"kthvalue(): Expected reduction dim {dim} to have non-zero size.")
    if not 1 <= k <= size:
        raise RuntimeError(f"kthvalue(): selected number k out of range for dimension {dim}")
    rows = np.atleast_1d(self)
    places = kth_places(rows, k - 1, axis)
    return _taken(self, rows, places, axis, keepdim)


def _taken(self: Array, rows: Array, places: Array, axis: int, keepdim: bool) -> tuple[Array, Array]:
    """The elements at `places`, which has one for each row, and the places."""
    values = np.take_along_axis(rows, places, axis)
    if self.ndim == 0:
        return values.reshape(()), places.reshape(())
    return (values, places) if keepdim else (values.squeeze(axis), places.squeeze(axis))


def nanmedian(self: Array) -> Array:
    """The lower median of all elements that are not NaN; NaN where there is none."""
    if self.size == 0:
        return np.asarray(np.nan).astype(self.dtype)
    return nanmedian_dim(self.reshape(-1), 0)[0]


def nanmedian_dim(self: Array, dim: int, keepdim: bool = False) -> tuple[Array, Array]:
    axis = normalize_dim(dim, self.ndim)
    if self.ndim and self.shape[axis] == 0:
        raise IndexError(f"nanmedian(): Expected reduction dim {dim} to have non-zero size.")
    rows = np.atleast_1d(self)
    count = (rows == rows).sum(axis, keepdims=True)
    middle = np.maximum(count - 1, 0) // 2
    places = np.take_along_axis(np.argsort(rows, axis, kind="stable"), middle, axis)
    return _taken(self, rows, places, axis, keepdim)


def mode(self: Array, dim: int = -1, keepdim: bool = False) -> tuple[Array, Array]:
    """The most frequent element of each row, of several the least, and its last place."""
    axis = normalize_dim(dim, self.ndim)
    rows = np.atleast_1d(self)
    if rows.shape[axis] == 0:
        raise IndexError(f"mode(): Expected reduction dim {dim} to have non-zero size.")
    order = np.argsort(rows, axis, kind="stable")
    ordered = np.moveaxis(np.take_along_axis(rows, order, axis), axis, -1)
    numbers = np.arange(ordered.shape[-1])
    starts = np.ones(ordered.shape, bool)
    starts[..., 1:] = ordered[..., 1:] != ordered[..., :-1]
    # How long the run of equal elements is that ends, or goes on, at each place.
    lengths = numbers - np.maximum.accumulate(np.where(starts, numbers, 0), -1)
    best = np.moveaxis(np.argmax(lengths, -1)[..., None], -1, axis)
    return _taken(self, rows, np.take_along_axis(order, best, axis), axis, keepdim)


# -- places in sorted rows


def searchsorted(
    sorted_sequence: Array,
    self: Array,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Array | None = None,
) -> Array:
    """Where each element would be put into its row, before equal ones, or behind them."""
    _check_search(sorted_sequence, self, right, side, sorter)
    if sorter is not None:
        sorted_sequence = np.take_along_axis(sorted_sequence, sorter, -1)
    after: Literal["left", "right"] = "right" if right or side == "right" else "left"
    dtype = np.int32 if out_int32 else np.int64
    if sorted_sequence.ndim == 1:
        return np.asarray(np.searchsorted(sorted_sequence, self, after)).astype(dtype)
    result = np.empty(self.shape, dtype)
    for place in np.ndindex(*self.shape[:-1]):
        result[place] = np.searchsorted(sorted_sequence[place], self[place], after)
    return result


def _check_search(rows: Array, self: Array, right: bool, side: str | None, sorter: Array | None) -> None:
    name = "torch.searchsorted()"
    if side not in (None, "left", "right"):
        raise RuntimeError(f"{name}: side can only be 'left' or 'right' but got {side}")
    if side == "left" and right:
        raise RuntimeError(f"{name}: side and right can't be set to opposites, got side of left while right was True")
    if self.dtype != rows.dtype:
        raise RuntimeError(
            f"{name}: input value tensor and boundary tensor should have same dtype, but got boundary "
            f"tensor dtype {type_name(rows.dtype)} and input value tensor dtype {type_name(self.dtype)}"
        )
    if rows.ndim == 0 or (rows.ndim != 1 and rows.shape[:-1] != self.shape[:-1]):
        raise RuntimeError(
            f"{name}: boundaries tensor should be 1 dimension or the first N-1 dimensions of boundaries "
            f"tensor and input value tensor must match, but we got boundaries tensor {list(rows.shape)} and "
            f"input value tensor {list(self.shape)}"
        )
    if sorter is None:
        return
    if sorter.shape != rows.shape:
        raise RuntimeError(
            f"{name}: boundary and sorter must have the same size, but got boundary tensor {list(rows.shape)} and got "
            f"sorter tensor {list(sorter.shape)}"
        )
    if sorter.dtype != np.int64:
        raise RuntimeError(f"{name}: sorter must be a tensor of long dtype but got dtype {type_name(sorter.dtype)}")


def searchsorted_scalar(
    sorted_sequence: Array,
    self: Number,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Array | None = None,
) -> Array:
    if sorted_sequence.ndim != 1:
        raise RuntimeError(
            "torch.searchsorted(): input value can be a scalar only when boundaries tensor dimension is 1, but we got "
            f"boundaries tensor dim({sorted_sequence.ndim}) and input value's dim(0) numel(1)"
        )
    return searchsorted(sorted_sequence, np.asarray(self, sorted_sequence.dtype), out_int32, right, side, sorter)


def bucketize(self: Array, boundaries: Array, out_int32: bool = False, right: bool = False) -> Array:
    _check_boundaries(boundaries)
    return searchsorted(boundaries, self, out_int32, right)


def bucketize_scalar(self: Number, boundaries: Array, out_int32: bool = False, right: bool = False) -> Array:
    _check_boundaries(boundaries)
    return searchsorted_scalar(boundaries, self, out_int32, right)


def _check_boundaries(boundaries: Array) -> None:
    if boundaries.ndim != 1:
        raise RuntimeError(f"bucketize(): boundaries tensor must be 1 dimension, but got dim({boundaries.ndim})")


def isin_tensor_tensor(
    elements: Array, test_elements: Array, assume_unique: bool = False, invert: bool = False
) -> Array:
    return np.asarray(np.isin(elements, test_elements, invert=invert))


def isin_tensor_scalar(
    elements: Array, test_element: Number, assume_unique: bool = False, invert: bool = False
) -> Array:
    return np.asarray(np.isin(elements, test_element, invert=invert))


def isin_scalar_tensor(
    element: Number, test_elements: Array, assume_unique: bool = False, invert: bool = False
) -> Array:
    return np.asarray(np.isin(element, test_elements, invert=invert))


# -- histograms


def histc(self: Array, bins: int = 100, min: Number = 0, max: Number = 0) -> Array:
    """How many elements each of the parts of equal length between two numbers has; what is outside is left out."""
    if bins <= 0:
        raise RuntimeError(f"torch.histogram(): bins must be > 0, but got {bins}")
    low, high = float(min.real), float(max.real)
    if low == high and self.size:
        low, high = float(self.min()), float(self.max())
    if low == high:
        low, high = low - 1, high + 1
    if not (np.isfinite(low) and np.isfinite(high)):
        raise RuntimeError(f"torch.histc: range of [{low:g}, {high:g}] is not finite")
    if high < low:
        raise RuntimeError("torch.histc: max must be larger than min")
    inside = self[(self >= low) & (self <= high)]
    places = np.minimum(((inside - low) / (high - low) * bins).astype(np.int64), bins - 1)
    return np.bincount(places, minlength=bins).astype(self.dtype)


# -- lengths of parts


def renorm(self: Array, p: Number, dim: int, maxnorm: Number) -> Array:
    """Each part along `dim` made as long as `maxnorm`, where it is longer."""
    order, most = float(p.real), float(maxnorm.real)
    if order <= 0:
        raise RuntimeError("renorm: non-positive-norm not supported")
    if most < 0:
        raise RuntimeError(f"renorm: expected maxnorm to be >= 0 but got {most:g}")
    if self.ndim < 2:
        raise RuntimeError(f"renorm: input needs at least 2 dimensions, got {self.ndim} dimensions")
    axis = normalize_dim(dim, self.ndim)
    others = tuple(place for place in range(self.ndim) if place != axis)
    sizes = np.abs(self)
    if np.isinf(order):
        norms = sizes.max(others, keepdims=True, initial=0)
    else:
        norms = np.power(np.power(sizes, order).sum(others, keepdims=True), 1 / order)
    return np.asarray(self * np.where(norms > most, most / (norms + 1e-7), 1).astype(sizes.dtype))
