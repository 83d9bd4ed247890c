"""Derivatives of reading and writing by index."""

from __future__ import annotations

from collections.abc import Sequence

from runtime import ops
from runtime.base.tensor import Tensor
from runtime.operators import sparse


def index_backward(grad: Tensor, sizes: Sequence[int], indices: Sequence[Tensor | None]) -> Tensor:
    """The gradient added up where the elements came from."""
    return grad.new_zeros(sizes).index_put(indices, grad, True)


def take_backward(grad: Tensor, sizes: Sequence[int], index: Tensor) -> Tensor:
    return grad.new_zeros(sizes).put(index, grad, True)


def index_select_backward(grad: Tensor, sizes: Sequence[int], dim: int, index: Tensor) -> Tensor:
    if not sizes:
        return grad.reshape([])
    if index.dim() == 0:
        index = index.reshape([1])
    return grad.new_zeros(sizes).index_add(dim, index, grad)


def gather_backward(grad: Tensor, sizes: Sequence[int], dim: int, index: Tensor) -> Tensor:
    return grad.new_zeros(sizes).scatter_add(dim, index, grad)


def source_of_slices(grad: Tensor, dim: int, index: Tensor, sizes: Sequence[int]) -> Tensor:
    """The gradient of what was written to, or added on, the slices that `index` names."""
    return grad.index_select(dim, index).reshape(sizes)


def source_of_elements(grad: Tensor, dim: int, index: Tensor, sizes: Sequence[int]) -> Tensor:
    """The gradient of what was scattered: zeros for the part of the source that the index leaves out."""
    taken = grad.gather(dim, index)
    if list(taken.shape) == list(sizes):
        return taken
    if index.numel() == 0:
        return grad.new_zeros(sizes)
    if len(taken.shape) != len(sizes):  # a 0-dim source beside a vector of one index, or the other way round
        return taken.reshape(sizes)
    for axis, size in enumerate(taken.shape):
        if size != sizes[axis]:
            taken = ops.constant_pad_nd(taken, [0, 0] * (len(sizes) - axis - 1) + [0, sizes[axis] - size])
    return taken


def masked_select_backward(grad: Tensor, sizes: Sequence[int], mask: Tensor) -> Tensor:
    """The gradient put back under the mask, in the shape that tensor and mask have together."""
    room = grad.new_zeros(sizes) + grad.new_zeros(mask.shape)
    return room.masked_scatter(mask, grad)


def masked_source(grad: Tensor, mask: Tensor, sizes: Sequence[int]) -> Tensor:
    """The gradient of the source of `masked_scatter`: zeros for what was not used up."""
    used = grad.masked_select(mask)
    count = 1
    for size in sizes:
        count *= size
    return ops.constant_pad_nd(used, [0, count - used.numel()]).reshape(sizes)


def embedding_sparse_backward(
    grad: Tensor, indices: Tensor, num_weights: int, padding_idx: int, scale_grad_by_freq: bool
) -> Tensor:
    """The gradient of a table as a sparse Tensor: what arrives at its rows, not added up."""
    if scale_grad_by_freq:
        raise RuntimeError("embedding_backward: scale_grad_by_freq not supported with sparse gradients")
    return sparse.of_rows(grad, indices, num_weights, padding_idx)


def embedding_double_backward(grad: Tensor, indices: Tensor, padding_idx: int, scale_grad_by_freq: bool) -> Tensor:
    """The rows again, with the weights that they were added up with."""
    rows = ops.embedding(grad, indices)
    if padding_idx >= 0:
        rows = rows.masked_fill((indices == padding_idx).unsqueeze(-1), 0)
    if scale_grad_by_freq:
        counts = ops.bincount(indices.reshape([-1])).index_select(0, indices.reshape([-1]))
        rows = rows / counts.reshape(indices.shape).unsqueeze(-1)
    return rows
