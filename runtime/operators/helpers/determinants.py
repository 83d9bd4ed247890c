"""Derivatives of determinants, at singular matrices too."""

from __future__ import annotations

import numpy as np

from runtime import ops
from runtime.base.conditions import holds_anywhere
from runtime.base.tensor import Tensor


def linalg_det_backward(grad: Tensor, det: Tensor, A: Tensor, LU: Tensor, pivots: Tensor) -> Tensor:
    """Jacobi's formula: d det = tr(adj(A) dA)."""
    return adjugate(A, det, LU).mH * grad.unsqueeze(-1).unsqueeze(-1)


def det_jvp(A: Tensor, dA: Tensor, det: Tensor, LU: Tensor) -> Tensor:
    """Jacobi's formula: d det = tr(adj(A) dA)."""
    return (adjugate(A, det, LU).mT * dA).sum([-2, -1])


def adjugate(A: Tensor, det: Tensor, LU: Tensor) -> Tensor:
    """adj(A): det(A) A^-1 where that is, else as below.  The pivots in `LU` show whether a matrix is nearly singular.

    The adjugate is a polynomial of the elements, and so has all derivatives everywhere.  With U0 and V0 the singular
    vectors of the small singular values, taken for constants, B = A + s U0 V0^H is regular, and for any A
    det A = det B det M, where M = 1 - s V0^H B^-1 U0 is as small as there are such vectors.  So
    adj A = det B (det M B^-1 + s B^-1 U0 adj(M) V0^H B^-1).  (Harville 1997, section 18.1.)
    """
    if A.shape[-1] == 0:
        return A
    pivots = LU.detach().diagonal(0, -2, -1).abs()
    least = float(np.finfo(A.dtype.numpy).eps) ** 0.25
    if A.numel() == 0 or not holds_anywhere(pivots.amin([-1]) <= least * pivots.amax([-1])):
        regular: Tensor = ops.linalg_inv_ex(A)[0]
        return regular * det.unsqueeze(-1).unsqueeze(-1)
    U, S, Vh = ops._linalg_svd(A.detach())
    largest = S[..., :1]
    small = least * largest >= S
    count = max(int(small.sum([-1]).max().item()), 1)
    chosen = small[..., -count:].to(A.dtype).unsqueeze(-2)
    columns = U[..., -count:] * chosen
    rows = Vh[..., -count:, :] * chosen.mT * largest.masked_fill(largest == 0, 1).unsqueeze(-1)
    B = A + ops.matmul(columns, rows)
    inverse: Tensor = ops.linalg_inv_ex(B)[0]
    left, right = ops.matmul(inverse, columns), ops.matmul(rows, inverse)
    M = ops.eye(count, dtype=A.dtype, device=A.device) - ops.matmul(rows, left)
    det_M, adj_M = _by_traces(M)
    parts = inverse * det_M.unsqueeze(-1).unsqueeze(-1) + ops.matmul(left, ops.matmul(adj_M, right))
    return parts * ops.linalg_det(B).unsqueeze(-1).unsqueeze(-1)


def _by_traces(M: Tensor) -> tuple[Tensor, Tensor]:
    """Determinant and adjugate by products and traces alone (Faddeev and Le Verrier)."""
    size = M.shape[-1]
    one = ops.eye(size, dtype=M.dtype, device=M.device)
    adjoint = one.expand(M.shape)
    for step in range(1, size + 1):
        product = ops.matmul(M, adjoint)
        coefficient = product.diagonal(0, -2, -1).sum([-1]) / -step
        if step < size:
            adjoint = product + coefficient.unsqueeze(-1).unsqueeze(-1) * one
    sign = -1 if size % 2 else 1
    return coefficient * sign, adjoint * -sign


def slogdet_backward(
    grad_sign: Tensor | None, grad_logabsdet: Tensor | None, A: Tensor, signdet: Tensor, LU: Tensor, pivots: Tensor
) -> Tensor | None:
    """With t = tr(A^-1 dA), the logarithm grows by Re t, and the sign turns by the angle Im t."""
    factor = grad_logabsdet
    if grad_sign is not None and A.is_complex():
        turned = (grad_sign.conj() * signdet).imag * -1j
        factor = turned if factor is None else factor + turned
    if factor is None:
        return None
    inverse: Tensor = ops.linalg_inv_ex(A)[0]
    return inverse.mH * factor.unsqueeze(-1).unsqueeze(-1)


def slogdet_tangents(A: Tensor, dA: Tensor, sign: Tensor) -> tuple[Tensor, Tensor]:
    """As `slogdet_backward`, in forward mode."""
    moved = (ops.linalg_inv_ex(A)[0].mT * dA).sum([-2, -1])
    if not A.is_complex():
        return ops.zeros_like(sign), moved
    return sign * moved.imag * 1j, moved.real
