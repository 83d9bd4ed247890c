"""Cholesky factors, and what is solved with them."""

from __future__ import annotations

import numpy as np

from runtime.base.arrays import Array, type_name
from runtime.operators.kernels._matrices import (
    are_small,
    broadcast_batches,
    check_square,
    conjugate_transpose,
    lapack,
    places,
    raise_singular,
    triangles_solved,
)

_INDEFINITE = (
    ": The factorization could not be completed because the input is not positive-definite (the leading minor of "
    "order {} is not positive-definite)."
)


def linalg_cholesky_ex(self: Array, upper: bool = False, check_errors: bool = False) -> tuple[Array, Array]:
    """The Cholesky factor, and for each matrix 0 or the order of the minor that is not positive-definite."""
    check_square("linalg.cholesky", self)
    result, info = _factors(self, upper)
    if check_errors:
        raise_singular("linalg.cholesky" + _INDEFINITE, info)
    return result, info


def cholesky(self: Array, upper: bool = False) -> Array:
    """The lower triangular L with A = L L^H, or the upper one, of a positive definite Hermitian A."""
    check_square("cholesky", self)
    result, info = _factors(self, upper)
    raise_singular("cholesky" + _INDEFINITE, info)
    return result


# From this size on NumPy's copies cost more than a call for each matrix.
_LARGE = 48


def _factors(matrix: Array, upper: bool) -> tuple[Array, Array]:
    """Only one triangle of the matrices is read, the one that is asked for."""
    info = np.zeros(matrix.shape[:-2], np.int32)
    if not upper and matrix.shape[-1] < _LARGE:
        try:
            return np.asarray(np.linalg.cholesky(matrix)), info
        except np.linalg.LinAlgError:
            pass  # one of them is not positive-definite, and the others count
    result = np.zeros(matrix.shape, matrix.dtype)
    factor = lapack("potrf", matrix)
    for place in places(matrix):
        # Transposed, an array lies as LAPACK wants it, and so does the factor of the other kind that it gives.
        made, info[place] = factor(matrix[place].T, lower=upper, clean=True)
        result[place] = made.T
    return result, info


def cholesky_solve(self: Array, input2: Array, upper: bool = False) -> Array:
    """X with A X = B, where `self` is B and `input2` the factor of A."""
    for name, array in (("b", self), ("u", input2)):
        if array.ndim < 2:
            raise RuntimeError(f"{name} should have at least 2 dimensions, but has {array.ndim} dimensions instead")
    if input2.shape[-1] != input2.shape[-2]:
        raise RuntimeError(
            "cholesky_solve: A must be batches of square matrices, but they are "
            f"{input2.shape[-2]} by {input2.shape[-1]} matrices"
        )
    if input2.shape[-1] != self.shape[-2]:
        raise RuntimeError(
            f"Incompatible matrix sizes for cholesky_solve: each A matrix is {input2.shape[-1]} by {input2.shape[-1]} "
            f"but each b matrix is {self.shape[-2]} by {self.shape[-1]}"
        )
    if self.dtype != input2.dtype:
        raise RuntimeError(
            f"Expected b and A to have the same dtype, but found b of type {type_name(self.dtype)} and A of type "
            f"{type_name(input2.dtype)} instead."
        )
    sides, factors = broadcast_batches(self, input2)
    if not are_small(factors, sides):
        result = np.empty(sides.shape, sides.dtype)
        solve = lapack("potrs", factors, sides)
        for place in places(sides, factors):
            result[place] = solve(factors[place], sides[place], lower=not upper)[0]
        return result
    adjoint = conjugate_transpose(factors)
    below, above = (adjoint, factors) if upper else (factors, adjoint)
    return triangles_solved(above, triangles_solved(below, sides, lower=True), lower=False)


def cholesky_inverse(self: Array, upper: bool = False) -> Array:
    """The inverse of the matrix that `self` is the Cholesky factor of."""
    check_square("cholesky_inverse", self)
    inverse = np.zeros(self.shape, self.dtype)
    info = np.zeros(self.shape[:-2], np.int32)
    invert = lapack("trtri", self)
    for place in places(self):
        inverse[place], info[place] = invert(self[place], lower=not upper)
    raise_singular(
        "cholesky_inverse: The diagonal element {} is zero, the inversion could not be completed because the input "
        "matrix is singular.",
        info,
    )
    inverse = np.triu(inverse) if upper else np.tril(inverse)
    adjoint = conjugate_transpose(inverse)
    return np.asarray(inverse @ adjoint if upper else adjoint @ inverse)
