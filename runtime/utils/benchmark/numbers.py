"""Seconds as people read them: units, significant figures, magnitudes.

Magnitudes are taken of float32 numbers, as PyTorch's are: so the same seconds get the same unit and as many digits.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TypeVar

import numpy as np

T = TypeVar("T")

# By the power of a thousand.
_UNITS = {-3: "ns", -2: "us", -1: "ms"}
_SECONDS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1}
_ENGLISH = {"ns": "nanosecond", "us": "microsecond", "ms": "millisecond", "s": "second"}


def single(value: float) -> float:
    """The float32 that is nearest to `value`."""
    with np.errstate(all="ignore"):
        return float(np.float32(value))


def magnitude(value: float) -> float:
    """The decimal logarithm of a number, both in float32."""
    with np.errstate(all="ignore"):
        return single(np.log10(np.float64(single(value))))  # NumPy's of a float32 is not the nearest one


def select_unit(t: float) -> tuple[str, float]:
    """The unit in which a time in seconds has few digits before the point, and how many seconds it has."""
    unit = _UNITS.get(int(magnitude(t) // 3), "s")
    return unit, _SECONDS[unit]


def unit_to_english(u: str) -> str:
    """The whole word for a unit: `us` is a microsecond."""
    return _ENGLISH[u]


def trim_sigfig(x: float, n: int) -> float:
    """A number rounded to `n` significant figures: 3.14159 to two is 3.1.

    Raises:
        AssertionError: `n` is no integer.
    """
    if n != int(n):
        raise AssertionError("Number of significant figures must be an integer")
    scale = 10 ** (math.ceil(magnitude(abs(x))) - n)
    return single(round(single(x / scale)) * single(scale))


def ordered_unique(elements: Iterable[T]) -> list[T]:
    """The different elements, in the order in which each came first."""
    return list(dict.fromkeys(elements))


def quantile(ordered: Sequence[float], part: float) -> float:
    """The value that `part` of the ordered numbers lie below, between two of them by a straight line."""
    place = part * (len(ordered) - 1)
    below = math.floor(place)
    weight = place - below
    low, high = ordered[below], ordered[math.ceil(place)]
    # From the end that is nearer, so that it is exact at both.
    return low + weight * (high - low) if weight < 0.5 else high - (high - low) * (1 - weight)
