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


def svd_backward(
    grad_U: Tensor | None,
    grad_S: Tensor | None,
    grad_Vh: Tensor | None,
    U: Tensor,
    S: Tensor,
    Vh: Tensor,
    full_matrices: bool,
) -> Tensor | None:
    """From A = U S V^H with orthonormal columns in U and V: what turns them is antisymmetric, the rest leaves the span.

    Where A is complex, U and V are known up to phases; a function of them that depends on these has no gradient.
    """
    if grad_U is None and grad_Vh is None:
        if grad_S is None:
            return None
        count = S.shape[-1]
        return ops.matmul(U[..., :count] * grad_S.unsqueeze(-2), Vh[..., :count, :])
    if full_matrices:
        raise RuntimeError("svd_backward: U and Vh can be differentiated where full_matrices is False")
    squares = S * S
    gaps = squares.unsqueeze(-2) - squares.unsqueeze(-1)
    gaps = gaps + ops.diag_embed(ops.ones_like(S))
    result = _outside_of_span(grad_U, grad_Vh, U, S, Vh)
    core = None if grad_S is None else ops.diag_embed(grad_S).to(U.dtype)
    if grad_U is not None:
        turned = _adjoint(U).matmul(grad_U)
        turned = turned - _adjoint(turned)
        if U.is_complex():  # on the diagonal are the phases, which are shared by both sides
            phases = turned.diagonal(0, -2, -1)
            core = _sum(core, ops.diag_embed(phases / (2 * S)))
            turned = turned - ops.diag_embed(phases)
        core = _sum(core, turned / gaps * S.unsqueeze(-2))
    if grad_Vh is not None:
        turned = Vh.matmul(_adjoint(grad_Vh))
        turned = turned - _adjoint(turned)
        if U.is_complex():
            turned = turned - ops.diag_embed(turned.diagonal(0, -2, -1))
        core = _sum(core, S.unsqueeze(-1) * (turned / gaps))
    assert core is not None
    inside = ops.matmul(U, ops.matmul(core, Vh))
    return inside if result is None else inside + result


def _outside_of_span(grad_U: Tensor | None, grad_Vh: Tensor | None, U: Tensor, S: Tensor, Vh: Tensor) -> Tensor | None:
    """The part of the gradient in directions that U, or V, has no columns for."""
    result = None
    if grad_U is not None and U.shape[-2] > U.shape[-1]:
        scaled = grad_U / S.unsqueeze(-2)
        result = ops.matmul(scaled - ops.matmul(U, ops.matmul(_adjoint(U), scaled)), Vh)
    if grad_Vh is not None and Vh.shape[-1] > Vh.shape[-2]:
        scaled = grad_Vh / S.unsqueeze(-1)
        result = _sum(result, ops.matmul(U, scaled - ops.matmul(ops.matmul(scaled, _adjoint(Vh)), Vh)))
    return result


def _sum(left: Tensor | None, right: Tensor) -> Tensor:
    return right if left is None else left + right


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
