"""Whose memory an array is a part of, and copies of all of it."""

from __future__ import annotations

from typing import Any

import numpy as np


def owner_of(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The outermost array over the memory that `array` lies in: itself, if it is a view of none."""
    while True:
        base = array.base
        if not isinstance(base, np.ndarray):
            base = getattr(base, "base", None)  # NumPy's as_strided puts an object of its own between
        if not isinstance(base, np.ndarray):
            return array
        array = base


def bounds(array: np.ndarray[Any, Any]) -> tuple[int, int]:
    """The lowest byte and the end of the memory of `array`, from its first element."""
    if not array.size:
        return 0, 0
    steps = [(size - 1) * stride for size, stride in zip(array.shape, array.strides, strict=True)]
    return sum(step for step in steps if step < 0), sum(step for step in steps if step > 0) + array.itemsize


def lie_alike(one: np.ndarray[Any, Any], other: np.ndarray[Any, Any]) -> bool:
    """Whether arrays have one shape and the same steps through memory; of a dimension of one element none is made."""
    if one.shape != other.shape:
        return False
    if one.strides == other.strides:
        return True
    return all(size <= 1 or a == b for size, a, b in zip(one.shape, one.strides, other.strides, strict=True))


def repeats(array: np.ndarray[Any, Any]) -> bool:
    """Whether several elements are known to lie in one place, as those that were expanded do."""
    strides = array.strides
    return (
        0 in strides
        and array.size > 1
        and any(stride == 0 and size > 1 for size, stride in zip(array.shape, strides, strict=True))
    )


def copy_with_memory(array: np.ndarray[Any, Any], memo: dict[Any, Any]) -> np.ndarray[Any, Any]:
    """`array` in the same place of a copy of the whole memory that it lies in.

    Args:
        array: to copy, with its strides.
        memo: that of `copy.deepcopy`; what shares memory with something in it shares that one's copy.
    """
    owner = owner_of(array)
    low, high = bounds(owner)
    key = (copy_with_memory, id(owner))  # what deepcopy finds under the id is a copy of the array itself
    memory = memo.get(key)
    if memory is None:
        memory = memo[key] = np.zeros(high - low, np.uint8)
        memo.setdefault(id(memo), []).append(owner)  # as deepcopy does it: nothing else may get this id
        if memory.size:
            np.ndarray(owner.shape, owner.dtype, memory, -low, owner.strides)[...] = owner
    offset = array.__array_interface__["data"][0] - owner.__array_interface__["data"][0]
    return np.ndarray(array.shape, array.dtype, memory, offset - low, array.strides)
