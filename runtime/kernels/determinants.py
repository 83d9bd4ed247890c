"""Determinants, by LU factors."""

from __future__ import annotations

import numpy as np

from runtime.kernels._common import Array
from runtime.kernels._matrices import check_square, lu_factors, swap_sign


def linalg_det(A: Array) -> tuple[Array, Array, Array]:
    """The determinant with the factors; of a real matrix that lies by rows, those of its transpose."""
    check_square("linalg.det", A)
    factors, pivots, _ = lu_factors(_as_columns(A))
    sign = swap_sign(pivots).astype(A.dtype)
    return np.asarray(sign * np.diagonal(factors, 0, -2, -1).prod(-1)), factors, pivots


def linalg_slogdet(A: Array) -> tuple[Array, Array, Array, Array]:
    """The sign and the logarithm of the absolute value of the determinant, with the factors as in `linalg_det`."""
    check_square("linalg.slogdet", A)
    factors, pivots, _ = lu_factors(_as_columns(A))
    diagonal = np.diagonal(factors, 0, -2, -1)
    sizes = np.abs(diagonal)
    signs = np.sign(diagonal)
    with np.errstate(divide="ignore"):
        logarithm = np.log(sizes).sum(-1)
    return np.asarray(swap_sign(pivots).astype(A.dtype) * signs.prod(-1)), np.asarray(logarithm), factors, pivots


def _as_columns(A: Array) -> Array:
    return A.swapaxes(-1, -2) if A.flags.c_contiguous and A.dtype.kind != "c" else A
