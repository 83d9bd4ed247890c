"""The relaxed Bernoulli distribution."""

from __future__ import annotations

from typing import ClassVar

from gradwright.distributions import constraints
from gradwright.distributions._chances import ByChances
from gradwright.distributions.constraints import Constraint
from gradwright.distributions.distribution import Shape, Value
from gradwright.distributions.transformed_distribution import TransformedDistribution
from gradwright.distributions.transforms.elements import SigmoidTransform
from gradwright.distributions.utils import broadcast_all, clamp_probs, is_number
from runtime import ops
from runtime.base.tensor import Tensor
from runtime.base.types import Size


class LogitRelaxedBernoulli(ByChances):
    """The logits of numbers of a relaxed Bernoulli distribution, which have a logistic distribution."""

    arg_constraints: ClassVar[dict[str, Constraint]] = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.real
    has_rsample = True
    _parameters = ("probs", "logits")

    def __init__(
        self,
        temperature: Value,
        probs: Value | None = None,
        logits: Value | None = None,
        validate_args: bool | None = None,
    ) -> None:
        self.temperature = temperature
        name, given = self._take(probs, logits)
        (self.__dict__[name],) = broadcast_all(given)
        super().__init__(Size() if is_number(given) else self._param.size(), validate_args=validate_args)

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        probs = clamp_probs(self.probs.expand(shape))
        u = clamp_probs(ops.rand(shape, dtype=probs.dtype, device=probs.device))
        return (u.log() - (-u).log1p() + probs.log() - (-probs).log1p()) / self.temperature

    def log_prob(self, value: Tensor) -> Tensor:
        self._check(value)
        logits, value = broadcast_all(self.logits, value)
        distance = logits - value * self.temperature
        (temperature,) = broadcast_all(self.temperature)
        return temperature.log() + distance - 2 * distance.exp().log1p()


class RelaxedBernoulli(TransformedDistribution):
    """A distribution on the unit interval that becomes Bernoulli's where `temperature` falls to 0.

    It is the concrete distribution of Maddison, Mnih and Teh (2016), and Jang, Gu and Poole's (2016).
    """

    arg_constraints: ClassVar[dict[str, Constraint]] = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval
    has_rsample = True
    _parameters = ("base_dist",)
    base_dist: LogitRelaxedBernoulli

    def __init__(
        self,
        temperature: Value,
        probs: Value | None = None,
        logits: Value | None = None,
        validate_args: bool | None = None,
    ) -> None:
        base = LogitRelaxedBernoulli(temperature, probs, logits)
        super().__init__(base, SigmoidTransform(), validate_args=validate_args)

    @property
    def temperature(self) -> Value:
        """How far the numbers are from 0 and 1."""
        return self.base_dist.temperature

    @property
    def logits(self) -> Tensor:
        """The logits of the chance."""
        return self.base_dist.logits

    @property
    def probs(self) -> Tensor:
        """The chance of 1."""
        return self.base_dist.probs
