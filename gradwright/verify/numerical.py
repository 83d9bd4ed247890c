"""Derivatives by finite differences, with a bound of their error.

Central differences of three steps are extrapolated (L. F. Richardson, "The approximate arithmetical solution by finite
differences of physical problems", 1911); how far the last two stages differ bounds the error, as in C. J. F. Ridders,
"Accurate computation of F'(x) and F'(x)F''(x)", Advances in Engineering Software 4, 1982. Beside it stands what
rounding makes of a difference of numbers of this size.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
Along = Callable[[float], Array]

_STEPS = (2.0**-8, 2.0**-12, 2.0**-17)
# Numbers below get smaller steps, too; beside those above the usual ones are too small.
_SMALL, _TINY, LARGE = 2.0**-6, 2.0**-20, 2.0**36
_EPS = float(np.finfo(np.float64).eps)
_QUICK = 5e-4
# An error below this part of what is differentiated needs no smaller step.
_SETTLED = 1e-8
# An estimate whose bound is more than this says nothing.
_USELESS = 1e-3
# So much over long steps, where what oscillates has small slopes, and by chance the same ones.
_SURE = 1e-7
# Steps for one number to the last digits, the longest first, and how often each is halved: little of such a difference
# is rounding, and what the halves leave of the error is of the tenth power of the step.
_LONG_STEPS, _HALVES = (1.0, 2.0**-2, 2.0**-4, 2.0**-6, 2.0**-8), 5
# Differences to one side are not used for more than this.
_ROUGH = 1e-5


@dataclass(frozen=True, slots=True)
class Estimate:
    """A derivative, and how far it may be off, element by element."""

    value: Array
    error: Array

    @property
    def settled(self) -> Array:
        """Where the bound is small enough for a comparison."""
        return np.asarray(self.error <= _USELESS * (1 + np.abs(self.value)))


def derivative(function: Along, size: float = 1.0) -> Estimate:
    """The derivative at 0 of a function of one number, whose values are arrays.

    Args:
        function: what is differentiated.
        size: of the number that is changed: steps are in proportion to large and to small ones.
    """
    with np.errstate(all="ignore"):
        return _best([(_central(function, step, size) for step in steps) for steps in _phases(size)], _SETTLED)


def to_the_last_digits(function: Callable[[float], tuple[float, float]], enough: float) -> tuple[float, float] | None:
    """The derivative at 0 of a function of one number, and its bound; None where it is not known as well as is wanted.

    Args:
        function: gives a number, and the sum of the sizes of what it is the sum of. What it raises counts as NaN.
        enough: the largest bound that is wanted, as a part of the derivative.
    """
    with np.errstate(all="ignore"):
        for step in _LONG_STEPS:
            value, error = _romberg(function, step)
            if error <= enough * abs(value):
                return value, error
    return None


def _romberg(function: Callable[[float], tuple[float, float]], step: float) -> tuple[float, float]:
    """Central differences of a step and its halves, extrapolated to the step 0, and a bound of the error."""
    row: list[float] = []
    size = 0.0
    for level in range(_HALVES):
        length = step / 2**level
        try:
            (ahead, one), (behind, other) = function(length), function(-length)
        except (RuntimeError, ValueError, ArithmeticError, np.linalg.LinAlgError):
            return math.nan, math.nan
        size = max(size, one, other)
        made = [(ahead - behind) / (2 * length)]
        for power, before in enumerate(row, 1):
            made.append((4**power * made[-1] - before) / (4**power - 1))
        if len(row) > 1 and not abs(made[1] - row[1]) <= _ROUGH * abs(made[1]):
            return math.nan, math.nan  # a kink or a pole is near: shorter ones are better
        best, row = (row[-1] if row else math.nan), made
    rounding = 16 * _EPS * (2 * size + 1) / (step / 2 ** (_HALVES - 1))
    return row[-1], abs(row[-1] - best) + rounding


def one_sided(function: Along, side: int, size: float = 1.0) -> Estimate:
    """The derivative to one side, which is 1 or -1; unsettled where there is none. For `size` see `derivative`."""
    with np.errstate(all="ignore"):
        return _best([(_forward(function, side * step) for step in steps) for steps in _phases(size, 2)], _ROUGH)


def means_of_sides(function: Along) -> Iterator[Estimate]:
    """The mean of the derivatives to both sides: from two values, then from two more.

    The bound of the first is of rounding alone: what differs from it may still be right. That of the second is
    infinite where the values do not settle.
    """
    with np.errstate(all="ignore"):
        narrow, size = _difference(function, _QUICK / 2, -_QUICK / 2)
        rounding = 32 * _EPS * (size + 1) / _QUICK
        first = Estimate(narrow, _bounded(rounding, narrow))
    yield first
    with np.errstate(all="ignore"):
        wide, _ = _difference(function, _QUICK, -_QUICK)
        value = (4 * narrow - wide) / 3
        second = Estimate(value, _bounded(np.abs(value - narrow) + rounding, value))
    yield second


def _phases(size: float, count: int = 3) -> list[Sequence[float]]:
    """The steps from a number of some size: those that are tried first, and those for where they do not settle."""
    unit = 2.0 ** round(math.log2(size)) if 0 < size < math.inf else 1.0
    usual, own = _STEPS[:count], [step * unit for step in _STEPS[:count]]
    if unit < _SMALL:  # the usual steps lead far beyond the smallest ones, across kinks and poles
        return [usual, own] if unit > _TINY else [own]
    if unit > 1:  # over long steps a staircase is a slope
        return [usual, own] if unit < LARGE else [own]
    return [usual]


def _bounded(error: Array, value: Array) -> Array:
    """A bound; infinite where it is too large to be of use."""
    return np.where(error <= _ROUGH * (1 + np.abs(value)), error, np.inf)


def _best(phases: Sequence[Iterator[Estimate]], enough: float) -> Estimate:
    """The best of each element; of the second phase, where the first has nothing of use."""
    first, *others = phases
    best = _of_phase(None, first, enough)
    for phase in others:
        if np.all(best.settled):
            break
        best = _of_phase(best, phase, enough)
    return best


def _of_phase(best: Estimate | None, estimates: Iterator[Estimate], enough: float) -> Estimate:
    for other in estimates:
        if best is None:
            best = other
        else:
            better = np.less(_relative(other), _relative(best)) | ~np.isfinite(best.error)
            best = Estimate(np.where(better, other.value, best.value), np.where(better, other.error, best.error))
        if np.all(best.error <= enough * (1 + np.abs(best.value))):
            break
    assert best is not None
    return best


def _relative(estimate: Estimate) -> Array:
    return np.asarray(estimate.error / (1 + np.abs(estimate.value)))


def _central(function: Along, step: float, size: float) -> Estimate:
    first, second, third = (_difference(function, step / 2**k, -step / 2**k) for k in range(3))
    found = _extrapolated((first[0], second[0], third[0]), (4.0, 16.0), first[1], step / 4)
    if size <= 2:
        return found
    # Of a sum with a large number the last digits are lost.
    error = found.error + 4 * _EPS * size / step * np.abs(found.value)
    if step > 1:
        error = np.where(error <= _SURE * np.abs(found.value) + 64 * _EPS * first[1] / step, error, np.inf)
    return Estimate(found.value, np.asarray(error))


def _forward(function: Along, step: float) -> Estimate:
    at_zero = function(0.0)
    rows = [(np.asarray(function(step / 2**k)) - at_zero) / (step / 2**k) for k in range(4)]
    first = [2 * b - a for a, b in itertools.pairwise(rows)]
    return _extrapolated((first[0], first[1], first[2]), (4.0, 8.0), np.abs(at_zero), abs(step) / 8)


def _difference(function: Along, one: float, other: float) -> tuple[Array, Array]:
    ahead, behind = np.asarray(function(one)), np.asarray(function(other))
    return (ahead - behind) / (one - other), np.abs(ahead) + np.abs(behind)


def _extrapolated(rows: tuple[Array, Array, Array], powers: tuple[float, float], size: Array, step: float) -> Estimate:
    """`powers`: by how much each of the two leading terms of the error shrinks with half the step."""
    one, two = ((powers[0] * b - a) / (powers[0] - 1) for a, b in itertools.pairwise(rows))
    value = (powers[1] * two - one) / (powers[1] - 1)
    same = np.all([row == 0 for row in rows], axis=0)  # it may have changed by less than its last digit
    error = np.abs(value - two) + np.where(same, _EPS * size, 16 * _EPS * (size + 1)) / step
    return Estimate(np.asarray(value), np.asarray(np.where(np.isfinite(error), error, np.inf)))
