"""Pointwise operators: dtypes, arithmetic, and powers."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence

from runtime import ops
from runtime.base.tensor import Tensor
from runtime.base.types import DType, Scalar
from runtime.operators.helpers import pointwise
from runtime.operators.upstream._common import or_zeros

# -- dtypes


def handle_r_to_c(self_st: DType, gradient_result: Tensor) -> Tensor:
    """The real part of a complex gradient, where what it belongs to is real."""
    if not self_st.is_complex and gradient_result.is_complex():
        return ops.real(gradient_result)
    return gradient_result


def _to_copy_backward(grad: Tensor, self_options: DType) -> Tensor:
    """The gradient in the dtype that was converted from."""
    return handle_r_to_c(self_options, grad).to(self_options)


# -- sums, products, quotients


def maybe_multiply(t: Tensor, s: Scalar) -> Tensor:
    """`t * s`; no work for the factor 1."""
    return pointwise.scaled(t, s)


def mul_tensor_backward(grad: Tensor, other: Tensor, self_st: DType) -> Tensor:
    """The gradient of one factor, given the other."""
    return handle_r_to_c(self_st, grad * other.conj())


def mul_tensor_backward_Scalar(grad: Tensor, other: Scalar, self_st: DType) -> Tensor:
    """As `mul_tensor_backward`, where the other factor is a number."""
    return handle_r_to_c(self_st, grad * other.conjugate())


def div_tensor_self_backward(grad: Tensor, other: Tensor, self_st: DType, rounding_mode: str | None = None) -> Tensor:
    """The gradient of the dividend; a rounded quotient is constant almost everywhere."""
    if rounding_mode is not None:
        return ops.zeros_like(grad)
    return handle_r_to_c(self_st, grad / other.conj())


def div_tensor_self_backward_Scalar(
    grad: Tensor, other: Scalar, self_st: DType, rounding_mode: str | None = None
) -> Tensor:
    """As `div_tensor_self_backward`, for a divisor that is a number."""
    if rounding_mode is not None:
        return ops.zeros_like(grad)
    return handle_r_to_c(self_st, grad / other.conjugate())


def div_tensor_other_backward(grad: Tensor, self: Tensor, other: Tensor, rounding_mode: str | None = None) -> Tensor:
    """The gradient of the divisor; a rounded quotient is constant almost everywhere."""
    if rounding_mode is not None:
        return ops.zeros_like(grad)
    # Two divisions: the square of a small divisor underflows before the quotient does.
    return handle_r_to_c(other.dtype, -grad * (self / other / other).conj())


# -- functions


def log1p_backward(grad: Tensor, self: Tensor) -> Tensor:
    """D log(1 + x) = dx / (1 + x)."""
    return grad / (self + 1).conj()


def pow_backward_exponent_Scalar(grad: Tensor, base: Scalar, exponent: Tensor, result: Tensor) -> Tensor:
    """The gradient of `base ** exponent` for `exponent`, where `base` is a number."""
    return pointwise.pow_backward_exponent_of_scalar(grad, base, exponent, result)


def sinc_backward(grad: Tensor, self: Tensor) -> Tensor:
    """The gradient of sin(pi x) / (pi x)."""
    return grad * pointwise.sinc_slope(self).conj()


def atan2_backward(
    grad: Tensor | None, self: Tensor, other: Tensor, output_mask: Sequence[bool]
) -> tuple[Tensor | None, Tensor | None]:
    """The gradients of both coordinates; zero at the origin."""
    if grad is None:
        return None, None
    return (
        pointwise.atan2_backward_self(grad, self, other) if output_mask[0] else None,
        pointwise.atan2_backward_other(grad, self, other) if output_mask[1] else None,
    )


def polar_backward(grad: Tensor | None, result: Tensor) -> tuple[Tensor | None, Tensor | None]:
    """Of the length the gradient's part along the result, of the angle the part across it, times the length."""
    if grad is None:
        return None, None
    return ops.real(grad.conj() * result.sgn()), pointwise.polar_backward_angle(grad, result)


def deg2rad_backward(grad: Tensor) -> Tensor:
    """The same conversion again."""
    return grad * (math.pi / 180)


def rad2deg_backward(grad: Tensor) -> Tensor:
    """A radian has 180 / pi degrees."""
    return grad * (180 / math.pi)


# -- signs, bounds, masks


def sgn_backward(x: Tensor, gx: Tensor, sgn: Tensor) -> Tensor:
    return pointwise.sgn_backward(gx, x, sgn)


def copysign_tensor_self_backward(grad: Tensor, self: Tensor, result: Tensor) -> Tensor:
    """The gradient with its sign turned where the sign was turned; zero at zero.

    By signs, not by `result / self`, which is NaN at infinity.
    """
    return grad * (result.sgn() * self.sgn())


def clamp_backward(grad: Tensor, self: Tensor, min: Scalar | None, max: Scalar | None) -> Tensor:
    """The gradient passes between the bounds, and at them."""
    return pointwise.between(grad, self, min, max)


def clamp_backward_Tensor(grad: Tensor, self: Tensor, min: Tensor | None, max: Tensor | None) -> Tensor:
    """The gradient passes between the bounds, and at them."""
    return pointwise.clamp_tensor_backward(grad, self, min, max)


def clamp_backward_min_max(
    grad: Tensor | None, self: Tensor, min: Tensor | None, max: Tensor | None, grad_input_mask: Sequence[bool]
) -> tuple[Tensor | None, Tensor | None]:
    """The gradients of the bounds: each gets what was set to it."""
    if grad is None:
        return None, None
    of_min, of_max = pointwise.clamp_bounds_backward(grad, self, min, max)
    return of_min if grad_input_mask[0] else None, of_max if grad_input_mask[1] else None


def clamp_jvp(
    self_p: Tensor,
    self_t: Tensor | None,
    min_p: Tensor | None,
    min_t: Tensor | None,
    max_p: Tensor | None,
    max_t: Tensor | None,
) -> Tensor:
    """The tangent of whichever of the three was chosen."""
    return pointwise.clamp_tensor_forward(self_p, or_zeros(self_t, self_p), min_p, min_t, max_p, max_t)


def masked_fill_backward(grad: Tensor, mask: Tensor) -> Tensor:
    """One value was written to all places of the mask, so it gets the sum of their gradients."""
    return ops.where(mask, grad, 0).sum()


def warn_backwards(grad_output: Tensor) -> Tensor:
    """The gradient as it is, with a warning: `_test_warn_in_autograd` tests how these come out of a backward."""
    warnings.warn("Warn from backward", stacklevel=2)
    return grad_output
