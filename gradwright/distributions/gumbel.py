"""Gumbel's distribution."""

from __future__ import annotations

import math
from typing import Any, ClassVar, Self

from gradwright.distributions import constraints
from gradwright.distributions.constraints import Constraint
from gradwright.distributions.distribution import Shape, Value
from gradwright.distributions.transformed_distribution import TransformedDistribution
from gradwright.distributions.transforms.elements import AffineTransform, ExpTransform
from gradwright.distributions.transforms.transform import Transform
from gradwright.distributions.uniform import Uniform
from gradwright.distributions.utils import broadcast_all, euler_constant, is_number
from runtime import ops
from runtime.base.dtypes import finfo
from runtime.base.tensor import Tensor


class Gumbel(TransformedDistribution):
    """Gumbel's distribution of largest values, with its mode at `loc`."""

    arg_constraints: ClassVar[dict[str, Constraint]] = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    _parameters = ("loc", "scale", "base_dist")

    def __init__(self, loc: Value, scale: Value, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        limits = finfo(self.loc.dtype)
        # Neither 0 nor 1, whose images are infinite.
        if is_number(loc, scale):
            base = Uniform(limits.tiny, 1 - limits.eps, validate_args=validate_args)
        else:
            low = ops.full_like(self.loc, limits.tiny)
            base = Uniform(low, ops.full_like(self.loc, 1 - limits.eps), validate_args=validate_args)
        super().__init__(base, self._steps(), validate_args=validate_args)

    def _steps(self) -> list[Transform]:
        """`loc - scale * log(-log(u))`."""
        negative = AffineTransform(loc=0, scale=-ops.ones_like(self.scale))
        return [ExpTransform().inv, negative, ExpTransform().inv, AffineTransform(loc=self.loc, scale=-self.scale)]

    def expand(self, batch_shape: Shape, _instance: Any = None) -> Self:
        new = super().expand(batch_shape, _instance)
        new.transforms = new._steps()
        return new

    def log_prob(self, value: Tensor) -> Tensor:
        self._check(value)
        y = (self.loc - value) / self.scale
        return y - y.exp() - self.scale.log()

    @property
    def mean(self) -> Tensor:
        return self.loc + self.scale * euler_constant

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def stddev(self) -> Tensor:
        return (math.pi / math.sqrt(6)) * self.scale

    @property
    def variance(self) -> Tensor:
        return self.stddev.pow(2)

    def entropy(self) -> Tensor:
        return self.scale.log() + (1 + euler_constant)
