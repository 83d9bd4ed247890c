"""An operator's cells: each property on each of its samples."""

from __future__ import annotations

import importlib
import time
import warnings
from collections.abc import Callable, Sequence

from runtime.base import dtypes
from runtime.load.operator_info import OperatorInfo
from runtime.testing import make_sample
from runtime.verify.points import Point, all_tensors, points
from runtime.verify.results import Cell, Failure, Inapplicable, Refuted, Status, Undecided
from runtime.verify.table import BY_NAME, PROPERTIES, Property


def prove(info: OperatorInfo, properties: Sequence[Property] = PROPERTIES, until_wrong: bool = False) -> list[Cell]:
    """The cells of an operator.

    Args:
        info: the operator.
        properties: what to look at.
        until_wrong: end at the first property that does not hold.
    """
    cells = []
    for each in properties:
        cells.append(_prove(info, each, until_wrong))
        if until_wrong and cells[-1].failures:
            break
    return cells


def _prove(info: OperatorInfo, wanted: Property, until_wrong: bool) -> Cell:
    started = time.perf_counter()
    cell = Cell(info.name, wanted.name, info.package)
    if wanted.applies_to(info):
        given = [point for dtype in wanted.dtypes for point in points(info, dtype)]
        if wanted.check_all is not None:
            _look_at_all(wanted.check_all, given, cell)
        if wanted.check is not None:
            for point in given:
                _look(wanted.check, point, cell)
                if cell.failures and until_wrong:
                    break
    waived = dict(info.unproven).get(wanted.name)
    if waived is not None:
        _waive(cell, waived)
    cell.seconds = time.perf_counter() - started
    return cell


def _look_at_all(check: Callable[[Sequence[Point]], int], given: Sequence[Point], cell: Cell) -> None:
    try:
        cell.checked += check(given)
    except Refuted as wrong:
        cell.failures.append(_failure(wrong.point or given[0], wrong.message, wrong.argument))


def _look(check: Callable[[Point], None], point: Point, cell: Cell) -> None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            check(point)
        cell.checked += 1
    except Inapplicable:
        pass
    except Undecided as reason:
        if str(reason) not in cell.reasons:
            cell.reasons.append(str(reason))
    except Refuted as wrong:
        cell.failures.append(_failure(point, wrong.message, wrong.argument, wrong.cause))
    except Exception as error:  # whatever a formula raises refutes it
        cell.failures.append(_failure(point, f"{type(error).__name__}: {error}".replace("\n", " ")))


def _failure(point: Point, message: str, argument: str | None = None, cause: str | None = None) -> Failure:
    elements = sum(tensor.numel() for tensor in all_tensors(point.sample))
    return Failure(point.number, point.sample.text, point.dtype, message, argument, cause, elements)


def _waive(cell: Cell, reason: str) -> None:
    """What the YAML says can not be proven is skipped; where all of it holds, the YAML is wrong."""
    if cell.status in (Status.PROVEN, Status.NONE):
        message = f"the property holds, and 'unproven' of the operator names it: {reason}"
        cell.failures = [Failure(1, "", "", message)]
        return
    cell.failures, cell.reasons, cell.checked = [], [reason], 0


def check(operator: str, property: str, sample: str, dtype: str, package: str = "generated") -> None:
    """Look at one property of an operator in one sample.

    Raises:
        Refuted: it does not hold.
    """
    info = importlib.import_module(f"{package}.registry").OPERATORS[operator]
    made = make_sample(info, sample, getattr(dtypes, dtype))
    wanted, point = BY_NAME[property], Point(info, made, 1, dtype)
    if wanted.check is not None:
        wanted.check(point)
    elif wanted.check_all is not None:
        wanted.check_all([point])
