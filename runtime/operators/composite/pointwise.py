"""Pointwise operators made of others: aliases, and what needs no kernel of its own."""

from __future__ import annotations

from runtime import ops
from runtime.base import dtypes
from runtime.base.tensor import Tensor
from runtime.base.types import Scalar

# Arithmetic


def div_mode(self: Tensor, other: Tensor | Scalar, *, rounding_mode: str | None) -> Tensor:
    """The quotient as it is, or its whole part towards zero or below, in the dtype of the operands."""
    if rounding_mode is None:
        return ops.div(self, other)
    if rounding_mode == "floor":
        return ops.floor_divide(self, other)
    if rounding_mode != "trunc":
        raise RuntimeError(
            f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '{rounding_mode}'"
        )
    if dtypes.result_type(self, other).is_floating_point:
        return ops.div(self, other).trunc()
    # Exact for integers of any size, unlike a quotient in floating point.
    return ops.floor_divide(self - ops.fmod(self, other), other)


def positive(self: Tensor) -> Tensor:
    """The Tensor itself."""
    if self.dtype is dtypes.bool:
        raise RuntimeError("The `+` operator, on a bool tensor is not supported.")
    return self


# Powers


def float_power_Tensor_Tensor(self: Tensor, exponent: Tensor) -> Tensor:
    """The power of `self` to the exponent, in float64 or complex128."""
    wide = _double_or_complex(self, exponent)
    return ops.pow(self.to(wide), exponent.to(wide))


def float_power_Tensor_Scalar(self: Tensor, exponent: Scalar) -> Tensor:
    return ops.pow(self.to(_double_or_complex(self, exponent)), exponent)


def float_power_Scalar(self: Scalar, exponent: Tensor) -> Tensor:
    return ops.pow(self, exponent.to(_double_or_complex(self, exponent)))


def float_power_inplace(self: Tensor, exponent: Tensor | Scalar) -> Tensor:
    """Writes the power of `self` to the exponent into `self`, which has to be float64 or complex128."""
    wide = _double_or_complex(self, exponent)
    if self.dtype is not wide:
        raise RuntimeError(
            f"the base given to float_power_ has dtype {self.dtype.scalar_name} but the operation's result requires "
            f"dtype {wide.scalar_name}"
        )
    return self.pow_(exponent.to(wide) if isinstance(exponent, Tensor) else exponent)


def _double_or_complex(*operands: Tensor | Scalar) -> dtypes.dtype:
    is_complex = any(
        operand.is_complex() if isinstance(operand, Tensor) else isinstance(operand, complex) for operand in operands
    )
    return dtypes.complex128 if is_complex else dtypes.float64


# Inverse trigonometric functions by their other names


# Complex numbers.  Conjugates are computed, never pending, so there is nothing to resolve.


def conj(self: Tensor) -> Tensor:
    """The complex conjugate: a view for complex numbers, the Tensor itself for real ones."""
    return ops._conj_physical(self) if self.is_complex() else self


def conj_physical(self: Tensor) -> Tensor:
    """The complex conjugate in memory of its own."""
    return ops._conj_physical(self) if self.is_complex() else self


def resolve_conj(self: Tensor) -> Tensor:
    """The Tensor; where it is a conjugate that was not computed, what it stands for."""
    return self


def resolve_neg(self: Tensor) -> Tensor:
    """The Tensor; where it is a negative that was not computed, what it stands for."""
    return self


def real(self: Tensor) -> Tensor:
    """The real parts: a view for complex numbers, the Tensor itself for real ones."""
    return ops.view_as_real(self).select(-1, 0) if self.is_complex() else self


def imag(self: Tensor) -> Tensor:
    """The imaginary parts, a view."""
    return ops.view_as_real(self).select(-1, 1)


# Comparisons


def isreal(self: Tensor) -> Tensor:
    """Whether each element has no imaginary part."""
    return ops.imag(self) == 0 if self.is_complex() else ops.ones_like(self, dtype=dtypes.bool)


def isclose(self: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> Tensor:
    """Whether |self - other| <= atol + rtol * |other|, for each element."""
    if self.dtype is not other.dtype:
        raise RuntimeError(f"{self.dtype} did not match {other.dtype}")
    if rtol < 0 or atol < 0:
        raise RuntimeError(f"rtol and atol must be greater than or equal to zero, but got {rtol} and {atol}")
    close = self == other
    if equal_nan and (self.is_floating_point() or self.is_complex()):
        close = close.logical_or(self.isnan().logical_and(other.isnan()))
    if rtol == 0 and atol == 0:
        return close
    if not (self.is_floating_point() or self.is_complex()):
        self, other = self.to(dtypes.float64), other.to(dtypes.float64)
    distance = (self - other).abs()
    allowed = (other * rtol).abs() + atol
    return close.logical_or(distance.isfinite().logical_and(distance <= allowed))


def allclose(self: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> bool:
    """Whether |self - other| <= atol + rtol * |other| for all elements."""
    return bool(ops.isclose(self, other, rtol, atol, equal_nan).all())


def is_same_size(self: Tensor, other: Tensor) -> bool:
    """Whether the two have the same shape."""
    return list(self.shape) == list(other.shape)


def local_scalar_dense(self: Tensor) -> bool | int | float | complex:
    """`item` as an operator, which classes and modes see that stand for kernels."""
    return self.item()


def is_nonzero(self: Tensor) -> bool:
    """Whether the only element is not 0."""
    return bool(self)


# Choosing between elements


def where_Scalar(condition: Tensor, self: Scalar, other: Scalar) -> Tensor:
    """Elements of `self` where the condition holds, and of `other` elsewhere."""
    numbers = [ops.full([], number, dtype=dtypes.dtype_of_number(number)) for number in (self, other)]
    return ops.where(condition, *numbers)


# Activation functions


def prelu(self: Tensor, weight: Tensor) -> Tensor:
    """`x`, and below 0 `weight * x`, with one weight for all or one for each channel (dimension 1)."""
    if weight.dim() > 1:
        raise RuntimeError(f"prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = {weight.dim()}")
    if weight.numel() != 1:
        if self.dim() == 0:
            raise RuntimeError("Not allow zero-dim input tensor.")
        channels = self.shape[1] if self.dim() > 1 else 1
        if weight.numel() != channels:
            raise RuntimeError(
                f"Mismatch of parameter numbers and input channel size. Found parameter numbers = {weight.numel()} "
                f"and channel size = {channels}."
            )
    weight = weight.reshape([-1] + [1] * (self.dim() - 2) if self.dim() > 1 else [1] * self.dim())
    return ops._prelu_kernel(self, weight)
