"""An operator's cells: each property on each of its samples."""

from __future__ import annotations

import importlib
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from codegen.module_names import GENERATED
from gradwright.testing import make_sample
from gradwright.verify.points import Point, all_tensors, points
from gradwright.verify.property import Property
from gradwright.verify.results import Cell, Failure, Inapplicable, Refuted, Status, Undecided
from gradwright.verify.table import PROPERTIES, table_of
from runtime.base import dtypes
from runtime.base.errors import MissingDerivativeError
from runtime.load.operator_info import OperatorInfo

_ENOUGH = 3  # failures beside the samples


def prove(
    info: OperatorInfo, properties: Sequence[Property] = PROPERTIES, until_wrong: bool = False, incomplete: bool = False
) -> list[Cell]:
    """The cells of an operator.

    Args:
        info: the operator.
        properties: what to look at.
        until_wrong: end at the first property that does not hold.
        incomplete: whether they are formulas of somebody else: what needs something that is not implemented is
            skipped then, and else refuted.
    """
    cells = []
    for each in properties:
        cells.append(_prove(info, each, until_wrong, incomplete))
        if until_wrong and cells[-1].failures:
            break
    return cells


def _prove(info: OperatorInfo, wanted: Property, until_wrong: bool, incomplete: bool) -> Cell:
    started = time.perf_counter()
    cell = Cell(info.name, wanted.name, info.package, wanted.target)
    waived = dict(info.unproven).get(wanted.name)
    if wanted.points is not None and waived is not None:
        cell.reasons = [waived]  # what was not found is no proof
    elif wanted.applies_to(info):
        given = _points(info, wanted)
        if wanted.check_all is not None:
            look(wanted.check_all, list(given), cell, incomplete)
        if wanted.check is not None:
            for point in given:
                look(_counted(wanted.check), [point], cell, incomplete)
                if cell.failures and (until_wrong or (wanted.points is not None and len(cell.failures) == _ENOUGH)):
                    break
    if waived is not None and wanted.target is None and wanted.points is None:
        _waive(cell, waived, incomplete)
    if info.convention is not None and wanted.of_values:
        _grant(cell, info.convention, incomplete)
    if wanted.target is not None:
        cell.failures = [replace(each, message=f"in {wanted.target}: {each.message}") for each in cell.failures]
    cell.seconds = time.perf_counter() - started
    return cell


def _points(info: OperatorInfo, wanted: Property) -> Iterator[Point]:
    if wanted.points is not None:
        return wanted.points(info)
    return (point for dtype in wanted.dtypes for point in points(info, dtype))


def _counted(check: Callable[[Point], None]) -> Callable[[Sequence[Point]], int]:
    def one(given: Sequence[Point]) -> int:
        check(given[0])
        return 1

    return one


def look(check: Callable[[Sequence[Point]], int], given: Sequence[Point], cell: Cell, incomplete: bool) -> None:
    """Look at samples, and note in a cell what comes of it.

    Args:
        check: raises where they refute the property, and says how many it has looked at.
        given: the samples.
        cell: of the property.
        incomplete: whether what is not implemented is left out.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            cell.checked += check(given)
    except (Inapplicable, MissingDerivativeError):
        pass
    except Undecided as reason:
        _leave_out(cell, str(reason))
    except Refuted as wrong:
        cell.failures.append(_failure(wrong.point or given[0], wrong.message, wrong.argument, wrong.cause))
    except Exception as error:  # whatever a formula raises refutes it
        message = f"{type(error).__name__}: {error}".replace("\n", " ")
        if incomplete and isinstance(error, NotImplementedError):
            _leave_out(cell, message)
        else:
            cell.failures.append(_failure(given[0], message))


def _leave_out(cell: Cell, reason: str) -> None:
    if reason not in cell.reasons:
        cell.reasons.append(reason)


def _failure(point: Point, message: str, argument: str | None = None, cause: str | None = None) -> Failure:
    elements = sum(tensor.numel() for tensor in all_tensors(point.sample))
    return Failure(point.number, point.sample.text, point.dtype, message, argument, cause, elements)


def _waive(cell: Cell, reason: str, incomplete: bool) -> None:
    """What the YAML says can not be proven is skipped; where all of it holds, the YAML is wrong.

    With formulas of somebody else it may hold.
    """
    if cell.status in (Status.PROVEN, Status.NONE):
        if incomplete:
            return
        message = f"the property holds, and 'unproven' of the operator names it: {reason}"
        cell.failures = [Failure(1, "", "", message)]
        return
    cell.failures, cell.reasons, cell.checked = [], [reason], 0


def _grant(cell: Cell, reason: str, incomplete: bool) -> None:
    """Formulas that are meant to be others than the derivatives are not refuted by these.

    Where all gradients are the derivatives, the YAML is wrong.
    """
    if cell.status is Status.REFUTED:
        cell.failures, cell.reasons, cell.checked, cell.by_convention = [], [reason], 0, True
    elif cell.name == "gradient" and not incomplete:
        message = (
            "the gradients are those of the operator, and its 'not_a_derivative_because' says that they are not: "
            f"{reason}"
        )
        cell.failures = [Failure(1, "", "", message)]


def check(
    operator: str, property: str, sample: str, dtype: str, package: str = GENERATED, target: str | None = None
) -> None:
    """Look at one property of an operator in one sample; with a target, of the operator in that framework.

    Raises:
        Refuted: it does not hold.
    """
    info = importlib.import_module(f"{package}.registry").OPERATORS[operator]
    made = make_sample(info, sample, getattr(dtypes, dtype))
    wanted, point = table_of(target)[property], Point(info, made, 1, dtype)
    if wanted.check is not None:
        wanted.check(point)
    elif wanted.check_all is not None:
        wanted.check_all([point])
