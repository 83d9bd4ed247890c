"""Printing of diagnostics: place, text, source line, caret, hint, notes; or JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, TextIO

from codegen.excerpt import CONTROL, source_lines
from codegen.source import Diagnostic, Diagnostics, Span
from codegen.words import counted

if TYPE_CHECKING:
    from rich.text import Text as RichText

# A line is a sequence of (text, style) parts; a terminal shows the styles, anything else only the texts.
Line = list[tuple[str, str]]
_STYLES = {"error": "bold red", "warning": "bold yellow"}


def print_diagnostics(diagnostics: Diagnostics, stream: TextIO, as_json: bool = False, severity: str = "error") -> None:
    """Print all diagnostics in the order of their places, with a summary line at the end; or a JSON list of them.

    `severity` is what they are: errors, or warnings.
    """
    if as_json:
        stream.write(json.dumps(as_values(diagnostics, severity), indent=2) + "\n")
        return
    items = diagnostics.sorted()
    lines = [line for item in items for line in _lines(item, severity)]
    count = len(items)
    lines.append([(counted(count, severity), _STYLES[severity] if count else "bold green")])
    encoding = stream.encoding or "utf-8"
    lines = [[(text.encode(encoding, "replace").decode(encoding), style) for text, style in line] for line in lines]
    if stream.isatty():
        _print_in_colour(lines, stream)
    else:
        stream.write("".join("".join(text for text, _ in line) + "\n" for line in lines))


def as_values(diagnostics: Diagnostics, severity: str = "error") -> list[dict[str, object]]:
    """All diagnostics as JSON has them, in the order of their places."""
    return [_as_json(item, severity) for item in diagnostics.sorted()]


def _lines(item: Diagnostic, severity: str) -> list[Line]:
    lines: list[Line] = [
        [
            (f"{item.span}: ", "bold"),
            (f"{severity}: ", _STYLES[severity]),
            (_printable(item.message), "bold"),
            (f" [{item.code}]", "dim"),
        ],
    ]
    shown = source_lines(item.span)
    lines += [[(line, style)] for line, style in zip(shown, ("", _STYLES[severity]), strict=False)]
    for span, text in item.notes:
        lines.append([("note: ", "bold cyan"), (f"{span}: {_printable(text)}", "")])
    if item.hint is not None:
        lines.append([("hint: ", "bold green"), (_printable(item.hint), "")])
    return lines


def _printable(text: str) -> str:
    """One line, without control characters."""
    return text.replace("\n", " ").translate(CONTROL)


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
        "code": str(item.code),
        "message": item.message,
        "hint": item.hint,
        "replacement": None
        if item.replacement is None
        else {**_place(item.replacement.span), "text": item.replacement.text},
        "notes": [{**_place(span), "message": text} for span, text in item.notes],
    }


def _place(span: Span) -> dict[str, object]:
    line, column = span.file.position(span.start)
    end_line, end_column = span.file.position(span.end)
    return {"file": span.file.path, "line": line, "column": column, "end_line": end_line, "end_column": end_column}
