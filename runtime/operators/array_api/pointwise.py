"""Element by element: arithmetic, functions of one number, comparisons, choices."""

from __future__ import annotations

import math

from runtime.operators.array_api._common import (
    Array,
    Namespace,
    Number,
    check_number,
    is_complex,
    is_integral,
    number,
    ordered,
)

# -- sums, differences, products and quotients


def add(xp: Namespace, self: Array, other: Array | Number, alpha: Number = 1) -> Array:
    check_number(xp, alpha, self, "alpha")
    if xp.isdtype(self.dtype, "bool"):
        return xp.logical_or(self, _array(xp, other, self))
    return self + (other if alpha == 1 else other * alpha)


def sub(xp: Namespace, self: Array, other: Array | Number, alpha: Number = 1) -> Array:
    return self - (other if alpha == 1 else other * alpha)


def rsub(xp: Namespace, self: Array, other: Array | Number, alpha: Number = 1) -> Array:
    return other - (self if alpha == 1 else self * alpha)


def mul(xp: Namespace, self: Array, other: Array | Number) -> Array:
    if xp.isdtype(self.dtype, "bool"):
        return xp.logical_and(self, _array(xp, other, self))
    return self * other


def div(xp: Namespace, self: Array, other: Array | Number) -> Array:
    return self / other


def neg(xp: Namespace, self: Array) -> Array:
    return -self


def reciprocal(xp: Namespace, self: Array) -> Array:
    return 1 / self


def addcmul(xp: Namespace, self: Array, tensor1: Array, tensor2: Array, value: Number = 1) -> Array:
    check_number(xp, value, self, "value")
    product = tensor1 * tensor2
    return self + (product if value == 1 else product * value)


def addcdiv(xp: Namespace, self: Array, tensor1: Array, tensor2: Array, value: Number = 1) -> Array:
    return self + (tensor1 if value == 1 else tensor1 * value) / tensor2


def lerp(xp: Namespace, self: Array, end: Array, weight: Array | Number) -> Array:
    return self + (end - self) * weight


def hypot(xp: Namespace, self: Array, other: Array) -> Array:
    return xp.hypot(self, other)


def deg2rad(xp: Namespace, self: Array) -> Array:
    return self * (math.pi / 180)


def rad2deg(xp: Namespace, self: Array) -> Array:
    return self * (180 / math.pi)


# -- rounding and remainders


def floor(xp: Namespace, self: Array) -> Array:
    return xp.floor(self)


def ceil(xp: Namespace, self: Array) -> Array:
    return xp.ceil(self)


def trunc(xp: Namespace, self: Array) -> Array:
    return xp.trunc(self)


def round_default(xp: Namespace, self: Array) -> Array:
    return xp.round(self)


def frac(xp: Namespace, self: Array) -> Array:
    return self - xp.trunc(self)


def floor_divide(xp: Namespace, self: Array, other: Array) -> Array:
    return xp.floor_divide(self, other)


def remainder_Tensor(xp: Namespace, self: Array, other: Array) -> Array:
    return xp.remainder(self, other)


def remainder_Scalar(xp: Namespace, self: Array, other: Number) -> Array:
    return self % other


def remainder_Scalar_Tensor(xp: Namespace, self: Number, other: Array) -> Array:
    return number(xp, self, other) % other


# -- powers and logarithms


def exp(xp: Namespace, self: Array) -> Array:
    return xp.exp(self)


def exp2(xp: Namespace, self: Array) -> Array:
    return 2.0**self


def expm1(xp: Namespace, self: Array) -> Array:
    return xp.expm1(self)


def log(xp: Namespace, self: Array) -> Array:
    return xp.log(self)


def log2(xp: Namespace, self: Array) -> Array:
    return xp.log2(self)


def log10(xp: Namespace, self: Array) -> Array:
    return xp.log10(self)


def log1p(xp: Namespace, self: Array) -> Array:
    return xp.log1p(self)


def logaddexp(xp: Namespace, self: Array, other: Array) -> Array:
    if is_complex(xp, self):
        highest = xp.where(xp.real(self) >= xp.real(other), self, other)
        return highest + xp.log(xp.exp(self - highest) + xp.exp(other - highest))
    return xp.logaddexp(self, other)


def pow_Tensor_Scalar(xp: Namespace, self: Array, exponent: Number) -> Array:
    if is_integral(xp, self) and isinstance(exponent, int) and exponent < 0:
        raise RuntimeError("Integers to negative integer powers are not allowed.")
    return self**exponent


