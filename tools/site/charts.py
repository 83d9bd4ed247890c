"""Tables of ratios as bars: the first table of docs/speed.md is drawn below itself."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from tools.site.templates import template

_NUMBER = re.compile(r"(?<![\w.,])\d+\.\d+(?![\w.])")
_TABLE = re.compile(r"^\| work \| (?P<title>[^|]*) \|.*\n\|[-|]+\n(?P<rows>(?:\|.*\n)+)", re.MULTILINE)
_FULL = 1.5  # the ratio that a bar of the whole width has


@dataclass(frozen=True)
class Bar:
    """A ratio; `percent` of the width that there is."""

    ratio: str
    percent: float


@dataclass(frozen=True)
class Row:
    """What was measured, and its ratios."""

    work: str
    bars: tuple[Bar, ...]


def with_bars(text: str) -> str:
    """A page in Markdown, with bars below the first table of ratios by work; itself where there is none."""
    table = _TABLE.search(text)
    if table is None:
        return text
    rows = [row for row in _rows(table["rows"]) if row.bars]
    chart = template("bars.html.j2").render(rows=rows, title=table["title"], one=100 / _FULL)
    return f"{text[: table.end()]}\n```{{raw}} html\n{chart}```\n{text[table.end() :]}"


def _rows(text: str) -> Iterator[Row]:
    for line in text.splitlines():
        work, ratios, *_ = (cell.strip() for cell in line.strip("|").split("|"))
        found = _NUMBER.findall(ratios)
        yield Row(work, tuple(Bar(each, min(float(each), _FULL) / _FULL * 100) for each in found))
