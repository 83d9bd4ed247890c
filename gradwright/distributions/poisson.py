"""Poisson's distribution."""

from __future__ import annotations

from typing import ClassVar

from gradwright.distributions import constraints
from gradwright.distributions.constraints import Constraint
from gradwright.distributions.distribution import Shape, Value
from gradwright.distributions.exp_family import ExponentialFamily
from gradwright.distributions.utils import broadcast_all, is_number
from runtime import ops
from runtime.base.tensor import Tensor
from runtime.base.types import Size
from runtime.graph.grad_mode import no_grad


class Poisson(ExponentialFamily):
    """Poisson's distribution of the number of events that come at a rate of `rate`."""

    arg_constraints: ClassVar[dict[str, Constraint]] = {"rate": constraints.nonnegative}
    support = constraints.nonnegative_integer
    _parameters = ("rate",)

    def __init__(self, rate: Value, validate_args: bool | None = None) -> None:
        (self.rate,) = broadcast_all(rate)
        super().__init__(Size() if is_number(rate) else self.rate.size(), validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.rate

    @property
    def mode(self) -> Tensor:
        return self.rate.floor()

    @property
    def variance(self) -> Tensor:
        return self.rate

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        with no_grad():
            return ops.poisson(self.rate.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Tensor) -> Tensor:
        self._check(value)
        return ops.xlogy(value, self.rate) - self.rate - (value + 1).lgamma()

    @property
    def _natural_params(self) -> tuple[Tensor]:
        return (self.rate.log(),)

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        return natural_params[0].exp()
