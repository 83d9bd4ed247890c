"""The continuous Bernoulli distribution."""

from __future__ import annotations

import math
from typing import ClassVar

from gradwright.distributions import constraints
from gradwright.distributions._chances import ByChances, cross_entropy
from gradwright.distributions.constraints import Constraint
from gradwright.distributions.distribution import Shape, Value
from gradwright.distributions.exp_family import ExponentialFamily
from gradwright.distributions.utils import broadcast_all, clamp_probs, is_number, lazy_property, logits_to_probs
from runtime import ops
from runtime.base.tensor import Tensor
from runtime.base.types import Size
from runtime.graph.grad_mode import no_grad


class ContinuousBernoulli(ByChances, ExponentialFamily):
    """The distribution on [0, 1] whose density is that of a Bernoulli distribution, brought to a whole of 1.

    Near the chance 1/2, between `lims`, formulas have the form 0 / 0, and the first terms of their series stand for
    them (Loaiza-Ganem and Cunningham, "The continuous Bernoulli", 2019).
    """

    arg_constraints: ClassVar[dict[str, Constraint]] = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval
    has_rsample = True
    _mean_carrier_measure = 0
    _parameters = ("probs", "logits")

    def __init__(
        self,
        probs: Value | None = None,
        logits: Value | None = None,
        lims: tuple[float, float] = (0.499, 0.501),
        validate_args: bool | None = None,
    ) -> None:
        name, given = self._take(probs, logits)
        (self.__dict__[name],) = broadcast_all(given)
        self._lims = lims
        super().__init__(Size() if is_number(given) else self._param.size(), validate_args=validate_args)
        if name == "probs":
            # Behind the checks: a chance of 0 or 1 is allowed, and moved inwards.
            self.__dict__[name] = clamp_probs(self.probs)

    @lazy_property
    def probs(self) -> Tensor:
        """The chances, neither 0 nor 1 where logits are so far out that they round to it."""
        return clamp_probs(logits_to_probs(self.logits, is_binary=True))

    def _is_outside(self) -> Tensor:
        """Where the formulas hold."""
        return (self.probs <= self._lims[0]) | (self.probs > self._lims[1])

    def _cut_probs(self) -> Tensor:
        """The chances, where the formulas hold, and one that is as good elsewhere."""
        return ops.where(self._is_outside(), self.probs, self._lims[0])

    def _choose(self, formula: Tensor, series: Tensor) -> Tensor:
        return ops.where(self._is_outside(), formula, series)

    def _cont_bern_log_norm(self) -> Tensor:
        """The logarithm of the constant: `2 artanh(1 - 2 p) / (1 - 2 p)`."""
        p = self._cut_probs()
        formula = ((-p).log1p() - p.log()).abs().log() - (1 - 2 * p).abs().log()
        x = (self.probs - 0.5).pow(2)
        return self._choose(formula, math.log(2) + (4 / 3 + 104 / 45 * x) * x)

    @property
    def mean(self) -> Tensor:
        p = self._cut_probs()
        formula = p / (2 * p - 1) + 1 / ((-p).log1p() - p.log())
        x = self.probs - 0.5
        return self._choose(formula, 0.5 + (1 / 3 + 16 / 45 * x.pow(2)) * x)

    @property
    def stddev(self) -> Tensor:
        return self.variance.sqrt()

    @property
    def variance(self) -> Tensor:
        p = self._cut_probs()
        formula = p * (p - 1) / (1 - 2 * p).pow(2) + 1 / ((-p).log1p() - p.log()).pow(2)
        x = (self.probs - 0.5).pow(2)
        return self._choose(formula, 1 / 12 - (1 / 15 - 128 / 945 * x) * x)

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        with no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        return self.icdf(ops.rand(shape, dtype=self.probs.dtype, device=self.probs.device))

    def log_prob(self, value: Tensor) -> Tensor:
        self._check(value)
        return -cross_entropy(self.logits, value) + self._cont_bern_log_norm()

    def cdf(self, value: Tensor) -> Tensor:
        self._check(value)
        p = self._cut_probs()
        formula = (p.pow(value) * (1 - p).pow(1 - value) + p - 1) / (2 * p - 1)
        inside = self._choose(formula, value)
        return ops.where(value <= 0, 0, ops.where(value >= 1, 1, inside))

    def icdf(self, value: Tensor) -> Tensor:
        p = self._cut_probs()
        formula = ((value * (2 * p - 1) - p).log1p() - (-p).log1p()) / (p.log() - (-p).log1p())
        return self._choose(formula, value)

    def entropy(self) -> Tensor:
        log0, log1 = (-self.probs).log1p(), self.probs.log()
        return self.mean * (log0 - log1) - self._cont_bern_log_norm() - log0

    @property
    def _natural_params(self) -> tuple[Tensor]:
        return (self.logits,)

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        """`log((exp(x) - 1) / x)`."""
        x = natural_params[0]
        outside = (x <= self._lims[0] - 0.5) | (x > self._lims[1] - 0.5)
        cut = ops.where(outside, x, self._lims[0] - 0.5)
        formula = cut.expm1().abs().log() - cut.abs().log()
        return ops.where(outside, formula, 0.5 * x + x.pow(2) / 24 - x.pow(4) / 2880)
