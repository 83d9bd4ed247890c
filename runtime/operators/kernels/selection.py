"""Choosing between elements by a mask, without the branch for each element that makes `np.where` slow.

On large arrays of random signs the processor guesses that branch wrong half of the time.  Masking the bits of the
numbers is ten times as fast, and exact: infinities, NaN and signs of zero pass unchanged.
"""

from __future__ import annotations

import numpy as np

from runtime.base.arrays import ZERO, Array

_LARGE = 4096
_BITS = {2: np.int16, 4: np.int32, 8: np.int64}


def pick(condition: Array, chosen: Array, other: Array) -> Array:
    """`chosen` where `condition`, else `other`; the two have one dtype."""
    bits = _BITS.get(chosen.itemsize) if condition.size >= _LARGE else None
    if bits is None or chosen.dtype != other.dtype:
        return np.where(condition, chosen, other)
    rest = other.view(bits)
    # XOR twice gives the number back, so what is masked in between decides between the two.
    result: Array = np.bitwise_and(np.bitwise_xor(chosen.view(bits), rest), _ones_where(condition))
    np.bitwise_xor(result, rest, result)
    return result.view(chosen.dtype)


def keep(condition: Array, values: Array) -> Array:
    """`values` where `condition`, else 0."""
    bits = _BITS.get(values.itemsize) if condition.size >= _LARGE else None
    if bits is None:
        return np.where(condition, values, ZERO[values.dtype])
    result: Array = np.bitwise_and(values.view(bits), _ones_where(condition))
    return result.view(values.dtype)


def _ones_where(condition: Array) -> Array:
    """All bits set (the number -1) where `condition`, else none."""
    return np.negative(condition.view(np.int8))