def pow_Tensor_Tensor(xp: Namespace, self: Array, exponent: Array) -> Array:
    return self**exponent


def pow_Scalar(xp: Namespace, self: Number, exponent: Array) -> Array:
    return number(xp, self, exponent) ** exponent


def sqrt(xp: Namespace, self: Array) -> Array:
    return xp.sqrt(self)


def rsqrt(xp: Namespace, self: Array) -> Array:
    return 1 / xp.sqrt(self)


def xlogy_Tensor(xp: Namespace, self: Array, other: Array) -> Array:
    nothing = (self == 0) & ~xp.isnan(other)
    return xp.where(nothing, number(xp, 0, self), self * xp.log(other))


# -- trigonometric and hyperbolic functions


def sin(xp: Namespace, self: Array) -> Array:
    return xp.sin(self)


def cos(xp: Namespace, self: Array) -> Array:
    return xp.cos(self)


def tan(xp: Namespace, self: Array) -> Array:
    return xp.tan(self)


def asin(xp: Namespace, self: Array) -> Array:
    return xp.asin(self)


def acos(xp: Namespace, self: Array) -> Array:
    return xp.acos(self)


def atan(xp: Namespace, self: Array) -> Array:
    return xp.atan(self)


def atan2(xp: Namespace, self: Array, other: Array) -> Array:
    return xp.atan2(self, other)


def sinh(xp: Namespace, self: Array) -> Array:
    return xp.sinh(self)


def cosh(xp: Namespace, self: Array) -> Array:
    return xp.cosh(self)


def tanh(xp: Namespace, self: Array) -> Array:
    return xp.tanh(self)


def asinh(xp: Namespace, self: Array) -> Array:
    return xp.asinh(self)


def acosh(xp: Namespace, self: Array) -> Array:
    return xp.acosh(self)


def atanh(xp: Namespace, self: Array) -> Array:
    return xp.atanh(self)


# -- signs and complex numbers


def abs_default(xp: Namespace, self: Array) -> Array:
    return self if xp.isdtype(self.dtype, "bool") else xp.abs(self)


def sign(xp: Namespace, self: Array) -> Array:
    return self if xp.isdtype(self.dtype, "bool") else xp.sign(self)


def sgn(xp: Namespace, self: Array) -> Array:
    return self if xp.isdtype(self.dtype, "bool") else xp.sign(self)


def signbit(xp: Namespace, self: Array) -> Array:
    if xp.isdtype(self.dtype, "real floating"):
        return xp.signbit(self)
    return self < 0 if xp.isdtype(self.dtype, "integral") else xp.zeros(self.shape, dtype=xp.bool)


def copysign_Tensor(xp: Namespace, self: Array, other: Array) -> Array:
    return xp.copysign(self, other)


def copysign_Scalar(xp: Namespace, self: Array, other: Number) -> Array:
    return xp.copysign(self, number(xp, other, self))


def _conj_physical(xp: Namespace, self: Array) -> Array:
    return xp.conj(self) if is_complex(xp, self) else self


# -- comparisons


def eq(xp: Namespace, self: Array, other: Array | Number) -> Array:
    return xp.equal(self, _array(xp, other, self))


def ne(xp: Namespace, self: Array, other: Array | Number) -> Array:
    return xp.not_equal(self, _array(xp, other, self))


def lt(xp: Namespace, self: Array, other: Array | Number) -> Array:
    self, other = _ordered(xp, self, other)
    return self < other


def le(xp: Namespace, self: Array, other: Array | Number) -> Array:
    self, other = _ordered(xp, self, other)
    return self <= other


def gt(xp: Namespace, self: Array, other: Array | Number) -> Array:
    self, other = _ordered(xp, self, other)
    return self > other


def ge(xp: Namespace, self: Array, other: Array | Number) -> Array:
    self, other = _ordered(xp, self, other)
    return self >= other


def isnan(xp: Namespace, self: Array) -> Array:
    return xp.isnan(self) if _has_fractions(xp, self) else xp.zeros(self.shape, dtype=xp.bool)


def isinf(xp: Namespace, self: Array) -> Array:
    return xp.isinf(self) if _has_fractions(xp, self) else xp.zeros(self.shape, dtype=xp.bool)


def isfinite(xp: Namespace, self: Array) -> Array:
    return xp.isfinite(self) if _has_fractions(xp, self) else xp.ones(self.shape, dtype=xp.bool)


