"""Every differentiable operator against finite differences, first and second order."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor

from rich.console import Console
from rich.table import Table

from demo.progress import track
from generated.registry import OPERATORS
from runtime.testing import CheckResult, gradcheck_operator

CELL = 44  # characters that an operator takes in the table


def check(name: str) -> CheckResult:
    """One operator; runs in a worker process."""
    return gradcheck_operator(OPERATORS[name])


def check_all(console: Console) -> list[CheckResult]:
    """Check the differentiable operators on all cores, in the order of their names."""
    # A random operator gives another result each time: nothing to take differences of.
    names = sorted(name for name, info in OPERATORS.items() if info.differentiable and not info.random)
    with ProcessPoolExecutor(max_workers=os.cpu_count()) as pool:
        return list(track(console, pool.map(check, names), len(names), "gradcheck"))


def show(console: Console, results: Sequence[CheckResult]) -> None:
    """The table, several operators side by side, then what failed in full."""
    if console.is_terminal:
        _show_table(console, results)
    else:
        for result in results:
            print(f"{result.name:40} {_verdict(result)}")
    for result in results:
        for failure in result.failures:
            print(failure)
    failed = sum(not result.passed for result in results)
    first = sum(result.first for result in results)
    second = sum(result.second for result in results)
    print(f"{len(results)} operators, {first} first-order and {second} second-order checks, {failed} operators failed")


def _show_table(console: Console, results: Sequence[CheckResult]) -> None:
    across = max(1, console.width // CELL)
    table = Table(*("operator", "checks") * across, box=None, pad_edge=False, title="first + second order")
    down = -(-len(results) // across)
    for line in range(down):
        table.add_row(*_cells(results[line::down]))
    console.print(table)


def _cells(results: Sequence[CheckResult]) -> Iterator[str]:
    for result in results:
        colour = "green" if result.passed else "red"
        yield result.name
        yield f"[{colour}]{_verdict(result)}[/]"


def _verdict(result: CheckResult) -> str:
    if result.failures:
        return f"{len(result.failures)} failed"
    return f"{result.first} + {result.second}" if result.passed else "not checked"
