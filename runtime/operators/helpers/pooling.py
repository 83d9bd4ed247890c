"""Derivatives of pooling."""

from __future__ import annotations

from runtime import ops
from runtime.base.tensor import Tensor


def max_pool_double_backward(grad: Tensor, indices: Tensor, dim: int) -> Tensor:
    """What stands at the places that `indices` name in images of `dim` dimensions."""
    outer = list(indices.shape[: indices.dim() - dim])
    count = 1
    for size in indices.shape[indices.dim() - dim :]:
        count *= size
    plane = 1
    for size in grad.shape[grad.dim() - dim :]:
        plane *= size
    found = ops.gather(grad.reshape([*outer, plane]), -1, indices.reshape([*outer, count]))
    return found.reshape(indices.shape)
