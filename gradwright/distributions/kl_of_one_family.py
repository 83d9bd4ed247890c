"""Divergences of two distributions of one family.

Those of exponential families are in Nielsen and Nock, "Statistical exponential families: a digest" (2009).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from gradwright.distributions.bernoulli import Bernoulli
from gradwright.distributions.beta import Beta
from gradwright.distributions.binomial import Binomial
from gradwright.distributions.categorical import Categorical
from gradwright.distributions.cauchy import Cauchy
from gradwright.distributions.continuous_bernoulli import ContinuousBernoulli
from gradwright.distributions.dirichlet import Dirichlet
from gradwright.distributions.exp_family import ExponentialFamily
from gradwright.distributions.exponential import Exponential
from gradwright.distributions.gamma import Gamma
from gradwright.distributions.geometric import Geometric
from gradwright.distributions.gumbel import Gumbel
from gradwright.distributions.half_normal import HalfNormal
from gradwright.distributions.laplace import Laplace
from gradwright.distributions.lowrank_multivariate_normal import (
    LowRankMultivariateNormal,
    low_rank_log_det,
    low_rank_mahalanobis,
)
from gradwright.distributions.multivariate_normal import MultivariateNormal, half_log_det, mahalanobis
from gradwright.distributions.normal import Normal
from gradwright.distributions.one_hot_categorical import OneHotCategorical
from gradwright.distributions.pareto import Pareto
from gradwright.distributions.poisson import Poisson
from gradwright.distributions.uniform import Uniform
from gradwright.distributions.utils import broadcast_shapes, euler_constant
from runtime import ops
from runtime.base.tensor import Tensor


def _bernoulli(p: Bernoulli, q: Bernoulli) -> Tensor:
    return _part(p.probs, q.probs, q.logits, p.logits) + _part(1 - p.probs, 1 - q.probs, -q.logits, -p.logits)


def _part(p: Tensor, q: Tensor, q_logits: Tensor, p_logits: Tensor) -> Tensor:
    """`p * log(p / q)`."""
    inside = p * (ops.log_sigmoid(p_logits) - ops.log_sigmoid(q_logits))
    return ops.where(p == 0, 0, ops.where(q == 0, math.inf, inside))


def _beta(p: Beta, q: Beta) -> Tensor:
    return _dirichlet(p._dirichlet, q._dirichlet)


def _binomial(p: Binomial, q: Binomial) -> Tensor:
    """As often as there are trials that of a Bernoulli distribution."""
    if (p.total_count < q.total_count).any():
        raise NotImplementedError("KL between Binomials where q.total_count > p.total_count is not implemented")
    trial = p.probs * (p.logits - q.logits) + (-p.probs).log1p() - (-q.probs).log1p()
    return ops.where(p.total_count > q.total_count, math.inf, p.total_count * trial)


def _categorical(p: Categorical, q: Categorical) -> Tensor:
    inside = p.probs * (p.logits - q.logits)
    return ops.where(p.probs == 0, 0, ops.where(q.probs == 0, math.inf, inside)).sum(-1)


def _one_hot(p: OneHotCategorical, q: OneHotCategorical) -> Tensor:
    return _categorical(p._categorical, q._categorical)


def _continuous_bernoulli(p: ContinuousBernoulli, q: ContinuousBernoulli) -> Tensor:
    own = p._cont_bern_log_norm() + (-p.probs).log1p()
    other = q._cont_bern_log_norm() + (-q.probs).log1p()
    return p.mean * (p.logits - q.logits) + own - other


def _dirichlet(p: Dirichlet, q: Dirichlet) -> Tensor:
    own, other = p.concentration, q.concentration
    norms = own.sum(-1).lgamma() - other.sum(-1).lgamma() + (other.lgamma() - own.lgamma()).sum(-1)
    means = own.digamma() - own.sum(-1, True).digamma()
    return norms + ((own - other) * means).sum(-1)


def _exponential(p: Exponential, q: Exponential) -> Tensor:
    ratio = q.rate / p.rate
    return ratio - 1 - ratio.log()


def _exponential_family(p: ExponentialFamily, q: ExponentialFamily) -> Tensor:
    """The Bregman divergence of the log-normalizers, between the natural parameters of `q` and of `p`."""
    if type(p) is not type(q):
        raise NotImplementedError(
            f"the divergence of {p!r} and {q!r}, two different exponential families, is no Bregman divergence"
        )
    params, normalizer, slopes = p._moments()
    others = q._natural_params
    result = q._log_normalizer(*others) - normalizer
    for param, other, slope in zip(params, others, slopes, strict=True):
        result = result - ((other - param) * slope).reshape((*normalizer.shape, -1)).sum(-1)
    return result


def _gamma(p: Gamma, q: Gamma) -> Tensor:
    return (
        q.concentration * (p.rate / q.rate).log()
        + q.concentration.lgamma()
        - p.concentration.lgamma()
        + (p.concentration - q.concentration) * p.concentration.digamma()
        + (q.rate - p.rate) * (p.concentration / p.rate)
    )


def _gumbel(p: Gumbel, q: Gumbel) -> Tensor:
    ratio = p.scale / q.scale
    distance = (p.loc - q.loc) / q.scale
    return (
        -ratio.log() + distance + ratio * euler_constant + ((1 + ratio).lgamma() - distance).exp() - 1 - euler_constant
    )


def _geometric(p: Geometric, q: Geometric) -> Tensor:
    return -p.entropy() - (-q.probs).log1p() / p.probs - q.logits


def _half_normal(p: HalfNormal, q: HalfNormal) -> Tensor:
    return _normal(p.base_dist, q.base_dist)


def _laplace(p: Laplace, q: Laplace) -> Tensor:
    ratio = p.scale / q.scale
    distance = (p.loc - q.loc).abs()
    return -ratio.log() + distance / q.scale + ratio * (-distance / p.scale).exp() - 1


def _normal(p: Normal, q: Normal) -> Tensor:
    ratio = (p.scale / q.scale).pow(2)
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale).pow(2) - 1 - ratio.log())


def _multivariate_normal(p: AnyNormal, q: AnyNormal) -> Tensor:
    """`(trace(Q^-1 P) + distance - n + log det Q - log det P) / 2` with the covariances P and Q."""
    if p.event_shape != q.event_shape:
        raise ValueError(
            f"KL-divergence between two normal distributions with different event shapes, {p.event_shape} and "
            f"{q.event_shape}, cannot be computed"
        )
    difference = q.loc - p.loc
    if isinstance(q, LowRankMultivariateNormal):
        squares, log_det = low_rank_mahalanobis(q, difference), low_rank_log_det(q)
    else:
        squares = mahalanobis(q._unbroadcasted_scale_tril, difference)
        log_det = 2 * half_log_det(q._unbroadcasted_scale_tril)
    own = low_rank_log_det(p) if isinstance(p, LowRankMultivariateNormal) else 2 * half_log_det(p.scale_tril)
    return 0.5 * (log_det - own + _trace(p, q) + squares - p.event_shape[0])


def _trace(p: AnyNormal, q: AnyNormal) -> Tensor:
    """The trace of `Q^-1 P`: of a low rank Q by Woodbury's formula."""
    if isinstance(q, LowRankMultivariateNormal):
        own = (p.variance / q.cov_diag).sum(-1)
        inner = q.cov_factor.mT / q.cov_diag.unsqueeze(-2)
        return own - _solved(q._capacitance_tril, inner @ p.scale_tril)
    if isinstance(p, LowRankMultivariateNormal):
        diagonal = p.cov_diag.sqrt().diag_embed()
        return _solved(q._unbroadcasted_scale_tril, p.cov_factor) + _solved(q._unbroadcasted_scale_tril, diagonal)
    return _solved(q._unbroadcasted_scale_tril, p._unbroadcasted_scale_tril)


