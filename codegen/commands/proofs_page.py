"""`verify --html FILE`: what the proofs found, as one page of HTML that needs nothing else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from codegen.paths import BASE
from codegen.targets.environment import environment
from codegen.writing import write_text

_TEMPLATE = "proofs.html.j2"
_COUNTED = ("proven", "refuted", "skipped")
_SIGNS = {"proven": "+", "refuted": "\N{BALLOT X}", "convention": "c", "skipped": "?", "none": ""}
_EXPLAINED = ("skipped", "convention")


@dataclass(frozen=True, slots=True)
class Mark:
    """One cell: its sign, its status ('' for an empty one), what is to be known besides, and where more is said."""

    sign: str
    status: str
    about: str
    link: str


@dataclass(frozen=True, slots=True)
class Row:
    """An operator with a mark for each column."""

    operator: str
    marks: tuple[Mark, ...]


@dataclass(frozen=True, slots=True)
class Column:
    """A property, and in how many operators it is what."""

    name: str
    title: str
    proven: int
    refuted: int
    skipped: int


@dataclass(frozen=True, slots=True)
class RefutedCell:
    """A cell that is refuted: the smallest sample that does it, and a line of Python that shows it."""

    anchor: str
    operator: str
    name: str
    message: str
    where: str
    again: str


@dataclass(frozen=True, slots=True)
class SkippedCell:
    """A cell that nothing is known of, or that is a convention, and why."""

    anchor: str
    operator: str
    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class Page:
    """All that the page shows."""

    title: str
    summary: str
    refuted: tuple[RefutedCell, ...]
    skipped: tuple[SkippedCell, ...]
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]


def write_page(file: Path, templates: Path, found: Mapping[str, Any], package: str) -> None:
    """Write the page, in a folder that is made where there is none.

    Args:
        file: where to.
        templates: the folder of all templates.
        found: what `gradwright.verify --json` wrote.
        package: the name of the generated package.
    """
    template = environment(templates, "verify", escaped=True).get_template(_TEMPLATE)
    file.parent.mkdir(parents=True, exist_ok=True)
    write_text(file, template.render(page=page_of(found, package)))


def page_of(found: Mapping[str, Any], package: str) -> Page:
    """What the page shows of what was found."""
    cells: Sequence[Mapping[str, Any]] = found["cells"]
    counts = Counter((cell["property"], cell["status"]) for cell in cells)
    columns = tuple(
        Column(each["name"], each["title"], *(counts[each["name"], status] for status in _COUNTED))
        for each in found["properties"]
    )
    return Page(
        f"Proofs of the derivative rules of {'Gradwright' if package == BASE else package.partition('.')[0]}",
        found["summary"],
        tuple(_refuted(cell) for cell in cells if cell["status"] == "refuted"),
        tuple(_skipped(cell) for cell in cells if cell["status"] in _EXPLAINED),
        columns,
        tuple(_rows(cells, columns)),
    )


def _rows(cells: Sequence[Mapping[str, Any]], columns: Sequence[Column]) -> Iterator[Row]:
    by_operator: dict[str, dict[str, Mapping[str, Any]]] = {}
    for cell in cells:
        by_operator.setdefault(cell["operator"], {})[cell["property"]] = cell
    for operator, own in by_operator.items():
        yield Row(operator, tuple(_mark(own[column.name]) for column in columns))


def _mark(cell: Mapping[str, Any]) -> Mark:
    status = cell["status"]
    if status == "refuted" or status in _EXPLAINED:
        return Mark(_SIGNS[status], status, "", _anchor(cell))
    # Proven where it could be looked at; there may be samples where it could not.
    left_out = "; ".join(cell.get("reasons", ()))
    about = f"{cell['samples']} samples; not in others: {left_out}" if left_out else ""
    return Mark(_SIGNS[status], "" if status == "none" else status, about, "")


def _refuted(cell: Mapping[str, Any]) -> RefutedCell:
    failures: Sequence[Mapping[str, Any]] = cell["failures"]
    smallest = min(failures, key=lambda each: (each["elements"], each["number"]))
    where = ""
    if smallest["dtype"]:
        where = f"{cell['operator']}({smallest['sample']}) in {smallest['dtype']}"
        where += f", the smallest of {len(failures)} failing samples" if len(failures) > 1 else ""
    return RefutedCell(
        _anchor(cell),
        cell["operator"],
        cell["property"],
        smallest["message"],
        where,
        smallest["again"] if smallest["dtype"] else "",
    )


def _skipped(cell: Mapping[str, Any]) -> SkippedCell:
    return SkippedCell(_anchor(cell), cell["operator"], cell["property"], _reason(cell))


def _reason(cell: Mapping[str, Any]) -> str:
    return f"{'a convention: ' * (cell['status'] == 'convention')}{'; '.join(cell['reasons'])}"


def _anchor(cell: Mapping[str, Any]) -> str:
    return f"{cell['operator']}-{cell['property']}"
