"""What is proven of each operator, as a file: what it says may only become more."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from codegen.writing import write_text
from gradwright.verify.results import Cell, Status
from gradwright.verify.table import PROPERTIES
from runtime import native

# What only a machine with the native core can say.
_NATIVE = "native"


@dataclass(frozen=True, slots=True)
class Row:
    """One operator: the properties that are proven, and with the reasons those that are not, or by convention."""

    proven: tuple[str, ...]
    skipped: Mapping[str, str]
    conventions: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Ledger:
    """All operators by their names."""

    rows: Mapping[str, Row]

    @classmethod
    def read(cls, file: Path) -> Ledger:
        """The ledger of a file; one that says nothing where there is none."""
        if not file.exists():
            return cls({})
        known = json.loads(file.read_text(encoding="utf-8"))["operators"]
        return cls(
            {
                name: Row(tuple(row["proven"].split()), row.get("skipped", {}), row.get("conventions", {}))
                for name, row in known.items()
            }
        )

    @classmethod
    def of(cls, cells: Sequence[Cell], known: Collection[str] | None, file: Path) -> Ledger:
        """What some cells say, and for other operators what the file does.

        Args:
            cells: what was looked at.
            known: all operators, where others are to go; None: those of the file stay.
            file: where the ledger is.
        """
        rows = {name: row for name, row in cls.read(file).rows.items() if known is None or name in known}
        for name, own in _by_operator(cells).items():
            before = rows.get(name, Row((), {}, {}))
            seen = {cell.name for cell in own} - ({_NATIVE} if not native.is_available() else set())
            proven = {c.name for c in own if c.status is Status.PROVEN} | (set(before.proven) - seen)
            reasons = [
                {prop: reason for prop, reason in known_before.items() if prop not in seen}
                | {c.name: "; ".join(c.reasons) for c in own if c.status is status and c.name in seen}
                for status, known_before in (
                    (Status.SKIPPED, before.skipped), (Status.CONVENTION, before.conventions),
                )
            ]  # fmt: skip
            rows[name] = Row(tuple(p.name for p in PROPERTIES if p.name in proven), *reasons)
        return cls(dict(sorted(rows.items())))

    def write(self, file: Path) -> None:
        """Write the ledger: a line for each operator, and one for each property that is skipped."""
        entries = []
        for name, row in self.rows.items():
            fields: dict[str, object] = {"proven": " ".join(row.proven)}
            if row.skipped:
                fields["skipped"] = dict(row.skipped)
            if row.conventions:
                fields["conventions"] = dict(row.conventions)
            entries.append(f"  {json.dumps(name)}: {json.dumps(fields)}")
        text = '{\n "operators": {\n' + ",\n".join(entries) + "\n }\n}\n"
        write_text(file, text)

    def worse(self, cells: Sequence[Cell]) -> Iterator[str]:
        """Where less is proven than the ledger says, or more is skipped."""
        for name, own in _by_operator(cells).items():
            row = self.rows.get(name)
            if row is None:
                yield f"{name} is not in the ledger: {COMMAND}"
                continue
            for cell in own:
                if cell.name == _NATIVE and not native.is_available():
                    continue
                if cell.name in row.proven and cell.status is not Status.PROVEN:
                    reason = f": {'; '.join(cell.reasons)}" if cell.reasons else ""
                    yield f"{name}: {cell.name} was proven, and is {cell.status.value} now{reason}"
                elif cell.status is Status.SKIPPED and cell.name not in row.skipped:
                    yield f"{name}: {cell.name} is skipped, which the ledger does not say: {'; '.join(cell.reasons)}"
                elif cell.status is Status.CONVENTION and cell.name not in row.conventions:
                    yield f"{name}: {cell.name} is a convention, which the ledger does not say: {cell.reasons[0]}"

    @property
    def skips(self) -> int:
        """How many cells are skipped."""
        return sum(len(row.skipped) for row in self.rows.values())

    def document(self) -> str:
        """The table of docs/reports/coverage.md."""
        return "\n".join(_document(self))


COMMAND = "run python -m codegen verify --update-ledger"


def _by_operator(cells: Sequence[Cell]) -> Mapping[str, list[Cell]]:
    found: dict[str, list[Cell]] = {}
    for cell in cells:
        found.setdefault(cell.operator, []).append(cell)
    return found


def _document(ledger: Ledger) -> Iterator[str]:
    proven = Counter(name for row in ledger.rows.values() for name in row.proven)
    skipped = Counter(name for row in ledger.rows.values() for name in row.skipped)
    yield from _ABOUT.format(operators=len(ledger.rows), cells=proven.total(), skips=ledger.skips).splitlines()
    yield from ("", "| property | what is proven | operators | skipped |", "|---|---|---:|---:|")
    for number, each in enumerate(PROPERTIES, 1):
        yield f"| {number}: `{each.name}` | {each.title} | {proven[each.name]} | {skipped[each.name] or ''} |"
    yield from ("", "## What is skipped, and why", "", "| operator | property | reason |", "|---|---|---|")
    for name, row in ledger.rows.items():
        yield from (f"| `{name}` | `{prop}` | {reason} |" for prop, reason in row.skipped.items())
    conventions = [(name, row.conventions) for name, row in ledger.rows.items() if row.conventions]
    if conventions:
        yield from (
            "",
            "## What is a convention, and why",
            "",
            "Formulas that are meant to be others than the derivatives of",
        )
        yield from (
            "what is computed: no numbers can prove them.",
            "",
            "| operator | properties | reason |",
            "|---|---|---|",
        )
        for name, reasons in conventions:
            yield f"| `{name}` | {', '.join(f'`{prop}`' for prop in reasons)} | {next(iter(reasons.values()))} |"
    yield from (
        "",
        "## Operators",
        "",
        f"`+` is proven, `?` skipped{', `c` a convention' if conventions else ''}; the operator has not what an empty "
        "cell is about.",
        "",
    )
    yield f"| operator | {' | '.join(str(number) for number in range(1, len(PROPERTIES) + 1))} |"
    yield f"|---|{'---|' * len(PROPERTIES)}"
    for name, row in ledger.rows.items():
        yield f"| `{name}` | {' | '.join(_mark(row, each.name) for each in PROPERTIES)} |"
    yield ""


def _mark(row: Row, name: str) -> str:
    return "+" if name in row.proven else "?" if name in row.skipped else "c" if name in row.conventions else ""


_ABOUT = """\
# What is proven

`python -m codegen verify` looks at each of these properties for each operator that can have it, on all of its samples,
in real and in complex numbers. `coverage.json` keeps what it found: what is proven there has to stay so, and no skip
may come to those that are listed. This page is made of it.

{operators} operators, {cells} cells that are proven, {skips} that are skipped."""
