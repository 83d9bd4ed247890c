"""Derivatives of Cholesky factors and of what is solved with them.

Iain Murray, "Differentiation of the Cholesky decomposition" (2016), in its closed form, for complex matrices too.
"""

from __future__ import annotations

from collections.abc import Sequence

from runtime import ops
from runtime.base.tensor import Tensor


def _lower_half(x: Tensor) -> Tensor:
    """The lower triangle, with half of the diagonal."""
    return x.tril() - ops.diag_embed(x.diagonal(0, -2, -1) / 2)


def _hermitian(x: Tensor) -> Tensor:
    return (x + x.mH) / 2


def cholesky_backward(grad: Tensor, upper: bool, L: Tensor) -> Tensor:
    """The gradient of a Hermitian matrix: L^-H S L^-1, with S the Hermitian part of the lower half of L^H dL."""
    if upper:
        L, grad = L.mH, grad.mH
    inner = _hermitian(_lower_half(ops.matmul(L.mH, grad)))
    left = ops.linalg_solve_triangular(L.mH, inner, upper=True)
    return ops.linalg_solve_triangular(L, left, upper=False, left=False)


def cholesky_jvp(input_tangent: Tensor, L: Tensor, upper: bool) -> Tensor:
    """DL is L times the lower half of L^-1 dA L^-H."""
    if upper:
        L = L.mH
    left = ops.linalg_solve_triangular(L, _hermitian(input_tangent), upper=False)
    moved = ops.linalg_solve_triangular(L.mH, left, upper=True, left=False)
    result = ops.matmul(L, _lower_half(moved))
    return result.mH if upper else result


def _of_factor(grad_A: Tensor, L: Tensor, upper: bool) -> Tensor:
    """The gradient of the factor of A, of which only one triangle was read."""
    both = grad_A + grad_A.mH
    return ops.matmul(L.triu(), both).triu() if upper else ops.matmul(both, L.tril()).tril()


def _tangent_of_product(L: Tensor, dL: Tensor, upper: bool) -> Tensor:
    """The tangent of L L^H, or U^H U."""
    half = ops.matmul(dL.triu().mH, L.triu()) if upper else ops.matmul(dL.tril(), L.tril().mH)
    return half + half.mH


def cholesky_solve_backward(
    grad_x: Tensor, self: Tensor, input2: Tensor, result: Tensor, upper: bool, output_mask: Sequence[bool]
) -> tuple[Tensor | None, Tensor | None]:
    """A X = B: dB solves A dB = dX, and dA = -dB X^H."""
    grad_B = ops.cholesky_solve(grad_x, input2, upper)
    if not output_mask[1]:
        return grad_B, None
    grad_L = _of_factor(-ops.matmul(grad_B, result.mH), input2, upper)
    return grad_B if output_mask[0] else None, grad_L


def cholesky_solve_jvp(X: Tensor, U: Tensor, dU: Tensor, dB: Tensor, upper: bool) -> Tensor:
    """A dX = dB - dA X."""
    return ops.cholesky_solve(dB - ops.matmul(_tangent_of_product(U, dU, upper), X), U, upper)


def cholesky_inverse_backward(grad: Tensor, L: Tensor, upper: bool, inverse: Tensor) -> Tensor:
    """From d(A^-1) = -A^-1 dA A^-1."""
    return _of_factor(-ops.matmul(inverse, ops.matmul(grad, inverse)), L, upper)


def cholesky_inverse_jvp(F: Tensor, dF: Tensor, X: Tensor, upper: bool) -> Tensor:
    """From d(A^-1) = -A^-1 dA A^-1."""
    return -ops.matmul(X, ops.matmul(_tangent_of_product(F, dF, upper), X))
