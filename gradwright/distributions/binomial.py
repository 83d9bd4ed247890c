"""The binomial distribution."""

from __future__ import annotations

from typing import ClassVar

from gradwright.distributions import constraints
from gradwright.distributions._chances import ByChances
from gradwright.distributions.constraints import Constraint
from gradwright.distributions.distribution import Shape, Value
from gradwright.distributions.utils import broadcast_all
from runtime import ops
from runtime.base.tensor import Tensor
from runtime.graph.grad_mode import no_grad


class Binomial(ByChances):
    """The distribution of the number of successes in `total_count` trials, each with the chance `probs`."""

    arg_constraints: ClassVar[dict[str, Constraint]] = {
        "total_count": constraints.nonnegative_integer,
        "probs": constraints.unit_interval,
        "logits": constraints.real,
    }
    has_enumerate_support = True
    _parameters = ("total_count", "probs", "logits")

    def __init__(
        self,
        total_count: Value = 1,
        probs: Value | None = None,
        logits: Value | None = None,
        validate_args: bool | None = None,
    ) -> None:
        name, given = self._take(probs, logits)
        count, self.__dict__[name] = broadcast_all(total_count, given)
        self.total_count = count.type_as(self._param)
        super().__init__(self._param.size(), validate_args=validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Constraint:
        return constraints.integer_interval(0, self.total_count)

    @property
    def mean(self) -> Tensor:
        return self.total_count * self.probs

    @property
    def mode(self) -> Tensor:
        return ops.minimum(((self.total_count + 1) * self.probs).floor(), self.total_count)

    @property
    def variance(self) -> Tensor:
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        with no_grad():
            return ops.binomial(self.total_count.expand(shape), self.probs.expand(shape))

    def log_prob(self, value: Tensor) -> Tensor:
        self._check(value)
        count = self.total_count
        ways = (count + 1).lgamma() - (value + 1).lgamma() - (count - value + 1).lgamma()
        return ways + value * self.logits + count * ops.log_sigmoid(-self.logits)

    def entropy(self) -> Tensor:
        self._homogeneous_count("entropy")
        log_prob = self.log_prob(self.enumerate_support(False))
        return -(log_prob.exp() * log_prob).sum(0)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        count = self._homogeneous_count("enumerate_support")
        return self._listed(ops.arange(1 + count, dtype=self._param.dtype, device=self._param.device), expand)

    def _homogeneous_count(self, name: str) -> int:
        count = int(self.total_count.max())
        if not (self.total_count == count).all():
            raise NotImplementedError(f"Inhomogeneous total count not supported by `{name}`.")
        return count
