"""The chi-squared distribution."""

from __future__ import annotations

from typing import ClassVar

from gradwright.distributions import constraints
from gradwright.distributions.constraints import Constraint
from gradwright.distributions.distribution import Value
from gradwright.distributions.gamma import Gamma
from runtime.base.tensor import Tensor


class Chi2(Gamma):
    """The distribution of the sum of the squares of `df` standard normal numbers."""

    arg_constraints: ClassVar[dict[str, Constraint]] = {"df": constraints.positive}
    _parameters = ("concentration", "rate")

    def __init__(self, df: Value, validate_args: bool | None = None) -> None:
        super().__init__(0.5 * df, 0.5, validate_args=validate_args)

    @property
    def df(self) -> Tensor:
        """The degrees of freedom."""
        return self.concentration * 2
