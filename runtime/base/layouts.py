"""How results lie in memory: the rules that operators name with `layout:`, in the terms of PyTorch.

Each takes an array that a kernel made and the arrays by which the rule goes, and gives an array with the same elements
in the right places: the same one where it lies right already. The stride of a dimension of one element is anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from runtime.base.memory import repeats
from runtime.base.meta_array import MetaArray, strided

Array: TypeAlias = "np.ndarray[Any, Any]"


def contiguous(array: Array) -> Array:
    """In the order of the indices."""
    return array if array.flags.c_contiguous else array.copy("C")


contiguous_format = contiguous


def iterated(array: Array, *operands: Array | None) -> Array:
    """Dense, with the dimensions in the order in which they lie in the operands; the first that tells decides."""
    known = [operand for operand in operands if operand is not None]
    if array.ndim < 2 or all(operand.flags.c_contiguous for operand in known):
        return contiguous(array)
    return _in_order(array, [_steps(operand, array.shape) for operand in known if operand.ndim <= array.ndim])


def columns(array: Array) -> Array:
    """Matrices column by column, as LAPACK leaves them."""
    if array.ndim < 2:
        return contiguous(array)
    turned = array.swapaxes(-1, -2)
    return array if turned.flags.c_contiguous else turned.copy("C").swapaxes(-1, -2)


def preserved(array: Array, operand: Array) -> Array:
    """With the very strides of the operand, gaps included."""
    if array.shape != operand.shape or repeats(operand) or _may_overlap(operand):
        return iterated(array, operand)
    if array.strides == operand.strides:
        return array
    span = sum((size - 1) * abs(stride) for size, stride in zip(operand.shape, operand.strides, strict=True))
    if not array.size or span % array.itemsize or any(stride < 0 for stride in operand.strides):
        return iterated(array, operand)
    if isinstance(array, MetaArray):
        return strided(array.shape, array.dtype, operand.strides)
    room = np.empty(span // array.itemsize + 1, array.dtype)
    laid = np.ndarray(array.shape, array.dtype, room, 0, operand.strides)
    laid[...] = array
    return laid


def _may_overlap(array: Array) -> bool:
    """Whether elements may lie in one place: some dimension steps by less than those within it reach."""
    reach = 0
    for stride, size in sorted((abs(stride), size) for stride, size in zip(array.strides, array.shape, strict=True)):
        if size > 1:
            if stride <= reach:
                return True
            reach += (size - 1) * stride
    return False


def indexed(array: Array, operand: Array, *indices: Array | None) -> Array:
    """As `iterated`, by the dimensions that are left of the operand, and by those of the indices in their place."""
    if array.ndim < 2 or (operand.flags.c_contiguous and all(i is None or i.flags.c_contiguous for i in indices)):
        return contiguous(array)
    taken: list[int] = []  # dimensions of the operand that are indexed
    parts: list[Array] = []
    dim = 0
    for index in indices:
        if index is not None and index.dtype.kind == "b":
            taken += range(dim, dim + index.ndim)
            parts += np.nonzero(index)
            dim += index.ndim
            continue
        if index is not None:
            taken.append(dim)
            parts.append(index)
        dim += 1
    count = array.ndim - (operand.ndim - len(taken))  # dimensions that the indices make
    together = taken == list(range(taken[0], taken[0] + len(taken))) if taken else True
    place = taken[0] if taken and together else 0
    left = [operand.strides[dim] if operand.shape[dim] > 1 else 0 for dim in range(operand.ndim) if dim not in taken]
    made = array.shape[place : place + count]
    before, after = [0] * place, [0] * (len(left) - place)
    steps = [[*left[:place], *[0] * count, *left[place:]], *([*before, *_steps(p, made), *after] for p in parts)]
    return _in_order(array, steps)


def channels_last(array: Array) -> Array:
    """The order N, H, W, C."""
    return _channels_last(array, 4)


def channels_last_3d(array: Array) -> Array:
    """The order N, D, H, W, C."""
    return _channels_last(array, 5)


def _channels_last(array: Array, rank: int) -> Array:
    if array.ndim != rank:
        raise RuntimeError(f"required rank {rank} tensor to use channels_last{'_3d' if rank == 5 else ''} format")
    return _arranged(array, [1, *range(rank - 1, 1, -1), 0])


def _steps(operand: Array, shape: Sequence[int]) -> list[int]:
    """The strides of an operand that is broadcast to `shape`: 0 where it is the same for all indices."""
    missing = len(shape) - operand.ndim
    own = zip(operand.shape, operand.strides, shape[missing:], strict=True)
    return [0] * missing + [0 if size == 1 and wide != 1 else abs(stride) for size, stride, wide in own]


def _in_order(array: Array, steps: Sequence[Sequence[int]]) -> Array:
    """Dense, the dimensions sorted by the strides of the operands."""
    return _arranged(array, innermost_first(array.shape, steps))


def innermost_first(shape: Sequence[int], steps: Sequence[Sequence[int]]) -> list[int]:
    """The dimensions of `shape`, sorted by the strides of operands, of which the first that tells decides."""
    order = list(range(len(shape) - 1, -1, -1))
    for i in range(1, len(shape)):
        moved = i
        for j in range(i - 1, -1, -1):
            compared = _compared(shape, steps, order[j], order[moved])
            if compared > 0:
                order[j], order[moved] = order[moved], order[j]
                moved = j
            elif compared < 0:
                break
    return order


def _compared(shape: Sequence[int], steps: Sequence[Sequence[int]], inner: int, outer: int) -> int:
    """Whether one dimension belongs inside another (-1) or outside of it (1); 0 where no operand tells."""
    for strides in steps:
        one, other = strides[inner], strides[outer]
        if one == 0 or other == 0:
            continue
        if one != other:
            return -1 if one < other else 1
        if shape[inner] > shape[outer]:
            return 1
    return 0


def _arranged(array: Array, order: Sequence[int]) -> Array:
    """Dense, the dimensions in this order, from the innermost."""
    step = array.itemsize
    for dim in order:
        if array.shape[dim] > 1 and array.strides[dim] != step:
            break
        step *= array.shape[dim]
    else:
        return array
    outermost = list(reversed(order))
    laid = array.transpose(outermost).copy("C")
    places = [0] * array.ndim
    for place, dim in enumerate(outermost):
        places[dim] = place
    return laid.transpose(places)
