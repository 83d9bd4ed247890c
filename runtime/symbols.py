"""Arithmetic of sizes that may be symbols in PyTorch, and are numbers here."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, TypeAlias

__all__ = [
    "SymBool",
    "SymFloat",
    "SymInt",
    "sym_float",
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
