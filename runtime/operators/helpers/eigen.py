"""Derivatives of eigenvalues, singular values and their vectors.

With A = V L V^-1, the diagonal of V^-1 dA V is dL, and the rest of it over the gaps of the eigenvalues turns V.  (Giles
2008; Boeddeker et al. 2017, "On the computation of complex-valued gradients"; Wan and Zhang 2019 for complex singular
vectors.)
"""

from __future__ import annotations

from runtime import ops
from runtime.base.conditions import holds_anywhere
from runtime.base.tensor import Tensor

_CLOSE = 1e-2  # of what rounding leaves of a phase: a loss that depends on it is far beyond


def _check_phase(turned: Tensor, function: str, vectors: str) -> None:
    """Complex vectors are known up to a phase; a function of it has no gradient.  `turned` holds what depends on it."""
    if type(turned) is Tensor and holds_anywhere(turned.abs() > _CLOSE):
        raise RuntimeError(
            f"{function}: The {vectors} in the complex case are specified up to multiplication by e^{{i phi}}. The "
            "specified loss function depends on this quantity, so it is ill-defined."
        )


def _diagonal(x: Tensor) -> Tensor:
    return x.diagonal(0, -2, -1)


def _gaps(values: Tensor) -> Tensor:
    """v_j - v_i at [i, j], and 1 on the diagonal."""
    return (
        values.unsqueeze(-2)
        - values.unsqueeze(-1)
        + ops.eye(values.shape[-1], dtype=values.dtype, device=values.device)
    )


def linalg_eig_backward(
    gL: Tensor | None, gV: Tensor | None, L: Tensor, V: Tensor, is_hermitian: bool, symeig_eigenvectors: bool = True
) -> Tensor | None:
    """V^-H (diag(dL) + V^H dV / gaps) V^H, where what would change the length of a vector is taken from dV before."""
    if gL is None and gV is None:
        return None
    if gV is None:
        assert gL is not None
        if is_hermitian:
            return ops.matmul(V * gL.unsqueeze(-2), V.mH)
        return ops.linalg_solve(V.mH, gL.unsqueeze(-1) * V.mH)
    inner = ops.matmul(V.mH, gV)
    along = _diagonal(inner)
    if V.is_complex():
        # The vectors of a real eigenvalue of a real matrix are real, and have no phase.
        turned = along.detach().imag
        if not is_hermitian:
            real = (V.detach().imag == 0).all(-2) & (L.detach().imag == 0)
            turned = turned.masked_fill(real, 0)
        _check_phase(turned, "linalg_eig_backward", "eigenvectors")
    if not is_hermitian:
        inner = inner - ops.matmul(V.mH, V * along.real.unsqueeze(-2))
    inner = (inner - ops.diag_embed(_diagonal(inner))) / _gaps(L).conj()
    if gL is not None:
        inner = inner + ops.diag_embed(gL)
    if is_hermitian:
        return ops.matmul(V, ops.matmul(inner, V.mH))
    return ops.linalg_solve(V.mH, ops.matmul(inner, V.mH))


def linalg_eig_jvp(dA: Tensor, L: Tensor, V: Tensor, is_hermitian: bool) -> tuple[Tensor, Tensor]:
    """DL is the diagonal of V^-1 dA V; dV is V times the rest over the gaps, without what changes lengths."""
    moved = ops.matmul(dA.to(V.dtype), V)
    inner = ops.matmul(V.mH, moved) if is_hermitian else ops.linalg_solve(V, moved)
    along = _diagonal(inner)
    turned = ops.matmul(V, (inner - ops.diag_embed(along)) / _gaps(L))
    if is_hermitian:
        return ops.real(along), turned
    grown = ops.real((V.conj() * turned).sum([-2], True))
    return along, turned - V * grown


# -- singular values


def svd_backward(
    gU: Tensor | None, gS: Tensor | None, gVh: Tensor | None, U: Tensor, S: Tensor, Vh: Tensor
) -> Tensor | None:
    """From A = U S V^H: what turns the columns of U and V is antisymmetric, the rest leaves their span."""
    count = S.shape[-1]
    gU, gVh = _without_rest(gU, U, count), _without_rest_of_rows(gVh, Vh, count)
    U, Vh = U[..., :count], Vh[..., :count, :]
    if gU is None and gVh is None:
        return None if gS is None else ops.matmul(U * gS.unsqueeze(-2), Vh)
    core = None if gS is None else ops.diag_embed(gS).to(U.dtype)
    gaps = _square_gaps(S)
    phases: Tensor | None = None
    if gU is not None:
        turned = ops.matmul(U.mH, gU)
        turned = turned - turned.mH
        if U.is_complex():
            phases = _diagonal(turned)
            turned = turned - ops.diag_embed(phases)
            core = _sum(core, ops.diag_embed(phases / (2 * S)))
        core = _sum(core, turned / gaps * S.unsqueeze(-2))
    if gVh is not None:
        turned = ops.matmul(Vh, gVh.mH)
        turned = turned - turned.mH
        if U.is_complex():
            along = _diagonal(turned)
            turned = turned - ops.diag_embed(along)
            phases = _sum(phases, along)
        core = _sum(core, S.unsqueeze(-1) * (turned / gaps))
    if phases is not None:
        _check_phase(phases.detach().imag / 2, "svd_backward", "singular vectors")
    assert core is not None
    inside = ops.matmul(U, ops.matmul(core, Vh))
    result = _outside_of_span(gU, gVh, U, S, Vh)
    return inside if result is None else inside + result


