"""Views, joins, and reorderings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, cast

from runtime import ops
from runtime.base.tensor import Tensor
from runtime.base.types import DType
from runtime.graph import forward
from runtime.operators.helpers import shape
from runtime.operators.upstream._common import or_zeros
from runtime.operators.upstream.pointwise import handle_r_to_c

# -- views


class _Geometry(Protocol):
    """Where the elements of a Tensor lie in its memory."""

    shape: Sequence[int]
    strides: Sequence[int]
    offset: int


def as_strided_backward(
    grad: Tensor, input_geometry: object, sizes: Sequence[int], strides: Sequence[int], storage_offset: int | None
) -> Tensor:
    """The gradient through an image of the memory; elements of the input at one place share evenly."""
    own = cast(_Geometry, input_geometry)
    return shape.as_strided_backward(grad, own.shape, own.strides, own.offset, sizes, strides, storage_offset)


def as_strided_scatter_backward(
    grad: Tensor,
    input_geometry: object,
    src_geometry: object,
    sizes: Sequence[int],
    strides: Sequence[int],
    storage_offset: int | None,
) -> Tensor:
    """The gradient of what was written over: zeros where it was."""
    own = cast(_Geometry, input_geometry)
    return shape.as_strided_scatter_backward(grad, own.shape, own.strides, own.offset, sizes, strides, storage_offset)


def permute_backwards(grad: Tensor, fwd_dims: Sequence[int]) -> Tensor:
    """The inverse permutation."""
    return shape.permute_back(grad, fwd_dims)


def slice_backward_wrapper(
    grad: Tensor, input_sizes: Sequence[int], dim: int, start: int | None, end: int | None, step: int
) -> Tensor:
    """Zeros with the gradient written where the slice looked."""
    return shape.slice_gradient(grad, input_sizes, dim, start, end, step)


def unsqueeze_multiple(t: Tensor, opt_dim: Sequence[int] | None, n_dims: int) -> Tensor:
    """Dims of size 1 at the places `opt_dim` of the result, which has `n_dims`; at all of them if there is none."""
    places = range(n_dims) if opt_dim is None else sorted(dim % n_dims for dim in opt_dim) if n_dims else ()
    for place in places:
        t = t.unsqueeze(place)
    return t


def unsqueeze_to(self: Tensor, sym_sizes: Sequence[int]) -> Tensor:
    """The dims of size 1 that squeezing took away."""
    return self.reshape(sym_sizes)


def unsqueeze_to_dim(self: Tensor, dim: int, sym_sizes: Sequence[int]) -> Tensor:
    """The dim that squeezing took away, if its size was 1."""
    return self.reshape(sym_sizes)


def unsqueeze_to_dims(self: Tensor, dim: Sequence[int], sym_sizes: Sequence[int]) -> Tensor:
    """Those of the dims that squeezing took away: the ones of size 1."""
    return self.reshape(sym_sizes)


def sum_to(tensor: Tensor, shape: Sequence[int]) -> Tensor:
    """Summed over the dims that broadcasting from `shape` added or stretched."""
    return tensor.sum_to_size(shape)


def reverse_list(list: Sequence[int]) -> Sequence[int]:
    """The numbers from last to first."""
    return list[::-1]


def reverse_list_symint(list: Sequence[int]) -> Sequence[int]:
    """The numbers from last to first."""
    return list[::-1]


# -- parts and joins


def split_backward(
    grads: Sequence[Tensor | None], split_size: int, dim: int, sizes: Sequence[int], options: DType
) -> Tensor:
    """The parts joined again, with zeros for those that got no gradient."""
    return shape.split_backward(grads, sizes, split_size, dim, options)


def split_with_sizes_backward(
    grads: Sequence[Tensor | None], split_sizes: Sequence[int], dim: int, sizes: Sequence[int], options: DType
) -> Tensor:
    """The parts joined again, with zeros for those that got no gradient."""
    return shape.split_with_sizes_backward(grads, sizes, split_sizes, dim, options)


def unbind_backward(grads: Sequence[Tensor | None], dim: int) -> Tensor | None:
    """The slices stacked again, with zeros for those that got no gradient; shape and type come from one that did."""
    known = next((grad for grad in grads if grad is not None), None)
    if known is None:
        return None
    return ops.stack([ops.zeros_like(known) if grad is None else grad for grad in grads], dim)


def cat_tensors_backward(
    grad: Tensor | None, sizes: Sequence[Sequence[int]], dtypes: Sequence[DType], dim: int
) -> list[Tensor]:
    """Each Tensor's part of the gradient.  Empty vectors took no part in the join, whatever the other shapes."""
    if grad is None:
        return [ops.zeros(size, dtype=dtype) for size, dtype in zip(sizes, dtypes, strict=True)]
    parts, start = [], 0
    for size, dtype in zip(sizes, dtypes, strict=True):
        if tuple(size) == (0,):
            parts.append(ops.zeros([0], dtype=dtype))
            continue
        parts.append(handle_r_to_c(dtype, grad.narrow(dim, start, size[dim])))
        start += size[dim]
    return parts


