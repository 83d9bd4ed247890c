"""Places of editors, a line and a column in units of UTF-16, both from 0, and offsets in a text."""

from __future__ import annotations

import functools
from bisect import bisect_right
from collections.abc import Callable

from codegen.source import SourceFile, Text

Position = tuple[int, int]
_LAST_OF_ONE_UNIT = 0xFFFF


def position_of(file: SourceFile, offset: int) -> Position:
    """The line and the column of a character."""
    offset = min(max(offset, 0), len(file.text))
    line = bisect_right(file.line_starts, offset) - 1
    return line, _units(file.text[file.line_starts[line] : offset])


def offset_of(file: SourceFile, position: Position) -> int:
    """The character at a place; behind the end of a line it is the line's end."""
    line, column = position
    if line >= len(file.line_starts):
        return len(file.text)
    start = file.line_starts[line]
    text = file.line(line + 1)
    if text.isascii():
        return start + min(column, len(text))
    for index, character in enumerate(text):
        if column <= 0:
            return start + index
        column -= _units(character)
    return start + len(text)


def index_in(text: Text, offset: int) -> int | None:
    """Which character of a text stands at a place of its file, its end included; None for a place outside."""
    if not text.offsets[0] <= offset <= text.offsets[-1]:
        return None
    return min(bisect_right(text.offsets, offset) - 1, len(text.value))


def _units(text: str) -> int:
    return len(text) if text.isascii() else sum(1 + (ord(each) > _LAST_OF_ONE_UNIT) for each in text)


class Shift:
    """Where the characters of a text stand after an edit, of which only both texts are known."""

    def __init__(self, old: str, new: str) -> None:
        least = min(len(old), len(new))
        self.start = _longest(least, lambda size: old[:size] == new[:size])
        room = least - self.start
        end = _longest(room, lambda size: old[len(old) - size :] == new[len(new) - size :])
        self.old_stop = len(old) - end
        self.new_stop = len(new) - end

    def moved(self, offset: int) -> int:
        """Where the character at `offset` of the old text stands in the new one; inside of the edit, its start."""
        if offset < self.start:
            return offset
        return offset - self.old_stop + self.new_stop if offset >= self.old_stop else self.start

    def touches(self, start: int, stop: int) -> bool:
        """Whether a part of the old text was edited, or begins where the edit ends."""
        return start <= self.old_stop and stop > self.start


@functools.lru_cache(maxsize=8)
def shift_between(old: str, new: str) -> Shift:
    """The edit between two texts; those of one key are asked for many times."""
    return Shift(old, new)


def _longest(most: int, holds: Callable[[int], bool]) -> int:
    """The largest size, up to `most`, of which it holds, where it holds of all smaller ones."""
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        if holds(middle):
            low = middle
        else:
            high = middle - 1
    return low
