"""Distributions of what functions make of the values of others."""

from __future__ import annotations

from typing import Any, ClassVar

from gradwright.distributions import constraints
from gradwright.distributions.constraints import Constraint
from gradwright.distributions.distribution import Distribution, Shape
from gradwright.distributions.independent import Independent
from gradwright.distributions.transforms.transform import ComposeTransform, Transform
from gradwright.distributions.utils import sum_rightmost
from runtime.base.tensor import Tensor
from runtime.graph.grad_mode import no_grad


class TransformedDistribution(Distribution):
    """The distribution of what `transforms`, one after the other, make of values of `base_distribution`.

    The density follows by the change of variables, from the logarithms of the Jacobians' determinants.
    """

    arg_constraints: ClassVar[dict[str, Constraint]] = {}
    _parameters: ClassVar[tuple[str, ...]] = ("base_dist",)

    def __init__(
        self,
        base_distribution: Distribution,
        transforms: Transform | list[Transform],
        validate_args: bool | None = None,
    ) -> None:
        if isinstance(transforms, Transform):
            transforms = [transforms]
        elif not isinstance(transforms, list) or not all(isinstance(t, Transform) for t in transforms):
            raise ValueError(f"transforms must be a Transform or a list of Transforms, but was {transforms!r}")
        self.transforms = transforms
        shape = base_distribution.batch_shape + base_distribution.event_shape
        events = len(base_distribution.event_shape)
        whole = ComposeTransform(transforms)
        if len(shape) < whole.domain.event_dim:
            raise ValueError(
                f"base_distribution needs to have shape with size at least {whole.domain.event_dim}, but got {shape}."
            )
        forward = whole.forward_shape(shape)
        batch = whole.inverse_shape(forward)[: len(shape) - events]
        if batch != base_distribution.batch_shape:
            base_distribution = base_distribution.expand(batch)
        reinterpreted = whole.domain.event_dim - events
        if reinterpreted > 0:
            base_distribution = Independent(base_distribution, reinterpreted)
        self.base_dist: Any = base_distribution
        dim = max(whole.codomain.event_dim, whole.codomain.event_dim - whole.domain.event_dim + events)
        cut = len(forward) - dim
        super().__init__(forward[:cut], forward[cut:], validate_args=validate_args)

    @constraints.dependent_property(is_discrete=False)
    def support(self) -> Constraint:
        if not self.transforms:
            return self.base_dist.support  # type: ignore[no-any-return]
        support: Constraint = self.transforms[-1].codomain
        events = len(self._event_shape)
        return constraints.independent(support, events - support.event_dim) if events > support.event_dim else support

    @property
    def has_rsample(self) -> bool:  # type: ignore[override]
        return self.base_dist.has_rsample  # type: ignore[no-any-return]

    def _through(self, value: Tensor) -> Tensor:
        for transform in self.transforms:
            value = transform(value)
        return value

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        with no_grad():
            return self._through(self.base_dist.sample(sample_shape))

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        return self._through(self.base_dist.rsample(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        self._check(value)
        events = len(self._event_shape)
        volume: Tensor | float = 0.0
        for transform in reversed(self.transforms):
            before = transform.inv(value)
            events += transform.domain.event_dim - transform.codomain.event_dim
            slope = transform.log_abs_det_jacobian(before, value)
            volume = volume - sum_rightmost(slope, events - transform.domain.event_dim)
            value = before
        density = self.base_dist.log_prob(value)
        return volume + sum_rightmost(density, events - len(self.base_dist.event_shape))

    def _sign(self) -> Tensor | int:
        """Whether the transforms together rise or fall."""
        sign: Tensor | int = 1
        for transform in self.transforms:
            sign = sign * transform.sign
        return sign

    def _risen(self, chance: Tensor) -> Tensor:
        """A chance of values below, where the transforms fall that of values above, and the other way."""
        sign = self._sign()
        return chance if isinstance(sign, int) and sign == 1 else sign * (chance - 0.5) + 0.5

    def cdf(self, value: Tensor) -> Tensor:
        for transform in reversed(self.transforms):
            value = transform.inv(value)
        if self._validate_args:
            self.base_dist._validate_sample(value)
        return self._risen(self.base_dist.cdf(value))

    def icdf(self, value: Tensor) -> Tensor:
        return self._through(self.base_dist.icdf(self._risen(value)))
