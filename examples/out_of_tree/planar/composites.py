"""Functions on Tensors for operators that have no kernels."""

from __future__ import annotations

from gradwright import Tensor, ops


def charbonnier_loss(self: Tensor, target: Tensor, eps: float) -> Tensor:
    """The mean of sqrt(d^2 + eps^2): P. Charbonnier et al., "Two deterministic half-quadratic regularization algorithms
    for computed imaging", ICIP 1994.
    """
    distance = ops.sub(self, target)
    return ops.mean(ops.sqrt(ops.add(ops.square(distance), eps * eps)))
