"""The normal distribution of vectors."""

from __future__ import annotations

import math
from typing import ClassVar

from gradwright.distributions import constraints
from gradwright.distributions.constraints import Constraint
from gradwright.distributions.distribution import Distribution, Shape
from gradwright.distributions.normal import standard_normal
from gradwright.distributions.utils import lazy_property
from runtime import ops
from runtime.base.tensor import Tensor


class MultivariateNormal(Distribution):
    """The normal distribution of vectors, by a covariance matrix, its inverse, or its Cholesky factor.

    Args:
        loc: the mean.
        covariance_matrix: exactly one of the three is given.
        precision_matrix: the inverse of the covariance matrix.
        scale_tril: the Cholesky factor of the covariance matrix.
        validate_args: see `Distribution`.
    """

    arg_constraints: ClassVar[dict[str, Constraint]] = {
        "loc": constraints.real_vector,
        "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky,
    }
    support = constraints.real_vector
    has_rsample = True
    _parameters = ("loc", "_unbroadcasted_scale_tril", "covariance_matrix", "precision_matrix", "scale_tril")

    def __init__(
        self,
        loc: Tensor,
        covariance_matrix: Tensor | None = None,
        precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        name, matrix = one_matrix(covariance_matrix, precision_matrix, scale_tril)
        batch = ops.broadcast_tensors([matrix[..., 0, 0], loc[..., 0]])[0].shape
        self.loc = loc.expand(batch + loc.shape[-1:])
        self.__dict__[name] = matrix.expand(batch + matrix.shape[-2:])
        super().__init__(batch, self.loc.shape[-1:], validate_args=validate_args)
        self._unbroadcasted_scale_tril = cholesky_of(name, matrix).expand(batch + matrix.shape[-2:])

    @lazy_property
    def scale_tril(self) -> Tensor:
        """The Cholesky factor of the covariance matrix."""
        return self._unbroadcasted_scale_tril

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        """The covariance matrix."""
        return self._unbroadcasted_scale_tril @ self._unbroadcasted_scale_tril.mT

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """The inverse of the covariance matrix."""
        return ops.cholesky_inverse(self._unbroadcasted_scale_tril)

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        return self._unbroadcasted_scale_tril.pow(2).sum(-1)

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        normal = standard_normal(self.loc, self._extended_shape(sample_shape))
        return self.loc + (self._unbroadcasted_scale_tril @ normal.unsqueeze(-1)).squeeze(-1)

    def log_prob(self, value: Tensor) -> Tensor:
        self._check(value)
        scale = self._unbroadcasted_scale_tril
        squares = mahalanobis(scale, value - self.loc)
        return -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + squares) - half_log_det(scale)

    def entropy(self) -> Tensor:
        return 0.5 * self._event_shape[0] * (1 + math.log(2 * math.pi)) + half_log_det(self._unbroadcasted_scale_tril)


def one_matrix(covariance: Tensor | None, precision: Tensor | None, tril: Tensor | None) -> tuple[str, Tensor]:
    """The name and the value of the one matrix that is given.

    Raises:
        ValueError: not exactly one is given, or it is no matrix.
    """
    all_three = {"covariance_matrix": covariance, "precision_matrix": precision, "scale_tril": tril}
    given = [(name, value) for name, value in all_three.items() if value is not None]
    if len(given) != 1:
        raise ValueError("Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified.")
    if given[0][1].dim() < 2:
        raise ValueError(
            f"{given[0][0]} must be at least two-dimensional, with optional leading batch dimensions, "
            f"but has the shape {tuple(given[0][1].shape)}"
        )
    return given[0]


def cholesky_of(name: str, matrix: Tensor) -> Tensor:
    """The Cholesky factor of a covariance matrix that is given as `name`."""
    if name == "scale_tril":
        return matrix
    if name == "covariance_matrix":
        return ops.linalg_cholesky(matrix)
    # With J the exchange of rows, J P J = L L^T makes J L^-T J the lower triangular factor of P^-1.
    factor = ops.linalg_cholesky(matrix.flip((-2, -1)))
    unit = ops.eye(matrix.shape[-1], dtype=matrix.dtype, device=matrix.device)
    return ops.linalg_solve_triangular(factor.flip((-2, -1)).mT, unit.expand(matrix.shape), upper=False)


def half_log_det(tril: Tensor) -> Tensor:
    """Half the logarithm of the determinant of the matrix of which `tril` is the Cholesky factor."""
    return tril.diagonal(0, -2, -1).log().sum(-1)


def mahalanobis(tril: Tensor, difference: Tensor) -> Tensor:
    """The squares of distances in units of the matrix of which `tril` is the Cholesky factor."""
    whole = ops.broadcast_tensors([difference[..., 0], tril[..., 0, 0]])[0].shape
    tril = tril.expand(whole + tril.shape[-2:])
    columns = difference.expand(whole + difference.shape[-1:]).unsqueeze(-1)
    return ops.linalg_solve_triangular(tril, columns, upper=False).pow(2).sum((-2, -1))
