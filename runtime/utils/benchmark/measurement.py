"""What was measured, and what the numbers say."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, fields
from textwrap import indent
from typing import Any

import numpy as np

from runtime.utils.benchmark.numbers import magnitude, quantile, select_unit, single

# The most digits that a time is believed to have, and the least uncertainty, in seconds.
_MOST_FIGURES = 4
_LEAST_INTERVAL = 25e-9
# Half of all runs of a normal distribution's 90% lie within so many standard deviations of its mean.
_DEVIATIONS = 1.645
# Spreads from which on times are doubtful, by the spread what may be wrong.
_DOUBTFUL = 0.1
_BAD = 0.25
_FLUCTUATION = "This could indicate system fluctuation."
_INFLUENCE = "This suggests significant environmental influence."


@dataclass(repr=False, frozen=True)
class TaskSpec:
    """What a Timer runs, and how it is called in tables."""

    stmt: str
    setup: str
    global_setup: str = ""
    label: str | None = None
    sub_label: str | None = None
    description: str | None = None
    env: str | None = None
    num_threads: int = 1

    @property
    def title(self) -> str:
        """The label, or the statement itself where there is none."""
        if self.label is None and "\n" in self.stmt:
            return f"stmt:{f' ({self.sub_label})' if self.sub_label else ''}\n{indent(self.stmt, '  ')}"
        name = self.stmt if self.label is None else self.label
        return f"{name}: {self.sub_label}" if self.sub_label else name

    def setup_str(self) -> str:
        """The setup as `summarize` prints it; empty where it does nothing."""
        if self.setup in ("", "pass"):
            return ""
        return f"setup:\n{indent(self.setup, '  ')}" if "\n" in self.setup else f"setup: {self.setup}"

    def summarize(self) -> str:
        """Title, description and setup: one below the other, with an empty line after what takes several."""
        parts = [part for part in (self.title, self.description, self.setup_str()) if part]
        return "\n".join(f"{part}\n" if "\n" in part else part for part in parts)


_OF_THE_TASK = frozenset(field.name for field in fields(TaskSpec))


@dataclass(frozen=True)
class _Statistics:
    """Numbers about the times of single runs; those of no times are what stands here."""

    ordered: tuple[float, ...] = ()
    median: float = -1.0
    mean: float = -1.0
    lower: float = -1.0  # a quarter lies below
    upper: float = -1.0  # a quarter lies above

    @staticmethod
    def of(times: Iterable[float]) -> _Statistics:
        ordered = tuple(sorted(times))
        lower, median, upper = (quantile(ordered, part) for part in (0.25, 0.5, 0.75))
        return _Statistics(ordered, median, float(np.mean(ordered)), lower, upper)

    @property
    def iqr(self) -> float:
        return self.upper - self.lower

    def spreads_less_than(self, threshold: float) -> bool:
        return self.iqr / self.median < threshold

    def warnings(self) -> tuple[str, ...]:
        if not self.ordered or self.spreads_less_than(_DOUBTFUL):
            return ()
        return (
            f"  WARNING: Interquartile range is {self.iqr / self.median * 100:.1f}% of the median measurement.\n"
            f"           {_FLUCTUATION if self.spreads_less_than(_BAD) else _INFLUENCE}",
        )


@dataclass(repr=False)
class Measurement:
    """The times that a Timer measured.

    `raw_times` are of `number_per_run` executions each, in seconds; the statistics are of single ones. What the task
    says, `label` or `num_threads`, can be asked of a Measurement as well.
    """

    number_per_run: int
    raw_times: list[float]
    task_spec: TaskSpec
    metadata: dict[Any, Any] | None = None

    def __post_init__(self) -> None:
        self._known: _Statistics | None = None

    def __getattr__(self, name: str) -> Any:
        if name in _OF_THE_TASK:
            return getattr(self.task_spec, name)
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    @property
    def _statistics(self) -> _Statistics:
        """Computed once, when there are times."""
        if not self.raw_times and self._known is None:
            return _Statistics()
        if self._known is None:
            self._known = _Statistics.of(self.times)
        return self._known

    @property
    def times(self) -> list[float]:
        """The seconds of one execution, by each measurement."""
        return [time / self.number_per_run for time in self.raw_times]

    @property
    def median(self) -> float:
        """The time that half of them are below."""
        return self._statistics.median

    @property
    def mean(self) -> float:
        """The mean of the times."""
        return self._statistics.mean

    @property
    def iqr(self) -> float:
        """How far the middle half of the times reaches: the interquartile range."""
        return self._statistics.iqr

    @property
    def significant_figures(self) -> int:
        """How many digits of the median can be relied on, roughly: one to four.

        The interval of confidence is that of a normal distribution with the deviation of the middle half of the times,
        so a few that lie far away do not count.
        """
        statistics = self._statistics
        n = len(statistics.ordered)
        middle = np.array(statistics.ordered[n // 4 : math.ceil(single(3 * n / 4))], np.float32)
        if not middle.size:
            raise ValueError("no times were measured")
        deviation = single(middle.std(dtype=np.float64))
        interval = max(_DEVIATIONS * deviation / single(math.sqrt(middle.size)), _LEAST_INTERVAL)
        return min(max(math.floor(magnitude(statistics.median / interval)), 1), _MOST_FIGURES)

    @property
    def has_warnings(self) -> bool:
        """Whether the times spread so far that something else must have had a part in them."""
        return bool(self._statistics.warnings())

    def meets_confidence(self, threshold: float = _DOUBTFUL) -> bool:
        """Whether the interquartile range is less than this part of the median."""
        return self._statistics.spreads_less_than(threshold)

    @property
    def title(self) -> str:
        """The label of the task, or its statement."""
        return self.task_spec.title

    @property
    def as_row_name(self) -> str:
        """What stands before a row of a table."""
        return self.task_spec.sub_label or self.task_spec.stmt or "[Unknown]"

    def __repr__(self) -> str:
        numbers = self._statistics
        n = len(numbers.ordered)
        unit, scale = select_unit(numbers.median)

        def shown(seconds: float) -> str:
            return f"{seconds / scale:.2f}"

        threads = self.task_spec.num_threads
        counts = f"{self.number_per_run} runs {'per measurement,' if n > 1 else ','}"
        lines = [
            object.__repr__(self),
            self.task_spec.summarize(),
            f"  {'Median: ' if n > 1 else ''}{shown(numbers.median)} {unit}",
        ]
        if n >= 4:
            ends = f"{shown(numbers.lower)} to {shown(numbers.upper)}"
            lines.append(f"  IQR:    {shown(numbers.iqr)} {unit} ({ends})")
        lines.append(f"  {n} measurement{'s' if n > 1 else ''}, {counts} {threads} thread{'s' if threads > 1 else ''}")
        return "\n".join("\n".join((*lines, *numbers.warnings())).splitlines())

    @staticmethod
    def merge(measurements: Iterable[Measurement]) -> list[Measurement]:
        """One Measurement for each task, of the times of single executions of all that measured it.

        Metadata are left out, since they may differ.
        """
        times: dict[TaskSpec, list[float]] = {}
        for measurement in measurements:
            times.setdefault(measurement.task_spec, []).extend(measurement.times)
        return [Measurement(1, found, task) for task, found in times.items()]
