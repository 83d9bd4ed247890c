"""Long lines of Python broken at their brackets, and blocks moved to the left."""

from __future__ import annotations

import re
from collections.abc import Iterator

WIDTH = 120
_STEP = "    "
_PAIRS = {"(": ")", "[": "]", "{": "}"}


def dedented(text: str, columns: int) -> str:
    """The text with its lines but the first one moved to the left."""
    first, *rest = text.split("\n")
    return "\n".join([first, *(line[columns:] if line[:columns].isspace() else line for line in rest)])


def wrapped(text: str) -> str:
    """The text with long lines broken; what is in a string over several lines stays as it is."""
    return "\n".join(line for each in text.split("\n") for line in _broken(each))


def _broken(line: str) -> Iterator[str]:
    if len(line) <= WIDTH or line.lstrip().startswith(("#", '"""')):
        yield line
        return
    group = _last_group(line)
    if group is None:
        yield line
        return
    start, end = group
    indent = re.match(r" *", line)
    assert indent is not None
    inner = f"{indent[0]}{_STEP}"
    content = line[start + 1 : end]
    parts = list(_split(content))
    yield line[: start + 1]
    if len(parts) == 1 and not content.rstrip().endswith(","):
        yield from _broken(inner + content)
    elif len(inner) + len(content) + 1 <= WIDTH and _is_head(line):
        yield f"{inner}{content}"
    else:
        for part in parts:
            yield from _broken(f"{inner}{part.strip()},")
    yield f"{indent[0]}{line[end:]}"


def _is_head(line: str) -> bool:
    return line.lstrip().startswith("def ")


def _last_group(line: str) -> tuple[int, int] | None:
    """The longest of the outermost brackets of a line."""
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
    return max(whole, key=lambda group: group[1] - group[0], default=None)


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
