"""Derivatives of LU factors and of what is solved with them.

With A = P L U, L^-1 P^T dA U^-1 = L^-1 dL + dU U^-1: a strictly lower triangle plus an upper one, which can be told
apart.  Of a matrix that is not square this holds for its leading square, and the rest follows.  (Giles 2008; de Hoog,
Anderssen and Lukas 2011, "Differentiation of matrix functionals using triangular factorization".)
"""

from __future__ import annotations

from runtime import ops
from runtime.base.tensor import Tensor


def linalg_lu_backward(
    L_grad: Tensor | None, U_grad: Tensor | None, P: Tensor, L: Tensor, U: Tensor, pivot: bool
) -> Tensor | None:
    if L_grad is None and U_grad is None:
        return None
    rows, columns, rank = L.shape[-2], U.shape[-1], L.shape[-1]
    L1, U1 = L[..., :rank, :], U[..., :rank]
    lower = None if L_grad is None else ops.matmul(L1.mH, L_grad[..., :rank, :])
    upper = None if U_grad is None else ops.matmul(U_grad[..., :rank], U1.mH)
    beside = below = None
    if columns > rank and U_grad is not None:
        beside = ops.linalg_solve_triangular(L1.mH, U_grad[..., rank:], upper=True, unitriangular=True)
        lower = _difference(lower, ops.matmul(U_grad[..., rank:], U[..., rank:].mH))
    if rows > rank and L_grad is not None:
        below = ops.linalg_solve_triangular(U1.mH, L_grad[..., rank:, :], upper=False, left=False)
        upper = _difference(upper, ops.matmul(L[..., rank:, :].mH, L_grad[..., rank:, :]))
    square = _sum(None if lower is None else lower.tril(-1), None if upper is None else upper.triu())
    square = ops.linalg_solve_triangular(L1.mH, square, upper=True, unitriangular=True)
    result = ops.linalg_solve_triangular(U1.mH, square, upper=False, left=False)
    if columns > rank:
        rest = U.new_zeros([*U.shape[:-1], columns - rank]) if beside is None else beside
        result = ops.cat([result, rest], -1)
    if rows > rank:
        rest = L.new_zeros([*L.shape[:-2], rows - rank, rank]) if below is None else below
        result = ops.cat([result, rest], -2)
    return ops.matmul(P, result)


def _sum(left: Tensor | None, right: Tensor | None) -> Tensor:
    if left is None or right is None:
        found = right if left is None else left
        assert found is not None
        return found
    return left + right


def _difference(left: Tensor | None, right: Tensor) -> Tensor:
    return -right if left is None else left - right


def linalg_lu_jvp(dA: Tensor, P: Tensor, L: Tensor, U: Tensor, pivot: bool) -> tuple[Tensor, Tensor]:
    """The tangents of L and U; those of P are none."""
    rank = L.shape[-1]
    L1, U1 = L[..., :rank, :], U[..., :rank]
    moved = ops.matmul(P.mT, dA)
    square = ops.linalg_solve_triangular(L1, moved[..., :rank, :rank], upper=False, unitriangular=True)
    square = ops.linalg_solve_triangular(U1, square, upper=True, left=False)
    lower, upper = square.tril(-1), square.triu()
    dL, dU = ops.matmul(L1, lower), ops.matmul(upper, U1)
    if U.shape[-1] > rank:
        beside = ops.linalg_solve_triangular(L1, moved[..., :rank, rank:], upper=False, unitriangular=True)
        dU = ops.cat([dU, beside - ops.matmul(lower, U[..., rank:])], -1)
    if L.shape[-2] > rank:
        below = ops.linalg_solve_triangular(U1, moved[..., rank:, :rank], upper=True, left=False)
        dL = ops.cat([dL, below - ops.matmul(L[..., rank:, :], upper)], -2)
    return dL, dU


