"""Derivatives of least squares and pseudoinverses."""

from __future__ import annotations

from collections.abc import Sequence

from runtime import ops
from runtime.base.tensor import Tensor


def pinv_backward(grad: Tensor, pinvA: Tensor, A: Tensor) -> Tensor:
    """The adjoint of `pinv_jvp`."""
    adjoint, square_left, square_right = grad.mH, ops.matmul(pinvA, pinvA.mH), ops.matmul(pinvA.mH, pinvA)
    left = ops.matmul(adjoint, square_left)
    right = ops.matmul(square_right, adjoint)
    result = -ops.matmul(pinvA.mH, ops.matmul(grad, pinvA.mH))
    result = result + left - ops.matmul(A, ops.matmul(pinvA, left))
    return result + right - ops.matmul(ops.matmul(right, pinvA), A)


def pinv_jvp(A: Tensor, pinvA: Tensor, dA: Tensor) -> Tensor:
    """DP = -P dA P + P P^H dA^H (1 - A P) + (1 - P A) dA^H P^H P, where the rank stays (Golub and Pereyra 1973)."""
    adjoint = dA.mH
    left = ops.matmul(ops.matmul(pinvA, pinvA.mH), adjoint)
    right = ops.matmul(adjoint, ops.matmul(pinvA.mH, pinvA))
    result = -ops.matmul(pinvA, ops.matmul(dA, pinvA))
    result = result + left - ops.matmul(ops.matmul(left, A), pinvA)
    return result + right - ops.matmul(pinvA, ops.matmul(A, right))


def _is_vector(A: Tensor, B: Tensor) -> bool:
    """Whether the right side is a vector for each matrix."""
    return B.dim() == 1 or (A.dim() - 1 == B.dim() and tuple(B.shape) == tuple(A.shape[:-1]))


def _as_matrix(x: Tensor, vector: bool) -> Tensor:
    return x.unsqueeze(-1) if vector else x


def linalg_lstsq_backward(
    gX: Tensor | None, gL: Tensor | None, A: Tensor, B: Tensor, X: Tensor, grad_input_mask: Sequence[bool]
) -> tuple[Tensor | None, Tensor | None]:
    """X = A^+ B, and the rest A X - B is orthogonal to what a change of X adds: its square changes by A and B alone."""
    vector = _is_vector(A, B)
    grad_A = grad_B = None
    sides = _as_matrix(B, vector)
    if gX is not None:
        inverse, grad = ops.linalg_pinv(A), _as_matrix(gX, vector)
        grad_A = pinv_backward(ops.matmul(grad, sides.mH), inverse, A)
        grad_B = ops.matmul(inverse.mH, grad)
    if gL is not None and gL.numel():
        solution = _as_matrix(X, vector)
        away = (ops.matmul(A, solution) - sides) * (2 * gL.unsqueeze(-2))
        part = ops.matmul(away, solution.mH)
        grad_A = part if grad_A is None else grad_A + part
        grad_B = -away if grad_B is None else grad_B - away
    if grad_B is not None and vector:
        grad_B = grad_B.squeeze(-1)
    return grad_A if grad_input_mask[0] else None, grad_B if grad_input_mask[1] else None


def linalg_lstsq_solution_jvp(A: Tensor, B: Tensor, dA: Tensor, dB: Tensor) -> Tensor:
    """DX = dA^+ B + A^+ dB."""
    vector = _is_vector(A, B)
    inverse = ops.linalg_pinv(A)
    result = ops.matmul(pinv_jvp(A, inverse, dA), _as_matrix(B, vector)) + ops.matmul(inverse, _as_matrix(dB, vector))
    return result.squeeze(-1) if vector else result


def linalg_lstsq_residuals_jvp(A: Tensor, B: Tensor, dA: Tensor, dB: Tensor, X: Tensor, L: Tensor) -> Tensor:
    """2 Re of the rest times dA X - dB."""
    if L.numel() == 0:
        return ops.zeros_like(L)
    vector = _is_vector(A, B)
    solution = _as_matrix(X, vector)
    away = ops.matmul(A, solution) - _as_matrix(B, vector)
    moved = ops.matmul(dA, solution) - _as_matrix(dB, vector)
    return 2 * ops.real(away.conj() * moved).sum([-2])
