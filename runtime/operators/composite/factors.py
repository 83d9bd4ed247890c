"""Determinants, factors and solutions, made of the operators that also give what LAPACK has to say about them."""

from __future__ import annotations

from runtime import ops
from runtime.base.tensor import Tensor
from runtime.base.types import Scalar
from runtime.graph import forward


def linalg_solve_ex(A: Tensor, B: Tensor, *, left: bool = True, check_errors: bool = False) -> tuple[Tensor, Tensor]:
    """The solution of A X = B, and a number that is not 0 where A is singular."""
    result, _, _, info = ops._linalg_solve_ex(A, B, left=left, check_errors=check_errors)
    return result, info


# -- determinants


def linalg_slogdet(A: Tensor) -> tuple[Tensor, Tensor]:
    """The sign of the determinant, and the logarithm of its absolute value."""
    sign, logarithm, _, _ = ops._linalg_slogdet(A)
    return sign, logarithm


def slogdet(self: Tensor) -> tuple[Tensor, Tensor]:
    """The sign of the determinant, and the logarithm of its absolute value."""
    sign, logarithm = ops.linalg_slogdet(self)
    return sign, logarithm


def logdet(self: Tensor) -> Tensor:
    """The logarithm of the determinant: NaN of a negative one; complex where the matrix is."""
    sign: Tensor
    logarithm: Tensor
    sign, logarithm = ops.linalg_slogdet(self)
    if self.is_complex():
        return sign.log() + logarithm
    return ops.where(sign == -1, float("nan"), logarithm)


# -- factors


def linalg_cholesky(self: Tensor, *, upper: bool = False) -> Tensor:
    """The lower triangular L with A = L L^H, or the upper one, of a positive definite Hermitian A."""
    L: Tensor = ops.linalg_cholesky_ex(self, upper=upper, check_errors=True)[0]
    return L


def linalg_lu_factor(A: Tensor, *, pivot: bool = True) -> tuple[Tensor, Tensor]:
    """The factors L and U of A = P L U in one matrix, and the pivots."""
    LU, pivots, _ = ops.linalg_lu_factor_ex(A, pivot=pivot, check_errors=True)
    return LU, pivots


def linalg_ldl_factor(self: Tensor, *, hermitian: bool = False) -> tuple[Tensor, Tensor]:
    """The factors L and D of A = L D L^T in one matrix, and the pivots."""
    LD, pivots, _ = ops.linalg_ldl_factor_ex(self, hermitian=hermitian, check_errors=True)
    return LD, pivots


# -- eigenvalues and singular values


def linalg_eigvals(self: Tensor) -> Tensor:
    """Without vectors where nothing is differentiated: these are what the derivative is made of."""
    if not self.requires_grad and not forward.active() and type(self) is Tensor:
        return ops._linalg_eigvals(self)
    values: Tensor = ops.linalg_eig(self)[0]
    return values


def linalg_eigvalsh(self: Tensor, UPLO: str = "L") -> Tensor:
    """The eigenvalues of a Hermitian matrix, in ascending order."""
    values: Tensor = ops._linalg_eigh(self, UPLO)[0]
    return values


def svd(self: Tensor, some: bool = True, compute_uv: bool = True) -> tuple[Tensor, Tensor, Tensor]:
    """As `linalg_svd`, with V in the place of its adjoint; without vectors these are zeros."""
    if self.dim() < 2:
        raise RuntimeError("linalg.svd: input should have at least 2 dimensions, but has 1 dimensions instead")
    if compute_uv:
        U, S, Vh = ops._linalg_svd(self, not some)
        return U, S, Vh.mH
    rows, columns = self.shape[-2:]
    batch = self.shape[:-2]
    return (
        self.new_zeros([*batch, rows, rows]),
        ops.linalg_svdvals(self),
        self.new_zeros([*batch, columns, columns]),
    )


# -- pseudoinverses, ranks and conditions


def linalg_pinv_atol_rtol_float(
    self: Tensor, *, atol: float | None = None, rtol: float | None = None, hermitian: bool = False
) -> Tensor:
    return ops.linalg_pinv(self, atol=_as_tensor(atol, self), rtol=_as_tensor(rtol, self), hermitian=hermitian)


def _as_tensor(value: float | None, like: Tensor) -> Tensor | None:
    return None if value is None else ops.scalar_tensor(value, dtype=like.dtype.to_real(), device=like.device)


def linalg_matrix_rank_atol_rtol_float(
    self: Tensor, *, atol: float | None = None, rtol: float | None = None, hermitian: bool = False
) -> Tensor:
    return ops.linalg_matrix_rank(self, atol=_as_tensor(atol, self), rtol=_as_tensor(rtol, self), hermitian=hermitian)


def linalg_matrix_rank(self: Tensor, tol: float, hermitian: bool = False) -> Tensor:
    """`tol` alone is absolute."""
    limits = _as_tensor(tol, self), _as_tensor(0.0, self)
    return ops.linalg_matrix_rank(self, atol=limits[0], rtol=limits[1], hermitian=hermitian)


def linalg_matrix_rank_tol_tensor(input: Tensor, tol: Tensor, hermitian: bool = False) -> Tensor:
    return ops.linalg_matrix_rank(input, atol=tol, rtol=ops.zeros_like(tol), hermitian=hermitian)


def linalg_cond(self: Tensor, p: Scalar | None = None) -> Tensor:
    """The norm of a matrix times that of its inverse: how much errors grow.  Infinite for a singular one."""
    if p is None or p in (2, -2):
        _check_matrix("linalg.cond", self)
        if self.numel() == 0:
            return ops.real(self).new_zeros(self.shape[:-2])
        values = ops.linalg_svdvals(self)
        largest, least = values[..., 0], values[..., -1]
        return least / largest if p == -2 else largest / least
    if p not in (1, -1, float("inf"), float("-inf")):
        raise RuntimeError(f"linalg.cond got an invalid norm type: {p}")
    _check_square(f"linalg.cond(ord={p})", self)
    return _cond_by_inverse(self, p)


def linalg_cond_p_str(self: Tensor, p: str) -> Tensor:
    """The condition number: the norm of A times that of its inverse."""
    if p not in ("fro", "nuc"):
        raise RuntimeError(f"linalg.cond got an invalid norm type: {p}")
    _check_square(f"linalg.cond(ord={p})", self)
    if p == "nuc" and self.numel():
        values = ops.linalg_svdvals(self)
        return values.sum([-1]) * (1 / values).sum([-1])
    return _cond_by_inverse(self, p)


def _cond_by_inverse(self: Tensor, p: Scalar | str) -> Tensor:
    if self.numel() == 0:
        return ops.real(self).new_zeros(self.shape[:-2])
    inverse, info = ops.linalg_inv_ex(self)
    product = ops.linalg_matrix_norm(self, p) * ops.linalg_matrix_norm(inverse, p)
    return product.masked_fill(info != 0, float("inf"))


def _check_matrix(name: str, x: Tensor) -> None:
    if x.dim() < 2:
        raise RuntimeError(f"{name}: The input tensor A must have at least 2 dimensions.")


def _check_square(name: str, x: Tensor) -> None:
    _check_matrix(name, x)
    if x.shape[-1] != x.shape[-2]:
        raise RuntimeError(
            f"{name}: A must be batches of square matrices, but they are {x.shape[-2]} by {x.shape[-1]} matrices"
        )
