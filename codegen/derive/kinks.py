"""The points where an expression over elements has no derivative, and what it is said to be there.

`abs`, `maximum` and comparisons have kinks: their entries name expressions whose zeros they are. Where these zeros are
in an expression is found by numbers, as is whether the slopes on both sides differ at all.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from codegen.bind.elementwise import ResolvedConvention, ResolvedElementwise
from codegen.codes import Code
from codegen.derive.numbers import Numbers, UnknownValueError, Value
from codegen.formula.typed import TypedExpr, variables
from codegen.schema.defaults import default_value
from codegen.source import Diagnostics

if TYPE_CHECKING:
    from numpy.typing import NDArray

_FAR = 64.0  # zeros are looked for up to here, on both sides
_GRID = 8191  # an odd number of points, which are no round numbers
_MOST = 8  # zeros; what has more is taken for periodic
_TRIALS = 3
_NEAR = 1e-6
_SAME = 1e-4


@dataclass(frozen=True, slots=True)
class Slopes:
    """What the derived formulas give for all Tensors around a point."""

    below: tuple[float, ...]
    at: tuple[float, ...]
    above: tuple[float, ...]

    @property
    def is_smooth(self) -> bool:
        """Whether the two sides agree, and the point with them."""
        pairs = zip(self.below, self.at, self.above, strict=True)
        return all(_close(low, high) and _close(low, middle) for low, middle, high in pairs)


@dataclass(frozen=True, slots=True)
class Trial:
    """Values for the arguments, numbers for the Tensors; those of the first Tensor vary."""

    first: str
    others: Mapping[str, Value]

    def at(self, points: NDArray[Any]) -> dict[str, NDArray[Any] | Value]:
        """The arguments where the first Tensor has these values."""
        return {**self.others, self.first: points}


def trials(known: ResolvedElementwise) -> Iterator[Trial]:
    """Some values for the arguments; in the first of them numbers are what they are by default, and words in all."""
    schema = known.function.schema
    draw = random.Random(str(schema.name))
    for number in range(_TRIALS):
        others: dict[str, Value] = {}
        for argument in schema.arguments:
            default = None if argument.default is None else default_value(argument)
            drawn = round(draw.uniform(0.3, 1.7), 3)
            by_default = argument.default is not None and (number == 0 or isinstance(default, bool | str))
            plain = default if isinstance(default, bool | int | float | str) else None
            others[argument.name] = plain if by_default else drawn
        del others[known.tensors[0]]
        yield Trial(known.tensors[0], others)


class Kinks:
    """Checks the conventions of one operator against its kinks.

    Args:
        known: the operator.
        gradients: the derived formulas of its Tensors; None where one is zero.
        numbers: computes.
        diagnostics: where a kink without a convention is reported.
    """

    def __init__(
        self,
        known: ResolvedElementwise,
        gradients: Sequence[TypedExpr | None],
        numbers: Numbers,
        diagnostics: Diagnostics,
    ) -> None:
        self.known = known
        self.gradients = gradients
        self.numbers = numbers
        self.diagnostics = diagnostics

    def to_write(self) -> Sequence[ResolvedConvention]:
        """The conventions that the derived formulas do not keep by themselves; what is wrong with one is reported."""
        known = self.known
        if not known.kinks and not known.conventions:
            return ()
        found: dict[int, ResolvedConvention] = {}
        met: set[int] = set()
        exact: set[int] = set()
        try:
            for trial in trials(known):
                for point in self._points(trial):
                    slopes = self._around(trial, point)
                    at = self._convention(trial, point)
                    if at is not None:
                        met.add(at)
                        if not self._is_exact(trial, point):
                            continue  # the point is rounded, and lies on one of the sides
                        exact.add(at)
                        wanted = [self._number(slope, trial) for slope in known.conventions[at].slopes]
                        if not all(map(_close, wanted, slopes.at)):
                            found[at] = known.conventions[at]
                    elif not slopes.is_smooth:
                        self._report(trial, point, slopes)
                        return ()
        except _TooManyError as error:
            self._error(Code.KINK, error.message, error.hint)
            return ()
        except UnknownValueError:
            if not known.conventions:
                message = f"'{known.function.name}' has kinks, and where they are can not be computed here"
                self._error(Code.KINK, message, "write 'slope_at', or the formulas in derivatives.yaml")
            return known.conventions
        for number, convention in enumerate(known.conventions):
            if number not in met:
                message = f"'{known.function.name}' has a derivative there"
                self.diagnostics.error(Code.KINK, convention.text.span(), message, "remove the point")
        found |= {number: known.conventions[number] for number in met - exact}
        return [convention for _, convention in sorted(found.items())]

    def _points(self, trial: Trial) -> Sequence[float]:
        """The zeros of all kinks, as values of the first Tensor."""
        import numpy as np

        points: list[float] = []
        grid = np.linspace(-_FAR, _FAR * 1.0009, _GRID)
        for kink in self.known.kinks:
            if not _is_known(kink, trial):
                continue
            values = self.numbers.values(kink, trial.at(grid))
            changes = np.flatnonzero(np.sign(values[:-1]) * np.sign(values[1:]) < 0)
            if len(changes) > _MOST:
                raise _TooManyError(
                    f"'{self.known.function.name}' has more than {_MOST} kinks",
                    "write its formulas in derivatives.yaml",
                )
            points += [self._zero(kink, trial, grid[i], grid[i + 1]) for i in changes]
        distinct: list[float] = []
        for point in sorted(points):
            if not distinct or not _close(point, distinct[-1], 1e-9):
                distinct.append(point)
        return distinct

    def _zero(self, kink: TypedExpr, trial: Trial, low: float, high: float) -> float:
        """Where a kink is zero between two values at which it has different signs; a round number if it can be one."""
        import numpy as np

        def values(*points: float) -> list[float]:
            return [float(value) for value in self.numbers.values(kink, trial.at(np.array(points)))]

        below, above = values(low, high)
        point = low - below * (high - low) / (above - below)  # of a line, as most are
        (left,) = values(point)
        if abs(left) > 1e-13 * (abs(below) + abs(above)):
            for _ in range(100):
                point = (low + high) / 2
                (left,) = values(point)
                if left * below > 0:
                    low = point
                else:
                    high = point
        for digits in range(12):
            rounded = round(point, digits)
            if abs(rounded - point) <= 1e-12 * (1 + abs(point)):
                return rounded + 0.0
        return point

    def _is_exact(self, trial: Trial, point: float) -> bool:
        """Whether a kink is zero there, in floating point too."""
        import numpy as np

        values = (self.numbers.values(kink, trial.at(np.array([point]))) for kink in self.known.kinks)
        return any(float(value[0]) == 0 for value in values)

    def _around(self, trial: Trial, point: float) -> Slopes:
        import numpy as np

        step = _NEAR * (1 + abs(point))
        where = np.array([point - step, point, point + step])
        rows = []
        for gradient in self.gradients:
            if gradient is None:
                rows.append(np.zeros(3))
            else:
                rows.append(self.numbers.values(gradient, trial.at(where), self.known.steps))
        below, at, above = (tuple(float(row[i]) for row in rows) for i in range(3))
        return Slopes(below, at, above)

    def _convention(self, trial: Trial, point: float) -> int | None:
        """The number of the convention for a point; None if there is none."""
        for number, convention in enumerate(self.known.conventions):
            if _is_known(convention.point, trial) and _close(self._number(convention.point, trial), point, 1e-9):
                return number
        return None

    def _number(self, expr: TypedExpr, trial: Trial) -> float:
        import numpy as np

        return float(self.numbers.values(expr, trial.at(np.zeros(1)))[0])

    def _report(self, trial: Trial, point: float, slopes: Slopes) -> None:
        numbers = {name: value for name, value in trial.others.items() if isinstance(value, int | float)}
        names = [name for name, value in numbers.items() if _close(value, point, 1e-9)]
        negative = [f"-{name}" for name, value in numbers.items() if _close(-value, point, 1e-9)]
        schema = self.known.function.schema
        by_default = {argument.name for argument in schema.arguments if argument.default is not None}
        shown = next((name for name in (*names, *negative) if name.lstrip("-") in by_default), f"{point:g}")
        shown = next((name for name in names if name not in by_default), shown)
        sides = f"{_listed(slopes.below)} below and {_listed(slopes.above)} above"
        value = f"{slopes.at[0]:g}" if len(slopes.at) == 1 else f"[{', '.join(f'{each:g}' for each in slopes.at)}]"
        self._error(
            Code.KINK,
            f"'{schema.name}' has no derivative where {trial.first} is {shown}: it is {sides}",
            f"say what it is to be there: 'slope_at: {{{shown}: {value}}}'",
        )

    def _error(self, code: Code, message: str, hint: str) -> None:
        self.diagnostics.error(code, self.known.text.span(), message, hint)


class _TooManyError(Exception):
    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


def _is_known(expr: TypedExpr, trial: Trial) -> bool:
    """Whether all arguments that an expression reads are given."""
    return all(trial.others.get(variable.name, 0) is not None for variable in variables(expr))


def _close(first: float, second: float, tolerance: float = _SAME) -> bool:
    return abs(first - second) <= tolerance * (1 + abs(first)) or (first != first and second != second)


def _listed(values: Sequence[float]) -> str:
    return ", ".join(f"{value:.4g}" for value in values)
