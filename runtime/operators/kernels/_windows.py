"""Windows that move over the last dimensions of an array, without a copy of an element, and sums of ranges."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from runtime.base.arrays import Array, Number


def widths(values: int | Sequence[int], dims: int, name: str) -> tuple[int, ...]:
    """A number for each dimension, where one number stands for all.

    Raises:
        RuntimeError: there are as many numbers as fit nothing.
    """
    given = (values,) if isinstance(values, int) else tuple(values)
    if len(given) == dims:
        return given
    if len(given) == 1:
        return given * dims
    raise RuntimeError(
        f"expected {name} to be a single integer value or a list of {dims} values to match the convolution dimensions, "
        f"but got {name}={list(given)}"
    )


def padded(array: Array, before: Sequence[int], after: Sequence[int], value: Number = 0) -> Array:
    """`array` with `value` around its last dimensions; itself, where there is nothing to put around it."""
    if not any(before) and not any(after):
        return array
    outer = array.shape[: array.ndim - len(before)]
    inner = array.shape[len(outer) :]
    sizes = [low + size + high for low, size, high in zip(before, inner, after, strict=True)]
    out = np.full((*outer, *sizes), value, array.dtype) if value else np.zeros((*outer, *sizes), array.dtype)
    places: Any = (..., *(slice(low, low + size) for low, size in zip(before, inner, strict=True)))
    out[places] = array
    return out


def windows(
    array: Array, kernel: Sequence[int], stride: Sequence[int], dilation: Sequence[int], count: Sequence[int]
) -> Array:
    """A view of shape (*outer, *kernel, *count): at each place of a window, what lies there in all the windows.

    Raises:
        RuntimeError: a window reaches beyond the array.
    """
    dims = len(kernel)
    for size, width, wide, far, places in zip(
        array.shape[array.ndim - dims :], kernel, dilation, stride, count, strict=True
    ):
        if width and places and (width - 1) * wide + (places - 1) * far >= size:
            raise RuntimeError(f"windows of {list(kernel)} reach beyond what is of shape {list(array.shape)}")
    outer, steps = array.shape[: array.ndim - dims], array.strides[array.ndim - dims :]
    strides = array.strides[: array.ndim - dims]
    within = tuple(step * wide for step, wide in zip(steps, dilation, strict=True))
    between = tuple(step * far for step, far in zip(steps, stride, strict=True))
    return as_strided(array, (*outer, *kernel, *count), (*strides, *within, *between), writeable=array.flags.writeable)


def _repeated(array: Array, axis: int, places: Array) -> Array:
    """Elements along an axis; as a broadcast copy where each comes equally often, one after the other."""
    size, times = array.shape[axis], places.size // max(array.shape[axis], 1)
    if times * size != places.size or not (places == np.arange(size).repeat(times)).all():
        return np.take(array, places, axis)
    outer, inner = array.shape[: axis + 1], array.shape[axis + 1 :]
    many = np.broadcast_to(array.reshape(*outer, 1, *inner), (*outer, times, *inner))
    return many.reshape(*outer[:-1], places.size, *inner)


def sums_of_ranges(array: Array, axis: int, starts: Array, ends: Array) -> Array:
    """The sums of ranges, of which none is empty, along an axis."""
    if not starts.size:
        return np.zeros([0 if i == axis else size for i, size in enumerate(array.shape)], array.dtype)
    shape = list(array.shape)
    widths = ends - starts
    if (widths == widths[0]).all():
        if widths[0] == 1:
            return _repeated(array, axis, starts)
        if (starts[1:] == ends[:-1]).all():  # they stand side by side
            whole = array[(slice(None),) * axis + (slice(starts[0], ends[-1]),)]
            parts = whole.reshape(*shape[:axis], starts.size, int(widths[0]), *shape[axis + 1 :])
            return np.asarray(np.add.reduce(parts, axis=axis + 1))
    shape[axis] = 1
    longer = np.concatenate([array, np.zeros(shape, array.dtype)], axis)  # ranges end before an element
    every = np.add.reduceat(longer, np.stack([starts, ends], 1).reshape(-1), axis=axis)
    return np.take(every, np.arange(0, 2 * starts.size, 2), axis=axis)
