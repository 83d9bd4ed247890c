"""Divergences of distributions of two families: `-H(p) - E[log q(x)]` over values of `p`.

The mean of `log q` is made of a few means over `p`: of `x` and its square, of `log(x)`, and of `exp(-x / scale)`.
Where `p` has values at which `q` has no density, the divergence is infinite.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from gradwright.distributions.bernoulli import Bernoulli
from gradwright.distributions.beta import Beta
from gradwright.distributions.binomial import Binomial
from gradwright.distributions.continuous_bernoulli import ContinuousBernoulli
from gradwright.distributions.distribution import Distribution
from gradwright.distributions.exponential import Exponential
from gradwright.distributions.gamma import Gamma
from gradwright.distributions.gumbel import Gumbel
from gradwright.distributions.laplace import Laplace
from gradwright.distributions.normal import Normal
from gradwright.distributions.pareto import Pareto
from gradwright.distributions.poisson import Poisson
from gradwright.distributions.uniform import Uniform
from gradwright.distributions.utils import broadcast_shapes, euler_constant
from runtime import ops
from runtime.base.tensor import Tensor

Families = Mapping[type, Callable[[Any], Tensor]]


def _mean_of_log(p: Distribution) -> Tensor:
    """The mean of `log(x)`."""
    if isinstance(p, Beta):
        return p.concentration1.digamma() - (p.concentration1 + p.concentration0).digamma()
    if isinstance(p, Exponential):
        return -euler_constant - p.rate.log()
    if isinstance(p, Pareto):
        return p.scale.log() + p.alpha.reciprocal()
    assert isinstance(p, Uniform)
    return _mean_of_log_between(p.low, p.high)


def _mean_of_log_between(low: Tensor, high: Tensor) -> Tensor:
    return (ops.xlogy(high, high) - ops.xlogy(low, low)) / (high - low) - 1


def _mean_of_exp(p: Distribution, scale: Tensor) -> Tensor:
    """The logarithm of the mean of `exp(-x / scale)`: of the moment-generating function at `-1 / scale`."""
    if isinstance(p, Exponential):
        return -(1 / (p.rate * scale)).log1p()
    if isinstance(p, Gamma):
        return -p.concentration * (1 / (p.rate * scale)).log1p()
    if isinstance(p, Normal):
        return -p.loc / scale + 0.5 * (p.scale / scale).pow(2)
    assert isinstance(p, Uniform)
    width = (p.high - p.low) / scale
    return -p.low / scale + (-(-width).expm1() / width).log()


def _log_bernoulli_like(p: Bernoulli, q: Poisson) -> Tensor:
    return p.probs * q.rate.log() - q.rate


def _log_beta(p: Uniform, q: Beta) -> Tensor:
    a, b = q.concentration1, q.concentration0
    # 1 - x is uniform as well.
    rest = _mean_of_log_between(1 - p.high, 1 - p.low)
    return (a - 1) * _mean_of_log(p) + (b - 1) * rest - a.lgamma() - b.lgamma() + (a + b).lgamma()


def _log_continuous_bernoulli(p: Distribution, q: ContinuousBernoulli) -> Tensor:
    return p.mean * q.logits + (-q.probs).log1p() + q._cont_bern_log_norm()


def _log_exponential(p: Distribution, q: Exponential) -> Tensor:
    return q.rate.log() - q.rate * p.mean


def _log_gamma(p: Distribution, q: Gamma) -> Tensor:
    shape = q.concentration
    return shape * q.rate.log() - shape.lgamma() + (shape - 1) * _mean_of_log(p) - q.rate * p.mean


def _log_gumbel(p: Distribution, q: Gumbel) -> Tensor:
    distance = (p.mean - q.loc) / q.scale
    return -q.scale.log() - distance - (q.loc / q.scale + _mean_of_exp(p, q.scale)).exp()


def _log_laplace(p: Normal, q: Laplace) -> Tensor:
    """By the mean of a folded normal distribution."""
    z = (p.loc - q.loc) / (math.sqrt(2) * p.scale)
    distance = math.sqrt(2 / math.pi) * p.scale * (-z.pow(2)).exp() + (p.loc - q.loc) * z.erf()
    return -(2 * q.scale).log() - distance / q.scale


def _log_normal(p: Distribution, q: Normal) -> Tensor:
    square = p.variance + (p.mean - q.loc).pow(2)
    return -0.5 * math.log(2 * math.pi) - q.scale.log() - square / (2 * q.scale.pow(2))


def _log_uniform(p: Distribution, q: Uniform) -> Tensor:
    return -(q.high - q.low).log()


def _log_pareto(p: Uniform, q: Pareto) -> Tensor:
    return q.alpha.log() + q.alpha * q.scale.log() - (q.alpha + 1) * _mean_of_log(p)


def _divergence(mean_of_log: Callable[[Any, Any], Tensor]) -> Callable[[Any, Any], Tensor]:
    """The divergence with this mean of `log q`."""

    def divergence(p: Distribution, q: Distribution) -> Tensor:
        inside = -p.entropy() - mean_of_log(p, q)
        outside = _is_outside(p, q)
        return inside if outside is None else ops.where(outside, math.inf, inside)

    return divergence


def _is_outside(p: Any, q: Any) -> Tensor | None:
    """Where `p` has values at which `q` has no density, or where a mean is infinite."""
    if isinstance(p, Pareto):
        return p.alpha <= (2 if isinstance(q, Normal) else 1)
    if isinstance(q, Uniform):  # p lies between 0 and 1
        return (q.low > 0) | (q.high < 1)
    if isinstance(p, Uniform):
        if isinstance(q, Pareto):
            return p.low < q.scale
        if isinstance(q, (Beta, ContinuousBernoulli)):
            return (p.high > 1) | (p.low < 0)
        return p.low < 0 if isinstance(q, (Exponential, Gamma)) else None
    return None


def _infinite(p: Distribution, q: Distribution) -> Tensor:
    shape = broadcast_shapes(p.batch_shape, q.batch_shape)
    return ops.full(shape, math.inf)


_MEANS: dict[type, Callable[[Any, Any], Tensor]] = {
    Beta: _log_beta,
    ContinuousBernoulli: _log_continuous_bernoulli,
    Exponential: _log_exponential,
    Gamma: _log_gamma,
    Gumbel: _log_gumbel,
    Laplace: _log_laplace,
    Normal: _log_normal,
    Pareto: _log_pareto,
    Poisson: _log_bernoulli_like,
    Uniform: _log_uniform,
}
# For the family of `p` those of `q`: with densities wherever `p` has values, and without.
_PAIRS: dict[type, tuple[tuple[type, ...], tuple[type, ...]]] = {
    Bernoulli: ((Poisson,), ()),
    Beta: ((ContinuousBernoulli, Exponential, Gamma, Normal, Uniform), (Pareto,)),
    ContinuousBernoulli: ((Exponential, Normal, Uniform), (Pareto,)),
    Exponential: ((Gamma, Gumbel, Normal), (Beta, ContinuousBernoulli, Pareto, Uniform)),
    Gamma: ((Exponential, Gumbel, Normal), (Beta, ContinuousBernoulli, Pareto, Uniform)),
    Gumbel: ((Normal,), (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform)),
    Laplace: ((Normal,), (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform)),
    Normal: ((Gumbel, Laplace), (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform)),
    Pareto: ((Exponential, Gamma, Normal), (Beta, ContinuousBernoulli, Uniform)),
    Poisson: ((), (Bernoulli, Binomial)),
    Uniform: ((Beta, ContinuousBernoulli, Exponential, Gamma, Gumbel, Normal, Pareto), ()),
}
of_two_families: dict[tuple[type, type], Callable[[Any, Any], Tensor]] = {
    **{(p, q): _divergence(_MEANS[q]) for p, (within, _) in _PAIRS.items() for q in within},
    **{(p, q): _infinite for p, (_, without) in _PAIRS.items() for q in without},
}
