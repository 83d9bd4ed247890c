"""The normal distribution of vectors whose covariance is a diagonal and a matrix of low rank."""

from __future__ import annotations

import math
from typing import ClassVar

from gradwright.distributions import constraints
from gradwright.distributions.constraints import Constraint
from gradwright.distributions.distribution import Distribution, Shape
from gradwright.distributions.multivariate_normal import half_log_det, mahalanobis
from gradwright.distributions.normal import standard_normal
from gradwright.distributions.utils import lazy_property
from runtime import ops
from runtime.base.tensor import Tensor


class LowRankMultivariateNormal(Distribution):
    """The normal distribution of vectors with the covariance `cov_factor @ cov_factor.T + cov_diag`.

    With the factor W, the diagonal D and the small matrix C = 1 + W^T D^-1 W, inverses and determinants are those of
    Woodbury: the inverse is D^-1 - D^-1 W C^-1 W^T D^-1, the determinant det C det D.
    """

    arg_constraints: ClassVar[dict[str, Constraint]] = {
        "loc": constraints.real_vector,
        "cov_factor": constraints.independent(constraints.real, 2),
        "cov_diag": constraints.independent(constraints.positive, 1),
    }
    support = constraints.real_vector
    has_rsample = True
    _parameters = (
        "loc", "cov_factor", "cov_diag", "_capacitance_tril", "scale_tril", "covariance_matrix", "precision_matrix"
    )  # fmt: skip

    def __init__(self, loc: Tensor, cov_factor: Tensor, cov_diag: Tensor, validate_args: bool | None = None) -> None:
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        event = loc.shape[-1:]
        if cov_factor.dim() < 2:
            raise ValueError("cov_factor must be at least two-dimensional, with optional leading batch dimensions")
        if cov_factor.shape[-2:-1] != event:
            raise ValueError(f"cov_factor must be a batch of matrices with shape {event[0]} x m")
        if cov_diag.shape[-1:] != event:
            raise ValueError(f"cov_diag must be a batch of vectors with shape {event}")
        batch = ops.broadcast_tensors([loc[..., 0], cov_factor[..., 0, 0], cov_diag[..., 0]])[0].shape
        self.loc = loc.expand(batch + event)
        self.cov_factor = cov_factor.expand(batch + cov_factor.shape[-2:])
        self.cov_diag = cov_diag.expand(batch + event)
        super().__init__(batch, event, validate_args=validate_args)
        weighted = self.cov_factor.mT / self.cov_diag.unsqueeze(-2)
        rank = self.cov_factor.shape[-1]
        unit = ops.eye(rank, dtype=weighted.dtype, device=weighted.device)
        self._capacitance_tril = ops.linalg_cholesky(weighted @ self.cov_factor + unit)

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @lazy_property
    def variance(self) -> Tensor:
        """The variances of the elements."""
        return self.cov_factor.pow(2).sum(-1) + self.cov_diag

    @lazy_property
    def scale_tril(self) -> Tensor:
        """The Cholesky factor of the covariance matrix."""
        # Of D^(1/2) (1 + V V^T) D^(1/2) with V = D^(-1/2) W, which is well conditioned.
        root = self.cov_diag.sqrt().unsqueeze(-1)
        scaled = self.cov_factor / root
        unit = ops.eye(self._event_shape[0], dtype=scaled.dtype, device=scaled.device)
        return root * ops.linalg_cholesky(scaled @ scaled.mT + unit)

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        """The covariance matrix."""
        return self.cov_factor @ self.cov_factor.mT + self.cov_diag.diag_embed()

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """The inverse of the covariance matrix."""
        weighted = self.cov_factor.mT / self.cov_diag.unsqueeze(-2)
        inner = ops.linalg_solve_triangular(self._capacitance_tril, weighted, upper=False)
        return self.cov_diag.reciprocal().diag_embed() - inner.mT @ inner

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        common = standard_normal(self.loc, shape[:-1] + self.cov_factor.shape[-1:])
        own = standard_normal(self.loc, shape)
        return self.loc + (self.cov_factor @ common.unsqueeze(-1)).squeeze(-1) + self.cov_diag.sqrt() * own

    def log_prob(self, value: Tensor) -> Tensor:
        self._check(value)
        squares = low_rank_mahalanobis(self, value - self.loc)
        return -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + low_rank_log_det(self) + squares)

    def entropy(self) -> Tensor:
        return 0.5 * (self._event_shape[0] * (1 + math.log(2 * math.pi)) + low_rank_log_det(self))


def low_rank_log_det(distribution: LowRankMultivariateNormal) -> Tensor:
    """The logarithm of the determinant of the covariance."""
    return 2 * half_log_det(distribution._capacitance_tril) + distribution.cov_diag.log().sum(-1)


def low_rank_mahalanobis(distribution: LowRankMultivariateNormal, difference: Tensor) -> Tensor:
    """The squares of distances in units of the covariance."""
    weighted = distribution.cov_factor.mT / distribution.cov_diag.unsqueeze(-2)
    projected = (weighted @ difference.unsqueeze(-1)).squeeze(-1)
    own = (difference.pow(2) / distribution.cov_diag).sum(-1)
    return own - mahalanobis(distribution._capacitance_tril, projected)
