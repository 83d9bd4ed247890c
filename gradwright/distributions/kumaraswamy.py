"""Kumaraswamy's distribution."""

from __future__ import annotations

import math
from typing import Any, ClassVar, Self

from gradwright.distributions import constraints
from gradwright.distributions.constraints import Constraint
from gradwright.distributions.distribution import Shape, Value
from gradwright.distributions.transformed_distribution import TransformedDistribution
from gradwright.distributions.transforms.elements import AffineTransform, PowerTransform
from gradwright.distributions.transforms.transform import Transform
from gradwright.distributions.uniform import Uniform
from gradwright.distributions.utils import broadcast_all, euler_constant
from runtime import ops
from runtime.base.tensor import Tensor


class Kumaraswamy(TransformedDistribution):
    """Kumaraswamy's distribution on the unit interval, which is like a beta distribution."""

    arg_constraints: ClassVar[dict[str, Constraint]] = {
        "concentration1": constraints.positive,
        "concentration0": constraints.positive,
    }
    support = constraints.unit_interval
    has_rsample = True
    _parameters = ("concentration1", "concentration0", "base_dist")

    def __init__(self, concentration1: Value, concentration0: Value, validate_args: bool | None = None) -> None:
        self.concentration1, self.concentration0 = broadcast_all(concentration1, concentration0)
        base = Uniform(
            ops.full_like(self.concentration0, 0), ops.full_like(self.concentration0, 1), validate_args=validate_args
        )
        super().__init__(base, self._steps(), validate_args=validate_args)

    def _steps(self) -> list[Transform]:
        """`(1 - u ** (1 / b)) ** (1 / a)`."""
        return [
            PowerTransform(exponent=self.concentration0.reciprocal()),
            AffineTransform(loc=1, scale=-1),
            PowerTransform(exponent=self.concentration1.reciprocal()),
        ]

    def expand(self, batch_shape: Shape, _instance: Any = None) -> Self:
        new = super().expand(batch_shape, _instance)
        new.transforms = new._steps()
        return new

    def _moment(self, n: int) -> Tensor:
        a, b = self.concentration1, self.concentration0
        power = 1 + n / a
        return ((b + 1).lgamma() + power.lgamma() - (power + b).lgamma()).exp()

    @property
    def mean(self) -> Tensor:
        return self._moment(1)

    @property
    def mode(self) -> Tensor:
        a, b = self.concentration1, self.concentration0
        mode = ((a - 1) / (a * b - 1)) ** a.reciprocal()
        return ops.where((a < 1) | (b < 1), math.nan, mode)

    @property
    def variance(self) -> Tensor:
        return self._moment(2) - self.mean.pow(2)

    def entropy(self) -> Tensor:
        a, b = self.concentration1, self.concentration0
        harmonic = (b + 1).digamma() + euler_constant
        return (1 - b.reciprocal()) + (1 - a.reciprocal()) * harmonic - a.log() - b.log()
