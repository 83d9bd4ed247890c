"""Derivatives of QR factors and of products of Householder's reflections."""

from __future__ import annotations

from collections.abc import Sequence

from runtime import ops
from runtime.base.tensor import Tensor


def _upper_half(x: Tensor) -> Tensor:
    """The upper triangle, with half of the diagonal."""
    return x.triu() - ops.diag_embed(x.diagonal(0, -2, -1) / 2)


def _check_qr(Q: Tensor, R: Tensor, mode: str) -> None:
    if mode == "r":
        raise RuntimeError(
            "The derivative of linalg.qr depends on Q, which is not computed when mode='r'. Please use "
            "linalg.qr(A, mode='reduced') if you are going to require gradients"
        )
    if mode == "complete" and R.shape[-2] > R.shape[-1]:
        raise RuntimeError("The QR decomposition is not differentiable when mode='complete' and nrows > ncols")


def linalg_qr_backward(gQ: Tensor | None, gR: Tensor | None, Q: Tensor, R: Tensor, mode: str) -> Tensor | None:
    """Q^H dA R^-1 = Q^H dQ + dR R^-1: antisymmetric plus upper triangular with a real diagonal.

    (Walter and Lehmann 2010; Roberts and Roberts 2020, "QR and LQ decomposition matrix backpropagation algorithms for
    square, wide, and deep - real or complex - matrices".)
    """
    _check_qr(Q, R, mode)
    if gQ is None and gR is None:
        return None
    rank = Q.shape[-1]
    wide = R.shape[-1] > rank
    beside = None
    if wide and gR is not None:  # the columns beside the leading square are Q times those of R
        beside = ops.matmul(Q, gR[..., rank:])
        turned = ops.matmul(beside, R[..., rank:].mH)
        gQ = -turned if gQ is None else gQ - turned
        gR = gR[..., :rank]
    R1 = R[..., :rank]
    inner = None if gR is None else ops.matmul(gR, R1.mH)
    if gQ is not None:
        part = ops.matmul(Q.mH, gQ)
        inner = -part if inner is None else inner - part
    assert inner is not None
    half = _upper_half(inner)
    result = ops.matmul(Q, half + half.mH)
    if gQ is not None:
        result = result + gQ
    result = ops.linalg_solve_triangular(R1.mH, result, upper=False, left=False)
    if not wide:
        return result
    rest = result.new_zeros([*R.shape[:-2], Q.shape[-2], R.shape[-1] - rank]) if beside is None else beside
    return ops.cat([result, rest], -1)


def linalg_qr_jvp(dA: Tensor, Q: Tensor, R: Tensor, mode: str) -> tuple[Tensor, Tensor]:
    """As `linalg_qr_backward`, in forward mode."""
    _check_qr(Q, R, mode)
    rank = Q.shape[-1]
    R1 = R[..., :rank]
    moved = ops.linalg_solve_triangular(R1, dA[..., :rank], upper=True, left=False)
    inner = ops.matmul(Q.mH, moved)
    grown = _upper_half(inner + inner.mH)
    dQ = moved - ops.matmul(Q, grown)
    dR = ops.matmul(grown, R1)
    if R.shape[-1] > rank:
        beside = ops.matmul(Q.mH, dA[..., rank:]) - ops.matmul(ops.matmul(Q.mH, dQ), R[..., rank:])
        dR = ops.cat([dR, beside], -1)
    return dQ, dR


# -- products of reflections


