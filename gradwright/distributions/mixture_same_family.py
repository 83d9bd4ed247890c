"""Mixtures of distributions of one kind."""

from __future__ import annotations

from typing import ClassVar

from gradwright.distributions import constraints
from gradwright.distributions.categorical import Categorical
from gradwright.distributions.constraints import Constraint
from gradwright.distributions.distribution import Distribution, Shape
from runtime.base.tensor import Tensor
from runtime.base.types import Size
from runtime.graph.grad_mode import no_grad


class MixtureSameFamily(Distribution):
    """A mixture whose components are a batch's last dimension, and are chosen by a categorical distribution.

    Args:
        mixture_distribution: the chances of the components.
        component_distribution: the components.
        validate_args: see `Distribution`.
    """

    arg_constraints: ClassVar[dict[str, Constraint]] = {}
    has_rsample = False
    _parameters = ("_mixture_distribution", "_component_distribution")

    def __init__(
        self,
        mixture_distribution: Categorical,
        component_distribution: Distribution,
        validate_args: bool | None = None,
    ) -> None:
        self._mixture_distribution = mixture_distribution
        self._component_distribution = component_distribution
        if not isinstance(mixture_distribution, Categorical):
            raise ValueError("The Mixture distribution needs to be an instance of distributions.Categorical")
        if not isinstance(component_distribution, Distribution):
            raise ValueError("The Component distribution needs to be an instance of distributions.Distribution")
        batch = component_distribution.batch_shape[:-1]
        for size, own in zip(reversed(mixture_distribution.batch_shape), reversed(batch), strict=False):
            if size not in (1, own) and own != 1:
                raise ValueError(
                    f"`mixture_distribution.batch_shape` ({mixture_distribution.batch_shape}) is not compatible with "
                    f"`component_distribution.batch_shape` ({component_distribution.batch_shape})"
                )
        count, components = mixture_distribution._num_events, component_distribution.batch_shape[-1]
        if count != components:
            raise ValueError(
                f"`mixture_distribution component` ({count}) does not equal "
                f"`component_distribution.batch_shape[-1]` ({components})"
            )
        self._num_component = count
        super().__init__(batch, component_distribution.event_shape, validate_args)

    @constraints.dependent_property
    def support(self) -> Constraint:
        return constraints.MixtureSameFamilyConstraint(self._component_distribution.support)

    @property
    def mixture_distribution(self) -> Categorical:
        """The chances of the components."""
        return self._mixture_distribution

    @property
    def component_distribution(self) -> Distribution:
        """The components."""
        return self._component_distribution

    def _along_events(self, weights: Tensor) -> Tensor:
        return weights.reshape((*weights.shape, *(1,) * len(self._event_shape)))

    @property
    def _component_dim(self) -> int:
        return -1 - len(self._event_shape)

    @property
    def mean(self) -> Tensor:
        weights = self._along_events(self.mixture_distribution.probs)
        return (weights * self.component_distribution.mean).sum(self._component_dim)

    @property
    def variance(self) -> Tensor:
        """The mean of the variances and the variance of the means."""
        weights, at = self._along_events(self.mixture_distribution.probs), self._component_dim
        within = (weights * self.component_distribution.variance).sum(at)
        between = (weights * (self.component_distribution.mean - self.mean.unsqueeze(at)).pow(2)).sum(at)
        return within + between

    def cdf(self, value: Tensor) -> Tensor:
        chances = self.component_distribution.cdf(value.unsqueeze(self._component_dim))
        return (chances * self.mixture_distribution.probs).sum(-1)

    def log_prob(self, value: Tensor) -> Tensor:
        self._check(value)
        log_densities = self.component_distribution.log_prob(value.unsqueeze(self._component_dim))
        return (log_densities + self.mixture_distribution.logits.log_softmax(-1)).logsumexp(-1)

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        at = len(Size(sample_shape)) + len(self._batch_shape)
        with no_grad():
            chosen = self.mixture_distribution.expand(self._batch_shape).sample(sample_shape)
            values = self.component_distribution.sample(sample_shape)
            places = chosen.reshape((*chosen.shape, 1, *(1,) * len(self._event_shape)))
            places = places.expand((*chosen.shape, 1, *self._event_shape))
            return values.gather(at, places).squeeze(at)

    def __repr__(self) -> str:
        return f"MixtureSameFamily(\n  {self.mixture_distribution!r},\n  {self.component_distribution!r})"
