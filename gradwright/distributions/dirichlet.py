"""Dirichlet's distribution."""

from __future__ import annotations

from typing import ClassVar

from gradwright.distributions import constraints
from gradwright.distributions.constraints import Constraint
from gradwright.distributions.distribution import Shape
from gradwright.distributions.exp_family import ExponentialFamily
from runtime import ops
from runtime.base.tensor import Tensor


class Dirichlet(ExponentialFamily):
    """Dirichlet's distribution of vectors of chances, which lie along the last dimension of `concentration`."""

    arg_constraints: ClassVar[dict[str, Constraint]] = {
        "concentration": constraints.independent(constraints.positive, 1)
    }
    support = constraints.simplex
    has_rsample = True
    _mean_carrier_measure = 0
    _parameters = ("concentration",)

    def __init__(self, concentration: Tensor, validate_args: bool | None = None) -> None:
        if concentration.dim() < 1:
            raise ValueError("`concentration` parameter must be at least one-dimensional.")
        self.concentration = concentration
        super().__init__(concentration.shape[:-1], concentration.shape[-1:], validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.concentration / self.concentration.sum(-1, True)

    @property
    def mode(self) -> Tensor:
        excess = (self.concentration - 1).clamp(min=0)
        # Where no concentration is above 1 all of the density is at corners; the highest is that of the largest.
        corner = ops.one_hot(self.concentration.argmax(-1), self.concentration.shape[-1]).type_as(excess)
        return ops.where((self.concentration < 1).all(-1, True), corner, excess / excess.sum(-1, True))

    @property
    def variance(self) -> Tensor:
        total = self.concentration.sum(-1, True)
        return self.concentration * (total - self.concentration) / (total.pow(2) * (total + 1))

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        return ops._sample_dirichlet(self.concentration.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Tensor) -> Tensor:
        self._check(value)
        shape = self.concentration
        return ops.xlogy(shape - 1, value).sum(-1) + shape.sum(-1).lgamma() - shape.lgamma().sum(-1)

    def entropy(self) -> Tensor:
        shape, count = self.concentration, self.concentration.size(-1)
        total = shape.sum(-1)
        return (
            shape.lgamma().sum(-1)
            - total.lgamma()
            - (count - total) * total.digamma()
            - ((shape - 1) * shape.digamma()).sum(-1)
        )

    @property
    def _natural_params(self) -> tuple[Tensor]:
        return (self.concentration,)

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        return natural_params[0].lgamma().sum(-1) - natural_params[0].sum(-1).lgamma()
