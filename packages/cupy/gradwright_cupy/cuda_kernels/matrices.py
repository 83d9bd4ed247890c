"""Decompositions of matrices, by cuSOLVER."""

from __future__ import annotations

import cupy

from gradwright_cupy.arrays import Array


def _transposed(self: Array) -> Array:
    """The adjoints of matrices."""
    return cupy.conj(cupy.swapaxes(self, -1, -2))


def linalg_cholesky_ex(self: Array, upper: bool = False, check_errors: bool = False) -> tuple[Array, Array]:
    factor = cupy.linalg.cholesky(_transposed(self) if upper else self)
    return _transposed(factor) if upper else factor, cupy.zeros(self.shape[:-2], dtype=cupy.int32)


def _linalg_eigh(A: Array, UPLO: str = "L", compute_v: bool = True) -> tuple[Array, Array]:
    if compute_v:
        values, vectors = cupy.linalg.eigh(A, UPLO)
        return values, vectors
    return cupy.linalg.eigvalsh(A, UPLO), cupy.empty((0,), dtype=A.dtype)


def linalg_qr(A: Array, mode: str = "reduced") -> tuple[Array, Array]:
    if mode == "r":
        return cupy.empty((0,), dtype=A.dtype), cupy.linalg.qr(A, "r")
    q, r = cupy.linalg.qr(A, mode)
    return q, r


def _linalg_svd(
    A: Array, full_matrices: bool = False, compute_uv: bool = True, driver: str | None = None
) -> tuple[Array, Array, Array]:
    if compute_uv:
        u, s, vh = cupy.linalg.svd(A, full_matrices)
        return u, s, vh
    empty = cupy.empty((0,), dtype=A.dtype)
    return empty, cupy.linalg.svd(A, compute_uv=False), empty
