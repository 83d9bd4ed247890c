"""What occurs in an array, each once: elements, or slices along a dimension."""

from __future__ import annotations

from typing import Any

import numpy as np

from runtime.base.arrays import Array, is_half, normalize_dim


def unique_values(self: Array, sorted: bool = True, return_inverse: bool = False) -> tuple[Array, Array]:
    """The elements in their order, each once, and for each place the number of what is there."""
    values, inverse, _ = unique_counted(self, sorted, return_inverse)
    return values, inverse


def unique_counted(
    self: Array, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False
) -> tuple[Array, Array, Array]:
    """The same, with how often each occurs.  A NaN is equal to nothing; what is not asked for is empty."""
    if self.dtype.kind in "iu" and self.size:
        low = self.min()
        if int(self.max()) - int(low) <= _SPREAD * self.size:
            return _counted_integers(self, low, return_inverse, return_counts)
    rows = self.reshape(-1, 1)
    return _elements(self, *_grouped(rows, _sorted(rows)), return_inverse, return_counts)


# Integers are counted where there is room for so many times as many numbers between the smallest and the largest.
_SPREAD = 4


def _counted_integers(
    self: Array, low: np.integer[Any], return_inverse: bool, return_counts: bool
) -> tuple[Array, Array, Array]:
    """The same of integers that lie close together, which need no order."""
    flat = self.reshape(-1)
    # Differences of signed numbers may need more bits than these have.
    places = (flat - low).astype(np.int64) if self.dtype.kind == "u" else flat.astype(np.int64) - int(low)
    counts = np.bincount(places)
    present = np.flatnonzero(counts)
    inverse = (np.cumsum(counts != 0) - 1)[places].reshape(self.shape) if return_inverse else _nothing()
    values = present.astype(self.dtype) + low
    return np.asarray(values, self.dtype), inverse, counts[present] if return_counts else _nothing()


def unique_consecutive(
    self: Array, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> tuple[Array, Array, Array]:
    """The elements, or slices along `dim`, without those that are equal to the one before."""
    if dim is not None:
        return unique_dim_consecutive(self, dim, return_inverse, return_counts)
    return _elements(self, *_grouped(self.reshape(-1, 1), np.arange(self.size)), return_inverse, return_counts)


def unique_dim(
    self: Array, dim: int, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False
) -> tuple[Array, Array, Array]:
    """The slices along a dimension in the order of their elements, each once; their numbers and how many there are."""
    axis = _axis(self, dim)
    rows = _rows(self, axis)
    return _slices(self, axis, *_grouped(rows, _sorted(rows)))


def unique_dim_consecutive(
    self: Array, dim: int, return_inverse: bool = False, return_counts: bool = False
) -> tuple[Array, Array, Array]:
    """The slices along a dimension without those that are equal to the one before."""
    axis = _axis(self, dim)
    rows = _rows(self, axis)
    return _slices(self, axis, *_grouped(rows, np.arange(len(rows))))


def _axis(self: Array, dim: int) -> int:
    if not self.ndim:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    axis = normalize_dim(dim, self.ndim)
    if 0 in self.shape[:axis] + self.shape[axis + 1 :]:
        raise RuntimeError("There are 0 sized dimensions, and they aren't selected, so unique cannot be applied")
    return axis


def _rows(self: Array, axis: int) -> Array:
    moved = np.moveaxis(self, axis, 0)
    return moved.reshape(len(moved), -1) if self.size else moved.reshape(0, 1)


def _elements(
    self: Array, order: Array, first: Array, return_inverse: bool, return_counts: bool
) -> tuple[Array, Array, Array]:
    inverse = _inverse(order, first).reshape(self.shape) if return_inverse else _nothing()
    return self.reshape(-1)[order[first]], inverse, _counts(first) if return_counts else _nothing()


def _slices(self: Array, axis: int, order: Array, first: Array) -> tuple[Array, Array, Array]:
    return np.take(self, order[first], axis), _inverse(order, first), _counts(first)


def _sorted(rows: Array) -> Array:
    """The places of the rows in the order of their elements."""
    numbers = rows.astype(np.float32) if is_half(rows.dtype) else rows
    return np.lexsort(numbers.T[::-1]) if rows.shape[1] != 1 else np.argsort(numbers[:, 0], kind="stable")


def _grouped(rows: Array, order: Array) -> tuple[Array, Array]:
    """The order, and where in it a row stands that differs from the one before."""
    lying = rows[order]
    first = np.ones(len(lying), bool)
    first[1:] = (lying[1:] != lying[:-1]).any(1)
    return order, first


def _inverse(order: Array, first: Array) -> Array:
    inverse = np.empty(len(order), np.int64)
    inverse[order] = np.cumsum(first) - 1
    return inverse


def _counts(first: Array) -> Array:
    return np.diff(np.append(np.flatnonzero(first), len(first))).astype(np.int64)


def _nothing() -> Array:
    return np.empty(0, np.int64)