def _solved(tril: Tensor, matrix: Tensor) -> Tensor:
    """The sum of the squares of `tril^-1 matrix`."""
    batch = broadcast_shapes(tril.shape[:-2], matrix.shape[:-2])
    solved = ops.linalg_solve_triangular(
        tril.expand(batch + tril.shape[-2:]), matrix.expand(batch + matrix.shape[-2:]), upper=False
    )
    return solved.pow(2).sum((-2, -1))


def _pareto(p: Pareto, q: Pareto) -> Tensor:
    ratio = q.alpha / p.alpha
    inside = q.alpha * (p.scale / q.scale).log() - ratio.log() + ratio - 1
    return ops.where(p.scale < q.scale, math.inf, inside)


def _poisson(p: Poisson, q: Poisson) -> Tensor:
    return p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate)


def _uniform(p: Uniform, q: Uniform) -> Tensor:
    inside = ((q.high - q.low) / (p.high - p.low)).log()
    return ops.where((q.low > p.low) | (q.high < p.high), math.inf, inside)


def _cauchy(p: Cauchy, q: Cauchy) -> Tensor:
    """Chyzak and Nielsen, "A closed-form formula for the Kullback-Leibler divergence between Cauchy distributions"."""
    return ((p.scale + q.scale).pow(2) + (p.loc - q.loc).pow(2)).log() - (4 * p.scale * q.scale).log()


AnyNormal = MultivariateNormal | LowRankMultivariateNormal

of_one_family: dict[tuple[type, type], Callable[[Any, Any], Tensor]] = {
    (Bernoulli, Bernoulli): _bernoulli,
    (Beta, Beta): _beta,
    (Binomial, Binomial): _binomial,
    (Categorical, Categorical): _categorical,
    (Cauchy, Cauchy): _cauchy,
    (ContinuousBernoulli, ContinuousBernoulli): _continuous_bernoulli,
    (Dirichlet, Dirichlet): _dirichlet,
    (Exponential, Exponential): _exponential,
    (ExponentialFamily, ExponentialFamily): _exponential_family,
    (Gamma, Gamma): _gamma,
    (Geometric, Geometric): _geometric,
    (Gumbel, Gumbel): _gumbel,
    (HalfNormal, HalfNormal): _half_normal,
    (Laplace, Laplace): _laplace,
    (LowRankMultivariateNormal, LowRankMultivariateNormal): _multivariate_normal,
    (LowRankMultivariateNormal, MultivariateNormal): _multivariate_normal,
    (MultivariateNormal, LowRankMultivariateNormal): _multivariate_normal,
    (MultivariateNormal, MultivariateNormal): _multivariate_normal,
    (Normal, Normal): _normal,
    (OneHotCategorical, OneHotCategorical): _one_hot,
    (Pareto, Pareto): _pareto,
    (Poisson, Poisson): _poisson,
    (Uniform, Uniform): _uniform,
}
