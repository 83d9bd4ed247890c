"""What `verify` prints: a table of the properties, and what was refuted."""

from __future__ import annotations

import contextlib
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from codegen.writing import as_item
from gradwright.verify.property import Property
from gradwright.verify.results import Cell, Status, again
from gradwright.verify.table import PROPERTIES

_SHOWN = 3  # samples of one cell


@contextlib.contextmanager
def progress(total: int) -> Iterator[Callable[[int, int], None]]:
    """A bar on standard error while this is open, where that is a terminal."""
    if not sys.stderr.isatty():
        yield lambda done, wrong: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("proving", total=total)

        def report(done: int, wrong: int) -> None:
            bar.update(task, completed=done, description=f"proving, [red]{wrong} wrong" if wrong else "proving")

        yield report


def print_table(cells: Sequence[Cell], seconds: float, properties: Sequence[Property] = PROPERTIES) -> None:
    """How many operators have each property."""
    from rich.console import Console
    from rich.table import Table

    counts = Counter((cell.name, cell.status) for cell in cells)
    # Hardly any operator has one, so that it is a column of its own only then.
    shown = [s for s in Status if s is not Status.CONVENTION or any(cell.status is s for cell in cells)]
    console = Console()
    table = Table("property", "what is proven", *(status.value for status in shown), box=None)
    for column in table.columns[2:]:
        column.justify = "right"
    for each in properties:
        numbers = [counts[each.name, status] for status in shown]
        if any(numbers):
            table.add_row(each.name, each.title, *(str(number) if number else "" for number in numbers))
    if console.is_terminal:
        console.print(table)
    else:
        for each in properties:
            numbers = [counts[each.name, status] for status in shown]
            if any(numbers):
                print("\t".join([each.name, *(f"{n} {s.value}" for n, s in zip(numbers, shown, strict=True))]))
    print(summary(cells, seconds))


def summary(cells: Sequence[Cell], seconds: float) -> str:
    """The numbers of all, in a line."""
    counts = Counter(cell.status for cell in cells)
    operators = len({cell.operator for cell in cells})
    samples = sum(cell.checked for cell in cells)
    conventions = f", {counts[Status.CONVENTION]} conventions" if counts[Status.CONVENTION] else ""
    return (
        f"{operators} operators: {counts[Status.PROVEN]} properties proven on {samples} samples, "
        f"{counts[Status.REFUTED]} refuted, {counts[Status.SKIPPED]} skipped{conventions} in {seconds:.1f} s"
    )


def print_failures(cells: Sequence[Cell]) -> None:
    """What was refuted, with lines of Python that show it, on standard error."""
    for cell in cells:
        for failure in cell.failures[:_SHOWN]:
            where = f"{cell.operator}({failure.sample}) in {failure.dtype}" if failure.dtype else cell.operator
            print(f"error: {where}: {cell.name}: {failure.message}", file=sys.stderr)
            if failure.dtype:
                print(f"  {again(cell, failure)}", file=sys.stderr)
            if failure.dtype and not failure.number:
                print(f"  as a sample: {as_item(failure.sample)}", file=sys.stderr)
        if len(cell.failures) > _SHOWN:
            print(f"  and {len(cell.failures) - _SHOWN} more samples", file=sys.stderr)


def print_skipped(cells: Sequence[Cell]) -> None:
    """What could not be looked at, and what is a convention, and why."""
    for cell in cells:
        if cell.status in (Status.SKIPPED, Status.CONVENTION):
            print(f"{cell.status.value}: {cell.operator}: {cell.name}: {'; '.join(cell.reasons)}")
