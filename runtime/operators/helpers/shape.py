"""Derivatives of views, joins and reorderings."""

from __future__ import annotations

from collections.abc import Sequence

from runtime import ops
from runtime.base import dtypes
from runtime.base.tensor import Tensor
from runtime.base.types import DType
from runtime.operators.kernels import shape as kernels


def broadcast_sizes(sizes: Sequence[int], others: Sequence[int]) -> list[int]:
    """The sizes that two broadcast to."""
    return kernels.broadcast_sizes(sizes, others)


def permute_back(grad: Tensor, dims: Sequence[int]) -> Tensor:
    """The inverse permutation."""
    back = [0] * len(dims)
    for place, dim in enumerate(dims):
        back[dim] = place
    return grad.permute(back)


def slice_gradient(
    grad: Tensor, sizes: Sequence[int], dim: int, start: int | None, end: int | None, step: int
) -> Tensor:
    """Zeros with the gradient written where the slice looked."""
    return ops.slice_backward(grad, sizes, dim, 0 if start is None else start, sizes[dim] if end is None else end, step)


# -- parts and joins


def _part_sizes(sizes: Sequence[int], dim: int, length: int) -> list[int]:
    part = list(sizes)
    part[dim] = length
    return part


def split_with_sizes_backward(
    grads: Sequence[Tensor | None], sizes: Sequence[int], split_sizes: Sequence[int], dim: int, dtype: DType
) -> Tensor:
    """The parts joined again, with zeros for those that got no gradient."""
    known = next((grad for grad in grads if grad is not None), None)
    if known is None:
        return ops.zeros(sizes, dtype=dtype)
    parts = [
        known.new_zeros(_part_sizes(sizes, dim, length), dtype=dtype) if grad is None else grad
        for grad, length in zip(grads, split_sizes, strict=True)
    ]
    return ops.cat(parts, dim)


def split_backward(
    grads: Sequence[Tensor | None], sizes: Sequence[int], split_size: int, dim: int, dtype: DType
) -> Tensor:
    """As `split_with_sizes_backward`; all parts but the last are of one size."""
    length = sizes[dim]
    lengths = [split_size] * (len(grads) - 1)
    return split_with_sizes_backward(grads, sizes, [*lengths, length - sum(lengths)], dim, dtype)


def unbind_backward(grads: Sequence[Tensor | None], sizes: Sequence[int], dim: int, dtype: DType) -> Tensor:
    """The slices stacked again, with zeros for those that got no gradient."""
    known = next((grad for grad in grads if grad is not None), None)
    if known is None:
        return ops.zeros(sizes, dtype=dtype)
    rest = list(sizes)
    del rest[dim]
    return ops.stack([known.new_zeros(rest, dtype=dtype) if grad is None else grad for grad in grads], dim)


def cat_backward(grad: Tensor, sizes: Sequence[Sequence[int]], dim: int) -> list[Tensor]:
    """Each Tensor's part of the gradient.  Empty vectors took no part in the join, whatever the other shapes."""
    parts, start = [], 0
    for size in sizes:
        if tuple(size) == (0,):
            parts.append(grad.new_zeros([0]))
            continue
        parts.append(grad.narrow(dim, start, size[dim]))
        start += size[dim]
    return parts


# -- reorderings


def roll_back(grad: Tensor, shifts: Sequence[int], dims: Sequence[int]) -> Tensor:
    """Rolled the other way."""
    return grad.roll([-shift for shift in shifts], dims)


def repeat_backward(grad: Tensor, sizes: Sequence[int], repeats: Sequence[int]) -> Tensor:
    """The sum over the copies."""
    if 0 in repeats:
        return grad.new_zeros(sizes)
    own = [1] * (len(repeats) - len(sizes)) + list(sizes)
    shape = [length for pair in zip(repeats, own, strict=True) for length in pair]
    copies = [2 * place for place, count in enumerate(repeats) if count != 1]
    grad = grad.reshape(shape)
    return (grad.sum(copies) if copies else grad).reshape(sizes)


