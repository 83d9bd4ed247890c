"""The distribution of Fisher and Snedecor."""

from __future__ import annotations

import math
from typing import ClassVar

from gradwright.distributions import constraints
from gradwright.distributions.constraints import Constraint
from gradwright.distributions.distribution import Distribution, Shape, Value
from gradwright.distributions.gamma import Gamma
from gradwright.distributions.utils import broadcast_all, is_number
from runtime import ops
from runtime.base.dtypes import finfo
from runtime.base.tensor import Tensor
from runtime.base.types import Size


class FisherSnedecor(Distribution):
    """The distribution of the ratio of two means of squares, of `df1` and of `df2` standard normal numbers."""

    arg_constraints: ClassVar[dict[str, Constraint]] = {"df1": constraints.positive, "df2": constraints.positive}
    support = constraints.positive
    has_rsample = True
    _parameters = ("df1", "df2", "_gamma1", "_gamma2")

    def __init__(self, df1: Value, df2: Value, validate_args: bool | None = None) -> None:
        self.df1, self.df2 = broadcast_all(df1, df2)
        self._gamma1 = Gamma(self.df1 * 0.5, self.df1 * 0.5)
        self._gamma2 = Gamma(self.df2 * 0.5, self.df2 * 0.5)
        super().__init__(Size() if is_number(df1, df2) else self.df1.size(), validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return ops.where(self.df2 > 2, self.df2 / (self.df2 - 2), math.nan)

    @property
    def mode(self) -> Tensor:
        mode = (self.df1 - 2) / self.df1 * self.df2 / (self.df2 + 2)
        return ops.where(self.df1 > 2, mode, math.nan)

    @property
    def variance(self) -> Tensor:
        one, two = self.df1, self.df2
        variance = 2 * two.pow(2) * (one + two - 2) / (one * (two - 2).pow(2) * (two - 4))
        return ops.where(two > 4, variance, math.nan)

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        ratio = self._gamma1.rsample(sample_shape) / self._gamma2.rsample(sample_shape)
        return ratio.clamp(min=finfo(ratio.dtype).tiny)

    def log_prob(self, value: Tensor) -> Tensor:
        self._check(value)
        one, two, ratio = self.df1 / 2, self.df2 / 2, self.df1 / self.df2
        log_beta = one.lgamma() + two.lgamma() - (one + two).lgamma()
        return one * ratio.log() + (one - 1) * value.log() - (one + two) * (ratio * value).log1p() - log_beta
