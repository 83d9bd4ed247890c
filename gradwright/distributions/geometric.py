"""The geometric distribution."""

from __future__ import annotations

from typing import ClassVar

from gradwright.distributions import constraints
from gradwright.distributions._chances import ByChances, cross_entropy
from gradwright.distributions.constraints import Constraint
from gradwright.distributions.distribution import Shape, Value
from gradwright.distributions.utils import broadcast_all, is_number
from runtime import ops
from runtime.base.dtypes import finfo
from runtime.base.tensor import Tensor
from runtime.base.types import Size
from runtime.graph.grad_mode import no_grad


class Geometric(ByChances):
    """The distribution of the number of failures before the first success, each trial having the chance `probs`."""

    arg_constraints: ClassVar[dict[str, Constraint]] = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.nonnegative_integer
    _parameters = ("probs", "logits")

    def __init__(
        self, probs: Value | None = None, logits: Value | None = None, validate_args: bool | None = None
    ) -> None:
        name, given = self._take(probs, logits)
        (self.__dict__[name],) = broadcast_all(given)
        super().__init__(Size() if is_number(given) else self._param.size(), validate_args=validate_args)
        if self._validate_args and name == "probs" and not (self.probs > 0).all():
            raise ValueError(
                f"Expected parameter probs (Tensor of shape {tuple(self.probs.shape)}) of distribution {self!r} to be "
                f"positive, but found invalid values:\n{self.probs}"
            )

    @property
    def mean(self) -> Tensor:
        return 1 / self.probs - 1

    @property
    def mode(self) -> Tensor:
        return ops.zeros_like(self.probs)

    @property
    def variance(self) -> Tensor:
        return (1 / self.probs - 1) / self.probs

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        with no_grad():
            u = self.probs.new_empty(shape).uniform_(finfo(self.probs.dtype).tiny, 1)
            return (u.log() / (-self.probs).log1p()).floor()

    def log_prob(self, value: Tensor) -> Tensor:
        self._check(value)
        value, probs = broadcast_all(value, self.probs)
        certain = (probs == 1) & (value == 0)
        return value * ops.where(certain, 0, -probs).log1p() + probs.log()

    def entropy(self) -> Tensor:
        return cross_entropy(self.logits, self.probs) / self.probs