def pad_backward(grad: Tensor, pad: Sequence[int]) -> Tensor:
    """What was added is cut off, and what was cut off gets zeros."""
    return ops.constant_pad_nd(grad, [-length for length in pad])


# -- any strides


def _places(like: Tensor, sizes: Sequence[int], strides: Sequence[int], offset: int) -> Tensor:
    """The place in memory of each element, in row-major order, as a 1-dim Tensor where `like` is."""
    places = ops.arange(offset, offset + 1, device=like.device)
    for size, stride in zip(sizes, strides, strict=True):
        places = (places.unsqueeze(-1) + ops.arange(size, device=like.device) * stride).reshape([-1 if size else 0])
    return places


def _may_overlap(sizes: Sequence[int], strides: Sequence[int]) -> bool:
    """Whether two elements may lie at one place: each stride should step over all that the smaller strides reach."""
    reach = 0
    for stride, size in sorted(zip(strides, sizes, strict=True)):
        if size > 1:
            if stride <= reach:
                return True
            reach += stride * (size - 1)
    return False


def _extent(sizes: Sequence[int], strides: Sequence[int], offset: int) -> int:
    if 0 in sizes:
        return 0
    return offset + 1 + sum((size - 1) * stride for size, stride in zip(sizes, strides, strict=True))


def as_strided_backward(
    grad: Tensor,
    sizes: Sequence[int],
    strides: Sequence[int],
    offset: int,
    size: Sequence[int],
    stride: Sequence[int],
    storage_offset: int | None,
) -> Tensor:
    """Gradients are added up in an image of the memory, and read back through the strides of the input.

    Elements of the input that share one place share its gradient evenly.
    """
    start = offset if storage_offset is None else storage_offset
    length = max(_extent(sizes, strides, offset), _extent(size, stride, start))
    places = _places(grad, size, stride, start)
    memory = grad.new_zeros([length]).index_add(0, places, grad.reshape(-1))
    return _read_evenly(memory, sizes, strides, offset)


def as_strided_scatter_backward(
    grad: Tensor,
    sizes: Sequence[int],
    strides: Sequence[int],
    offset: int,
    size: Sequence[int],
    stride: Sequence[int],
    storage_offset: int | None,
) -> Tensor:
    """Zeros where the memory of the input was written over, else the gradient."""
    start = offset if storage_offset is None else storage_offset
    length = max(_extent(sizes, strides, offset), _extent(size, stride, start))
    written = grad.new_zeros([length], dtype=dtypes.bool).index_fill(0, _places(grad, size, stride, start), True)
    return grad.masked_fill(written.index_select(0, _places(grad, sizes, strides, offset)).reshape(sizes), 0)


def as_strided_jvp(
    tangent: Tensor,
    sizes: Sequence[int],
    strides: Sequence[int],
    offset: int,
    size: Sequence[int],
    stride: Sequence[int],
    storage_offset: int | None,
) -> Tensor:
    """The transpose of `as_strided_backward`: tangents go into an image of the memory, which the result reads."""
    start = offset if storage_offset is None else storage_offset
    length = max(_extent(sizes, strides, offset), _extent(size, stride, start))
    places = _places(tangent, sizes, strides, offset)
    flat = tangent.reshape(-1)
    if _may_overlap(sizes, strides):
        flat = flat / _sharing(places, length)
    memory = tangent.new_zeros([length]).index_add(0, places, flat)
    return memory.index_select(0, _places(tangent, size, stride, start)).reshape(size)


def _sharing(places: Tensor, length: int) -> Tensor:
    """For each element, how many lie at its place."""
    counts = places.new_zeros([length]).index_add(0, places, ops.ones_like(places))
    return counts.index_select(0, places)


def _read_evenly(memory: Tensor, sizes: Sequence[int], strides: Sequence[int], offset: int) -> Tensor:
    places = _places(memory, sizes, strides, offset)
    values = memory.index_select(0, places)
    if _may_overlap(sizes, strides):
        values = values / _sharing(places, memory.shape[0])
    return values.reshape(sizes)
