"""The distribution of von Mises."""

from __future__ import annotations

import math
from typing import ClassVar

from gradwright.distributions import constraints
from gradwright.distributions.constraints import Constraint
from gradwright.distributions.distribution import Distribution, Shape, Value
from gradwright.distributions.utils import broadcast_all, lazy_property
from runtime import ops
from runtime.base.tensor import Tensor
from runtime.base.types import Size
from runtime.graph.grad_mode import no_grad


class VonMises(Distribution):
    """The distribution of von Mises of angles around `loc`, the narrower the larger `concentration` is.

    Samples are drawn by rejection (Best and Fisher, "Efficient simulation of the von Mises distribution", 1979).
    """

    arg_constraints: ClassVar[dict[str, Constraint]] = {"loc": constraints.real, "concentration": constraints.positive}
    support = constraints.real
    has_rsample = False
    _parameters = ("loc", "concentration")

    def __init__(self, loc: Value, concentration: Value, validate_args: bool | None = None) -> None:
        self.loc, self.concentration = broadcast_all(loc, concentration)
        super().__init__(self.loc.shape, Size(), validate_args)

    @property
    def mean(self) -> Tensor:
        """The mean direction."""
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @lazy_property
    def variance(self) -> Tensor:
        """The circular variance."""
        return 1 - ops.special_i1e(self.concentration) / ops.special_i0e(self.concentration)

    def log_prob(self, value: Tensor) -> Tensor:
        self._check(value)
        # I0(k) = exp(k) * i0e(k)
        fall = self.concentration * ((value - self.loc).cos() - 1)
        return fall - math.log(2 * math.pi) - ops.special_i0e(self.concentration).log()

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        with no_grad():
            # In float64: for small and for large concentrations the constant of the envelope is a small difference.
            concentration = self.concentration.double().clamp(min=1e-8)
            root = 1 + (1 + 4 * concentration.pow(2)).sqrt()
            rho = (root - (2 * root).sqrt()) / (2 * concentration)
            envelope = ((1 + rho.pow(2)) / (2 * rho)).expand(shape)
            concentration = concentration.expand(shape)
            angle, waiting = ops.empty(shape, dtype=envelope.dtype), ops.full(shape, True)
            while waiting.any():
                turn, height, side = ops.rand((3, *shape), dtype=envelope.dtype).unbind(0)
                cosine = (math.pi * turn).cos()
                f = ((1 + envelope * cosine) / (envelope + cosine)).clamp(-1, 1)
                c = concentration * (envelope - f)
                accepted = (c * (2 - c) > height) | ((c / height).log() + 1 - c >= 0)
                angle = ops.where(waiting & accepted, (side - 0.5).sign() * f.acos(), angle)
                waiting = waiting & ~accepted
            turned = (angle + self.loc.double() + math.pi) % (2 * math.pi) - math.pi
            return turned.to(self.loc.dtype)
