"""Singular values of large matrices of low rank, from products with random vectors.

Source: N. Halko, P. G. Martinsson, J. A. Tropp, Finding structure with randomness: probabilistic algorithms for
constructing approximate matrix decompositions, 2009, algorithms 4.4 and 5.1.
"""

from __future__ import annotations

from runtime import ops
from runtime.base.tensor import Tensor


def svd_lowrank(
    A: Tensor, q: int | None = 6, niter: int | None = 2, M: Tensor | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """U, S and V such that `A - M` is about `U @ diag(S) @ V.mH`, with at most `q` singular values.

    Args:
        A: matrices, of the shape (*, m, n).
        q: about as many as the matrix has singular values that count, or a few more.
        niter: how often the random vectors are multiplied by the matrix and its adjoint, which makes large singular
            values stand out.
        M: what is subtracted, broadcast to `A`.
    """
    matrix = A if M is None else A - M
    wide = int(matrix.shape[-2]) < int(matrix.shape[-1])
    tall: Tensor = matrix.mH if wide else matrix
    basis = _range(tall, 6 if q is None else q, 2 if niter is None else niter)
    U, S, Vh = ops.linalg_svd(ops.matmul(basis.mH, tall), False)
    U, V = ops.matmul(basis, U), Vh.mH
    return (V, S, U) if wide else (U, S, V)


def _range(matrix: Tensor, count: int, steps: int) -> Tensor:
    """Orthonormal columns that span about what the columns of the matrix do."""
    start = ops.randn([int(matrix.shape[-1]), count], dtype=matrix.dtype, device=matrix.device)
    basis = ops.linalg_qr(ops.matmul(matrix, start))[0]
    for _ in range(steps):
        basis = ops.linalg_qr(ops.matmul(matrix.mH, basis))[0]
        basis = ops.linalg_qr(ops.matmul(matrix, basis))[0]
    result: Tensor = basis
    return result


def pca_lowrank(A: Tensor, q: int | None = None, center: bool = True, niter: int = 2) -> tuple[Tensor, Tensor, Tensor]:
    """`svd_lowrank` of observations in rows, less their mean if `center`; the columns of V are principal directions.

    Raises:
        ValueError: `q` is negative or larger than the matrix, or `niter` is negative.
    """
    least = min(int(A.shape[-2]), int(A.shape[-1]))
    q = min(6, least) if q is None else q
    if not 0 <= q <= least:
        raise ValueError(f"q(={q}) must be non-negative integer and not greater than min(m, n)={least}")
    if niter < 0:
        raise ValueError(f"niter(={niter}) must be non-negative integer")
    return svd_lowrank(A - A.mean(-2, True) if center else A, q, niter)
