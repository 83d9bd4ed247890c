"""Indices."""

from __future__ import annotations

from collections.abc import Sequence

from runtime.base.tensor import Tensor
from runtime.operators.helpers import indexing


def index_backward(zeros_like_self: Tensor, indices: Sequence[Tensor | None], grad: Tensor) -> Tensor:
    """The gradient added up where the elements came from."""
    return indexing.index_backward(grad, zeros_like_self.shape, indices)


def take_backward(grad: Tensor, self: Tensor, indices: Tensor) -> Tensor:
    """The gradient added up where the elements came from."""
    return indexing.take_backward(grad, self.shape, indices)


def embedding_dense_double_backward_symint(grad: Tensor, indices: Tensor, padding_idx: int) -> Tensor:
    """The rows again, with zeros for the index that pads."""
    return indexing.embedding_double_backward(grad, indices, padding_idx, False)
