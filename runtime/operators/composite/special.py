"""Special functions that are made of others."""

from __future__ import annotations

import math

from runtime import ops
from runtime.base import dtypes
from runtime.base.tensor import Tensor
from runtime.base.types import Scalar


def mvlgamma(self: Tensor, p: int) -> Tensor:
    """The logarithm of the gamma function of `p` dimensions: `lgamma` at `p` places 1/2 apart, and a constant."""
    if p < 1:
        raise RuntimeError("p has to be greater than or equal to 1")
    if self.dtype is dtypes.bool:
        raise RuntimeError("The input tensor may not be a boolean tensor.")
    places = self.contiguous()  # as the result lies
    total = ops.lgamma(places)
    for step in range(1, p):
        total = total + ops.lgamma(places - step / 2)
    return total + p * (p - 1) / 4 * math.log(math.pi)


def special_zeta_other_scalar(self: Tensor, other: Scalar) -> Tensor:
    number = ops.full([], other, dtype=dtypes.result_type(self, 1.0), device=self.device)
    return ops.special_zeta(self, number)


def polygamma_inplace(self: Tensor, n: int) -> Tensor:
    """Writes the polygamma function of order `n` into `self`."""
    return self.copy_(ops.polygamma(n, self.clone()))  # what is written was saved for the gradient
