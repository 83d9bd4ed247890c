"""What several modules of this folder need."""

from __future__ import annotations

from runtime import ops
from runtime.base.tensor import Tensor


def or_zeros(tangent: Tensor | None, like: Tensor) -> Tensor:
    """The tangent; zeros where there is none."""
    return ops.zeros_like(like) if tangent is None else tangent
