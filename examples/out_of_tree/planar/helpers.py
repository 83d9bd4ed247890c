"""Functions on Tensors that formulas call."""

from __future__ import annotations

from gradwright import Tensor, ops


def cosine(x: Tensor, norm: Tensor) -> Tensor:
    """The cosine of the angle to an axis, `x / norm`; zero at the origin, where the norm has no derivative."""
    at_origin = ops.eq(norm, 0)
    return ops.div(x, ops.masked_fill(norm, at_origin, 1))
