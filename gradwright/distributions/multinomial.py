"""The multinomial distribution."""

from __future__ import annotations

import math
from typing import ClassVar

from gradwright.distributions import constraints
from gradwright.distributions.binomial import Binomial
from gradwright.distributions.categorical import Categorical
from gradwright.distributions.constraints import Constraint
from gradwright.distributions.distribution import Distribution, Shape
from gradwright.distributions.utils import broadcast_all
from runtime import ops
from runtime.base.tensor import Tensor
from runtime.base.types import Size


class Multinomial(Distribution):
    """The distribution of how often each place comes in `total_count` draws."""

    arg_constraints: ClassVar[dict[str, Constraint]] = {"probs": constraints.simplex, "logits": constraints.real_vector}
    _parameters = ("_categorical",)
    total_count: int

    def __init__(
        self,
        total_count: int = 1,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        if not isinstance(total_count, int):
            raise NotImplementedError("inhomogeneous total_count is not supported")
        self.total_count = total_count
        self._categorical = Categorical(probs=probs, logits=logits)
        super().__init__(self._categorical.batch_shape, self._categorical.param_shape[-1:], validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=1)
    def support(self) -> Constraint:
        return constraints.multinomial(self.total_count)

    @property
    def probs(self) -> Tensor:
        """The chances of the places."""
        return self._categorical.probs

    @property
    def logits(self) -> Tensor:
        """The logarithms of the chances."""
        return self._categorical.logits

    @property
    def param_shape(self) -> Size:
        """The shape of the parameter that was given."""
        return self._categorical.param_shape

    @property
    def mean(self) -> Tensor:
        return self.probs * self.total_count

    @property
    def variance(self) -> Tensor:
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        drawn = self._categorical.sample((self.total_count, *sample_shape)).movedim(0, -1)
        counts = self.probs.new_zeros(self._extended_shape(sample_shape))
        return counts.scatter_add(-1, drawn, self.probs.new_ones(drawn.shape))

    def entropy(self) -> Tensor:
        """`H = n H(p) - log n! + sum of E[log x!]`, where each count is binomial."""
        count = self.total_count
        n = self.probs.new_full((), count)
        binomial = Binomial(count, probs=self.probs)
        values = binomial.enumerate_support(expand=False)[1:]
        repeated = (binomial.log_prob(values).exp() * (values + 1).lgamma()).sum((0, -1))
        return count * self._categorical.entropy() - (n + 1).lgamma() + repeated

    def log_prob(self, value: Tensor) -> Tensor:
        self._check(value)
        logits, value = broadcast_all(self.logits, value)
        logits = ops.where((value == 0) & (logits == -math.inf), 0, logits)
        ways = (value.sum(-1) + 1).lgamma() - (value + 1).lgamma().sum(-1)
        return ways + (logits * value).sum(-1)
