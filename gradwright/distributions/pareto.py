"""Pareto's distribution."""

from __future__ import annotations

from typing import Any, ClassVar, Self

from gradwright.distributions import constraints
from gradwright.distributions.constraints import Constraint
from gradwright.distributions.distribution import Shape, Value
from gradwright.distributions.exponential import Exponential
from gradwright.distributions.transformed_distribution import TransformedDistribution
from gradwright.distributions.transforms.elements import AffineTransform, ExpTransform
from gradwright.distributions.transforms.transform import Transform
from gradwright.distributions.utils import broadcast_all
from runtime.base.tensor import Tensor


class Pareto(TransformedDistribution):
    """Pareto's distribution of numbers from `scale` on, which falls as the power `alpha`."""

    arg_constraints: ClassVar[dict[str, Constraint]] = {"alpha": constraints.positive, "scale": constraints.positive}
    _parameters = ("scale", "alpha", "base_dist")

    def __init__(self, scale: Value, alpha: Value, validate_args: bool | None = None) -> None:
        self.scale, self.alpha = broadcast_all(scale, alpha)
        base = Exponential(self.alpha, validate_args=validate_args)
        super().__init__(base, self._steps(), validate_args=validate_args)

    def _steps(self) -> list[Transform]:
        return [ExpTransform(), AffineTransform(loc=0, scale=self.scale)]

    def expand(self, batch_shape: Shape, _instance: Any = None) -> Self:
        new = super().expand(batch_shape, _instance)
        new.transforms = new._steps()
        return new

    @property
    def mean(self) -> Tensor:
        alpha = self.alpha.clamp(min=1)  # the mean is infinite at 1 already
        return alpha * self.scale / (alpha - 1)

    @property
    def mode(self) -> Tensor:
        return self.scale

    @property
    def variance(self) -> Tensor:
        alpha = self.alpha.clamp(min=2)
        return self.scale.pow(2) * alpha / ((alpha - 1).pow(2) * (alpha - 2))

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Constraint:
        return constraints.greater_than_eq(self.scale)

    def entropy(self) -> Tensor:
        return (self.scale / self.alpha).log() + (1 + self.alpha.reciprocal())
