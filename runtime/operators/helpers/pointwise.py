"""Derivatives of pointwise operators that take more than an expression: masks, branches, complex numbers.

A value that a mask throws away must not be infinite or NaN either: the gradient that comes back through `where` is
zero there, and zero times infinity is NaN.  So the argument is replaced before the function, not its result after.
"""

from __future__ import annotations

import cmath
import math

from runtime import ops
from runtime.base.modes import grad_mode
from runtime.base.tensor import Tensor
from runtime.base.types import Scalar
from runtime.graph import forward


def scaled(x: Tensor, factor: Scalar) -> Tensor:
    """`factor * x`; no work for the factor 1."""
    return x if factor == 1 else x * factor


def logistic(x: Tensor) -> Tensor:
    """`sigmoid(x)` of real numbers. Where it is differentiated, that loses nothing where the result is nearly 1."""
    if grad_mode.enabled or forward.active():
        return ops.softplus_backward(ops.ones_like(x), x, 1, 1000)
    return x.sigmoid()


def pow_backward(grad: Tensor, self: Tensor, exponent: Scalar) -> Tensor:
    """The gradient of `self ** exponent` for a number `exponent`; 0 everywhere for the exponent 0, also at 0."""
    if exponent == 0:
        return ops.zeros_like(grad)
    if not grad_mode.enabled:  # a recorded gradient is a power of `self` in any case, and so its own derivative
        if exponent == 2:
            return grad * (self * 2).conj()
        if exponent == 1:
            return grad
    return grad * (self.pow(exponent - 1) * exponent).conj()


def pow_backward_self(grad: Tensor, self: Tensor, exponent: Tensor) -> Tensor:
    constant = (exponent == 0).logical_and((self == 0).logical_or(self.isnan()))
    base = ops.where(constant, 1, self)
    return grad * (exponent * base.pow(exponent - 1)).conj()


def pow_backward_exponent(grad: Tensor, self: Tensor, exponent: Tensor, result: Tensor) -> Tensor:
    """The gradient of `self ** exponent` for `exponent`: 0 where `self` is 0 and `exponent` is not negative."""
    constant = (self == 0).logical_and(ops.real(exponent) >= 0)
    base = ops.where(constant, 1, self)
    if result.is_complex() and not base.is_complex():  # negative numbers have a complex logarithm
        base = ops._to_copy(base, dtype=result.dtype)
    return grad * (result * base.log()).conj()


def pow_backward_exponent_of_scalar(grad: Tensor, self: Scalar, exponent: Tensor, result: Tensor) -> Tensor:
    """The gradient of `self ** exponent` for `exponent`, where `self` is a number."""
    if self == 0:
        # A constant: of a product that is only masked, the second derivative would be NaN.
        return grad * ops.zeros_like(result).masked_fill(ops.real(exponent) < 0, -math.inf)
    if isinstance(self, complex) or exponent.is_complex():
        return grad * (result * cmath.log(self)).conj()
    return grad * (result * (math.log(self) if self > 0 else math.nan))


def xlogy_slope_scalar(self: Tensor, other: Scalar) -> Tensor:
    """The derivative of `xlogy` in `self`, where `other` is a number; 0 where the function is 0 by decree."""
    if other > 0:  # type: ignore[operator]
        return ops.full_like(self, math.log(other))  # type: ignore[arg-type]
    return ops.where(self == 0, 0, ops.full_like(self, -math.inf if other == 0 else math.nan))


def scalar_floor_divide(self: Scalar, other: Tensor) -> Tensor:
    """`floor(self / other)` for a number `self`."""
    return (other.reciprocal() * self).floor()


def atan2_backward_self(grad: Tensor, self: Tensor, other: Tensor) -> Tensor:
    return grad * (other / _square_of_radius(self, other))


def atan2_backward_other(grad: Tensor, self: Tensor, other: Tensor) -> Tensor:
    return grad * (-self / _square_of_radius(self, other))


def _square_of_radius(self: Tensor, other: Tensor) -> Tensor:
    """The divisor in the gradients of `atan2`; 1 at the origin, where they are 0."""
    square = self * self + other * other
    return ops.where(square == 0, 1, square)


