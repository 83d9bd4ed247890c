"""The chi-squared distribution."""

from __future__ import annotations

from typing import ClassVar

from runtime.base.tensor import Tensor
from runtime.distributions import constraints
from runtime.distributions.constraints import Constraint
from runtime.distributions.distribution import Value
from runtime.distributions.gamma import Gamma


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
