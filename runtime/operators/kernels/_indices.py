"""What the kernels that take indices share: checks of indices, and sums at positions."""

from __future__ import annotations

from typing import Any

import numpy as np

from runtime.base.arrays import Array, element


def accumulate_at(out: Array, positions: Array, values: Array) -> None:
    """Add `values` at the flat `positions` of the contiguous array `out`, also where a position occurs more than once.

    NumPy's `add.at` is fast for one flat index of real numbers, and only then; a complex number is a pair of those.
    """
    flat, values = out.reshape(-1), np.ascontiguousarray(values, out.dtype).reshape(-1)
    positions = positions.reshape(-1)
    if out.dtype.kind == "c":
        real = flat.view(flat.real.dtype)
        parts = values.view(real.dtype)
        np.add.at(real, positions * 2, parts[::2])
        np.add.at(real, positions * 2 + 1, parts[1::2])
    elif out.dtype.kind == "b":
        np.logical_or.at(flat, positions, values)
    else:
        np.add.at(flat, positions, values)


def contiguous_copy(self: Array) -> Array:
    return np.array(self, order="C")


def check_integer(index: Array, message: str, error: type[Exception] = RuntimeError) -> None:
    if index.dtype.kind not in "iu" or index.dtype.itemsize < 4:
        raise error(message)


def check_range(index: Array, size: int, message: str, error: type[Exception], low: int = 0) -> None:
    """Refuse an index outside [low, size); `message` has places for `index` (the first such), and `size`."""
    if index.size == 0:
        return
    wrong = (index < low) | (index >= size)
    if wrong.any():
        raise error(message.format(index=index[wrong].flat[0], size=size))


def one_dim(array: Array) -> Array:
    """A 0-dim array counts as one of one element, where a dimension is needed."""
    return array.reshape(1) if array.ndim == 0 else array


def held_as(value: Array, dtype: np.dtype[Any]) -> Array:
    """A 0-dim array in another dtype, which has to hold it as if it were a Python number."""
    return np.asarray(element(value.item(), dtype), dtype) if dtype.kind in "iu" else value.astype(dtype)
