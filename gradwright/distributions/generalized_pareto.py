"""The generalized Pareto distribution."""

from __future__ import annotations

import math
from typing import ClassVar

from gradwright.distributions import constraints
from gradwright.distributions.constraints import Constraint
from gradwright.distributions.distribution import Distribution, Shape, Value
from gradwright.distributions.utils import broadcast_all, is_number
from runtime import ops
from runtime.base.tensor import Tensor
from runtime.base.types import Size


class GeneralizedPareto(Distribution):
    """The distribution of what is above a high threshold, `loc`: of the scale `scale` and the shape `concentration`."""

    arg_constraints: ClassVar[dict[str, Constraint]] = {
        "loc": constraints.real,
        "scale": constraints.positive,
        "concentration": constraints.real,
    }
    has_rsample = True
    _parameters = ("loc", "scale", "concentration")

    def __init__(self, loc: Value, scale: Value, concentration: Value, validate_args: bool | None = None) -> None:
        self.loc, self.scale, self.concentration = broadcast_all(loc, scale, concentration)
        batch = Size() if is_number(loc, scale, concentration) else self.loc.size()
        super().__init__(batch, validate_args=validate_args)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Constraint:
        end = ops.where(self.concentration < 0, self.loc - self.scale / self.concentration, math.inf)
        return constraints.interval(self.loc, end)

    def _is_exponential(self) -> Tensor:
        """Where the shape is 0: there the formulas have limits, which are those of the exponential distribution."""
        return ops.isclose(self.concentration, ops.zeros_like(self.concentration))

    def _shape_for_division(self) -> Tensor:
        return ops.where(self._is_exponential(), 1, self.concentration)

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        return self.icdf(ops.rand(shape, dtype=self.loc.dtype, device=self.loc.device))

    def log_prob(self, value: Tensor) -> Tensor:
        self._check(value)
        z = (value - self.loc) / self.scale
        shape = self._shape_for_division()
        powers = (1 + 1 / shape) * (shape * z).log1p()
        return -self.scale.log() - ops.where(self._is_exponential(), z, powers)

    def log_survival_function(self, value: Tensor) -> Tensor:
        """The logarithm of the chance of values above `value`."""
        self._check(value)
        z = (value - self.loc) / self.scale
        shape = self._shape_for_division()
        return -ops.where(self._is_exponential(), z, (shape * z).log1p() / shape)

    def log_cdf(self, value: Tensor) -> Tensor:
        """The logarithm of `cdf`."""
        return (-self.log_survival_function(value).exp()).log1p()

    def cdf(self, value: Tensor) -> Tensor:
        return self.log_cdf(value).exp()

    def icdf(self, value: Tensor) -> Tensor:
        logarithm = (-value).log1p()
        shape = self._shape_for_division()
        distance = ops.where(self._is_exponential(), -logarithm, (-shape * logarithm).expm1() / shape)
        return self.loc + self.scale * distance

    @property
    def mean(self) -> Tensor:
        return ops.where(self.concentration < 1, self.loc + self.scale / (1 - self.concentration), math.nan)

    @property
    def variance(self) -> Tensor:
        shape = self.concentration
        variance = self.scale.pow(2) / ((1 - shape).pow(2) * (1 - 2 * shape))
        return ops.where(shape < 0.5, variance, math.nan)

    @property
    def mode(self) -> Tensor:
        return self.loc

    def entropy(self) -> Tensor:
        return (self.scale.log() + self.concentration + 1).expand(self._batch_shape)
