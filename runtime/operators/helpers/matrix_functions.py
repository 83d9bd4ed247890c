"""Derivatives of functions of whole matrices."""

from __future__ import annotations

from runtime import ops
from runtime.base.declarations import linear_in
from runtime.base.tensor import Tensor


@linear_in("grad")
def linalg_matrix_exp_differential(self: Tensor, grad: Tensor, adjoint: bool) -> Tensor:
    """The upper right block of exp([[A, dA], [0, A]]) is d exp(A) (Mathias 1996); with A^H it is the gradient."""
    A = self.mH if adjoint else self
    size = A.shape[-1]
    blocks = ops.cat([ops.cat([A, grad], -1), ops.cat([ops.zeros_like(A), A], -1)], -2)
    return ops.linalg_matrix_exp(blocks)[..., :size, size:]
