"""Rows of a table made shorter; bags of them: gradients of their sums, means and maxima, and the function of users."""

from __future__ import annotations

from runtime import ops
from runtime.base import dtypes
from runtime.base.tensor import Tensor
from runtime.operators.helpers.indexing import embedding_sparse_backward

_MEAN, _MAX = 1, 2


def embedding_renorm(self: Tensor, indices: Tensor, max_norm: float, norm_type: float) -> Tensor:
    """The table with those of its rows that `indices` names no longer than `max_norm`."""
    if self.dim() != 2:
        raise RuntimeError(f"Expected 2-dimensional tensor, but got {self.dim()}-dimensional tensor for self")
    if indices.dtype not in (dtypes.int64, dtypes.int32):
        raise RuntimeError(f"Expected indices to be Long or Int, but got {indices.dtype.scalar_name}")
    lengths = ops.linalg_vector_norm(self, norm_type, [1], True)
    used = ops.zeros_like(lengths, dtype=dtypes.bool).index_fill(0, indices.reshape([-1]), True)
    # The small number keeps the result below the limit, whichever way the division rounds.
    return ops.where(used.logical_and(lengths > max_norm), self * (max_norm / (lengths + 1e-7)), self)


def embedding_bag_padding_idx(
    weight: Tensor,
    indices: Tensor,
    offsets: Tensor,
    scale_grad_by_freq: bool,
    mode: int,
    sparse: bool,
    per_sample_weights: Tensor | None,
    include_last_offset: bool,
    padding_idx: int | None,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """`_embedding_bag`, with a row that may be counted from the end, or None."""
    rows = weight.size(0)
    if padding_idx is None:
        padding_idx = -1
    elif not -rows <= padding_idx < rows:
        raise RuntimeError(
            f"padding_idx must be within the number of embeddings, -{rows} through {rows - 1}, but got {padding_idx}"
        )
    else:
        padding_idx %= rows
    return ops._embedding_bag(
        weight, indices, offsets, scale_grad_by_freq, mode, sparse, per_sample_weights, include_last_offset, padding_idx
    )


def _embedding_bag_backward(
    grad: Tensor,
    indices: Tensor,
    offsets: Tensor,
    offset2bag: Tensor,
    bag_size: Tensor,
    maximum_indices: Tensor,
    num_weights: int,
    scale_grad_by_freq: bool,
    mode: int,
    sparse: bool,
    per_sample_weights: Tensor | None,
    padding_idx: int = -1,
) -> Tensor:
    """The gradient of the table: sparse where that is asked for."""
    if sparse:
        each = _gradients_of_rows(grad, offset2bag, bag_size, mode, per_sample_weights)
        return embedding_sparse_backward(each, indices, num_weights, padding_idx, scale_grad_by_freq)
    return ops._embedding_bag_dense_backward(
        grad,
        indices,
        offset2bag,
        bag_size,
        maximum_indices,
        num_weights,
        scale_grad_by_freq,
        mode,
        per_sample_weights,
        padding_idx,
    )


def _embedding_bag_dense_backward(
    grad: Tensor,
    indices: Tensor,
    offset2bag: Tensor,
    bag_size: Tensor,
    maximum_indices: Tensor,
    num_weights: int,
    scale_grad_by_freq: bool,
    mode: int,
    per_sample_weights: Tensor | None,
    padding_idx: int = -1,
) -> Tensor:
    """What each row gives to the bags that it is in."""
    if mode == _MAX:
        counted = grad.masked_fill((bag_size == 0).unsqueeze(1), 0)
        return grad.new_zeros([num_weights, grad.size(1)]).scatter_add(0, maximum_indices.long(), counted)
    each = _gradients_of_rows(grad, offset2bag, bag_size, mode, per_sample_weights)
    return ops.embedding_dense_backward(each, indices, num_weights, padding_idx, scale_grad_by_freq)


def _gradients_of_rows(
    grad: Tensor, offset2bag: Tensor, bag_size: Tensor, mode: int, per_sample_weights: Tensor | None
) -> Tensor:
    """For each index, what arrives at its row from its bag."""
    if mode == _MEAN:
        grad = grad / bag_size.clamp_min(1).unsqueeze(1)
    each = grad.index_select(0, offset2bag)
    return each if per_sample_weights is None else each * per_sample_weights.unsqueeze(1)


def _embedding_bag_per_sample_weights_backward(
    grad: Tensor, weight: Tensor, indices: Tensor, offsets: Tensor, offset2bag: Tensor, mode: int, padding_idx: int = -1
) -> Tensor:
    """The product of each row with the gradient of its bag."""
    if mode != 0:
        raise RuntimeError("embedding_bag_backward: per_sample_weights only supported for mode='sum'")
    products = (grad.index_select(0, offset2bag) * weight.index_select(0, indices)).sum([1])
    return products.masked_fill(indices == padding_idx, 0)
