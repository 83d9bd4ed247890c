"""Derivatives of the special functions that take more than an expression.

The derivatives of the modified Bessel functions are those of Abramowitz and Stegun, 9.6.26 and 9.6.27; the incomplete
gamma functions are the integrals of 6.5.1.
"""

from __future__ import annotations

import math

from runtime import ops
from runtime.base.half import in_float32
from runtime.base.tensor import Tensor
from runtime.base.types import Scalar


def frexp_backward(grad: Tensor, exponent: Tensor) -> Tensor:
    """The gradient of the fraction, and its tangent: between two powers of 2 the exponent is constant."""
    return ops.ldexp(grad, -exponent)


def igamma_slope(self: Tensor, other: Tensor) -> Tensor:
    """The derivative of `igamma` in `other`: the integrand, by logarithms."""
    return (ops.xlogy(self - 1, other) - other - ops.lgamma(self)).exp()


def xlog1py_slope_scalar(self: Tensor, other: Scalar) -> Tensor:
    """The derivative of `xlog1py` in `self`, where `other` is a number; 0 where the function is 0 by decree."""
    if other > -1:  # type: ignore[operator]
        return ops.full_like(self, math.log1p(other))  # type: ignore[arg-type]
    return ops.where(self == 0, 0, ops.full_like(self, -math.inf if other == -1 else math.nan))


@in_float32
def i1_slope(self: Tensor, result: Tensor) -> Tensor:
    """The derivative of `i1`, which is `result`: `i0(x) - i1(x) / x`."""
    return ops.i0(self) - _over(self, result, 1)


@in_float32
def i1e_slope(self: Tensor) -> Tensor:
    """The derivative of `i1e`: that of `i1`, and that of the factor `exp(-|x|)`."""
    result = ops.special_i1e(self)  # not what half precision has rounded: what is left of it is small
    return ops.special_i0e(self) - result * self.sgn() - _over(self, result, (-self.abs()).exp())


def _over(self: Tensor, result: Tensor, factor: Tensor | float) -> Tensor:
    """`result / self` for `i1` times `factor`.  Near 0 the power series, whose own derivatives are right at 0."""
    near = self.abs() < 0.1
    small = ops.where(near, self, 0)
    square = small * small
    series = square * (square * (square * (square * (1 / 1474560) + 1 / 18432) + 1 / 384) + 1 / 16) + 0.5
    return ops.where(near, series * factor, result / ops.where(near, 1, self))


def sample_dirichlet_backward(grad: Tensor, self: Tensor, result: Tensor) -> Tensor:
    """The gradient of a point of a Dirichlet distribution in its concentrations.

    When a part grows, the others shrink and keep their proportions.
    """
    slope = ops._dirichlet_grad(result, self, self.sum(-1, True))
    return slope * (grad - (grad * result).sum(-1, True))
