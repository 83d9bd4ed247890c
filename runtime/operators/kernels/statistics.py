"""Order statistics, the most frequent elements, histograms, and places in sorted rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from runtime.base.arrays import Array, Number, normalize_dim, type_name
from runtime.native import core
from runtime.operators.kernels.factory import linspace
from runtime.operators.kernels.ordering import kth_places

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
    """The index of the interval between boundaries in which each element lies."""
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
    """Whether each element is one of the test elements."""
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


def _between(low: float, high: float) -> tuple[float, float]:
    """The ends of a histogram, which are not the same."""
    return (low, high) if low != high else (low - 0.5, high + 0.5)


def histogramdd_bin_edges(
    self: Array, bins: Sequence[int], range: Sequence[float] | None = None, weight: Array | None = None,
    density: bool = False,
) -> list[Array]:  # fmt: skip
    """For each column of points the ends of `bins` parts of equal length, over what there is or `range`."""
    points = _points(self)
    count = points.shape[1]
    if len(bins) != count:
        raise RuntimeError(f"histogramdd: expected {count} numbers of bins, one for each column, but got {len(bins)}")
    if range is not None and not all(type(end) is float or type(end) is int for end in range):
        raise TypeError("histogramdd: range should have numbers")
    if range is not None and len(range) != 2 * count:
        raise RuntimeError(f"histogramdd: range should have {2 * count} elements, but got {len(range)}")
    edges = []
    for place, parts in enumerate(bins):
        if parts <= 0:
            raise RuntimeError(f"histogram(): bins must be > 0, but got {parts} for dimension {place}")
        low, high = 0.0, 1.0
        if range is not None:
            low, high = range[2 * place : 2 * place + 2]
        elif len(points):
            low, high = float(points[:, place].min()), float(points[:, place].max())
        if not (math.isfinite(low) and math.isfinite(high)):
            raise RuntimeError(f"histogramdd: dimension {place}'s range [{low:g}, {high:g}] is not finite")
        if low > high:
            raise RuntimeError(f"histogramdd: min should not exceed max, but got {low:g} and {high:g}")
        edges.append(linspace(*_between(low, high), parts + 1, self.dtype))
    return edges


def _points(self: Array) -> Array:
    """One in each row."""
    if self.ndim < 2:
        raise RuntimeError(f"histogramdd: input tensor should have at least 2 dimensions, but got {self.ndim}")
    return self.reshape(-1, self.shape[-1])


def _places(column: Array, edges: Array) -> Array:
    """For each number of a column between which edges it lies, the last of which belongs to the last part; or -1."""
    if core is not None and column.dtype.char in "fd":
        places = np.empty(column.shape, np.int64)
        core.find_bins(np.ascontiguousarray(column), np.ascontiguousarray(edges), places)
        return places
    inside = (column >= edges[0]) & (column <= edges[-1])
    return np.where(inside, np.minimum(np.searchsorted(edges, column, side="right") - 1, edges.size - 2), -1)


def histogramdd_from_bin_tensors(
    self: Array, bins: Sequence[Array], weight: Array | None = None, density: bool = False
) -> Array:
    """How many points each box between edges has, or how much they weigh; the last edge belongs to the last box."""
    points = _points(self)
    if len(bins) != points.shape[1]:
        raise RuntimeError(f"histogramdd: expected {points.shape[1]} sequences of bin edges, but got {len(bins)}")
    if weight is not None and (weight.shape != self.shape[:-1] or weight.dtype != self.dtype):
        raise RuntimeError(
            f"histogramdd: expected a weight of shape {list(self.shape[:-1])} and dtype {self.dtype}, but got "
            f"{list(weight.shape)} and {weight.dtype}"
        )
    for place, edges in enumerate(bins):
        if edges.ndim != 1 or edges.dtype != self.dtype:
            raise RuntimeError(
                f"histogramdd: bins should be vectors of dtype {self.dtype}, but for dimension {place} there are "
                f"{edges.ndim} dimensions of {edges.dtype}"
            )
        if edges.size < 2:
            raise RuntimeError(f"histogram(): bins must be > 0, but got {edges.size - 1} for dimension {place}")
    shape = [edges.size - 1 for edges in bins]
    flat = _places(points[:, 0], bins[0]) if bins else np.zeros(len(points), np.int64)  # the box of each point, or -1
    for place in range(1, len(bins)):
        places = _places(points[:, place], bins[place])
        flat = np.where((flat < 0) | (places < 0), -1, flat * shape[place] + places)
    weights = None if weight is None else weight.reshape(-1)
    result = np.bincount(flat + 1, weights, math.prod(shape) + 1)[1:].reshape(shape)
    if density:
        volumes: Array = np.ones(())
        for edges in bins:
            volumes = np.multiply.outer(volumes, np.diff(edges))
        result = result / (result.sum() * volumes)
    return result.astype(self.dtype)


def histogramdd_from_bin_cts(
    self: Array, bins: Sequence[int], range: Sequence[float] | None = None, weight: Array | None = None,
    density: bool = False,
) -> Array:  # fmt: skip
    return histogramdd_from_bin_tensors(self, histogramdd_bin_edges(self, bins, range), weight, density)


def histogram_bin_ct(
    self: Array, bins: int = 100, range: Sequence[float] | None = None, weight: Array | None = None,
    density: bool = False,
) -> tuple[Array, Array]:  # fmt: skip
    """A histogram of all elements over parts of equal length, and the ends of these."""
    return histogram_bins_tensor(self, histogramdd_bin_edges(self.reshape(-1, 1), [bins], range)[0], weight, density)


def histogram_bins_tensor(
    self: Array, bins: Array, weight: Array | None = None, density: bool = False
) -> tuple[Array, Array]:
    """A histogram of all elements between edges, and these."""
    if weight is not None and weight.shape != self.shape:
        raise RuntimeError(f"histogram: expected a weight of shape {list(self.shape)}, but got {list(weight.shape)}")
    flat = None if weight is None else weight.reshape(-1)
    return histogramdd_from_bin_tensors(self.reshape(-1, 1), [bins], flat, density), bins.copy()


def hash_tensor(self: Array, dim: Sequence[int] = (), keepdim: bool = False, mode: int = 0) -> Array:
    """The exclusive or of the bits of all elements, as 64-bit integers or floats."""
    if mode != 0:
        raise RuntimeError(f"Unknown hash_tensor mode: {mode}")
    if not dim and not self.size:
        raise RuntimeError("hash_tensor: Expected reduction dim to be specified for input.numel() == 0.")
    axes = tuple(normalize_dim(place, self.ndim) for place in dim) or tuple(range(self.ndim))
    for axis in axes:
        if self.ndim and not self.shape[axis]:
            raise IndexError(f"hash_tensor: Expected reduction dim {axis} to have non-zero size.")
    wide = self.astype(np.float64 if self.dtype.kind not in "biu" else np.int64)
    bits: Any = np.bitwise_xor
    return np.asarray(bits.reduce(wide.view(np.uint64), axes if self.ndim else None, keepdims=keepdim))


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
