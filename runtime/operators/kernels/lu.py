"""LU factors and what is solved with them."""

from __future__ import annotations

import numpy as np

from runtime.base.arrays import Array, type_name
from runtime.operators.kernels._matrices import (
    broadcast_batches,
    check_matrix,
    check_square,
    conjugate_transpose,
    lu_factors,
    lu_solved,
    permutation,
    raise_singular,
)


def linalg_lu_factor_ex(A: Array, pivot: bool = True, check_errors: bool = False) -> tuple[Array, Array, Array]:
    """L and U in one array, the exchanges of rows, and for each matrix 0 or the place of a pivot that is zero."""
    check_matrix("torch.lu_factor", A)
    _check_pivot(pivot)
    factors, pivots, info = lu_factors(A)
    if check_errors:
        raise_singular(
            "torch.linalg.lu_factor: U[{0},{0}] is zero and using it on lu_solve would result in a division by zero. "
            "If you still want to perform the factorization, consider calling linalg.lu(A, pivot) or "
            "linalg.lu_factor_ex(A, pivot)",
            info,
            RuntimeError,
        )
    return factors, pivots, info


def linalg_lu(A: Array, pivot: bool = True) -> tuple[Array, Array, Array]:
    """P, L and U with A = P L U."""
    check_matrix("linalg.lu", A)
    _check_pivot(pivot)
    factors, pivots, _ = lu_factors(A)
    return lu_unpack(factors, pivots)


def lu_unpack(
    LU_data: Array, LU_pivots: Array, unpack_data: bool = True, unpack_pivots: bool = True
) -> tuple[Array, Array, Array]:
    """P, L and U of what `linalg_lu_factor_ex` made; empty where they are not asked for."""
    check_matrix("torch.lu_unpack", LU_data)
    if unpack_pivots and LU_pivots.dtype != np.int32:
        raise RuntimeError(
            "torch.lu_unpack: LU_pivots is expected to be a contiguous tensor of torch.int32 dtype.\n"
            "Note: this function is intended to be used with the output produced by torch.linalg.lu_factor"
        )
    rows, columns = LU_data.shape[-2:]
    rank = min(rows, columns)
    if unpack_pivots and ((LU_pivots < 1) | (LU_pivots > rows)).any():
        raise RuntimeError("torch.lu_unpack: LU_pivots must all be from 1 to LU_data.size(-2)")
    empty = np.empty(0, LU_data.dtype)
    P, L, U = empty, empty, empty
    if unpack_data:
        L = np.tril(LU_data[..., :rank], -1) + np.eye(rows, rank, dtype=LU_data.dtype)
        U = np.triu(LU_data[..., :rank, :])
    if unpack_pivots:
        order = permutation(LU_pivots, rows)
        P = (np.arange(rows)[:, None] == order[..., None, :]).astype(LU_data.dtype)
    return P, L, U


def linalg_lu_solve(LU: Array, pivots: Array, B: Array, left: bool = True, adjoint: bool = False) -> Array:
    """X with A X = B, or X A = B; with A^H in the place of A if `adjoint`."""
    check_square("linalg.lu_solve", LU)
    if LU.dtype != B.dtype:
        raise RuntimeError(
            f"linalg.lu_solve: Expected LU and B to have the same dtype, but found LU of type {type_name(LU.dtype)} "
            f"and B of type {type_name(B.dtype)} instead"
        )
    if pivots.dtype != np.int32:
        raise RuntimeError("linalg.lu_solve: pivots should be a Tensor of scalar type torch.int32")
    if pivots.shape[-1:] != LU.shape[-1:]:
        raise RuntimeError("linalg.lu_solve: Number of pivots per batch should be same as the dimension of the matrix")
    if pivots.shape != LU.shape[:-1]:
        raise RuntimeError("linalg.lu_solve: Batch dimensions of LU and pivots should match")
    if ((pivots < 1) | (pivots > LU.shape[-1])).any():
        raise RuntimeError(
            "Pivots given to lu_solve must all be greater or equal to 1 and smaller or equal to LU.size(-2). Did you "
            "properly pass the result of lu_factor?"
        )
    check_matrix("linalg.lu_solve", B)
    if LU.shape[-1] != B.shape[-2 if left else -1]:
        raise RuntimeError(
            f"linalg.lu_solve: Incompatible shapes of A and B for the equation {'AX = B' if left else 'XA = B'} "
            f"({LU.shape[-2]}x{LU.shape[-1]} and {B.shape[-2]}x{B.shape[-1]})"
        )
    factors, sides = broadcast_batches(LU, B)
    swaps = np.broadcast_to(pivots, factors.shape[:-1])
    if left:
        return lu_solved(factors, swaps, sides, 2 if adjoint else 0)
    return conjugate_transpose(lu_solved(factors, swaps, conjugate_transpose(sides), 0 if adjoint else 2))


def _check_pivot(pivot: bool) -> None:
    if not pivot:
        raise RuntimeError("linalg.lu_factor: LU without pivoting is not implemented on the CPU")
