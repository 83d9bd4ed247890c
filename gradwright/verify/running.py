"""Proofs of many operators, in several processes."""

from __future__ import annotations

import importlib
import multiprocessing
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from typing import TypeVar

from gradwright.verify.deep import Deep, deepen
from gradwright.verify.proving import prove
from gradwright.verify.results import Cell, Status
from gradwright.verify.table import table_of
from runtime.load.operator_info import OperatorInfo

T = TypeVar("T")

# Operators of one task: starting a task takes longer than most proofs.
_CHUNK = 4


def operators_of(package: str) -> Mapping[str, OperatorInfo]:
    """The operators of a generated package, by their names."""
    importlib.import_module("gradwright")
    importlib.import_module(package)
    found: Mapping[str, OperatorInfo] = importlib.import_module(f"{package}.registry").OPERATORS
    return found


def chosen(operators: Mapping[str, OperatorInfo], names: Sequence[str], exact: bool = False) -> list[str]:
    """The operators that are named, by their whole names or by the names of all their overloads, and their variants.

    Args:
        operators: all that there are.
        names: nothing stands for all of them.
        exact: whether the names are whole ones, and stand for no other overloads.

    Raises:
        ValueError: there is no such operator.
    """
    found: dict[str, None] = {}
    for name in names:
        fitting = [
            each
            for each, info in operators.items()
            if name == each or (not exact and name in (info.inplace, info.out, each.partition(".")[0]))
        ]
        if not fitting:
            raise ValueError(f"there is no operator '{name}'")
        found |= dict.fromkeys(fitting)
    return list(found) if names else list(operators)


def part_of(names: Sequence[T], part: str) -> Sequence[T]:
    """Of many things a part, "K/N": every Nth, from the Kth, which is counted from 1.

    Raises:
        ValueError: there is no such part.
    """
    number, slash, count = part.partition("/")
    if not (slash and number.isdigit() and count.isdigit() and 1 <= int(number) <= int(count)):
        raise ValueError(f"a part is K/N, with K from 1 to N, and not '{part}'")
    return names[int(number) - 1 :: int(count)]


def prove_all(
    package: str,
    names: Sequence[str],
    properties: Sequence[str],
    jobs: int,
    report: Callable[[int, int], None],
    incomplete: bool = False,
    target: str | None = None,
    deep: Deep | None = None,
) -> list[Cell]:
    """The cells of some operators, in the order of `names`.

    Args:
        package: the generated package that they are in.
        names: the operators.
        properties: what to look at; nothing: everything.
        jobs: how many processes; with one it is this one.
        report: is told how many operators are done, and how wrong it is so far.
        incomplete: whether what is not implemented is skipped.
        target: the framework whose operators are meant.
        deep: how long calls beside the samples are searched for.
    """
    done = wrong = 0
    found: dict[str, list[Cell]] = {}
    for cells in _run(package, names, properties, jobs, incomplete, target, deep):
        for cell in cells:
            found.setdefault(cell.operator, []).append(cell)
            wrong += cell.status is Status.REFUTED
        done = len(found)
        report(done, wrong)
    return [cell for name in names for cell in found[name]]


def _run(
    package: str,
    names: Sequence[str],
    properties: Sequence[str],
    jobs: int,
    incomplete: bool,
    target: str | None,
    deep: Deep | None,
) -> Iterator[list[Cell]]:
    if jobs == 1 or (len(names) <= _CHUNK and deep is None):
        yield from (prove_some(package, [name], properties, incomplete, target, deep) for name in names)
        return
    # Forked where that is possible: the operators are loaded once.
    method = "fork" if "fork" in multiprocessing.get_all_start_methods() else "spawn"
    context = multiprocessing.get_context(method)
    with ProcessPoolExecutor(jobs, mp_context=context, initializer=_end_when_interrupted) as pool:
        size = _CHUNK if deep is None else 1
        chunks = [names[start : start + size] for start in range(0, len(names), size)]
        tasks = [pool.submit(prove_some, package, chunk, properties, incomplete, target, deep) for chunk in chunks]
        try:
            for task in as_completed(tasks):
                yield task.result()
        except KeyboardInterrupt:
            for worker in multiprocessing.active_children():
                worker.terminate()  # what they are about is of no use any more
            raise


def _end_when_interrupted() -> None:
    """A worker that is interrupted ends without a word: its parent has one."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def prove_some(
    package: str,
    names: Sequence[str],
    properties: Sequence[str],
    incomplete: bool = False,
    target: str | None = None,
    deep: Deep | None = None,
) -> list[Cell]:
    """The cells of some operators, one after another."""
    operators = operators_of(package)
    table = table_of(target)
    wanted = [table[name] for name in properties] or list(table.values())
    found = []
    for name in names:
        cells = prove(operators[name], wanted, incomplete=incomplete)
        if deep is not None:
            deepen(operators[name], cells, wanted, deep.seed, deep.seconds)
        found += cells
    return found
