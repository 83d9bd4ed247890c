"""The logistic normal distribution."""

from __future__ import annotations

from typing import ClassVar

from runtime.base.tensor import Tensor
from runtime.distributions import constraints
from runtime.distributions.constraints import Constraint
from runtime.distributions.distribution import Value
from runtime.distributions.independent import Independent
from runtime.distributions.normal import Normal
from runtime.distributions.transformed_distribution import TransformedDistribution
from runtime.distributions.transforms.vectors import StickBreakingTransform


class LogisticNormal(TransformedDistribution):
    """The distribution of vectors of chances that normal numbers give by breaking a stick."""

    arg_constraints: ClassVar[dict[str, Constraint]] = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.simplex
    has_rsample = True
    _parameters = ("base_dist",)
    base_dist: Independent

    def __init__(self, loc: Value, scale: Value, validate_args: bool | None = None) -> None:
        base = Normal(loc, scale, validate_args=validate_args)
        if not base.batch_shape:
            base = base.expand([1])
        super().__init__(base, StickBreakingTransform(), validate_args=validate_args)

    @property
    def loc(self) -> Tensor:
        """The means of the normal numbers."""
        return self.base_dist.base_dist.loc  # type: ignore[no-any-return]

    @property
    def scale(self) -> Tensor:
        """The standard deviations of the normal numbers."""
        return self.base_dist.base_dist.scale  # type: ignore[no-any-return]
