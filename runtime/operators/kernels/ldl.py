"""Factors of indefinite symmetric matrices (Bunch and Kaufman), as LAPACK has them."""

from __future__ import annotations

import numpy as np

from runtime.base.arrays import Array, type_name
from runtime.operators.kernels._matrices import (
    broadcast_batches,
    check_matrix,
    check_square,
    lapack,
    places,
    raise_singular,
)


def linalg_ldl_factor_ex(
    self: Array, hermitian: bool = False, check_errors: bool = False
) -> tuple[Array, Array, Array]:
    """L and D in one array, the exchanges, and for each matrix 0 or the place of a zero in D."""
    check_square("torch.linalg.ldl_factor_ex", self)
    factors = np.zeros(self.shape, self.dtype)
    pivots = np.zeros(self.shape[:-1], np.int32)
    info = np.zeros(self.shape[:-2], np.int32)
    factor = lapack(_kind(self, hermitian) + "trf", self)
    for place in places(self):
        packed, order, info[place] = factor(self[place], lower=True)
        factors[place], pivots[place] = np.tril(packed), order
    if check_errors:
        raise_singular(
            "torch.linalg.ldl_factor: D[{0},{0}] is zero, and using it on ldl_solve would divide by zero",
            info,
            RuntimeError,
        )
    return factors, pivots, info


def linalg_ldl_solve(LD: Array, pivots: Array, B: Array, hermitian: bool = False) -> Array:
    """The X with A X = B, by the factors of `linalg_ldl_factor`."""
    check_square("torch.linalg.ldl_solve", LD)
    check_matrix("torch.linalg.ldl_solve", B)
    if LD.shape[-1] != B.shape[-2]:
        raise RuntimeError(
            "torch.linalg.ldl_solve: Incompatible matrix sizes for lu_solve: each A matrix is "
            f"{LD.shape[-1]} by {LD.shape[-1]} but each b matrix is {B.shape[-2]} by {B.shape[-1]}"
        )
    if LD.shape[:-1] != pivots.shape:
        raise RuntimeError(
            f"torch.linalg.ldl_solve: Expected LD.shape[:-1] and pivots.shape to be the same, but got pivots with "
            f"shape {list(pivots.shape)} instead"
        )
    if pivots.dtype.kind not in "iu":
        raise RuntimeError(f"torch.linalg.ldl_solve: Expected pivots to be integers. Got {type_name(pivots.dtype)}")
    if pivots.size and not all(_is_order(row) for row in pivots.reshape(-1, pivots.shape[-1]).tolist()):
        raise RuntimeError("torch.linalg.ldl_solve: pivots must be those of ldl_factor")
    if LD.dtype != B.dtype:
        raise RuntimeError(
            f"torch.linalg.ldl_solve: LD dtype{type_name(LD.dtype)} does not match b dtype {type_name(B.dtype)}"
        )
    factors, sides = broadcast_batches(LD, B)
    orders = np.broadcast_to(pivots, factors.shape[:-1])
    result = np.empty(sides.shape, sides.dtype)
    solve = lapack(_kind(LD, hermitian) + "trs", factors, sides)
    for place in places(sides, factors):
        result[place] = solve(factors[place], orders[place], sides[place], lower=True)[0]
    return result


def _is_order(pivots: list[int]) -> bool:
    """Whether each number is a row, and negative ones, which are of blocks of two rows, come in pairs."""
    if not all(1 <= abs(row) <= len(pivots) for row in pivots):
        return False
    place = 0
    while place < len(pivots):
        if pivots[place] > 0:
            place += 1
        elif pivots[place : place + 2] == [pivots[place]] * 2:
            place += 2
        else:
            return False
    return True


def _kind(matrix: Array, hermitian: bool) -> str:
    return "he" if hermitian and matrix.dtype.kind == "c" else "sy"
