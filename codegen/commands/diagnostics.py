"""Printing of diagnostics: place, text, source line, caret, hint, notes; or JSON."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterable
from typing import TYPE_CHECKING, TextIO

from codegen.source import Diagnostic, Diagnostics, Span

if TYPE_CHECKING:
    from rich.text import Text as RichText

MAX_WIDTH = 160
_TAB = 8
_CUT = "..."
_CONTROL = dict.fromkeys((*range(9), *range(10, 32), *range(127, 160), 0x2028, 0x2029), 0xFFFD)

# A line is a sequence of (text, style) parts; a terminal shows the styles, anything else only the texts.
Line = list[tuple[str, str]]


def print_diagnostics(diagnostics: Diagnostics, stream: TextIO, as_json: bool = False, severity: str = "error") -> None:
    """Print all diagnostics in the order of their places, with a summary line at the end; or a JSON list of them."""
    items = diagnostics.sorted()
    if as_json:
        stream.write(json.dumps([_as_json(item, severity) for item in items], indent=2) + "\n")
        return
    lines = [line for item in items for line in _lines(item)]
    count = len(items)
    lines.append([(f"{count} error{'' if count == 1 else 's'}", "bold red" if count else "bold green")])
    encoding = stream.encoding or "utf-8"
    lines = [[(text.encode(encoding, "replace").decode(encoding), style) for text, style in line] for line in lines]
    if stream.isatty():
        _print_in_colour(lines, stream)
    else:
        stream.write("".join("".join(text for text, _ in line) + "\n" for line in lines))


def _lines(item: Diagnostic) -> list[Line]:
    lines: list[Line] = [
        [(f"{item.span}: ", "bold"), ("error: ", "bold red"), (_printable(item.message), "bold")],
        *source_lines(item.span, "bold red"),
    ]
    for span, text in item.notes:
        lines.append([("note: ", "bold cyan"), (f"{span}: {_printable(text)}", "")])
    if item.hint is not None:
        lines.append([("hint: ", "bold green"), (_printable(item.hint), "")])
    return lines


def source_lines(span: Span, style: str) -> list[Line]:
    """The source line of a span, and below it a caret under the span's first character and tildes to its end."""
    if not span.file.text:
        return []
    line_number, column = span.file.position(span.start)
    text = span.file.line(line_number).translate(_CONTROL)
    start = min(column - 1, len(text))
    end = min(start + max(span.end - span.start, 1), max(len(text), start + 1))
    text, start, end = _cut(text, start, end)
    marked = text[start:end] or " "
    # Blanks as wide as the characters before the caret; a tab stays one, so that any tab width fits.
    indent = "".join("\t" if character == "\t" else " " * _width(character) for character in text[:start])
    tildes = "~" * (sum(map(_width, marked.expandtabs(1))) - 1)
    return [[(text, "")], [(f"{indent}^{tildes}", style)]]


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


def _printable(text: str) -> str:
    """One line, without control characters that text from a file could smuggle into a terminal."""
    return text.replace("\n", " ").translate(_CONTROL)


def _print_in_colour(lines: Iterable[Line], stream: TextIO) -> None:
    from rich.console import Console

    # Other programs find a place in the text by its colons: nothing is wrapped, highlighted or read as markup.
    console = Console(file=stream, soft_wrap=True, highlight=False, markup=False, emoji=False)
    for line in lines:
        console.print(_rich_text(line))


def _rich_text(line: Line) -> RichText:
    from rich.text import Text as RichText

    return RichText.assemble(*line)


def _as_json(item: Diagnostic, severity: str) -> dict[str, object]:
    return {
        **_place(item.span),
        "severity": severity,
        "message": item.message,
        "hint": item.hint,
        "notes": [{**_place(span), "message": text} for span, text in item.notes],
    }


def _place(span: Span) -> dict[str, object]:
    line, column = span.file.position(span.start)
    end_line, end_column = span.file.position(span.end)
    return {"file": span.file.path, "line": line, "column": column, "end_line": end_line, "end_column": end_column}