def block_diag_backward(grad: Tensor | None, sizes: Sequence[Sequence[int]], dtypes: Sequence[DType]) -> list[Tensor]:
    """The blocks of the gradient where the Tensors were."""
    if grad is None:
        return [ops.zeros(size, dtype=dtype) for size, dtype in zip(sizes, dtypes, strict=True)]
    parts, row, column = [], 0, 0
    for size, dtype in zip(sizes, dtypes, strict=True):
        height, width = (1, 1, *size)[-2:]
        part = grad.narrow(0, row, height).narrow(1, column, width)
        parts.append(handle_r_to_c(dtype, part.reshape(size)))
        row, column = row + height, column + width
    return parts


def block_diag_jvp(tensors: Sequence[Tensor]) -> Tensor:
    """The tangents along the diagonal, as the tensors were."""
    return ops.block_diag(_tangents(tensors))


def cat_jvp(tensors: Sequence[Tensor], dim: int) -> Tensor:
    """The tangents joined as the tensors were."""
    return ops.cat(_tangents(tensors), dim)


def _tangents(tensors: Sequence[Tensor]) -> list[Tensor]:
    """What the tensors carry.  PyTorch's formulas for joins name the tensors, where others name tangents.

    If none carries a tangent they are tangents themselves: forward formulas are not asked about constants.
    """
    tangents = [forward.tangent_of(tensor) for tensor in tensors]
    if all(tangent is None for tangent in tangents):
        return list(tensors)
    return [or_zeros(tangent, tensor) for tangent, tensor in zip(tangents, tensors, strict=True)]


def stack_tensors_backward(grad: Tensor | None, dim: int, dtypes: Sequence[DType]) -> Sequence[Tensor | None]:
    """To each Tensor its slice, real to those that are real."""
    if grad is None:
        return [None] * len(dtypes)
    return [handle_r_to_c(dtype, part) for dtype, part in zip(dtypes, grad.unbind(dim), strict=True)]


def stack_jvp(tensors: Sequence[Tensor | None], dim: int) -> Tensor:
    """The stack of the tangents that the Tensors carry, zeros for those that carry none."""
    values = [tensor for tensor in tensors if tensor is not None]
    tangents = [forward.tangent_of(tensor) for tensor in values]
    return ops.stack(
        [ops.zeros_like(value) if t is None else t for value, t in zip(values, tangents, strict=True)], dim
    )


# -- copies and padding


def repeat_backward(grad: Tensor, repeats: Sequence[int], input_shape: Sequence[int]) -> Tensor:
    return shape.repeat_backward(grad, input_shape, repeats)


def constant_pad_nd_backward(grad: Tensor, pad: Sequence[int]) -> Tensor:
    """What was added is cut off, and what was cut off gets zeros."""
    return shape.pad_backward(grad, pad)
