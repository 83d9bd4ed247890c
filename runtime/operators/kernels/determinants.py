"""Determinants, by LU factors."""

from __future__ import annotations

import numpy as np

from runtime.base.arrays import Array
from runtime.operators.kernels._matrices import check_square, lu_factors, swap_sign


def linalg_det(A: Array) -> tuple[Array, Array, Array]:
    """The determinant with the factors; of a real matrix that lies by rows, those of its transpose."""
    check_square("linalg.det", A)
    factors, pivots, _ = lu_factors(_as_columns(A))
    sign = swap_sign(pivots).astype(A.dtype)
    return np.asarray(sign * _product(np.diagonal(factors, 0, -2, -1))), factors, pivots


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


_TOGETHER = 64  # fractions whose product is within the range of every element type


def _product(values: Array) -> Array:
    """The product along the last dimension, by fractions and powers of 2: it is in range where a part of it is not."""
    fractions, powers = _fractions(values)
    total = powers.sum(-1)
    while fractions.shape[-1] > _TOGETHER:
        starts = np.arange(0, fractions.shape[-1], _TOGETHER)
        fractions, powers = _fractions(np.multiply.reduceat(fractions, starts, -1))
        total = total + powers.sum(-1)
    with np.errstate(over="ignore"):
        return _scaled(fractions.prod(-1), np.clip(total, -(2**30), 2**30).astype(np.intc))


def _fractions(values: Array) -> tuple[Array, Array]:
    """Numbers of a size between 1/2 and 1, and the powers of 2 that they are to be multiplied by."""
    sizes = np.maximum(np.abs(values.real), np.abs(values.imag)) if values.dtype.kind == "c" else values
    powers = np.where(np.isfinite(sizes), np.frexp(sizes)[1], np.intc(0))
    return _scaled(values, -powers), powers


def _scaled(values: Array, powers: Array) -> Array:
    """`values * 2 ** powers`."""
    if values.dtype.kind != "c":
        return np.asarray(np.ldexp(values, powers))
    result = np.empty(values.shape, values.dtype)
    result.real, result.imag = np.ldexp(values.real, powers), np.ldexp(values.imag, powers)
    return result


def _as_columns(A: Array) -> Array:
    return A.swapaxes(-1, -2) if A.flags.c_contiguous and A.dtype.kind != "c" else A
