"""The report: a table on a terminal, plain columns elsewhere, JSON on request."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rich.console import Console
from rich.table import Table

from bench.known import by_reason, reason_of
from bench.measure import Measurement


@dataclass(frozen=True)
class Row:
    """One line of the report: a measurement with its budget, or what went wrong instead."""

    group: str
    measurement: Measurement
    budget: float | None

    @property
    def distance(self) -> float | None:
        """By how much the ratio exceeds its budget; negative while there is room."""
        if self.measurement.ratio is None or self.budget is None:
            return None
        return self.measurement.ratio - self.budget

    @property
    def over(self) -> bool:
        """Whether the ratio exceeds its budget."""
        return self.distance is not None and self.distance > 0


@dataclass(frozen=True)
class Failure:
    """A workload that raised."""

    group: str
    message: str


def seconds_text(seconds: float | None) -> str:
    """1.23 us, 45.6 ms, 7.89 s."""
    if seconds is None:
        return ""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds:.1e} s"


def bytes_text(count: float | None) -> str:
    """12.3 MiB."""
    return "" if count is None else f"{count / 2**20:.3g} MiB"


def distance_text(distance: float | None) -> str:
    """In words: how far inside or outside the budget."""
    if distance is None:
        return ""
    return f"{distance:.2f} over" if distance > 0 else f"{-distance:.2f} to spare"


def cells(row: Row) -> tuple[str, str, str, str, str, str]:
    """The text of a row's columns."""
    m = row.measurement
    text = bytes_text if m.unit == "B" else seconds_text
    return (
        m.row,
        text(m.subject),
        text(m.reference),
        "" if m.ratio is None else f"{m.ratio:.2f}x",
        "" if row.budget is None else f"{row.budget:.2f}x",
        distance_text(row.distance),
    )


def over_budget(rows: Sequence[Row]) -> Iterator[str]:
    """The rows over budget, by the reason that is known for them."""
    ratios = {row.measurement.row: row.measurement.ratio for row in rows if row.over}
    for reason, names in by_reason(ratios).items():
        yield f"over budget: {reason}: {'; '.join(f'{name} {ratios[name]:.2f}x' for name in names)}"


def print_report(
    rows: Sequence[Row],
    failures: Sequence[Failure],
    names: tuple[str, str | None],
    about: Mapping[str, Any],
    skipped: Mapping[str, str],
) -> None:
    """Print the rows: a table where a person looks, aligned plain text where a program or a file does.

    `skipped` are groups that were left out, with the reason.
    """
    heading = ("work", names[0], names[1] or "", "ratio" if names[1] else "", "budget", "distance")
    console = Console()
    console.print(", ".join(f"{key} {value}" for key, value in about.items()), highlight=False)
    if console.is_terminal:
        table = Table(*heading, box=None, pad_edge=False)
        for column in table.columns[1:]:
            column.justify = "right"
        for row in rows:
            table.add_row(*cells(row), style="red" if row.over else None)
        console.print(table)
    else:
        lines = [heading, *(cells(row) for row in rows)]
        widths = [max(len(line[column]) for line in lines) for column in range(len(heading))]
        for line in lines:
            first, *others = (
                text.ljust(width) if column == 0 else text.rjust(width)
                for column, (text, width) in enumerate(zip(line, widths, strict=True))
            )
            print("  ".join([first, *others]).rstrip())
    for text in over_budget(rows):
        console.print(text, markup=False, highlight=False, soft_wrap=True)
    for group, reason in skipped.items():
        console.print(f"skipped: {group}: {reason}", markup=False, highlight=False, soft_wrap=True)
    for failure in failures:
        console.print(f"failed: {failure.group}: {failure.message}", markup=False, highlight=False)


def print_json(
    rows: Sequence[Row], failures: Sequence[Failure], about: Mapping[str, Any], skipped: Mapping[str, str]
) -> None:
    """Print everything as one JSON object."""
    report = {
        "about": dict(about),
        "rows": [
            {
                "group": row.group,
                **asdict(row.measurement),
                "budget": row.budget,
                "distance": row.distance,
                "reason": reason_of(row.measurement.row) if row.over else None,
            }
            for row in rows
        ],
        "failures": [asdict(failure) for failure in failures],
        "skipped": dict(skipped),
    }
    print(json.dumps(report, indent=2))
