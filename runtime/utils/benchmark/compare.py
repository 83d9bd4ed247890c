"""Tables of Measurements: a row for each `sub_label`, a column for each `description`, a table for each `label`."""

from __future__ import annotations

import enum
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

from runtime.utils.benchmark.measurement import Measurement
from runtime.utils.benchmark.numbers import magnitude, ordered_unique, select_unit, trim_sigfig, unit_to_english

__all__ = ["Colorize", "Compare"]

_BETWEEN = "  |  "
# What a terminal takes as colours.
_GREEN, _BLUE, _RED, _DIM_RED = "\033[92m", "\033[34m", "\033[31m", "\033[2m\033[91m"
_BOLD, _PLAIN = "\033[1m", "\033[0m"
# Times that differ by no more than this, in seconds, are the same.
_EQUAL = 100e-9
_WARNING_WIDTH = 7
_FOOTNOTE = "(! XX%) Measurement has high variance, where XX is the IQR / median * 100.\n"


class Colorize(enum.Enum):
    """Which times a colour compares: those of a column, or of a row."""

    NONE = "none"
    COLUMNWISE = "columnwise"
    ROWWISE = "rowwise"


class Compare:
    """Measurements as tables, which `print` prints and `str` gives.

    Those of one task are merged. A label has a table of its own.
    """

    def __init__(self, results: Iterable[Measurement]) -> None:
        self._results: list[Measurement] = []
        self._style = _Style()
        self.extend_results(results)

    def extend_results(self, results: Iterable[Measurement]) -> None:
        """Add Measurements.

        Raises:
            ValueError: one is something else.
        """
        added = list(results)
        for result in added:
            if not isinstance(result, Measurement):
                raise ValueError(f"Expected an instance of `Measurement`, got {type(result)} instead.")
        self._results.extend(added)

    def trim_significant_figures(self) -> None:
        """Print only as many digits as can be relied on."""
        self._style.trimmed = True

    def colorize(self, rowwise: bool = False) -> None:
        """Colour times by how they compare with the best of their column, or of their row."""
        self._style.colours = Colorize.ROWWISE if rowwise else Colorize.COLUMNWISE

    def highlight_warnings(self) -> None:
        """Mark the times that spread widely."""
        self._style.warned = True

    def print(self) -> None:
        """Print the tables."""
        print(str(self))

    def __str__(self) -> str:
        tables: dict[str | None, list[Measurement]] = {}
        for result in Measurement.merge(self._results):
            tables.setdefault(result.label, []).append(result)
        return "\n".join(_table(label, results, self._style) for label, results in tables.items())


@dataclass
class _Style:
    trimmed: bool = False
    warned: bool = False
    colours: Colorize = Colorize.NONE


_Cells = list[Measurement | None]


@dataclass
class _Row:
    threads: int
    env: str
    name: str
    cells: _Cells


@dataclass
class _Column:
    """How the times of a column are printed: all with as many digits and as much space."""

    scale: float
    trimmed: bool
    width: int
    digits: int
    note_width: int

    @staticmethod
    def of(cells: _Cells, scale: float, style: _Style) -> _Column:
        there = [cell for cell in cells if cell is not None]
        leading = [math.ceil(magnitude(cell.median / scale)) for cell in there]
        digits = 1
        if style.trimmed:
            digits = min(max(cell.significant_figures - n, 0) for cell, n in zip(there, leading, strict=True))
        noted = style.warned and any(cell.has_warnings for cell in there)
        width = max(max(leading) + digits + (digits > 0), 0)
        return _Column(scale, style.trimmed, width, digits, _WARNING_WIDTH if noted else 0)

    def text(self, cell: Measurement | None) -> str:
        if cell is None:
            return " " * len(self._printed(1.0, 1, ""))
        note = ""
        if self.note_width and cell.has_warnings:
            note = f" (! {cell.iqr / cell.median * 100:.0f}%)"
        return self._printed(cell.median / self.scale, cell.significant_figures, note)

    def _printed(self, value: float, figures: int, note: str) -> str:
        number = trim_sigfig(value, figures) if self.trimmed else value
        return f"{number:>{self.width}.{self.digits}f}{note:>{self.note_width}}"


