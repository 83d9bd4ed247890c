"""Derivatives of functions of whole matrices."""

from __future__ import annotations

from runtime import ops
from runtime.base.tensor import Tensor


class _Blocks:
    """[[A, E], [0, A]]: of a function of it, the block above the diagonal is linear in E, though the rest is not."""

    def __init__(self, A: Tensor, E: Tensor) -> None:
        self.size = A.shape[-1]
        self.matrix = ops.cat([ops.cat([A, E], -1), ops.cat([ops.zeros_like(A), A], -1)], -2)

    def above(self, function_of_it: Tensor) -> Tensor:
        return function_of_it[..., : self.size, self.size :]


def linalg_matrix_exp_differential(self: Tensor, grad: Tensor, adjoint: bool) -> Tensor:
    """The upper right block of exp([[A, dA], [0, A]]) is d exp(A) (Mathias 1996); with A^H it is the gradient."""
    blocks = _Blocks(self.mH if adjoint else self, grad)
    return blocks.above(ops.linalg_matrix_exp(blocks.matrix))
