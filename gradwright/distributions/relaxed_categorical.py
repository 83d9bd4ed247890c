"""The relaxed categorical distribution."""

from __future__ import annotations

import math
from typing import ClassVar

from gradwright.distributions import constraints
from gradwright.distributions.categorical import Categorical
from gradwright.distributions.constraints import Constraint
from gradwright.distributions.distribution import Distribution, Shape, Value
from gradwright.distributions.transformed_distribution import TransformedDistribution
from gradwright.distributions.transforms.elements import ExpTransform
from gradwright.distributions.utils import broadcast_all, clamp_probs
from runtime import ops
from runtime.base.tensor import Tensor
from runtime.base.types import Size


class ExpRelaxedCategorical(Distribution):
    """The logarithms of vectors of a relaxed categorical distribution."""

    arg_constraints: ClassVar[dict[str, Constraint]] = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.real_vector
    has_rsample = True
    _parameters = ("_categorical",)

    def __init__(
        self,
        temperature: Value,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        self._categorical = Categorical(probs, logits)
        self.temperature = temperature
        super().__init__(self._categorical.batch_shape, self._categorical.param_shape[-1:], validate_args)

    @property
    def param_shape(self) -> Size:
        """The shape of the parameter that was given."""
        return self._categorical.param_shape

    @property
    def logits(self) -> Tensor:
        """The logarithms of the chances."""
        return self._categorical.logits

    @property
    def probs(self) -> Tensor:
        """The chances of the places."""
        return self._categorical.probs

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        u = clamp_probs(ops.rand(shape, dtype=self.logits.dtype, device=self.logits.device))
        scores = (self.logits - (-u.log()).log()) / self.temperature
        return scores - scores.logsumexp(-1, True)

    def log_prob(self, value: Tensor) -> Tensor:
        self._check(value)
        count = self._event_shape[0]
        logits, value = broadcast_all(self.logits, value)
        (temperature,) = broadcast_all(self.temperature)
        score = logits - value * temperature
        score = (score - score.logsumexp(-1, True)).sum(-1)
        return score + (count - 1) * temperature.log() + math.lgamma(count)


class RelaxedOneHotCategorical(TransformedDistribution):
    """A distribution of vectors of chances that become vectors with a single 1 where `temperature` falls to 0."""

    arg_constraints: ClassVar[dict[str, Constraint]] = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.simplex
    has_rsample = True
    _parameters = ("base_dist",)
    base_dist: ExpRelaxedCategorical

    def __init__(
        self,
        temperature: Value,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        base = ExpRelaxedCategorical(temperature, probs, logits, validate_args=validate_args)
        super().__init__(base, ExpTransform(), validate_args=validate_args)

    @property
    def temperature(self) -> Value:
        """How far the vectors are from those with a single 1."""
        return self.base_dist.temperature

    @property
    def logits(self) -> Tensor:
        """The logarithms of the chances."""
        return self.base_dist.logits

    @property
    def probs(self) -> Tensor:
        """The chances of the places."""
        return self.base_dist.probs
