"""Writes to memory that is several elements at once, or that the arguments of the call lie in."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from runtime.base.array_proxies import DeviceArrayProxy
from runtime.base.memory import lie_alike, repeats
from runtime.base.sharing import shares
from runtime.base.tensor import Tensor


def check_overlap(target: Tensor, inputs: Sequence[Tensor], exclusive: bool = False) -> None:
    """Refuse a write to memory that several elements refer to, or an input and the target in different places.

    Raises:
        RuntimeError: there is such an overlap.
    """
    check_single_places(target)
    check_partial_overlap(target, inputs, exclusive)


def check_partial_overlap(target: Tensor, inputs: Sequence[Tensor], exclusive: bool = False) -> None:
    """Refuse a write to memory that an input refers to in other places; only dense Tensors can be judged.

    Args:
        target: what is about to be written.
        inputs: the other Tensors of the call.
        exclusive: whether it may not be in the same places, either.

    Raises:
        RuntimeError: there is such an overlap.
    """
    for other in inputs:
        if (other is target and not exclusive) or not shares(other, target):
            continue
        one, two = target._array, other._array
        if not (_is_dense(one) and _is_dense(two)):
            continue
        start, other_start = one.__array_interface__["data"][0], two.__array_interface__["data"][0]
        if start >= other_start + two.nbytes or other_start >= start + one.nbytes:
            continue
        if start == other_start and lie_alike(one, two) and not exclusive:
            continue
        raise RuntimeError(
            "unsupported operation: some elements of the input tensor and the written-to tensor refer to a single "
            "memory location. Please clone() the tensor before performing the operation."
        )


def check_single_places(tensor: Tensor) -> None:
    """Refuse a write to memory that several elements refer to."""
    if repeats(tensor._array):
        raise RuntimeError(
            "unsupported operation: more than one element of the written-to tensor refers to a single memory location. "
            "Please clone() the tensor before performing the operation."
        )


def _is_dense(array: np.ndarray) -> bool:
    """Whether there are elements, each has a place of its own, and there are no gaps between them."""
    if type(array) is DeviceArrayProxy:
        return False
    expected = array.itemsize
    dims = [(stride, size) for size, stride in zip(array.shape, array.strides, strict=True) if size != 1]
    for stride, size in sorted(dims):
        if stride != expected:
            return False
        expected *= size
    return bool(array.size)
