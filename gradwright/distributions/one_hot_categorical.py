"""The categorical distribution of vectors with a single 1."""

from __future__ import annotations

from typing import ClassVar

from gradwright.distributions import constraints
from gradwright.distributions.categorical import Categorical
from gradwright.distributions.constraints import Constraint
from gradwright.distributions.distribution import Distribution, Shape
from runtime import ops
from runtime.base.tensor import Tensor
from runtime.base.types import Size


class OneHotCategorical(Distribution):
    """The categorical distribution of vectors that are 1 at one place and 0 at all others."""

    arg_constraints: ClassVar[dict[str, Constraint]] = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.one_hot
    has_enumerate_support = True
    _parameters = ("_categorical",)

    def __init__(
        self, probs: Tensor | None = None, logits: Tensor | None = None, validate_args: bool | None = None
    ) -> None:
        self._categorical = Categorical(probs, logits)
        super().__init__(self._categorical.batch_shape, self._categorical.param_shape[-1:], validate_args)

    @property
    def _param(self) -> Tensor:
        return self._categorical._param

    @property
    def probs(self) -> Tensor:
        """The chances of the places."""
        return self._categorical.probs

    @property
    def logits(self) -> Tensor:
        """The logarithms of the chances."""
        return self._categorical.logits

    @property
    def mean(self) -> Tensor:
        return self.probs

    @property
    def mode(self) -> Tensor:
        return self._vectors(self.probs.argmax(-1)).to(self.probs)

    @property
    def variance(self) -> Tensor:
        return self.probs * (1 - self.probs)

    @property
    def param_shape(self) -> Size:
        """The shape of the parameter that was given."""
        return self._categorical.param_shape

    def _vectors(self, places: Tensor) -> Tensor:
        return ops.one_hot(places, self._event_shape[0])

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        return self._vectors(self._categorical.sample(sample_shape)).to(self.probs)

    def log_prob(self, value: Tensor) -> Tensor:
        self._check(value)
        return self._categorical.log_prob(value.argmax(-1))

    def entropy(self) -> Tensor:
        return self._categorical.entropy()

    def enumerate_support(self, expand: bool = True) -> Tensor:
        count = self._event_shape[0]
        return self._listed(ops.eye(count, dtype=self._param.dtype, device=self._param.device), expand)


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """The same, with the gradients of the chances for those of samples (Bengio, Leonard and Courville, 2013)."""

    has_rsample = True

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        return self.sample(sample_shape) + (self.probs - self.probs.detach())
