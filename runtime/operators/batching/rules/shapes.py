"""Rules of views, joins and other operators that move elements."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from runtime import ops
from runtime.operators.batching.batched import batch
from runtime.operators.batching.calls import (
    call,
    flattened,
    refuse,
    shifted,
    shifted_all,
    whole_batch,
    with_rank,
    wrapped,
)
from runtime.operators.batching.levels import VmapLevel
from runtime.operators.batching.rules.families import loop
from runtime.operators.kernels.shape import inferred_size

if TYPE_CHECKING:
    from runtime.call.dispatch import Operator

# -- sizes


def view(level: VmapLevel, operator: Operator, values: list[Any]) -> Any:
    """Another shape of each element."""
    x, sizes = values
    if not level.size and -1 in sizes:
        sizes = inferred_size(sizes, x.numel())
    return batch(call(operator, [x.value, (level.size, *sizes)]), level)


def expand(level: VmapLevel, operator: Operator, values: list[Any]) -> Any:
    """Repeated along dimensions of size 1 and new ones."""
    x, sizes, *rest = values
    if len(sizes) < x.dim() or -1 in sizes[: len(sizes) - x.dim()]:
        refuse(operator, values, level)
    return batch(call(operator, [with_rank(x.value, len(sizes)), (level.size, *sizes), *rest]), level)


def repeat(level: VmapLevel, operator: Operator, values: list[Any]) -> Any:
    """Copies beside each other."""
    x, repeats = values
    if len(repeats) < x.dim():
        refuse(operator, values, level)
    return batch(call(operator, [with_rank(x.value, len(repeats)), (1, *repeats)]), level)


def as_strided(level: VmapLevel, operator: Operator, values: list[Any]) -> Any:
    """Any strides, within the memory of each element."""
    x, sizes, strides, offset = values
    value = x.value
    step = value.stride(0) if level.size else 1
    if step == 0 and level.size > 1:  # all elements are one in memory, and each may have a tangent of its own
        return loop(level, operator, values)
    return batch(call(operator, [value, (level.size, *sizes), (step, *strides), offset]), level)


def slice_inverse(level: VmapLevel, operator: Operator, values: list[Any]) -> Any:
    """By the memory of all elements, where the slices lie in it as what they are slices of; else as a copy."""
    part, src, dim, *ends = values
    part, src = whole_batch(part, level), whole_batch(src, level)
    dim = shifted(dim, src.dim() - 1)
    same = part.stride(0) == src.stride(0) or level.size == 1
    return batch(call(operator, [part, src, dim, *ends]) if same else ops.slice_scatter(src, part, dim, *ends), level)


def new_of_size(level: VmapLevel, operator: Operator, values: list[Any]) -> Any:
    """A new Tensor for each element, so that it can be written in place."""
    x, sizes, *rest = values
    return batch(call(operator, [x.value, (level.size, *sizes), *rest]), level)


def squeeze(level: VmapLevel, operator: Operator, values: list[Any]) -> Any:
    """Without dimensions of size 1, but for that of the batch."""
    value = values[0].value
    dims = [dim for dim, size in enumerate(value._array.shape) if dim and size == 1]
    return batch(ops.squeeze(value, dims) if dims else ops.alias(value), level)


def view_as_complex(level: VmapLevel, operator: Operator, values: list[Any]) -> Any:
    """Pairs of real numbers in the last dimension."""
    x = values[0]
    if x.dim() == 0:
        refuse(operator, values, level)
    return batch(call(operator, [x.value]), level)


# -- the order of dimensions


def t(level: VmapLevel, operator: Operator, values: list[Any]) -> Any:
    """A matrix transposed, a vector as it is."""
    x = values[0]
    if x.dim() > 2:
        refuse(operator, values, level)
    return batch(ops.transpose(x.value, 1, 2) if x.dim() == 2 else ops.alias(x.value), level)


def permute(level: VmapLevel, operator: Operator, values: list[Any]) -> Any:
    """All dimensions in another order."""
    x, dims = values
    if len(dims) != x.dim():
        refuse(operator, values, level)
    return batch(call(operator, [x.value, (0, *shifted_all(dims, x.dim()))]), level)


def roll(level: VmapLevel, operator: Operator, values: list[Any]) -> Any:
    """Shifted around the end of dimensions; without any, of the elements in a row."""
    x, shifts, dims = values
    if dims:
        if x.dim() == 0:
            refuse(operator, values, level)
        return batch(call(operator, [x.value, shifts, shifted_all(dims, x.dim())]), level)
    if len(shifts) != 1:
        refuse(operator, values, level)
    rolled = call(operator, [flattened(x.value), shifts, (1,)])
    return batch(ops.reshape(rolled, x.value._array.shape), level)


# -- joins


def cat(level: VmapLevel, operator: Operator, values: list[Any]) -> Any:
    """Joined along a dimension; empty vectors are left out."""
    tensors, dim = values
    joined = [tensor for tensor in tensors if tensor._array.shape != (0,)] or tensors
    if any(tensor.dim() != joined[0].dim() or tensor.dim() == 0 for tensor in joined):
        refuse(operator, values, level)
    whole = [whole_batch(tensor, level) for tensor in joined]
    return batch(call(operator, [whole, shifted(dim, joined[0].dim())]), level)


def stack(level: VmapLevel, operator: Operator, values: list[Any]) -> Any:
    """Joined along a new dimension."""
    tensors, dim = values
    whole = [whole_batch(tensor, level) for tensor in tensors]
    return batch(call(operator, [whole, shifted(dim, tensors[0].dim() + 1)]), level)


def constant_pad_nd(level: VmapLevel, operator: Operator, values: list[Any]) -> Any:
    """Wider at the end of the last dimensions."""
    x, pad, value = values
    if len(pad) // 2 > x.dim():
        refuse(operator, values, level)
    return batch(call(operator, [x.value, pad, value]), level)


# -- adjoints of views


def into_zeros(level: VmapLevel, operator: Operator, values: list[Any]) -> Any:
    """Zeros of given sizes, with the gradient written where a view looked."""
    assert operator.batching is not None
    grad, sizes, *rest = values
    if not sizes:
        return loop(level, operator, values)
    changed = [grad.value, (level.size, *sizes), *rest]
    for place in operator.batching[2]:
        changed[place] = shifted(values[place], len(sizes))
    return wrapped(call(operator, changed), level, operator)
