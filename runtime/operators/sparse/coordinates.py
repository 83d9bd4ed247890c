"""Coordinates: what a sparse Tensor is made of, and how parts at the same place are added up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from runtime.base.arrays import readable

Array: TypeAlias = "np.ndarray[Any, Any]"


class Coordinates:
    """Parts of an array by their places; where there is none, it is zero. Operators never change one.

    Args:
        indices: a column for each part, int64: its place along the first dimensions, which are the sparse ones.
        values: the parts, along the first dimension; what is behind it are the dense dimensions.
        shape: of the whole.
        coalesced: whether the places are in order, and each occurs once.
    """

    __slots__ = ("coalesced", "indices", "shape", "values")

    def __init__(self, indices: Array, values: Array, shape: Sequence[int], coalesced: bool = False) -> None:
        self.indices = indices
        self.values = values
        self.shape = tuple(shape)
        self.coalesced = coalesced

    @property
    def dtype(self) -> np.dtype[Any]:
        """Of the values."""
        dtype: np.dtype[Any] = self.values.dtype
        return dtype

    @property
    def sparse_dim(self) -> int:
        """How many dimensions are sparse."""
        return len(self.indices)

    @property
    def dense_dim(self) -> int:
        """How many dimensions each part has."""
        return self.values.ndim - 1

    @property
    def count(self) -> int:
        """The number of parts."""
        return len(self.values)

    def with_values(self, values: Array, coalesced: bool | None = None) -> Coordinates:
        """Other parts at the same places."""
        shape = (*self.shape[: self.sparse_dim], *values.shape[1:])
        return Coordinates(self.indices, values, shape, self.coalesced if coalesced is None else coalesced)

    def places(self) -> Array:
        """The place of each part as one number, in the order of the indices."""
        return flat_places(self.indices, self.shape)

    def summed(self) -> Coordinates:
        """In order, with one part for each place; itself where it is so."""
        if self.coalesced:
            return self
        places = self.places()
        order = np.argsort(places, kind="stable")
        places = places[order]
        first = np.ones(len(places), bool)
        np.not_equal(places[1:], places[:-1], out=first[1:])
        values = self.values[order]
        starts = np.flatnonzero(first)
        if len(starts) != len(values):
            values = _added_up(values, starts)
        return Coordinates(self.indices[:, order[starts]], values, self.shape, True)

    def dense(self) -> Array:
        """The whole array."""
        out = np.zeros(self.shape, self.dtype)
        if not out.size or not self.count:
            return out
        parts = self.summed()
        out[tuple(parts.indices)] = parts.values if self.sparse_dim else parts.values[0]
        return out

    def copy(self) -> Coordinates:
        """The same in other memory."""
        return Coordinates(self.indices.copy(), self.values.copy(), self.shape, self.coalesced)


def flat_places(indices: Array, shape: Sequence[int]) -> Array:
    """The place of each column as one number, by the first sizes of a shape."""
    places = np.zeros(indices.shape[1], np.int64)
    for row, size in zip(indices, shape, strict=False):
        places *= size
        places += row
    return places


def _added_up(values: Array, starts: Array) -> Array:
    """The sums of runs of parts, which begin at `starts`."""
    if values.dtype.kind == "b":
        return np.logical_or.reduceat(values, starts, axis=0)
    if values.dtype.kind in "fc" and values.dtype.itemsize > 2:
        # One part after the other, as in a loop: NumPy's sums of runs are taken in pairs.
        out = values[starts]
        runs = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, len(values))))
        later = np.ones(len(values), bool)
        later[starts] = False
        add_in_order(out, runs[later], values[later])
        return out
    wide = values.astype(np.float32) if values.dtype.kind == "V" or values.dtype == np.float16 else values
    return np.add.reduceat(wide, starts, axis=0).astype(values.dtype)


# Up to so many parts at one place, they are added in rounds.
_ROUNDS = 16


def add_in_order(out: Array, places: Array, values: Array) -> None:
    """Add parts to the rows of `out` that `places` names, those of one row in their order."""
    order = np.argsort(places, kind="stable")
    placed = places[order]
    first = np.ones(len(placed), bool)
    np.not_equal(placed[1:], placed[:-1], out=first[1:])
    starts = np.flatnonzero(first)
    lengths = np.diff(np.append(starts, len(placed)))
    if lengths.max(initial=0) > _ROUNDS:
        np.add.at(out, places, values)
        return
    for number in range(int(lengths.max(initial=0))):
        chosen = order[starts[lengths > number] + number]
        out[places[chosen]] += values[chosen]


def empty(shape: Sequence[int], dtype: np.dtype[Any], sparse_dim: int, coalesced: bool = True) -> Coordinates:
    """An array of zeros."""
    dense = tuple(shape)[sparse_dim:]
    return Coordinates(np.zeros((sparse_dim, 0), np.int64), np.zeros((0, *dense), dtype), shape, coalesced)


def of_dense(array: Array, sparse_dim: int) -> Coordinates:
    """What is not zero of an array: its elements, or the parts along the first dimensions that have some."""
    marked = readable(array) != 0
    if sparse_dim < array.ndim:
        marked = marked.reshape((*array.shape[:sparse_dim], -1)).any(axis=-1)
    if sparse_dim == 0:
        indices = np.zeros((0, 1 if marked else 0), np.int64)
        return Coordinates(indices, array[None][: indices.shape[1]].copy(), array.shape, True)
    indices = np.array(np.nonzero(marked), np.int64)
    return Coordinates(indices, array[tuple(indices)], array.shape, True)


def joined(parts: Sequence[Coordinates]) -> Coordinates:
    """The sum of several, not added up."""
    first = parts[0]
    indices = np.concatenate([each.indices for each in parts], axis=1)
    values = np.concatenate([each.values for each in parts])
    return Coordinates(indices, values, first.shape, False)


def looked_up(source: Coordinates, places: Array) -> tuple[Array, Array]:
    """The positions among the parts of `source`, which is coalesced, that lie at these places, and whether they do."""
    known = source.places()
    if not len(known):
        return np.zeros(len(places), np.int64), np.zeros(len(places), bool)
    found = np.minimum(np.searchsorted(known, places), len(known) - 1)
    return found, known[found] == places


def picked(source: Array | Coordinates, indices: Array, shape: Sequence[int]) -> Array:
    """The parts of an array at some places; zeros where a sparse one has none."""
    if not isinstance(source, Coordinates):
        return source[tuple(indices)] if len(indices) else np.repeat(source[None], indices.shape[1], axis=0)
    source = source.summed()
    positions, there = looked_up(source, flat_places(indices, shape))
    out = np.zeros((indices.shape[1], *source.values.shape[1:]), source.dtype)
    out[there] = source.values[positions[there]]
    return out