class _Reflections:
    """The factors H_i = 1 - t_i v_i v_i^H of a product, from the left to the right, as they were applied."""

    def __init__(self, vectors: Tensor, tau: Tensor, adjoint: bool) -> None:
        count = tau.shape[-1]
        lower = vectors[..., :count].tril(-1) + ops.eye(
            vectors.shape[-2], count, dtype=vectors.dtype, device=vectors.device
        )
        self.order = range(count - 1, -1, -1) if adjoint else range(count)
        self.vectors = [lower[..., i : i + 1] for i in self.order]
        self.factors = [(tau.conj() if adjoint else tau)[..., i, None, None] for i in self.order]
        self.adjoint = adjoint

    def partial(self, start: Tensor) -> list[Tensor]:
        """H_{i+1} H_{i+2} ... `start`, for each i."""
        found = [start]
        for vector, factor in zip(self.vectors[:0:-1], self.factors[:0:-1], strict=True):
            found.append(found[-1] - factor * ops.matmul(vector, ops.matmul(vector.mH, found[-1])))
        return found[::-1]

    def backward(self, grad: Tensor, start: Tensor, columns: int) -> tuple[Tensor, Tensor]:
        """The gradients of vectors and factors, of the product times `start`.

        With G = (H_1 ... H_{i-1})^H grad and R = H_{i+1} ... start, the gradient of H_i is G R^H.  No H_i is inverted,
        which for some factors it can not be.
        """
        of_vectors: dict[int, Tensor] = {}
        of_factors: dict[int, Tensor] = {}
        for place, vector, factor, rest in zip(
            self.order, self.vectors, self.factors, self.partial(start), strict=True
        ):
            right = ops.matmul(rest.mH, vector)  # R^H v
            left = ops.matmul(grad.mH, vector)  # G^H v
            of_factor = -ops.matmul(left.mH, right)
            of_factors[place] = (of_factor.conj() if self.adjoint else of_factor).squeeze(-1)
            of_vectors[place] = -(factor.conj() * ops.matmul(grad, right) + factor * ops.matmul(rest, left))
            grad = grad - factor.conj() * ops.matmul(vector, left.mH)
        found = ops.cat([of_vectors[i] for i in range(len(self.order))], -1).tril(-1)
        if columns > len(self.order):
            found = ops.cat([found, found.new_zeros([*found.shape[:-1], columns - len(self.order)])], -1)
        return found, ops.cat([of_factors[i] for i in range(len(self.order))], -1)


def _columns_of_one(input: Tensor) -> Tensor:
    return ops.eye(input.shape[-2], input.shape[-1], dtype=input.dtype, device=input.device).expand(input.shape)


def householder_product_backward(
    grad: Tensor, result: Tensor, input: Tensor, tau: Tensor, flip_order: bool = False
) -> tuple[Tensor, Tensor]:
    """The product rule over the reflections."""
    if tau.shape[-1] == 0:
        return ops.zeros_like(input), ops.zeros_like(tau)
    return _Reflections(input, tau, False).backward(grad, _columns_of_one(input), input.shape[-1])


def householder_product_jvp(dV: Tensor, dtau: Tensor, prod: Tensor, V: Tensor, tau: Tensor) -> Tensor:
    """The product rule over the reflections, from the last to the first."""
    if tau.shape[-1] == 0:
        return ops.zeros_like(prod)
    reflections = _Reflections(V, tau, False)
    moved = dV.tril(-1)
    tangent: Tensor | None = None
    for place, rest in zip(
        range(tau.shape[-1] - 1, -1, -1), reflections.partial(_columns_of_one(V))[::-1], strict=True
    ):
        vector, factor = reflections.vectors[place], reflections.factors[place]
        dv, dt = moved[..., place : place + 1], dtau[..., place, None, None]
        inner = ops.matmul(vector.mH, rest)
        direct = -(dt * ops.matmul(vector, inner) + factor * ops.matmul(dv, inner))
        direct = direct - factor * ops.matmul(vector, ops.matmul(dv.mH, rest))
        if tangent is not None:
            direct = direct + tangent - factor * ops.matmul(vector, ops.matmul(vector.mH, tangent))
        tangent = direct
    assert tangent is not None
    return tangent


def ormqr_backward(
    grad: Tensor,
    result: Tensor,
    self: Tensor,
    tau: Tensor,
    other: Tensor,
    left: bool,
    transpose: bool,
    grad_output_mask: Sequence[bool],
) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
    """As `householder_product_backward`; from the right it is the adjoint, from the left."""
    of_other = ops.ormqr(self, tau, grad, left, not transpose) if grad_output_mask[2] else None
    if not (grad_output_mask[0] or grad_output_mask[1]):
        return None, None, of_other
    if tau.shape[-1] == 0:
        return ops.zeros_like(self), ops.zeros_like(tau), of_other
    if not left:
        grad, other, transpose = grad.mH, other.mH, not transpose
    of_self, of_tau = _Reflections(self, tau, transpose).backward(grad, other, self.shape[-1])
    return of_self if grad_output_mask[0] else None, of_tau if grad_output_mask[1] else None, of_other
