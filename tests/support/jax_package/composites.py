"""Functions on Tensors for operators that have no kernels."""

from __future__ import annotations

from gradwright import Tensor, ops


def charbonnier(self: Tensor, target: Tensor, eps: float) -> Tensor:
    """The mean of sqrt(d^2 + eps^2)."""
    distance = ops.sub(self, target)
    return ops.mean(ops.sqrt(ops.add(ops.square(distance), eps * eps)))
