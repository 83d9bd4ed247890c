"""Special functions."""

from __future__ import annotations

from runtime import ops
from runtime.base.tensor import Tensor
from runtime.operators.helpers import special


def i1_backward(grad: Tensor, self: Tensor, result: Tensor) -> Tensor:
    return grad * special.i1_slope(self, result)


def i1e_backward(grad: Tensor, self: Tensor, result: Tensor) -> Tensor:
    """The result is computed again, because half precision has rounded it."""
    return grad * special.i1e_slope(self)


def mvlgamma_backward(grad: Tensor, self: Tensor, p: int) -> Tensor:
    """`mvlgamma` is a sum of `lgamma` at `p` places 1/2 apart."""
    slope = ops.digamma(self)
    for step in range(1, p):
        slope = slope + ops.digamma(self - step / 2)
    return grad * slope
