"""Normal numbers out of uniform ones, by Box and Muller (1958), in PyTorch's order and to its last bit.

In float32 logarithm, sine and cosine are Moshier's (Cephes: logf, sinf, cosf) with fused products and sums: the sum of
a product in float64, rounded once, is one. In float64 they are those of the C library, which `xlogy` of SciPy calls.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from runtime.base.arrays import Array
from runtime.native import core

if TYPE_CHECKING:
    from runtime.base.mersenne import Source

_F = np.float32
_BLOCK = 1 << 13  # pairs

_LOG = (
    7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1,
    -1.6668057665e-1, 2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1,
)  # fmt: skip
_LOG_2 = (_F(-2.12194440e-4), _F(0.693359375))
_SIN = (-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1)
_COS = (2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2)
# A quarter of pi in three parts, of which products with small whole numbers are exact.
_QUARTER = (_F(0.78515625), _F(2.4187564849853515625e-4), _F(3.77489497744594108e-8))

_log1p, _exp, _tan = (np.frompyfunc(function, 1, 1) for function in (math.log1p, math.exp, math.tan))

# Functions of the C library to the last bit, one call for each element, where `double` asks for it; of what is rounded
# to float32 nobody sees the difference.


def log1p_of(x: Array, double: bool) -> Array:
    """log(1 + x)"""
    return np.asarray(_log1p(x), np.float64) if double else np.log1p(x)


def exp_of(x: Array, double: bool) -> Array:
    """e^x"""
    return np.asarray(_exp(x), np.float64) if double else np.exp(x)


def tan_of(x: Array, double: bool) -> Array:
    """The tangent."""
    return np.asarray(_tan(x), np.float64) if double else np.tan(x)


def one_by_one(source: Source, count: int, double: bool) -> Array:
    """Normal numbers as few of them are drawn, in float64; of an odd count one waits for the next draw."""
    drawn = np.empty(count)
    start = 0
    if count and source.spare is not None:
        drawn[0], source.spare, start = source.spare, None, 1
    pairs = (count - start + 1) // 2
    first, second = source.unit64(2 * pairs).reshape(-1, 2).T
    length, angle = np.sqrt(-2 * log1p_of(-second, double)), 2 * np.pi * first
    drawn[start::2] = length * np.cos(angle)
    waiting = length * np.sin(angle)
    drawn[start + 1 :: 2] = waiting[: (count - start) // 2]
    if (count - start) % 2:
        source.spare = float(waiting[-1])
    return drawn


def turn_to_normal(uniform: Array, mean: float, std: float) -> None:
    """Put normal numbers in place of uniform ones, a multiple of 16: of each 16 the first 8 give the lengths."""
    if core is not None and uniform.dtype == np.float32:
        core.turn_to_normal(uniform, float(mean), float(std))
        return
    rows = uniform.reshape(-1, 2, 8)
    pairs = _pairs32 if uniform.dtype == np.float32 else _pairs64
    step = _BLOCK // 8
    for start in range(0, len(rows), step):
        block = rows[start : start + step]
        numbers = pairs(block[:, 0].flatten(), block[:, 1].flatten())
        for place, normal in enumerate(numbers):
            moved = normal if (mean, std) == (0, 1) else scaled(normal, std, mean)
            block[:, place] = moved.reshape(-1, 8)


def _pairs64(first: Array, second: Array) -> tuple[Array, Array]:
    from scipy.special import xlogy

    length, angle = np.sqrt(-2 * xlogy(1, 1 - first)), 2 * np.pi * second
    return length * np.cos(angle), length * np.sin(angle)


def _pairs32(first: Array, second: Array) -> tuple[Array, Array]:
    length = np.sqrt(_F(-2) * _log32(_F(1) - first))
    cosine, sine = _cosine_and_sine32(_F(2 * np.pi) * second)
    return length * cosine, length * sine


def scaled(x: Array, factor: float, offset: float) -> Array:
    """X factor + offset in the type of `x`, rounded once."""
    return _fused(x, _F(factor), _F(offset)) if x.dtype == _F else _sum_of_product(x, factor, offset)


def _wide(x: Array | np.float32) -> Array:
    return np.asarray(x, np.float64)


def _fused(a: Array, b: Array | np.float32, c: Array | np.float32) -> Array:
    """A b + c in float32, rounded once."""
    product = _wide(a) * b
    product += c
    return product.astype(_F)


def _sum_of_product(a: Array, b: float, c: float) -> Array:
    """A b + c in float64, rounded once: with the errors of the product and of the sum (Dekker 1971, Knuth 1969)."""
    product = a * b
    high_a, high_b = _high(a), _high(np.float64(b))
    low_a, low_b = a - high_a, b - high_b
    of_product = ((high_a * high_b - product) + high_a * low_b + low_a * high_b) + low_a * low_b
    total = product + c
    part = total - product
    of_sum = (product - (total - part)) + (c - part)
    return np.asarray(total + (of_product + of_sum))


def _high(x: Array | np.float64) -> Array:
    """The upper half of the digits."""
    large = x * 134217729.0
    return np.asarray(large - (large - x))


def _polynomial(x: Array, coefficients: tuple[float, ...]) -> Array:
    """By Horner, each step rounded once to float32."""
    wide = _wide(x)
    value = wide * _F(coefficients[0])
    value += _F(coefficients[1])
    for coefficient in coefficients[2:]:
        value = _wide(value.astype(_F))
        value *= wide
        value += _F(coefficient)
    return value.astype(_F)


def _log32(x: Array) -> Array:
    bits = x.view(np.int32)
    power = (bits >> 23) - 126
    fraction = ((bits & 0x7FFFFF) | 0x3F000000).view(_F)
    small = fraction < _F(0.5**0.5)
    power -= small
    rest = (fraction - _F(1)) + fraction * small
    square = rest * rest
    exponent = power.astype(_F)
    value = _polynomial(rest, _LOG) * rest
    value = _fused(value, square, exponent * _LOG_2[0])
    value -= square * _F(0.5)
    value += rest
    value += exponent * _LOG_2[1]
    return value


def _cosine_and_sine32(angle: Array) -> tuple[Array, Array]:
    octant = (angle * _F(4 / np.pi)).astype(np.int32)
    octant += 1
    octant &= ~1
    turns = octant.astype(_F)
    rest = angle
    for part in _QUARTER:
        rest = rest - turns * part
    square = rest * rest
    cosine = _polynomial(square, _COS) * square
    cosine = _fused(cosine, square, square * _F(-0.5))
    cosine += _F(1)
    sine = _fused(_polynomial(square, _SIN) * square, rest, rest)
    swapped = (octant & 2) != 0
    first, second = np.where(swapped, sine, cosine), np.where(swapped, cosine, sine)
    np.negative(first, out=first, where=((octant + 2) & 4) != 0)
    np.negative(second, out=second, where=(octant & 4) != 0)
    return first, second