def isposinf(xp: Namespace, self: Array) -> Array:
    return self == math.inf if _has_fractions(xp, self) else xp.zeros(self.shape, dtype=xp.bool)


def isneginf(xp: Namespace, self: Array) -> Array:
    return self == -math.inf if _has_fractions(xp, self) else xp.zeros(self.shape, dtype=xp.bool)


def equal(xp: Namespace, self: Array, other: Array) -> bool:
    return tuple(self.shape) == tuple(other.shape) and bool(xp.all(self == other))


# -- logic and bits


def logical_and(xp: Namespace, self: Array, other: Array) -> Array:
    return xp.logical_and(_truth(xp, self), _truth(xp, other))


def logical_or(xp: Namespace, self: Array, other: Array) -> Array:
    return xp.logical_or(_truth(xp, self), _truth(xp, other))


def logical_xor(xp: Namespace, self: Array, other: Array) -> Array:
    return xp.logical_xor(_truth(xp, self), _truth(xp, other))


def logical_not(xp: Namespace, self: Array) -> Array:
    return xp.logical_not(_truth(xp, self))


def bitwise_and(xp: Namespace, self: Array, other: Array) -> Array:
    return self & other


def bitwise_or(xp: Namespace, self: Array, other: Array) -> Array:
    return self | other


def bitwise_xor(xp: Namespace, self: Array, other: Array) -> Array:
    return self ^ other


def bitwise_not(xp: Namespace, self: Array) -> Array:
    return ~self


# -- choices


def where_self(xp: Namespace, condition: Array, self: Array, other: Array) -> Array:
    return xp.where(condition, self, other)


def where_ScalarSelf(xp: Namespace, condition: Array, self: Number, other: Array) -> Array:
    return xp.where(condition, number(xp, self, other), other)


def where_ScalarOther(xp: Namespace, condition: Array, self: Array, other: Number) -> Array:
    return xp.where(condition, self, number(xp, other, self))


def maximum(xp: Namespace, self: Array, other: Array) -> Array:
    return xp.logical_or(self, other) if xp.isdtype(self.dtype, "bool") else xp.maximum(self, other)


def minimum(xp: Namespace, self: Array, other: Array) -> Array:
    return xp.logical_and(self, other) if xp.isdtype(self.dtype, "bool") else xp.minimum(self, other)


def fmax(xp: Namespace, self: Array, other: Array) -> Array:
    if not _has_fractions(xp, self):
        return maximum(xp, self, other)
    return xp.where(xp.isnan(self), other, xp.where(xp.isnan(other), self, xp.maximum(self, other)))


def fmin(xp: Namespace, self: Array, other: Array) -> Array:
    if not _has_fractions(xp, self):
        return minimum(xp, self, other)
    return xp.where(xp.isnan(self), other, xp.where(xp.isnan(other), self, xp.minimum(self, other)))


def clamp(xp: Namespace, self: Array, min: Array | Number | None = None, max: Array | Number | None = None) -> Array:
    if min is None and max is None:
        raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
    if min is not None:
        self = clamp_min(xp, self, min)
    return self if max is None else clamp_max(xp, self, max)


def clamp_min(xp: Namespace, self: Array, min: Array | Number) -> Array:
    return maximum(xp, self, _array(xp, min, self))


def clamp_max(xp: Namespace, self: Array, max: Array | Number) -> Array:
    return minimum(xp, self, _array(xp, max, self))


def heaviside(xp: Namespace, self: Array, values: Array) -> Array:
    if xp.isdtype(self.dtype, "bool"):
        return xp.where(self, self, values)
    step = xp.astype(self > 0, self.dtype)
    return xp.where(self == 0, values, xp.where(xp.isnan(self), self, step) if _has_fractions(xp, self) else step)


# -- what several of these need


def _array(xp: Namespace, value: Array | Number, like: Array) -> Array:
    return number(xp, value, like) if isinstance(value, (bool, int, float, complex)) else value


def _ordered(xp: Namespace, self: Array, other: Array | Number) -> tuple[Array, Array]:
    return ordered(xp, self), ordered(xp, _array(xp, other, self))


def _has_fractions(xp: Namespace, self: Array) -> bool:
    return not xp.isdtype(self.dtype, ("bool", "integral"))


def _truth(xp: Namespace, self: Array) -> Array:
    return self if xp.isdtype(self.dtype, "bool") else self != 0
