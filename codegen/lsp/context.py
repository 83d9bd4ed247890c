"""Where in an entry somebody types: at a key or in a value, and of which keys.

What is typed is seldom whole YAML, so lines are looked at. For the rest of the entry it is read without them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from codegen.lsp.analysis import State
from codegen.lsp.entries import Entry, read_part
from codegen.read.yaml_text import entry_around
from codegen.source import SourceFile

# A line: blanks, with the dash of a list among them, and a key, where it begins with one.
_LINE = re.compile(r"(?P<indent> *(?:- +|-$)?)(?:(?P<key>[A-Za-z_][\w .,]*?) *:(?: +|$))?")
# How far the keys of an entry stand from the left.
_ENTRY_INDENT = 2


@dataclass(frozen=True)
class Context:
    """A place in an entry.

    Attributes:
        keys: the keys that the place is under, the outermost first; where a key is typed, those around it.
        is_key: whether a key is typed.
        start: where the key, or the value, begins.
        entry: the entry without what is typed; None where then nothing is left of it.
    """

    keys: tuple[str, ...]
    is_key: bool
    start: int
    entry: Entry | None


@dataclass(frozen=True)
class _Line:
    start: int
    indent: int
    key: str | None
    value: int  # where it begins
    text: str


def context_at(state: State, path: Path, offset: int) -> Context:
    """The place in an entry of a YAML file."""
    file = state.file(path)
    text = file.text
    part = entry_around(text, offset)
    lines = _lines(text, part.start, offset)
    here = lines[-1]
    keys = _keys_above(lines)
    if here.key is not None:
        return _value((*keys, here.key), here.value, here.indent, state, path, part, offset)
    is_item = here.text.lstrip().startswith("-") and here.indent > _ENTRY_INDENT
    above = _parent(lines)
    if here.indent > _ENTRY_INDENT and above is not None:
        if text[above.value : _line_end(text, above.value)].strip():
            return _value(keys, above.value, above.indent, state, path, part, offset)
        if is_item:
            return _value(keys, here.start + here.indent, above.indent, state, path, part, offset)
    stop = _line_end(text, offset)
    rest = text[: here.start] + text[stop:]
    entry = _read(state, path, rest, range(part.start, part.stop - (stop - here.start)))
    return Context(keys, True, here.start + here.indent, entry)


def _value(
    keys: tuple[str, ...], start: int, indent: int, state: State, path: Path, part: range, offset: int
) -> Context:
    text = state.file(path).text
    stop = _line_end(text, offset)
    while stop < part.stop - 1:  # lines that are indented further belong to the value
        following = text[stop + 1 : _line_end(text, stop + 1)]
        if following.strip() and len(following) - len(following.lstrip()) <= indent:
            break
        stop = _line_end(text, stop + 1)
    rest = text[:start] + "0" + text[stop:]
    return Context(keys, False, start, _read(state, path, rest, range(part.start, part.stop + 1 - (stop - start))))


def _read(state: State, path: Path, text: str, part: range) -> Entry | None:
    return read_part(state, SourceFile(state.paths.shown(path), text), state.role(path), part)


def _line_end(text: str, offset: int) -> int:
    end = text.find("\n", offset)
    return len(text) if end == -1 else end


def _lines(text: str, start: int, offset: int) -> list[_Line]:
    """The lines of an entry up to a place, the last one as far as that."""
    found = []
    while True:
        end = min(_line_end(text, start), offset)
        line = text[start:end]
        match = _LINE.match(line)
        assert match is not None  # which may be empty
        found.append(_Line(start, len(match["indent"]), match["key"], start + match.end(), line))
        if end >= offset:
            return found
        start = end + 1


def _parent(lines: list[_Line]) -> _Line | None:
    """The line with the key that the last line is under."""
    indent = lines[-1].indent
    return next((line for line in reversed(lines[:-1]) if line.key is not None and line.indent < indent), None)


def _keys_above(lines: list[_Line]) -> tuple[str, ...]:
    keys: list[str] = []
    indent = lines[-1].indent
    for line in reversed(lines[:-1]):
        if line.key is not None and line.indent < indent:
            keys.append(line.key)
            indent = line.indent
    return tuple(reversed(keys))