def _without_rest(gU: Tensor | None, U: Tensor, count: int) -> Tensor | None:
    """What the columns beyond the singular values give to the others, to which they stay orthogonal.

    U0 turns by -U (U0^H dU)^H; its turning in itself is not determined, and no function that has a gradient sees it.
    """
    if gU is None or U.shape[-1] == count:
        return gU
    return gU[..., :count] - ops.matmul(U[..., count:], ops.matmul(gU[..., count:].mH, U[..., :count]))


def _without_rest_of_rows(gVh: Tensor | None, Vh: Tensor, count: int) -> Tensor | None:
    found = None if gVh is None else _without_rest(gVh.mH, Vh.mH, count)
    return None if found is None else found.mH


def _square_gaps(S: Tensor) -> Tensor:
    """s_j^2 - s_i^2 at [i, j], and 1 on the diagonal; as a product, which keeps small gaps."""
    total = S.unsqueeze(-2) + S.unsqueeze(-1)
    return (S.unsqueeze(-2) - S.unsqueeze(-1)) * total + ops.eye(S.shape[-1], dtype=S.dtype, device=S.device)


def _outside_of_span(gU: Tensor | None, gVh: Tensor | None, U: Tensor, S: Tensor, Vh: Tensor) -> Tensor | None:
    """The part of the gradient in directions that U, or V, has no columns for."""
    result = None
    if gU is not None and U.shape[-2] > U.shape[-1]:
        scaled = gU / S.unsqueeze(-2)
        result = ops.matmul(scaled - ops.matmul(U, ops.matmul(U.mH, scaled)), Vh)
    if gVh is not None and Vh.shape[-1] > Vh.shape[-2]:
        scaled = gVh / S.unsqueeze(-1)
        result = _sum(result, ops.matmul(U, scaled - ops.matmul(ops.matmul(scaled, Vh.mH), Vh)))
    return result


def _sum(left: Tensor | None, right: Tensor) -> Tensor:
    return right if left is None else left + right


def linalg_svd_jvp(dA: Tensor, U: Tensor, S: Tensor, Vh: Tensor, full_matrices: bool) -> tuple[Tensor, Tensor, Tensor]:
    """As `svd_backward`, in forward mode; of the phases, U takes all."""
    count = S.shape[-1]
    U1, Vh1 = U[..., :count], Vh[..., :count, :]
    moved = ops.matmul(dA, Vh1.mH)
    inner = ops.matmul(U1.mH, moved)
    along = _diagonal(inner)
    gaps = _square_gaps(S)
    scaled_right, scaled_left = inner * S.unsqueeze(-2), S.unsqueeze(-1) * inner
    of_U = (scaled_right + scaled_right.mH) / gaps
    of_V = (scaled_left + scaled_left.mH) / gaps
    of_U, of_V = of_U - ops.diag_embed(_diagonal(of_U)), of_V - ops.diag_embed(_diagonal(of_V))
    if U.is_complex():
        of_U = of_U + ops.diag_embed(along.imag / S * 1j)
    dU, dVh = ops.matmul(U1, of_U), ops.matmul(of_V.mH, Vh1)
    if U.shape[-2] > count:
        dU = dU + (moved - ops.matmul(U1, inner)) / S.unsqueeze(-2)
    if Vh.shape[-1] > count:
        left = ops.matmul(U1.mH, dA)
        dVh = dVh + (left - ops.matmul(inner, Vh1)) / S.unsqueeze(-1)
    if U.shape[-1] > count:
        dU = ops.cat([dU, -ops.matmul(U1, ops.matmul(dU.mH, U[..., count:]))], -1)
    if Vh.shape[-2] > count:
        dVh = ops.cat([dVh, -ops.matmul(ops.matmul(Vh[..., count:, :], dVh.mH), Vh1)], -2)
    return dU, ops.real(along), dVh
