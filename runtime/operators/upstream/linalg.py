"""Matrix products and linear systems."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from runtime import ops
from runtime.base.tensor import Tensor, wrap
from runtime.base.types import Scalar
from runtime.operators.helpers import determinants, linalg, pointwise
from runtime.operators.upstream._common import or_zeros

# -- products


def mm_mat1_backward(
    grad: Tensor,
    mat2: Tensor,
    mat1_sizes: Sequence[int],
    mat1_strides: Sequence[int],
    mat1_layout: object,
    alpha: Scalar,
) -> Tensor:
    """C = alpha A B: dA = conj(alpha) dC B^H.  Strides and layout choose an order of memory only; there is one here."""
    return pointwise.scaled(ops.mm(grad, mat2.t().conj()), alpha.conjugate())


def mm_mat2_backward(
    grad: Tensor,
    mat1: Tensor,
    sizes: Sequence[int],
    strides: Sequence[int],
    layout: object,
    alpha: Scalar,
) -> Tensor:
    """C = alpha A B: dB = conj(alpha) A^H dC."""
    return pointwise.scaled(ops.mm(mat1.t().conj(), grad), alpha.conjugate())


def _grouped_mm_mat1_backward(
    grad: Tensor,
    mat2: Tensor,
    mat1_sizes: Sequence[int],
    mat1_strides: Sequence[int],
    mat1_layout: object,
    offs: Tensor | None,
    alpha: Scalar,
) -> Tensor:
    """For each group C = alpha A B: dA = conj(alpha) dC B^H."""
    return pointwise.scaled(ops._grouped_mm(grad, mat2.mH, offs), alpha.conjugate())


def _grouped_mm_mat2_backward(
    grad: Tensor,
    mat1: Tensor,
    sizes: Sequence[int],
    strides: Sequence[int],
    layout: object,
    offs: Tensor | None,
    alpha: Scalar,
) -> Tensor:
    """For each group C = alpha A B: dB = conj(alpha) A^H dC."""
    return pointwise.scaled(ops._grouped_mm(mat1.mH, grad, offs), alpha.conjugate())


def linear_double_backward(
    grads: Sequence[Tensor | None], self: Tensor, grad_output: Tensor, weight: Tensor
) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
    """The gradients of input, gradient and weight of `(g W, g^T x, sum g)`."""
    of_input, of_weight, of_bias = grads
    rows = grad_output.reshape([-1, grad_output.shape[-1]])
    grad_self = None if of_weight is None else ops.matmul(grad_output, of_weight)
    grad_weight = None
    grad_grad = None if of_bias is None else of_bias.expand(grad_output.shape)
    if of_input is not None:
        grad_weight = ops.matmul(rows.t(), of_input.reshape([-1, of_input.shape[-1]]))
        part = ops.matmul(of_input, weight.t())
        grad_grad = part if grad_grad is None else grad_grad + part
    if of_weight is not None:
        part = ops.matmul(self, of_weight.t())
        grad_grad = part if grad_grad is None else grad_grad + part
    return grad_self, grad_grad, grad_weight


# -- linear systems


def linalg_solve_backward(
    gX: Tensor | None, X: Tensor, A: Tensor, LU: Tensor, pivots: Tensor, left: bool, B_requires_grad: bool
) -> tuple[Tensor | None, Tensor | None]:
    """A X = B: dB solves A^H dB = dX, and dA = -dB X^H.  From A, not from its factors, which have no history."""
    if gX is None:
        return None, None
    # The right side has as many dims as the solution, and that is all that is asked of it.
    return linalg.solve_backward(gX, A, X, X, left, [True, B_requires_grad])


def linalg_solve_jvp(dA: Tensor | None, dB: Tensor | None, X: Tensor, LU: Tensor, pivots: Tensor, left: bool) -> Tensor:
    """A dX = dB - dA X, by the factors of A: there is no A to solve with."""
    vector = left and (X.dim() == 1 or (X.dim() == LU.dim() - 1 and tuple(X.shape) == tuple(LU.shape[:-1])))
    side = or_zeros(dB, X)
    if vector:
        X, side = X.unsqueeze(-1), side.unsqueeze(-1)
    if dA is not None:
        side = side - (ops.matmul(dA, X) if left else ops.matmul(X, dA))
    solution = _solve_by_factors(LU, pivots, side, left)
    return solution.squeeze(-1) if vector else solution


def _solve_by_factors(LU: Tensor, pivots: Tensor, side: Tensor, left: bool) -> Tensor:
    """The solution for a matrix whose rows, exchanged as the pivots say, are L U."""
    order = _row_order(pivots)
    if left:
        side = _take_rows(side, order)
        lower = ops.linalg_solve_triangular(LU, side, upper=False, unitriangular=True)
        return ops.linalg_solve_triangular(LU, lower, upper=True)
    upper = ops.linalg_solve_triangular(LU, side, upper=True, left=False)
    moved = ops.linalg_solve_triangular(LU, upper, upper=False, left=False, unitriangular=True)
    return _take_rows(moved.transpose(-2, -1), order.argsort(-1)).transpose(-2, -1)


def _row_order(pivots: Tensor) -> Tensor:
    """Where each row of L U is in the matrix; the pivots are the rows, from 1, that were exchanged one by one."""
    swaps = pivots.numpy()
    order = np.broadcast_to(np.arange(swaps.shape[-1]), swaps.shape).copy()
    for place in np.ndindex(*swaps.shape[:-1]):
        rows = order[place]
        for row, other in enumerate(swaps[place]):
            rows[[row, other - 1]] = rows[[other - 1, row]]
    return wrap(order)


def _take_rows(x: Tensor, order: Tensor) -> Tensor:
    """Rows in another order, for each matrix of a batch."""
    if order.dim() == 1:
        return x.index_select(-2, order)
    batch = np.broadcast_shapes(tuple(x.shape[:-2]), tuple(order.shape[:-1]))
    full = [*batch, *x.shape[-2:]]
    return x.expand(full).gather(-2, order.unsqueeze(-1).expand(full))


def linalg_solve_triangular_backward(
    grad: Tensor | None,
    A: Tensor,
    X: Tensor,
    upper: bool,
    left: bool,
    unitriangular: bool,
    output_mask: Sequence[bool],
) -> tuple[Tensor | None, Tensor | None]:
    """As `linalg_solve_backward`, kept to the triangle that was read."""
    if grad is None or not any(output_mask):
        return None, None
    return linalg.solve_triangular_backward(grad, A, X, upper, left, unitriangular, output_mask)


def linalg_solve_triangular_forward_AD(
    A_t: Tensor | None, B_t: Tensor | None, A: Tensor, X: Tensor, upper: bool, left: bool, unitriangular: bool
) -> Tensor:
    """As `linalg_solve_jvp`, with the tangent of the triangle that was read."""
    return linalg.solve_triangular_jvp(A, or_zeros(A_t, A), or_zeros(B_t, X), X, upper, left, unitriangular)


# -- determinants


def linalg_det_jvp(dA: Tensor, det: Tensor, LU: Tensor, pivots: Tensor, use_A_T: bool) -> Tensor:
    """As `det_jvp`, of the matrix that the factors make; those of real matrices may be of the transpose."""
    return determinants.det_jvp(_of_factors(LU, pivots, use_A_T), dA, det, LU)


def slogdet_jvp(LU: Tensor, pivots: Tensor, dA: Tensor, sign: Tensor, use_A_T: bool) -> tuple[Tensor, Tensor]:
    """As `slogdet_tangents`, of the matrix that the factors make."""
    return determinants.slogdet_tangents(_of_factors(LU, pivots, use_A_T), dA, sign)


def _of_factors(LU: Tensor, pivots: Tensor, transposed: bool) -> Tensor:
    P, L, U = ops.lu_unpack(LU, pivots)
    matrix = ops.matmul(P, ops.matmul(L, U))
    return matrix.mT if transposed else matrix
