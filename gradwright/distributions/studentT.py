"""Student's distribution."""

from __future__ import annotations

import math
from typing import ClassVar

from gradwright.distributions import constraints
from gradwright.distributions.chi2 import Chi2
from gradwright.distributions.constraints import Constraint
from gradwright.distributions.distribution import Distribution, Shape, Value
from gradwright.distributions.normal import standard_normal
from gradwright.distributions.utils import broadcast_all
from runtime import ops
from runtime.base.tensor import Tensor


class StudentT(Distribution):
    """Student's distribution of `df` degrees of freedom, moved to `loc` and scaled by `scale`."""

    arg_constraints: ClassVar[dict[str, Constraint]] = {
        "df": constraints.positive,
        "loc": constraints.real,
        "scale": constraints.positive,
    }
    support = constraints.real
    has_rsample = True
    _parameters = ("df", "loc", "scale", "_chi2")

    def __init__(self, df: Value, loc: Value = 0.0, scale: Value = 1.0, validate_args: bool | None = None) -> None:
        self.df, self.loc, self.scale = broadcast_all(df, loc, scale)
        self._chi2 = Chi2(self.df)
        super().__init__(self.df.size(), validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return ops.where(self.df > 1, self.loc, math.nan)

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        variance = ops.where(self.df > 2, self.scale.pow(2) * self.df / (self.df - 2), math.inf)
        return ops.where(self.df > 1, variance, math.nan)

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        normal = standard_normal(self.df, self._extended_shape(sample_shape))
        squares = self._chi2.rsample(sample_shape)
        return self.loc + self.scale * normal * (squares / self.df).rsqrt()

    def log_prob(self, value: Tensor) -> Tensor:
        self._check(value)
        y = (value - self.loc) / self.scale
        norm = self.scale.log() + 0.5 * (self.df * math.pi).log() + (0.5 * self.df).lgamma()
        return (0.5 * (self.df + 1)).lgamma() - norm - 0.5 * (self.df + 1) * (y.pow(2) / self.df).log1p()

    def entropy(self) -> Tensor:
        half = 0.5 * self.df
        log_beta = half.lgamma() + math.lgamma(0.5) - (half + 0.5).lgamma()
        spread = (half + 0.5) * ((half + 0.5).digamma() - half.digamma())
        return self.scale.log() + spread + 0.5 * self.df.log() + log_beta
