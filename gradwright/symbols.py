"""Arithmetic and checks of sizes that may be symbols in PyTorch, and are numbers here."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, TypeAlias, TypeVar

__all__ = [
    "SymBool",
    "SymFloat",
    "SymInt",
    "sym_constrain_range",
    "sym_constrain_range_for_size",
    "sym_float",
    "sym_fresh_size",
    "sym_int",
    "sym_ite",
    "sym_max",
    "sym_min",
    "sym_not",
    "sym_sqrt",
    "sym_sum",
]


class SymInt:
    """The class of sizes that are symbols, of which there are none: nothing is an instance of it."""


class SymFloat:
    """The class of numbers that are symbols, of which there are none."""


class SymBool:
    """The class of conditions that are symbols, of which there are none."""


Number: TypeAlias = int | float
T = TypeVar("T")
_LOWEST, _HIGHEST = -(2**63), 2**63 - 1


def sym_int(a: Number) -> int:
    """The number without its fraction."""
    return math.trunc(a)


def sym_float(a: Number) -> float:
    """The number as a float."""
    return float(a)


def sym_not(a: bool) -> bool:
    """The opposite."""
    return not a


def sym_max(a: Number, b: Number) -> Number:
    """The larger one; a float if one of them is."""
    return _alike(max(a, b), a, b)


def sym_min(a: Number, b: Number) -> Number:
    """The smaller one; a float if one of them is."""
    return _alike(min(a, b), a, b)


def _alike(number: Number, a: Number, b: Number) -> Number:
    return float(number) if isinstance(a, float) or isinstance(b, float) else number


def sym_sum(args: Iterable[Number]) -> Number:
    """The sum."""
    return sum(args)


def sym_ite(b: bool, t: Any, f: Any) -> Any:
    """One of two values."""
    return t if b else f


def sym_sqrt(a: Number) -> float:
    """The square root."""
    return math.sqrt(a)


def sym_fresh_size(expr: T) -> T:
    """The size itself."""
    return expr


def sym_constrain_range(size: Any, *, min: int | None = None, max: int | None = None) -> None:
    """Check that a size lies between two others, both included.

    Raises:
        RuntimeError: it does not, or there is nothing between them.
    """
    low, high = _LOWEST if min is None else min, _HIGHEST if max is None else max
    if high < low:
        raise RuntimeError(f"Max must be greater than or equal to min. Got min={low} max={high}")
    if not low <= int(size) <= high:
        raise RuntimeError(f"Invalid value range for {int(size)} between [{low}, {high}].")


def sym_constrain_range_for_size(size: Any, *, min: int | None = None, max: int | None = None) -> None:
    """`sym_constrain_range` for what is used as a size of a Tensor: not negative, and not always below 2.

    Raises:
        RuntimeError: it does not lie there, or `max` is at most 2.
    """
    if max is not None and max <= 2:
        raise RuntimeError(f"Max value to constrain_range_for_size must be greater than 2. got: {max}")
    sym_constrain_range(size, min=0 if min is None else min, max=max)