def _table(label: str | None, results: Sequence[Measurement], style: _Style) -> str:
    unit, scale = select_unit(min(result.median for result in results))
    descriptions = ordered_unique(result.description for result in results)
    rows = _rows(results, descriptions)
    columns = [_Column.of([row.cells[i] for row in rows], scale, style) for i in range(len(descriptions))]

    names = _names(rows)
    texts = [[column.text(cell) for column, cell in zip(columns, row.cells, strict=True)] for row in rows]
    header = ["", *(description or "" for description in descriptions)]
    lines = [header, *([name, *text] for name, text in zip(names, texts, strict=True))]
    first, *widths = (max(map(len, column)) for column in zip(*lines, strict=True))

    top = _BETWEEN.join(text.center(width) for text, width in zip(header, (first, *widths), strict=True))
    title = f" {label or ''} ".center(len(top) - 2, "-")
    printed = [f"[{title}]", top]
    numbered = enumerate(rows)
    for threads, group in groupby(numbered, lambda each: each[1].threads):
        printed.append(f"{threads} threads: ".ljust(len(top), "-"))
        members = list(group)
        best = _best([row.cells for _, row in members], style.colours)
        for (number, row), limits in zip(members, best, strict=True):
            cells = [text.center(width) for text, width in zip(texts[number], widths, strict=True)]
            coloured = map(_coloured, cells, row.cells, limits)
            printed.append(_BETWEEN.join((names[number].ljust(first), *coloured)))
    noted = style.warned and any(result.has_warnings for result in results)
    printed += ["", f"Times are in {unit_to_english(unit)}s ({unit}).", _FOOTNOTE if noted else ""]
    return "\n".join(printed)


def _rows(results: Sequence[Measurement], descriptions: Sequence[str | None]) -> list[_Row]:
    """The rows, by number of threads and environment; in each the cells by their columns."""
    rows: dict[tuple[int, str, str], _Row] = {}
    for result in results:
        key = result.num_threads, result.env or "", result.as_row_name
        row = rows.setdefault(key, _Row(*key, cells=[None] * len(descriptions)))
        row.cells[descriptions.index(result.description)] = result
    return sorted(rows.values(), key=lambda row: (row.threads, row.env))


def _names(rows: Sequence[_Row]) -> list[str]:
    """What stands before each row: its name, and where there are several environments the first row of each says it."""
    envs = {row.env for row in rows}
    width = 4 + (max(map(len, envs)) if len(envs) > 1 else 0)
    names = []
    before = None
    for row in rows:
        shown = len(envs) > 1 and row.env and (row.threads, row.env) != before
        names.append("  " + (f"({row.env})" if shown else "").ljust(width) + row.name)
        before = row.threads, row.env
    return names


def _best(rows: Sequence[_Cells], colours: Colorize) -> list[list[float | None]]:
    """For each cell of a group of rows the time that it is compared with."""

    def least(cells: Iterable[Measurement | None]) -> float | None:
        return min((cell.median for cell in cells if cell is not None), default=None)

    if colours is Colorize.ROWWISE:
        return [[least(row)] * len(row) for row in rows]
    if colours is Colorize.COLUMNWISE:
        return [[least(column) for column in zip(*rows, strict=True)]] * len(rows)
    return [[None] * len(row) for row in rows]


def _coloured(text: str, cell: Measurement | None, best: float | None) -> str:
    if cell is None or best is None:
        return text
    value = cell.median
    if value <= best * 1.01 or value <= best + _EQUAL:
        colour = _GREEN + _BOLD
    elif value <= best * 1.1:
        colour = _BLUE + _BOLD
    elif value >= best * 5:
        colour = _RED + _BOLD
    elif value >= best * 2:
        colour = _DIM_RED
    else:
        return text
    return colour + text + _PLAIN * 2
