"""Wishart's distribution."""

from __future__ import annotations

import math

from gradwright.distributions import constraints
from gradwright.distributions.chi2 import Chi2
from gradwright.distributions.constraints import Constraint
from gradwright.distributions.distribution import Shape, Value
from gradwright.distributions.exp_family import ExponentialFamily
from gradwright.distributions.multivariate_normal import cholesky_of, half_log_det, one_matrix
from gradwright.distributions.normal import standard_normal
from gradwright.distributions.utils import lazy_property
from runtime import ops
from runtime.base.tensor import Tensor


class Wishart(ExponentialFamily):
    """Wishart's distribution of matrices: sums of `df` outer products of normal vectors with themselves.

    Args:
        df: the degrees of freedom, which need not be whole.
        covariance_matrix: that of the vectors; exactly one of the three is given.
        precision_matrix: its inverse.
        scale_tril: its Cholesky factor.
        validate_args: see `Distribution`.
    """

    support = constraints.positive_definite
    has_rsample = True
    _mean_carrier_measure = 0
    _parameters = ("df", "_unbroadcasted_scale_tril", "covariance_matrix", "precision_matrix", "scale_tril", "_chi2")

    def __init__(
        self,
        df: Value,
        covariance_matrix: Tensor | None = None,
        precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        name, matrix = one_matrix(covariance_matrix, precision_matrix, scale_tril)
        size = matrix.shape[-1]
        count = df if isinstance(df, Tensor) else ops.full((), df, dtype=matrix.dtype, device=matrix.device)
        if (count <= size - 1).any():
            raise ValueError(f"Value of df={df} expected to be greater than ndim - 1 = {size - 1}.")
        batch = ops.broadcast_tensors([matrix[..., 0, 0], count])[0].shape
        self.df = count.expand(batch)
        self.__dict__[name] = matrix.expand(batch + matrix.shape[-2:])
        super().__init__(batch, matrix.shape[-2:], validate_args=validate_args)
        self._unbroadcasted_scale_tril = cholesky_of(name, matrix).expand(batch + matrix.shape[-2:])
        self._chi2 = Chi2(self.df.unsqueeze(-1) - ops.arange(size, dtype=matrix.dtype, device=matrix.device))

    @property
    def arg_constraints(self) -> dict[str, Constraint]:
        return {
            "covariance_matrix": constraints.positive_definite,
            "precision_matrix": constraints.positive_definite,
            "scale_tril": constraints.lower_cholesky,
            "df": constraints.greater_than(self._event_shape[-1] - 1),
        }

    @lazy_property
    def scale_tril(self) -> Tensor:
        """The Cholesky factor of the covariance matrix."""
        return self._unbroadcasted_scale_tril

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        """The covariance matrix of the vectors."""
        return self._unbroadcasted_scale_tril @ self._unbroadcasted_scale_tril.mT

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """The inverse of the covariance matrix."""
        return ops.cholesky_inverse(self._unbroadcasted_scale_tril)

    def _per_matrix(self, values: Tensor) -> Tensor:
        return values.reshape((*values.shape, 1, 1))

    @property
    def mean(self) -> Tensor:
        return self._per_matrix(self.df) * self.covariance_matrix

    @property
    def mode(self) -> Tensor:
        factor = self.df - self._event_shape[0] - 1
        return self._per_matrix(ops.where(factor <= 0, math.nan, factor)) * self.covariance_matrix

    @property
    def variance(self) -> Tensor:
        matrix = self.covariance_matrix
        diagonal = matrix.diagonal(0, -2, -1)
        return self._per_matrix(self.df) * (matrix.pow(2) + diagonal.unsqueeze(-1) * diagonal.unsqueeze(-2))

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        """By Bartlett's decomposition: triangular matrices of normal numbers, chi-distributed on the diagonal."""
        shape = self._extended_shape(sample_shape)
        diagonal = self._chi2.rsample(sample_shape).sqrt().diag_embed()
        factor = self._unbroadcasted_scale_tril @ (diagonal + standard_normal(self.df, shape).tril(-1))
        return factor @ factor.mT

    def log_prob(self, value: Tensor) -> Tensor:
        self._check(value)
        size = self._event_shape[0]
        scale = self._unbroadcasted_scale_tril
        whole = ops.broadcast_tensors([value, scale])[0].shape
        trace = ops.cholesky_solve(value.expand(whole), scale.expand(whole)).diagonal(0, -2, -1).sum(-1)
        norm = self.df * (size * math.log(2) / 2 + half_log_det(scale)) + ops.mvlgamma(self.df / 2, size)
        log_det: Tensor = ops.linalg_slogdet(value)[1]
        return (self.df - size - 1) / 2 * log_det - trace / 2 - norm

    def entropy(self) -> Tensor:
        size = self._event_shape[0]
        half = self.df / 2
        places = ops.arange(size, dtype=self.df.dtype, device=self.df.device)
        digammas = (half.unsqueeze(-1) - places / 2).digamma().sum(-1)
        return (
            (size + 1) * (size * math.log(2) / 2 + half_log_det(self._unbroadcasted_scale_tril))
            + ops.mvlgamma(half, size)
            - (self.df - size - 1) / 2 * digammas
            + half * size
        )

    @property
    def _natural_params(self) -> tuple[Tensor, Tensor]:
        return -self.precision_matrix / 2, (self.df - self._event_shape[0] - 1) / 2

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        x, y = natural_params
        size = self._event_shape[0]
        power = y + (size + 1) / 2
        log_det: Tensor = ops.linalg_slogdet(-2 * x)[1]
        return power * (size * math.log(2) - log_det) + ops.mvlgamma(power, size)