def lu_factor_ex_backward(grad: Tensor, LU: Tensor, pivs: Tensor, pivot: bool) -> Tensor | None:
    """As `linalg_lu_backward`, of L and U in one array."""
    P, L, U = ops.lu_unpack(LU, pivs)
    rank = L.shape[-1]
    return linalg_lu_backward(grad[..., :rank].tril(-1), grad[..., :rank, :].triu(), P, L, U, pivot)


def lu_factor_ex_jvp(dX: Tensor, LU: Tensor, pivs: Tensor, pivot: bool) -> Tensor:
    """As `linalg_lu_jvp`, of L and U in one array."""
    P, L, U = ops.lu_unpack(LU, pivs)
    dL, dU = linalg_lu_jvp(dX, P, L, U, pivot)
    rows, columns, rank = dL.shape[-2], dU.shape[-1], dL.shape[-1]
    if rows > columns:
        dU = ops.cat([dU, dU.new_zeros([*dU.shape[:-2], rows - rank, columns])], -2)
    if columns > rows:
        dL = ops.cat([dL, dL.new_zeros([*dL.shape[:-1], columns - rank])], -1)
    return dL + dU


def lu_unpack_backward(L_grad: Tensor | None, U_grad: Tensor | None, m: int, n: int) -> Tensor | None:
    """Each gradient in its triangle of the one array."""
    result = None
    if L_grad is not None:
        result = L_grad.tril(-1)
        if n > m:
            result = ops.cat([result, result.new_zeros([*result.shape[:-1], n - m])], -1)
    if U_grad is not None:
        part = U_grad.triu()
        if m > n:
            part = ops.cat([part, part.new_zeros([*part.shape[:-2], m - n, n])], -2)
        result = part if result is None else result + part
    return result


def linalg_lu_solve_LU(grad: Tensor, LU: Tensor, pivots: Tensor, X: Tensor, left: bool, adjoint: bool) -> Tensor:
    """The gradient of the factors of A, of the solution of A X = B; with A^H, and from the right, by the same rules."""
    if not left:
        grad, X, adjoint = grad.mH, X.mH, not adjoint
    P, L, U = ops.lu_unpack(LU, pivots)
    if adjoint:
        moved, solution = ops.matmul(P.mT, grad), ops.matmul(P.mT, X)
        half = ops.linalg_solve_triangular(L, moved, upper=False, unitriangular=True)
        of_U = ops.matmul(L.mH, solution)
        of_U = ops.matmul(of_U, ops.linalg_solve_triangular(U, half, upper=True).mH)
        return -(ops.matmul(solution, half.mH).tril(-1) + of_U.triu())
    half = ops.linalg_solve_triangular(U.mH, grad, upper=False)
    of_L = ops.linalg_solve_triangular(L.mH, half, upper=True, unitriangular=True)
    of_L = ops.matmul(of_L, ops.matmul(U, X).mH)
    return -(of_L.tril(-1) + ops.matmul(half, X.mH).triu())


def linalg_lu_solve_jvp(
    X: Tensor, LU: Tensor, pivots: Tensor, dLU: Tensor, dB: Tensor, left: bool, adjoint: bool
) -> Tensor:
    """A dX = dB - dA X, with dA = P (dL U + L dU)."""
    P, L, U = ops.lu_unpack(LU, pivots)
    dA = ops.matmul(P, ops.matmul(dLU.tril(-1), U) + ops.matmul(L, dLU.triu()))
    if adjoint:
        dA = dA.mH
    moved = ops.matmul(dA, X) if left else ops.matmul(X, dA)
    return ops.linalg_lu_solve(LU, pivots, dB - moved, left=left, adjoint=adjoint)


def lu_unpack_lower(tangent: Tensor) -> Tensor:
    """The part of a tangent of L and U in one array that is L's."""
    return tangent[..., : min(tangent.shape[-2:])].tril(-1)


def lu_unpack_upper(tangent: Tensor) -> Tensor:
    """The part of a tangent of L and U in one array that is U's."""
    return tangent[..., : min(tangent.shape[-2:]), :].triu()
