"""Eigenvalues and eigenvectors."""

from __future__ import annotations

from typing import Literal

import numpy as np

from runtime.base.arrays import Array
from runtime.operators.kernels._matrices import check_square


def linalg_eigh(A: Array, UPLO: str = "L", compute_v: bool = True) -> tuple[Array, Array]:
    """Of Hermitian matrices, from the least up; only the triangle that `UPLO` names is read."""
    check_square("linalg.eigh", A)
    if UPLO.upper() not in ("L", "U"):
        raise RuntimeError(f"Expected UPLO argument to be 'L' or 'U', but got {UPLO}")
    triangle: Literal["L", "U"] = "U" if UPLO.upper() == "U" else "L"
    if not compute_v:
        return np.asarray(np.linalg.eigvalsh(A, triangle)), np.empty(0, A.dtype)
    values, vectors = np.linalg.eigh(A, triangle)
    return values, vectors


def linalg_eig(self: Array) -> tuple[Array, Array]:
    """Of any matrices; the results are complex, and vectors have length 1."""
    _check_finite("linalg.eig", self)
    values, vectors = np.linalg.eig(self)
    dtype = _complex(self)
    return values.astype(dtype, copy=False), vectors.astype(dtype, copy=False)


def linalg_eigvals(self: Array) -> Array:
    _check_finite("linalg.eigvals", self)
    return np.asarray(np.linalg.eigvals(self)).astype(_complex(self), copy=False)


def _check_finite(name: str, matrix: Array) -> None:
    check_square(name, matrix)
    if not np.isfinite(matrix).all():
        raise RuntimeError(f"torch.{name}: input tensor should not contain infs or NaNs.")


def _complex(matrix: Array) -> np.dtype[np.complexfloating]:
    return np.result_type(matrix.dtype, np.complex64)
