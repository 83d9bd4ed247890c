"""Timers: a statement runs many times, after a warm-up, with a number of threads that is known."""

from __future__ import annotations

import enum
import sys
import timeit
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from textwrap import dedent
from typing import Any, NoReturn

from runtime.native.threads import get_num_threads, set_num_threads
from runtime.utils.benchmark.measurement import Measurement, TaskSpec
from runtime.utils.benchmark.numbers import single

# No statement takes less: so nothing is divided by zero where a clock is coarse.
_LEAST = 1e-9
# A block is long enough when what it takes to start it is so small a part, and not too small a part of all time.
_OVERHEAD = 1e-4
_PART_OF_ALL = 1 / 1000
_LARGEST_BLOCK = 2**31 - 1

_Callback = Callable[[int, float], Any]


class Language(enum.Enum):
    """What a statement is written in."""

    PYTHON = 0
    CPP = 1


def timer() -> float:
    """The time in seconds; operators are done when they return, so there is nothing to wait for."""
    return timeit.default_timer()


@contextmanager
def set_torch_threads(n: int) -> Iterator[None]:
    """Run the block with `n` threads, and set what was before when it ends."""
    before = get_num_threads()
    set_num_threads(n)
    try:
        yield
    finally:
        set_num_threads(before)


class Timer:
    """Measures how long a statement takes.

    Args:
        stmt: the statement, as text; it may have several lines.
        setup: what runs once before each measurement, where names can be set that `stmt` uses.
        global_setup: of C++ only.
        timer: returns the time in seconds.
        globals: names that `stmt` uses; `torch` is there without it.
        label: what is measured, as Measurements and tables call it, instead of `stmt`.
        sub_label: which of those with one label: a row of a table.
        description: which with one `sub_label`: a column of a table.
        env: where it ran, if the same is measured in several environments.
        num_threads: how many threads operators may use, as `set_num_threads` sets it.
        language: `Language.PYTHON` or `"python"`.

    Raises:
        ValueError: `stmt` is no text, there is a `global_setup`, or the language is unknown.
        NotImplementedError: the language is C++: no statements are compiled.
    """

    def __init__(
        self,
        stmt: str = "pass",
        setup: str = "pass",
        global_setup: str = "",
        timer: Callable[[], float] = timer,
        globals: dict[str, Any] | None = None,
        label: str | None = None,
        sub_label: str | None = None,
        description: str | None = None,
        env: str | None = None,
        num_threads: int = 1,
        language: Language | str = Language.PYTHON,
    ) -> None:
        if not isinstance(stmt, str):
            raise ValueError("Currently only a `str` stmt is supported.")
        if language in (Language.CPP, "cpp", "c++"):
            raise NotImplementedError("Timer measures statements of Python only: language C++ is not there")
        if language not in (Language.PYTHON, "py", "python"):
            raise ValueError(f"Invalid language `{language}`.")
        if global_setup:
            raise ValueError(
                f"global_setup is C++ only, got `{global_setup}`. Most likely this code can simply be moved to `setup`."
            )
        stmt, setup = _flush_left(stmt), _flush_left(setup)
        # A copy, because running a statement puts names into it.
        names = {"torch": sys.modules["runtime"]} | (globals or {})
        self._timer = timeit.Timer(stmt, setup, timer, names)
        self._task_spec = TaskSpec(stmt, setup, global_setup, label, sub_label, description, env, num_threads)

    def _seconds(self, number: int) -> float:
        return max(self._timer.timeit(number), _LEAST)

    def timeit(self, number: int = 1000000) -> Measurement:
        """Run the statement `number` times and measure all of them as one, after a warm-up of a hundredth."""
        with set_torch_threads(self._task_spec.num_threads):
            self._seconds(max(int(number // 100), 2))
            return self._measured(number, [self._seconds(number)])

    def repeat(self, repeat: int = -1, number: int = -1) -> NoReturn:
        """Refuse: `blocked_autorange` is the way to measure repeatedly.

        Raises:
            NotImplementedError: always.
        """
        raise NotImplementedError("See `Timer.blocked_autorange.`")

    def autorange(self, callback: _Callback | None = None) -> NoReturn:
        """Refuse: `blocked_autorange` is the way to measure repeatedly.

        Raises:
            NotImplementedError: always.
        """
        raise NotImplementedError("See `Timer.blocked_autorange.`")

    def blocked_autorange(self, callback: _Callback | None = None, min_run_time: float = 0.2) -> Measurement:
        """Measure blocks of executions until `min_run_time` seconds have gone by.

        A block is as small as it can be without the clock taking a part in what is measured: so there are many, and
        statistics of them say something.

        Args:
            callback: called with the number of executions and the seconds of each block.
            min_run_time: the seconds that all blocks take together, at least.
        """
        number = self._block_size(min_run_time)
        return self._blocks(number, lambda times: True, min_run_time, None, callback)

    def adaptive_autorange(
        self,
        threshold: float = 0.1,
        *,
        min_run_time: float = 0.01,
        max_run_time: float = 10.0,
        callback: _Callback | None = None,
    ) -> Measurement:
        """Measure blocks of executions until the interquartile range of their times is small.

        Args:
            threshold: small is what is less than this part of the median.
            min_run_time: the seconds that all blocks take together, at least.
            max_run_time: the seconds after which it ends in any case.
            callback: called with the number of executions and the seconds of each block.
        """
        number = self._block_size(0.05)

        def enough(times: list[float]) -> bool:
            return len(times) > 3 and self._measured(number, times).meets_confidence(threshold)

        return self._blocks(number, enough, min_run_time, max_run_time, callback)

    def collect_callgrind(
        self,
        number: int = 100,
        *,
        repeats: int | None = None,
        collect_baseline: bool = True,
        retain_out_file: bool = False,
    ) -> NoReturn:
        """Refuse: nothing runs under Valgrind here.

        Raises:
            NotImplementedError: always.
        """
        raise NotImplementedError("Timer.collect_callgrind is not there: Gradwright counts no instructions")

    def _measured(self, number: int, times: list[float]) -> Measurement:
        return Measurement(number, times, self._task_spec)

    def _block_size(self, min_run_time: float) -> int:
        """The power of ten of executions that a block has."""
        with set_torch_threads(self._task_spec.num_threads):
            overhead = single(sorted(self._seconds(0) for _ in range(5))[2])
            number = 1
            while True:
                taken = self._seconds(number)
                negligible = overhead / taken <= _OVERHEAD and taken >= min_run_time * _PART_OF_ALL
                if negligible or taken > min_run_time or number * 10 > _LARGEST_BLOCK:
                    return number
                number *= 10

    def _blocks(
        self,
        number: int,
        enough: Callable[[list[float]], bool],
        min_run_time: float,
        max_run_time: float | None,
        callback: _Callback | None,
    ) -> Measurement:
        total, done = 0.0, False
        times: list[float] = []
        with set_torch_threads(self._task_spec.num_threads):
            while total < min_run_time or not done:
                times.append(self._seconds(number))
                total += times[-1]
                if callback:
                    callback(number, times[-1])
                done = enough(times)
                if max_run_time and total > max_run_time:
                    break
        return self._measured(number, times)


def _flush_left(source: str) -> str:
    """Code without the indentation that all lines share, the first line break and the space at its end."""
    return dedent(source).removeprefix("\n").rstrip()
