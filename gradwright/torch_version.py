"""Versions that compare as versions do, and not as texts: `torch.__version__ >= "1.10"`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

__all__ = ["TorchVersion"]


class TorchVersion(str):
    """A version, which compares by its numbers with another, with a text and with a tuple of numbers."""

    __slots__ = ()

    def _compare(self, other: Any) -> int | None:
        mine, theirs = _numbers(self), _numbers(other)
        return None if mine is None or theirs is None else (mine > theirs) - (mine < theirs)

    def __lt__(self, other: Any) -> bool:
        found = self._compare(other)
        return str.__lt__(self, other) if found is None else found < 0

    def __le__(self, other: Any) -> bool:
        found = self._compare(other)
        return str.__le__(self, other) if found is None else found <= 0

    def __gt__(self, other: Any) -> bool:
        found = self._compare(other)
        return str.__gt__(self, other) if found is None else found > 0

    def __ge__(self, other: Any) -> bool:
        found = self._compare(other)
        return str.__ge__(self, other) if found is None else found >= 0

    def __eq__(self, other: object) -> bool:
        found = self._compare(other)
        return str.__eq__(self, other) if found is None else found == 0

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = str.__hash__


def _numbers(version: Any) -> tuple[int, ...] | None:
    """The numbers of a release without the zeros at its end, which say nothing; None of what is no version."""
    if isinstance(version, str):
        found = re.match(r"v?(\d+(?:\.\d+)*)", version)
        parts: Iterable[Any] = found[1].split(".") if found else ("none",)
    elif isinstance(version, (tuple, list)):
        parts = version
    else:
        return None
    try:
        numbers = [int(part) for part in parts]
    except (TypeError, ValueError):
        return None
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)
