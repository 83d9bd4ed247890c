"""A line of a source file as a message shows it, with a caret under what the message is about."""

from __future__ import annotations

import unicodedata

from codegen.source import Span

MAX_WIDTH = 160
# Control characters, which text from a file could smuggle into a terminal, become a sign that stands for such.
CONTROL = dict.fromkeys((*range(9), *range(10, 32), *range(127, 160), 0x2028, 0x2029), 0xFFFD)
_TAB = 8
_CUT = "..."


def source_lines(span: Span) -> list[str]:
    """The source line of a span, and below it a caret under the span's first character and tildes to its end.

    Nothing for a file that could not be read.
    """
    if not span.file.text:
        return []
    line_number, column = span.file.position(span.start)
    text = span.file.line(line_number).translate(CONTROL)
    start = min(column - 1, len(text))
    end = min(start + max(span.end - span.start, 1), max(len(text), start + 1))
    text, start, end = _cut(text, start, end)
    marked = text[start:end] or " "
    # Blanks as wide as the characters before the caret; a tab stays one, so that any tab width fits.
    indent = "".join("\t" if character == "\t" else " " * _width(character) for character in text[:start])
    tildes = "~" * (sum(map(_width, marked.expandtabs(1))) - 1)
    return [text, f"{indent}^{tildes}"]


def _cut(text: str, start: int, end: int) -> tuple[str, int, int]:
    """Keep the part of a long line that shows the characters `start` to `end`."""
    if sum(map(_width, text)) <= MAX_WIDTH:
        return text, start, end
    room = MAX_WIDTH - 2 * len(_CUT)
    begin = 0
    if sum(map(_width, text[:end])) > room:
        # A third of the room for what stands before the caret.
        begin = start
        used = 0
        while begin and used + _width(text[begin - 1]) <= room // 3:
            begin -= 1
            used += _width(text[begin])
    stop = begin
    used = 0
    while stop < len(text) and used + _width(text[stop]) <= room:
        used += _width(text[stop])
        stop += 1
    left, right = _CUT if begin else "", _CUT if stop < len(text) else ""
    moved = len(left) - begin
    return left + text[begin:stop] + right, start + moved, max(min(end, stop), start + 1) + moved


def _width(character: str) -> int:
    """How many columns a terminal gives a character."""
    if character.isascii():
        return _TAB if character == "\t" else 1
    if unicodedata.combining(character) or unicodedata.category(character) in ("Cf", "Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
