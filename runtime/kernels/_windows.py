"""Windows that move over the last dimensions of an array, without a copy of an element."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from runtime.kernels._common import Array, Number


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
