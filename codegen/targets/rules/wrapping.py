"""Long lines of Python broken at their brackets, and blocks moved to the left."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence

WIDTH = 120
_STEP = "    "
_PAIRS = {"(": ")", "[": "]", "{": "}"}
_TEXT = re.compile(r'( *)"([^"\\{}]*)"(,?)')  # a line that is one string
_STRING = re.compile(r""""(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'""")


def dedented(text: str, columns: int) -> str:
    """The text with its lines but the first one moved to the left."""
    first, *rest = text.split("\n")
    return "\n".join([first, *(line[columns:] if line[:columns].isspace() else line for line in rest)])


def wrapped(text: str) -> str:
    """The text with long lines broken; what is in a string over several lines stays as it is."""
    return "\n".join(line for each in text.split("\n") for line in _broken(each))


def _broken(line: str, inside: bool = False) -> Iterator[str]:
    """The lines of one; `inside`: of brackets, where a line may end anywhere."""
    if len(line) <= WIDTH or line.lstrip().startswith('"""'):
        yield line
        return
    if line.lstrip().startswith("#"):
        yield from _of_comment(line)
        return
    choice = _choice(line, inside)
    if choice is not None:
        for part in choice:
            yield from _broken(part, inside=True)
        return
    if inside and (text := _TEXT.fullmatch(line)) is not None:
        yield from _of_text(*text.groups())
        return
    group = _last_group(line)
    if group is None:
        yield line
        return
    start, end = group
    if inside and start + 1 > WIDTH and (plus := _outside(line, " + ")) is not None:
        spaces = len(line) - len(line.lstrip())
        for part in (line[:plus], " " * spaces + line[plus + 1 :]):
            yield from _broken(part, inside=True)
        return
    indent = re.match(r" *", line)
    assert indent is not None
    inner = f"{indent[0]}{_STEP}"
    content = line[start + 1 : end]
    parts = list(_split(content))
    yield line[: start + 1]
    if len(parts) == 1 and not content.rstrip().endswith(","):
        yield from _broken(inner + content, inside=True)
    elif len(inner) + len(content) + 1 <= WIDTH and _is_head(line):
        yield f"{inner}{content}"
    else:
        for part in parts:
            yield from _broken(f"{inner}{part.strip()},", inside=True)
    yield from _broken(f"{indent[0]}{line[end:]}", inside)


def _choice(line: str, inside: bool) -> Sequence[str] | None:
    """The lines of `a if test else b`, between brackets of their own where they stand in none; None for another one."""
    start = re.match(r" *(?:return |\w+ = )?", line)
    assert start is not None
    head = start[0]
    body = line[len(head) :]
    test, orelse = _outside(body, " if "), _outside(body, " else ")
    if test is None or orelse is None or not test < orelse or (not inside and not head.strip()):
        return None
    parts = [body[:test], body[test + 1 : orelse], body[orelse + 1 :]]
    indent = re.match(r" *", line)
    assert indent is not None
    if not head.strip():
        return [f"{indent[0]}{part}" for part in parts]
    return [f"{head}(", *(f"{indent[0]}{_STEP}{part}" for part in parts), f"{indent[0]})"]


def _outside(text: str, word: str) -> int | None:
    """The first place of a word that stands in no brackets and no string."""
    depth = 0
    signs = dict(_signs(text))
    quoted = _quoted(text)
    for place in range(len(text)):
        if place in signs:
            depth += 1 if signs[place] in _PAIRS else -1
        elif not depth and place not in quoted and text.startswith(word, place):
            return place
    return None


def _quoted(text: str) -> set[int]:
    """The places of a line that stand in strings."""
    return {place for found in _STRING.finditer(text) for place in range(*found.span())}


def _of_text(indent: str, text: str, end: str) -> Iterator[str]:
    """A string as several that stand one below the other."""
    parts = textwrap.wrap(
        text, WIDTH - len(indent) - 4, break_long_words=False, break_on_hyphens=False,
        drop_whitespace=False, replace_whitespace=False,
    )  # fmt: skip
    for part in parts[:-1]:
        yield f'{indent}"{part}"'
    yield f'{indent}"{parts[-1]}"{end}'


def _of_comment(line: str) -> Iterator[str]:
    """A comment on several lines, of which the others stand further to the right."""
    indent = line[: line.index("#")]
    further = f"{indent}#{_STEP}"
    yield from textwrap.wrap(
        line, WIDTH, subsequent_indent=further, break_long_words=False, break_on_hyphens=False,
        drop_whitespace=True, replace_whitespace=False,
    )  # fmt: skip


def _is_head(line: str) -> bool:
    return line.lstrip().startswith("def ")


def _last_group(line: str) -> tuple[int, int] | None:
    """The longest of the outermost brackets of a line; the first ones, where the line is too long up to those."""
    groups: list[tuple[int, int]] = []
    opened: list[int] = []
    for place, sign in _signs(line):
        if sign in _PAIRS:
            opened.append(place)
        elif opened:
            start = opened.pop()
            if not opened:
                groups.append((start, place))
    whole = [group for group in groups if group[1] - group[0] > 1]
    longest = max(whole, key=lambda group: group[1] - group[0], default=None)
    return whole[0] if longest is not None and longest[0] >= WIDTH else longest


def _split(content: str) -> Iterator[str]:
    """The parts between the outermost commas."""
    depth = start = 0
    for place, sign in _signs(content, ","):
        if sign == ",":
            if not depth:
                yield content[start:place]
                start = place + 1
        else:
            depth += 1 if sign in _PAIRS else -1
    if content[start:].strip():
        yield content[start:]


def _signs(line: str, further: str = "") -> Iterator[tuple[int, str]]:
    """The brackets of a line that stand in no string."""
    quote = ""
    for place, sign in enumerate(line):
        if quote:
            if sign == quote and line[place - 1] != "\\":
                quote = ""
        elif sign in "\"'":
            quote = sign
        elif sign in "()[]{}" or sign in further:
            yield place, sign
