"""Derivatives of matrix products, diagonals, inverses and solutions of linear systems."""

from __future__ import annotations

from collections.abc import Sequence

from runtime import ops
from runtime.base.tensor import Tensor


def repeated(grad: Tensor, count: int) -> Tensor:
    """`grad` `count` times along a new first dim, without copies."""
    return grad.unsqueeze(0).expand([count, *grad.shape])


def laid_out_product(left: Tensor, right: Tensor, by_rows: bool) -> Tensor:
    """`left.mm(right)`, in memory row by row, or else column by column.

    The gradient of a transposed weight is asked for by columns, so that the one of the weight itself lies as the weight
    does, and need not be copied.
    """
    return left.mm(right) if by_rows else right.t().mm(left.t()).t()


def trace_gradient(grad: Tensor, sizes: Sequence[int]) -> Tensor:
    """The gradient of a trace, on the diagonal of zeros."""
    return ops.diagonal_backward(grad.expand([min(sizes)]), sizes, 0, 0, 1)


def _adjoint(x: Tensor) -> Tensor:
    return x.transpose(-2, -1).conj()


def inverse_backward(grad: Tensor, inverse: Tensor) -> Tensor:
    """From d(A^-1) = -A^-1 dA A^-1."""
    adjoint = _adjoint(inverse)
    return -ops.matmul(adjoint, ops.matmul(grad, adjoint))


def _is_vector_side(A: Tensor, result: Tensor) -> bool:
    """Whether the right side of a system is a vector for each matrix (the result has its shape)."""
    return result.dim() == 1 or (result.dim() == A.dim() - 1 and tuple(result.shape) == tuple(A.shape[:-1]))


def solve_backward(
    grad: Tensor, A: Tensor, B: Tensor, result: Tensor, left: bool, grad_input_mask: Sequence[bool]
) -> tuple[Tensor | None, Tensor | None]:
    """A X = B: dB solves A^H dB = dX, and dA = -dB X^H."""
    vector = left and _is_vector_side(A, B)
    grad_B = ops.linalg_solve(_adjoint(A), grad, left=left)
    if not grad_input_mask[0]:
        return None, grad_B
    if vector:
        grad_A = -ops.matmul(grad_B.unsqueeze(-1), result.conj().unsqueeze(-2))
    elif left:
        grad_A = -ops.matmul(grad_B, _adjoint(result))
    else:
        grad_A = -ops.matmul(_adjoint(result), grad_B)
    return grad_A, grad_B if grad_input_mask[1] else None


def solve_jvp(A: Tensor, B: Tensor, A_t: Tensor, B_t: Tensor, result: Tensor, left: bool) -> Tensor:
    """A dX = dB - dA X."""
    if left and _is_vector_side(A, B):
        moved = ops.matmul(A_t, result.unsqueeze(-1)).squeeze(-1)
    else:
        moved = ops.matmul(A_t, result) if left else ops.matmul(result, A_t)
    return ops.linalg_solve(A, B_t - moved, left=left)


def _triangle(x: Tensor, upper: bool, unitriangular: bool) -> Tensor:
    """The part of a matrix that a triangular system reads."""
    if upper:
        return x.triu(1 if unitriangular else 0)
    return x.tril(-1 if unitriangular else 0)


def solve_triangular_backward(
    grad: Tensor,
    self: Tensor,
    result: Tensor,
    upper: bool,
    left: bool,
    unitriangular: bool,
    grad_input_mask: Sequence[bool],
) -> tuple[Tensor | None, Tensor | None]:
    """As `solve_backward`, kept to the triangle that was read."""
    grad_B = ops.linalg_solve_triangular(_adjoint(self), grad, upper=not upper, left=left, unitriangular=unitriangular)
    if not grad_input_mask[0]:
        return None, grad_B
    product = ops.matmul(grad_B, _adjoint(result)) if left else ops.matmul(_adjoint(result), grad_B)
    return -_triangle(product, upper, unitriangular), grad_B if grad_input_mask[1] else None


def solve_triangular_jvp(
    self: Tensor, self_t: Tensor, B_t: Tensor, result: Tensor, upper: bool, left: bool, unitriangular: bool
) -> Tensor:
    """As `solve_jvp`, with the tangent of the triangle that was read."""
    tangent = _triangle(self_t, upper, unitriangular)
    moved = ops.matmul(tangent, result) if left else ops.matmul(result, tangent)
    return ops.linalg_solve_triangular(self, B_t - moved, upper=upper, left=left, unitriangular=unitriangular)


def triangular_solve_backward(
    grad_x: Tensor | None,
    grad_m: Tensor | None,
    b: Tensor,
    a: Tensor,
    x: Tensor,
    upper: bool,
    transpose: bool,
    unitriangular: bool,
    output_mask: Sequence[bool],
) -> tuple[Tensor | None, Tensor | None]:
    """As `solve_triangular_backward`, of A or its transpose; the second result is A again."""
    grad_b = grad_a = None
    if grad_x is not None:
        adjoint = a.conj() if transpose else a.mH
        grad_b = ops.linalg_solve_triangular(
            adjoint, grad_x, upper=upper if transpose else not upper, unitriangular=unitriangular
        )
        product = -ops.matmul(grad_b, x.mH)
        grad_a = _triangle(product.mT if transpose else product, upper, unitriangular)
    if grad_m is not None:
        grad_a = grad_m if grad_a is None else grad_a + grad_m
    return grad_b if output_mask[0] else None, grad_a if output_mask[1] else None


def triangular_solve_jvp(
    X: Tensor, A: Tensor, dA: Tensor, dB: Tensor, upper: bool, transpose: bool, unitriangular: bool
) -> Tensor:
    """As `solve_triangular_jvp`, of A or its transpose."""
    tangent = _triangle(dA, upper, unitriangular)
    matrix, moved = (A.mT, tangent.mT) if transpose else (A, tangent)
    return ops.linalg_solve_triangular(
        matrix, dB - ops.matmul(moved, X), upper=upper != transpose, unitriangular=unitriangular
    )
