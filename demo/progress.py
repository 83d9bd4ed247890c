"""Progress: a bar on a terminal, a few plain lines elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

Item = TypeVar("Item")


def track(
    console: Console, items: Iterable[Item], total: int, what: str, status: Callable[[], str] = lambda: ""
) -> Iterator[Item]:
    """Yield the items and show how far along they are; `status` gives a word on the last one."""
    if not console.is_terminal:
        for number, item in enumerate(items, 1):
            yield item
            if number == total or number * 4 // total > (number - 1) * 4 // total:
                print(f"{what}: {number} of {total}  {status()}".rstrip(), flush=True)
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, TextColumn("{task.fields[status]}"), console=console) as bar:
        task = bar.add_task(what, total=total, status="")
        for item in items:
            yield item
            bar.update(task, advance=1, status=status())
