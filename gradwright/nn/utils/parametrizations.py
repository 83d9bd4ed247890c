"""Parametrizations of weights: a direction and a length, a largest singular value of 1, orthogonal columns."""

from __future__ import annotations

from typing import Any

from gradwright.autograd import no_grad
from gradwright.nn import functional as F
from gradwright.nn.convolution import ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from gradwright.nn.module import Module
from gradwright.nn.utils.parametrize import register_parametrization
from runtime import ops
from runtime.base.dtypes import finfo
from runtime.base.tensor import Tensor

__all__ = ["orthogonal", "spectral_norm", "weight_norm"]


# -- a direction and a length


class _WeightNorm(Module):
    """w = g v / |v|, with norms over all dimensions but one, or -1 for none (Salimans and Kingma 2016)."""

    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g: Tensor, weight_v: Tensor) -> Tensor:
        """The weight."""
        return weight_v * (weight_g / ops.norm_except_dim(weight_v, 2, self.dim))

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        """Its length and what gives its direction."""
        return ops.norm_except_dim(weight, 2, self.dim), weight.detach().clone()


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """Compute a weight from its length and its direction, which are learned apart.

    Args:
        module: whose it is.
        name: its name.
        dim: the dimension that is left out of the norm; None: there is one norm for all.
    """
    register_parametrization(module, name, _WeightNorm(dim), unsafe=True)
    old, new = ("_g", "_v"), ("original0", "original1")

    def rename(state_dict: dict[str, Any], prefix: str, *rest: Any) -> None:
        """States that were saved by the older `nn.utils.weight_norm`."""
        keys = [f"{prefix}{name}{suffix}" for suffix in old]
        if all(key in state_dict for key in keys):
            for key, part in zip(keys, new, strict=True):
                state_dict[f"{prefix}parametrizations.{name}.{part}"] = state_dict.pop(key)

    module._register_load_state_dict_pre_hook(rename)
    return module


# -- a largest singular value of 1


class _SpectralNorm(Module):
    """w / s, with the largest singular value s by power iteration (Miyato et al. 2018), which training goes on with."""

    _u: Tensor
    _v: Tensor

    def __init__(self, weight: Tensor, n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12) -> None:
        super().__init__()
        if not -weight.dim() <= dim < weight.dim():
            raise IndexError(
                f"Dimension out of range (expected to be in range of [-{weight.dim()}, {weight.dim() - 1}] but got "
                f"{dim})"
            )
        if n_power_iterations <= 0:
            raise ValueError(
                f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}"
            )
        self.dim = dim if dim >= 0 else dim + weight.dim()
        self.eps = eps
        if weight.dim() > 1:
            self.n_power_iterations = n_power_iterations
            matrix = self._as_matrix(weight.detach())
            rows, columns = matrix.shape
            u, v = ops.new_empty(matrix, [rows]).normal_(0, 1), ops.new_empty(matrix, [columns]).normal_(0, 1)
            self.register_buffer("_u", F.normalize(u, dim=0, eps=eps))
            self.register_buffer("_v", F.normalize(v, dim=0, eps=eps))
            self._iterate(matrix, 15)

    def _as_matrix(self, weight: Tensor) -> Tensor:
        return weight.movedim(self.dim, 0).flatten(1)

    def _iterate(self, matrix: Tensor, times: int) -> None:
        with no_grad():
            for _ in range(times):
                self._u.copy_(F.normalize(matrix.detach().mv(self._v), dim=0, eps=self.eps))
                self._v.copy_(F.normalize(matrix.detach().mH.mv(self._u), dim=0, eps=self.eps))

    def forward(self, weight: Tensor) -> Tensor:
        """The weight over its norm."""
        if weight.dim() == 1:
            return F.normalize(weight, dim=0, eps=self.eps)
        matrix = self._as_matrix(weight)
        if self.training:
            self._iterate(matrix, self.n_power_iterations)
        u, v = self._u.clone(), self._v.clone()  # the next call writes to them, and the graph keeps these
        return weight / ops.vdot(u, matrix.mv(v))

    def right_inverse(self, value: Tensor) -> Tensor:
        """Itself: it is normalised when it is used."""
        return value


def is_transposed(module: Module) -> bool:
    """Whether the outputs of a Module stand in the second dimension of its weight."""
    return isinstance(module, (ConvTranspose1d, ConvTranspose2d, ConvTranspose3d))


