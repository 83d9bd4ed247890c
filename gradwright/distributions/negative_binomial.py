"""The negative binomial distribution."""

from __future__ import annotations

from typing import ClassVar

from gradwright.distributions import constraints
from gradwright.distributions._chances import ByChances
from gradwright.distributions.constraints import Constraint
from gradwright.distributions.distribution import Shape, Value
from gradwright.distributions.gamma import Gamma
from gradwright.distributions.utils import broadcast_all, lazy_property
from runtime import ops
from runtime.base.tensor import Tensor
from runtime.graph.grad_mode import no_grad


class NegativeBinomial(ByChances):
    """The distribution of the number of successes, of the chance `probs`, before the failure number `total_count`."""

    arg_constraints: ClassVar[dict[str, Constraint]] = {
        "total_count": constraints.greater_than_eq(0),
        "probs": constraints.half_open_interval(0.0, 1.0),
        "logits": constraints.real,
    }
    support = constraints.nonnegative_integer
    _parameters = ("total_count", "probs", "logits")

    def __init__(
        self,
        total_count: Value,
        probs: Value | None = None,
        logits: Value | None = None,
        validate_args: bool | None = None,
    ) -> None:
        name, given = self._take(probs, logits)
        count, self.__dict__[name] = broadcast_all(total_count, given)
        self.total_count = count.type_as(self._param)
        super().__init__(self._param.size(), validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.total_count * self.logits.exp()

    @property
    def mode(self) -> Tensor:
        return ((self.total_count - 1) * self.logits.exp()).floor().clamp(min=0)

    @property
    def variance(self) -> Tensor:
        return self.mean / (-self.logits).sigmoid()

    @lazy_property
    def _gamma(self) -> Gamma:
        """Of whose numbers the rates of a Poisson distribution are."""
        return Gamma(self.total_count, (-self.logits).exp(), validate_args=False)

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        with no_grad():
            return ops.poisson(self._gamma.sample(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        self._check(value)
        count = self.total_count
        chance = count * ops.log_sigmoid(-self.logits) + value * ops.log_sigmoid(self.logits)
        ways = (count + value).lgamma() - (1 + value).lgamma() - count.lgamma()
        return chance + ops.where(count + value == 0, 0, ways)
