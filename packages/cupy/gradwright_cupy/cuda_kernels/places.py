"""Kernels whose results are places of elements, or depend on how many there are of a kind."""

from __future__ import annotations

import cupy

from gradwright_cupy.arrays import Array


def nonzero(self: Array) -> Array:
    places = cupy.nonzero(self if self.ndim else cupy.reshape(self, (1,)))
    if not self.ndim:
        return cupy.empty((places[0].shape[0], 0), dtype=cupy.int64)
    return cupy.stack([each.astype(cupy.int64) for each in places], axis=-1)


def equal(self: Array, other: Array) -> bool:
    return self.shape == other.shape and bool(cupy.all(self == other).item())


def bincount(self: Array, weights: Array | None = None, minlength: int = 0) -> Array:
    counts = cupy.bincount(self, weights, minlength)
    return counts if weights is None or weights.dtype.name != "float32" else counts.astype(weights.dtype)


def tril_indices(row: int, col: int, offset: int, dtype: object) -> Array:
    return _indices(cupy.tril(cupy.ones((row, col), dtype=cupy.uint8), offset), dtype)


def triu_indices(row: int, col: int, offset: int, dtype: object) -> Array:
    return _indices(cupy.triu(cupy.ones((row, col), dtype=cupy.uint8), offset), dtype)


def _indices(within: Array, dtype: object) -> Array:
    return cupy.stack(cupy.nonzero(within)).astype(dtype)
