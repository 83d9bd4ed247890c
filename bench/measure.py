"""Timing: interleaved rounds, per-round ratios, medians.

A machine that other work shares drifts: a ratio of two times taken a minute apart measures the drift.  So every
round runs all sides, one right after the other, each round in the opposite order of the last one, and what is
reported is the median of the ratios of the rounds.
"""

from __future__ import annotations

import gc
import statistics
import time
import timeit
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

# One round of a workload: seconds per unit of work, or `Bytes`, by the name of the row.
Round = Callable[[], Mapping[str, float]]


class Bytes(float):
    """A number of bytes, where seconds would be."""


@dataclass(frozen=True)
class Measurement:
    """One row: the medians of both sides in seconds or bytes, and the median of the ratios of the rounds."""

    row: str
    subject: float
    reference: float | None
    ratio: float | None
    rounds: int
    unit: Literal["s", "B"] = "s"


def interleave(sides: Sequence[Round], rounds: int) -> list[list[Mapping[str, float]]]:
    """Run every side once in each round, the order reversed in every second one; one list of results a side."""
    results: list[list[Mapping[str, float]]] = [[] for _ in sides]
    for number in range(rounds):
        order = range(len(sides)) if number % 2 == 0 else range(len(sides) - 1, -1, -1)
        for side in order:
            gc.collect()
            results[side].append(sides[side]())
    return results


def compare(subject: Round, reference: Round | None, rounds: int, warm_up: bool = True) -> list[Measurement]:
    """Measure `subject` against `reference`: one measurement for each row that the rounds return."""
    sides = [subject] if reference is None else [subject, reference]
    if warm_up:
        for side in sides:
            side()
    results = interleave(sides, rounds)
    measurements = []
    for row in results[0][0]:
        ours = [result[row] for result in results[0]]
        unit: Literal["s", "B"] = "B" if isinstance(ours[0], Bytes) else "s"
        if reference is None or row not in results[1][0]:
            measurements.append(Measurement(row, statistics.median(ours), None, None, rounds, unit))
            continue
        theirs = [result[row] for result in results[1]]
        ratios = [our / their for our, their in zip(ours, theirs, strict=True)]
        measurements.append(
            Measurement(
                row, statistics.median(ours), statistics.median(theirs), statistics.median(ratios), rounds, unit
            )
        )
    return measurements


def statement_timer(statement: str, names: Mapping[str, Any], seconds: float) -> Callable[[], float]:
    """A function that returns the seconds of one execution of `statement`, from a loop of about `seconds`.

    The garbage collector runs as it does in a program: `timeit` turns it off, which would hide what Nodes cost it.
    """
    timer = timeit.Timer(statement, setup="import gc; gc.enable()", globals=dict(names))
    timer.timeit(10)  # the first calls load and allocate
    number = 1
    while (taken := timer.timeit(number)) < seconds / 4:
        number *= 4
    number = max(1, round(number * seconds / taken))
    return lambda: timer.timeit(number) / number


def seconds_of(work: Callable[[], Any], seconds: float) -> Callable[[], float]:
    """A function that returns the seconds of one execution, from about `seconds` of them."""
    work()  # the first call loads and allocates
    number = 1
    while True:
        start = time.perf_counter()
        for _ in range(number):
            work()
        taken = time.perf_counter() - start
        if taken >= seconds / 4:
            break
        number *= 4
    number = max(1, round(number * seconds / taken))

    def measured() -> float:
        start = time.perf_counter()
        for _ in range(number):
            work()
        return (time.perf_counter() - start) / number

    return measured