def spectral_norm(
    module: Module, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> Module:
    """Divide a weight by its largest singular value.

    Args:
        module: whose it is.
        name: its name.
        n_power_iterations: steps in each call while training.
        eps: the smallest length that vectors are divided by.
        dim: of the rows of the matrix; 0, and 1 for transposed convolutions, where it is left out.

    Raises:
        ValueError: there is nothing of this name.
    """
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    if dim is None:
        dim = 1 if is_transposed(module) else 0
    return register_parametrization(module, name, _SpectralNorm(weight, n_power_iterations, dim, eps))


# -- orthogonal columns


class _Orthogonal(Module):
    """Matrices with orthogonal columns, or rows where they are fewer, by one of three maps of free ones.

    With a `base` they are products of it with a matrix near the identity (Lezcano-Casado 2019).
    """

    base: Tensor | None

    def __init__(self, weight: Tensor, orthogonal_map: str, use_trivialization: bool = True) -> None:
        super().__init__()
        if weight.is_complex() and orthogonal_map == "householder":
            raise ValueError("The householder parametrization does not support complex tensors.")
        self.shape = weight.shape
        self.orthogonal_map = orthogonal_map
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, X: Tensor) -> Tensor:
        """The orthogonal matrix."""
        tall = X.mT if X.shape[-2] < X.shape[-1] else X
        made = self._by_reflections(tall) if self.orthogonal_map == "householder" else self._by_group(tall)
        if hasattr(self, "base") and self.base is not None:
            made = self.base @ made
        return made.mT if X.shape[-2] < X.shape[-1] else made

    def _by_group(self, X: Tensor) -> Tensor:
        """From a skew matrix: by its exponential or by Cayley's transform."""
        rows, columns = X.shape[-2:]
        lower = X.tril()
        if rows != columns:
            lower = ops.cat([lower, lower.new_zeros([*X.shape[:-2], rows, rows - columns])], -1)
        skew = lower - lower.mH
        if self.orthogonal_map == "matrix_exp":
            made = ops.matrix_exp(skew)
        else:
            identity = ops.eye(rows, dtype=skew.dtype)
            made = ops.linalg_solve(identity - skew / 2, identity + skew / 2)
        return made[..., :columns] if rows != columns else made

    def _by_reflections(self, X: Tensor) -> Tensor:
        """The product of Householder's reflections below the diagonal, with the signs of the diagonal."""
        below = X.tril(-1)
        made = ops.linalg_householder_product(below, 2.0 / (1.0 + (below * below).sum([-2])))
        signed: Tensor = made * X.diagonal(dim1=-2, dim2=-1).int().unsqueeze(-2)
        return signed

    def right_inverse(self, Q: Tensor) -> Tensor:
        """What an orthogonal matrix is computed from; the matrix itself becomes the base where there is one."""
        if Q.shape != self.shape:
            raise ValueError(
                f"Expected a matrix or batch of matrices of shape {self.shape}. Got a tensor of shape {Q.shape}."
            )
        wide = Q.shape[-2] < Q.shape[-1]
        tall = Q.mT if wide else Q
        if hasattr(self, "base"):
            self.base = self._completed(tall)
            opposite: Tensor = ops.zeros_like(Q)
            opposite.diagonal(dim1=-2, dim2=-1).fill_(-1.0)
            return opposite
        if self.orthogonal_map != "householder":
            raise NotImplementedError(
                "It is not possible to assign to the matrix exponential or the Cayley parametrizations when "
                "use_trivialization=False."
            )
        factors, tau = ops.geqrf(tall)
        diagonal = factors.diagonal(dim1=-2, dim2=-1)
        diagonal.sign_()
        diagonal[tau == 0] *= -1
        start: Tensor = factors.mT if wide else factors
        return start

    def _completed(self, Q: Tensor) -> Tensor:
        """The columns made orthogonal where they are not, and as many more as there are rows."""
        rows, columns = Q.shape[-2:]
        if rows == columns:
            return Q.clone() if _is_orthogonal(Q) else _made_orthogonal(Q)
        more = ops.randn([*Q.shape[:-2], rows, rows - columns], dtype=Q.dtype)
        return _made_orthogonal(ops.cat([Q, more], -1))


def _is_orthogonal(Q: Tensor) -> bool:
    rows, columns = Q.shape[-2:]
    error = 10.0 * rows * finfo(Q.dtype).eps
    return bool(ops.allclose(Q.mH @ Q, ops.eye(columns, dtype=Q.dtype), atol=error))


def _made_orthogonal(A: Tensor) -> Tensor:
    factors, tau = ops.geqrf(A)
    made = ops.linalg_householder_product(factors, tau)
    signed: Tensor = made * factors.diagonal(dim1=-2, dim2=-1).sgn().unsqueeze(-2)
    return signed


def orthogonal(
    module: Module, name: str = "weight", orthogonal_map: str | None = None, *, use_trivialization: bool = True
) -> Module:
    """Keep the columns of a matrix orthogonal, or its rows where they are fewer.

    Args:
        module: whose it is.
        name: its name.
        orthogonal_map: "matrix_exp", "cayley" or "householder"; without it the first for square and complex matrices,
            and the last for others.
        use_trivialization: keep the first matrix as a base, so that it may be assigned to.

    Raises:
        ValueError: there is nothing of this name, it is no matrix, or the map is not known.
    """
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    if weight.dim() < 2:
        raise ValueError(f"Expected a matrix or batch of matrices. Got a tensor of {weight.dim()} dimensions.")
    if orthogonal_map is None:
        square = weight.shape[-2] == weight.shape[-1]
        orthogonal_map = "matrix_exp" if square or weight.is_complex() else "householder"
    if orthogonal_map not in ("matrix_exp", "cayley", "householder"):
        raise ValueError(
            f'orthogonal_map has to be one of "matrix_exp", "cayley", "householder". Got: {orthogonal_map}'
        )
    made = _Orthogonal(weight, orthogonal_map, use_trivialization)
    return register_parametrization(module, name, made, unsafe=True)