def sinc_slope(self: Tensor) -> Tensor:
    """The derivative of `sinc`.  Near 0 its power series, whose own derivatives are right at 0."""
    angle = self * math.pi
    near = angle.abs() < 0.1
    small = ops.where(near, angle, 0)
    large = ops.where(near, 1, angle)
    square = small * small
    series = small * (square * (square * (square * (1 / 45360) - 1 / 840) + 1 / 30) - 1 / 3)
    quotient = (large.cos() - large.sin() / large) / large
    return ops.where(near, series, quotient) * math.pi


def sgn_backward(grad: Tensor, self: Tensor, result: Tensor) -> Tensor:
    """What `grad` has across the direction of `self`, over its length: 0 for real numbers, and at 0.

    The map is its own adjoint, so it carries tangents forward as well.
    """
    if not self.is_complex():
        return ops.zeros_like(grad)
    length = self.abs()
    origin = length == 0
    across = grad - result * ops.real(result.conj() * grad)
    return ops.where(origin, 0, across / ops.where(origin, 1, length))


def angle_backward(grad: Tensor, self: Tensor) -> Tensor:
    return grad * _angle_gradient(self) if self.is_complex() else ops.zeros_like(grad)


def angle_forward(self_t: Tensor, self: Tensor) -> Tensor:
    return ops.real(_angle_gradient(self).conj() * self_t) if self.is_complex() else ops.zeros_like(self_t)


def _angle_gradient(self: Tensor) -> Tensor:
    """The direction in which the angle of a complex number grows, over its length; 0 at 0."""
    square = ops.real(self * self.conj())
    origin = square == 0
    return ops.where(origin, 0, self * 1j / ops.where(origin, 1, square))


def polar_backward_abs(grad: Tensor, angle: Tensor) -> Tensor:
    return ops.real(grad.conj() * ops.polar(ops.ones_like(angle), angle))


def polar_backward_angle(grad: Tensor, result: Tensor) -> Tensor:
    return ops.real(grad.conj() * (result * 1j))


def polar_forward(abs_t: Tensor, angle_t: Tensor, angle: Tensor, result: Tensor) -> Tensor:
    return abs_t * ops.polar(ops.ones_like(angle), angle) + angle_t * (result * 1j)


def clamp_tensor_backward(grad: Tensor, self: Tensor, min: Tensor | None, max: Tensor | None) -> Tensor:
    """The gradient passes between the bounds, and at them."""
    return between(grad, self, min, max)


def between(grad: Tensor, self: Tensor, min: Tensor | Scalar | None, max: Tensor | Scalar | None) -> Tensor:
    """`grad` where `self` lies between two bounds, or at one of them, and zeros elsewhere; one at least is given."""
    if min is None:
        assert max is not None
        return ops.where(self <= max, grad, 0)
    inside = self >= min
    return ops.where(inside if max is None else inside.logical_and(self <= max), grad, 0)


def clamp_bounds_backward(
    grad: Tensor, self: Tensor, min: Tensor | None, max: Tensor | None
) -> tuple[Tensor | None, Tensor | None]:
    """The gradients of the bounds: each gets what was set to it.

    Where they cross that is `max`; below bounds that meet it is `min`.
    """
    if min is None:
        return None, None if max is None else ops.where(self > max, grad, 0)
    if max is None:
        return ops.where(self < min, grad, 0), None
    at_min = (min <= max).logical_and(self < min)
    at_max = (self > max).logical_or(max < min)
    return ops.where(at_min, grad, 0), ops.where(at_max, grad, 0)


def clamp_tensor_forward(
    self: Tensor, self_t: Tensor, min: Tensor | None, min_t: Tensor | None, max: Tensor | None, max_t: Tensor | None
) -> Tensor:
    """The tangent of whichever of the three was chosen; a bound without a tangent is constant."""
    result = self_t
    if min is not None:
        result = ops.where(self < min, ops.zeros_like(min) if min_t is None else min_t, result)
    if max is not None:
        above = self > max if min is None else (self > max).logical_or(min > max)
        result = ops.where(above, ops.zeros_like(max) if max_t is None else max_t, result)
    return result
