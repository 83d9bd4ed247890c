"""Arithmetic on arrays: sums, products, quotients, remainders and rounding."""

from __future__ import annotations

import numpy as np

from runtime.base.arrays import Array, Number, check_divisor

mul = np.multiply
div = np.true_divide
reciprocal = np.reciprocal
positive = np.positive
copysign = np.copysign
hypot = np.hypot
gcd = np.gcd
lcm = np.lcm


def neg(self: Array) -> Array:
    """The negative of the element."""
    try:
        return np.negative(self)
    except TypeError:
        raise RuntimeError(
            "Negation, the `-` operator, on a bool tensor is not supported. "
            "If you are trying to invert a mask, use the `~` or `logical_not()` operator instead."
        ) from None


_ONE = 1  # the usual `alpha`, of which there is one object; others of its value may be a bool or a float


def add(self: Array, other: Array | Number, alpha: Number = 1) -> Array:
    """The sum self + alpha * other."""
    return np.add(self, other if alpha is _ONE else _scaled(self, other, alpha))


def sub(self: Array, other: Array | Number, alpha: Number = 1) -> Array:
    """The difference self - alpha * other."""
    scaled = other if alpha is _ONE else _scaled(self, other, alpha)
    try:
        return np.subtract(self, scaled)
    except TypeError:
        _refuse_bool(self, other)
        raise


def rsub(self: Array, other: Array | Number, alpha: Number = 1) -> Array:
    """`other - alpha * self`."""
    scaled = self if alpha is _ONE else _scaled(self, self, alpha)
    try:
        return np.subtract(other, scaled)
    except TypeError:
        _refuse_bool(self, other)
        raise


def _scaled(self: Array, other: Array | Number, alpha: Number) -> Array | Number:
    """`alpha * other`, where `alpha` must be a number that the dtype of `self` can hold."""
    kind = self.dtype.kind
    if isinstance(alpha, bool) and kind != "b":
        raise RuntimeError("Boolean alpha only supported for Boolean results.")
    if kind in "iub" and isinstance(alpha, (float, complex)):
        raise RuntimeError("For integral input tensors, argument alpha must not be a floating point number.")
    if isinstance(alpha, complex) and kind != "c":
        raise RuntimeError("For non-complex input tensors, argument alpha must not be a complex number.")
    if alpha == 1:
        return other
    if not isinstance(other, np.ndarray):  # a Python number, which the dtype of `self` outweighs
        return bool(other and alpha) if kind == "b" else other * alpha
    if kind == "b":
        return np.logical_and(other, bool(alpha))
    return np.multiply(other, alpha)


def _refuse_bool(self: Array, other: Array | Number) -> None:
    """Explain why a difference of bools has no meaning, if that is what was asked for."""
    if self.dtype.kind != "b":
        return
    if isinstance(other, np.ndarray) and other.dtype.kind == "b":
        raise RuntimeError(
            "Subtraction, the `-` operator, with two bool tensors is not supported. "
            "Use the `^` or `logical_xor()` operator instead."
        )
    raise RuntimeError(
        "Subtraction, the `-` operator, with a bool tensor is not supported. "
        "If you are trying to invert a mask, use the `~` or `logical_not()` operator instead."
    )


def floor_divide(self: Array, other: Array | Number) -> Array:
    """The largest integer that is not above self / other."""
    if self.dtype.kind in "iu":
        check_divisor(other)
    return np.floor_divide(self, other)


def fmod(self: Array, other: Array | Number) -> Array:
    """The remainder with the sign of `self`."""
    if self.dtype.kind in "iu":
        check_divisor(other)
    return np.fmod(self, other)


def remainder(self: Array | Number, other: Array | Number) -> Array:
    """The remainder with the sign of `other`."""
    array = self if isinstance(self, np.ndarray) else np.asarray(other)
    if array.dtype.kind in "iu":
        check_divisor(other)
    return np.remainder(self, other)


def floor(self: Array) -> Array:
    """The largest integer that is not above the element."""
    return np.floor(self) if self.dtype.kind not in "iu" else self.copy()


def ceil(self: Array) -> Array:
    """The smallest integer that is not below the element."""
    return np.ceil(self) if self.dtype.kind not in "iu" else self.copy()


def trunc(self: Array) -> Array:
    """The element without its fraction."""
    return np.trunc(self) if self.dtype.kind not in "iu" else self.copy()


def round_half_even(self: Array) -> Array:
    """The nearest integer; of two that are equally near the even one."""
    return np.rint(self) if self.dtype.kind not in "iu" else self.copy()


def round_decimals(self: Array, decimals: int) -> Array:
    scale = 10.0 ** abs(decimals)
    if decimals < 0:
        return np.multiply(np.rint(np.true_divide(self, scale)), scale)
    return np.true_divide(np.rint(np.multiply(self, scale)), scale)
