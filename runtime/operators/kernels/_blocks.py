"""Kernels that go through large arrays block by block, so that what lies between two steps stays in the cache."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from runtime.base.arrays import Array

# Elements of a block: some arrays of doubles of this length fit into the second cache.
BLOCK = 16384

Kernel = Callable[..., Array]


def blocked(kernel: Kernel) -> Kernel:
    """An element-wise kernel that needs no temporaries as large as its arrays.

    Args:
        kernel: a function of arrays that broadcast, and of numbers, each element of whose result comes from one
            element of each array.
    """

    @functools.wraps(kernel)
    def run(*args: Any) -> Array:
        for value in args:
            if isinstance(value, np.ndarray) and value.size > BLOCK:
                return _in_blocks(kernel, args)
        return kernel(*args)

    return run


def copied(kernel: Kernel) -> Kernel:
    """A kernel whose result is memory of its own, also where numbers choose an argument for it as it is."""

    @functools.wraps(kernel)
    def run(*args: Any) -> Array:
        result = kernel(*args)
        for value in args:
            if value is result:
                return np.copy(result, order="K")
        return result

    return run


def _in_blocks(kernel: Kernel, args: Sequence[Any]) -> Array:
    at = [place for place, value in enumerate(args) if isinstance(value, np.ndarray)]
    arrays = [args[place] for place in at]
    values = list(args)
    for order in ("C", "F"):
        if all(array.shape == arrays[0].shape and array.flags[order] for array in arrays):
            flat = [array.ravel(order) for array in arrays]
            return _along(kernel, values, at, flat).reshape(arrays[0].shape, order=order)
    for place, array in zip(at, arrays, strict=True):
        values[place] = array.reshape(-1)[:0]
    made = kernel(*values).dtype
    reads, writes = ("readonly",), ("writeonly", "allocate")
    blocks = np.nditer(  # type: ignore[call-overload]  # its stubs know no tuple of these
        (*arrays, None),
        ("external_loop", "buffered", "delay_bufalloc", "zerosize_ok"),
        (*(reads for _ in arrays), writes),
        (*(array.dtype for array in arrays), made),
        order="K",
        buffersize=BLOCK,
    )
    with blocks:
        blocks.reset()
        for *inputs, out in blocks:
            for place, block in zip(at, inputs, strict=True):
                values[place] = block
            out[...] = kernel(*values)
        result: Array = blocks.operands[-1]
    return result


def _along(kernel: Kernel, values: list[Any], at: Sequence[int], flat: Sequence[Array]) -> Array:
    """The same of arrays of one dimension and one length."""
    size = flat[0].size
    result: Array | None = None
    for start in range(0, size, BLOCK):
        block = slice(start, start + BLOCK)
        for place, array in zip(at, flat, strict=True):
            values[place] = array[block]
        made = kernel(*values)
        if result is None:
            result = np.empty(size, made.dtype)
        result[block] = made
    assert result is not None, "only large arrays come here"
    return result
