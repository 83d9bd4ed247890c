"""The logistic normal distribution."""

from __future__ import annotations

from typing import ClassVar

from gradwright.distributions import constraints
from gradwright.distributions.constraints import Constraint
from gradwright.distributions.distribution import Value
from gradwright.distributions.independent import Independent
from gradwright.distributions.normal import Normal
from gradwright.distributions.transformed_distribution import TransformedDistribution
from gradwright.distributions.transforms.vectors import StickBreakingTransform
from runtime.base.tensor import Tensor


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
