"""A search for calls that refute a rule, as long as somebody waits: `verify --deep`."""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from gradwright.testing import operator_of
from gradwright.verify import first_order
from gradwright.verify.points import Point
from gradwright.verify.property import Property
from gradwright.verify.proving import look
from gradwright.verify.results import Cell, Failure
from gradwright.verify.search import is_refusal, is_taken, point_of, starts
from gradwright.verify.variations import ALL_RANGES, simpler, variations
from runtime.load.operator_info import OperatorInfo

SECONDS = 120.0  # for each operator
_CHANGES = 3  # of a sample, at most, one after another
_FURTHEST = 30.0  # decimal exponent of the largest and, negative, the smallest numbers
_SIMPLER = 300  # calls that are tried to find a smaller one
# What holds at numbers of any size; other properties are looked at where these are of the usual one.
_OF_ALL_SIZES = frozenset(("returns", "gradient", "forward", "dtypes", "inputs", "out"))
# What is not about a single call of the operator itself.
_LEFT_OUT = frozenset(("saved", "empty", "beyond", "native"))

Check = Callable[[Point], None]


@dataclass(frozen=True, slots=True)
class Deep:
    """How long a search goes on for each operator, in seconds of the processor, and what it begins with."""

    seed: int
    seconds: float


def deepen(
    info: OperatorInfo, cells: Sequence[Cell], properties: Sequence[Property], seed: int, seconds: float
) -> None:
    """Look at calls made of the samples, by chance, and add to the cells what they refute.

    Args:
        info: the operator.
        cells: what is known of its properties.
        properties: those of the cells.
        seed: the same one makes the same calls, as far as there is time for them.
        seconds: how long, of the processor.
    """
    random = np.random.default_rng((seed, zlib.crc32(info.name.encode())))
    wanted = [
        (each, cell) for each, cell in zip(properties, cells, strict=True)
        if each.check is not None and each.name not in _LEFT_OUT and each.name not in dict(info.unproven)
        and not (each.of_values and info.convention is not None) and each.applies_to(info)
    ]  # fmt: skip
    if "beyond" in dict(info.unproven):
        return
    end = time.process_time() + seconds
    for text, is_usual in _calls(info, random, end):
        for each, cell in wanted:
            if cell.failures or not (is_usual or each.name in _OF_ALL_SIZES):
                continue
            dtype = str(random.choice(each.dtypes))
            failure = _failure(info, each, text, dtype)
            cell.checked += failure is None
            if failure is not None:
                cell.failures.append(_smallest(info, each, failure))


def _calls(info: OperatorInfo, random: np.random.Generator, end: float) -> Iterator[tuple[str, bool]]:
    """Calls that the operator takes, and of each whether its numbers are of the usual size, until a time comes."""
    parameters = operator_of(info).signature.parameters
    given = starts(info)
    seen = set(info.samples)
    while given and time.process_time() < end:
        text, is_usual = str(random.choice(np.array(given, object))), True
        size = 10.0 ** round(random.uniform(-_FURTHEST, _FURTHEST), 1)
        low, high = float(f"{size / 10:.1e}"), float(f"{size:.1e}")
        ranges = (*ALL_RANGES, (-high, high), (low, high), (-high, -low))
        for _ in range(random.integers(1, _CHANGES + 1)):
            factors = [float(each) for each in np.round(random.uniform(0.1, 3, 2), 3)]
            made = list(variations(text, parameters, info.samples, ranges, info.pointwise, factors))
            kinds = sorted({each.kind for each in made})
            if not kinds:
                break
            kind = str(random.choice(kinds))
            other = str(random.choice(np.array([each.text for each in made if each.kind == kind], object)))
            if is_taken(info, other):
                text = other
                is_usual &= kind != "values"
        if text not in seen:
            seen.add(text)
            yield text, is_usual


def _failure(info: OperatorInfo, wanted: Property, text: str, dtype: str) -> Failure | None:
    """What refutes a property in a call."""
    point = point_of(info, text, dtype) if is_taken(info, text, dtype) else None
    if point is None:
        return None
    found = Cell(info.name, wanted.name)
    look(_lenient(wanted), [point], found, True)
    return found.failures[0] if found.failures else None


def _lenient(wanted: Property) -> Callable[[Sequence[Point]], int]:
    assert wanted.check is not None
    check: Check = wanted.check

    def run(points: Sequence[Point]) -> int:
        try:
            if check is first_order.gradient:
                first_order.gradient(points[0], with_kinks=False)
            else:
                check(points[0])
        except Exception as error:
            if not is_refusal(error, points[0]):
                raise
        return 1

    return run


def _smallest(info: OperatorInfo, wanted: Property, failure: Failure) -> Failure:
    """A failure of a call that says as little as is found."""
    left = _SIMPLER
    parameters = operator_of(info).signature.parameters
    while left > 0:
        for text in simpler(failure.sample, parameters):
            left -= 1
            other = _failure(info, wanted, text, failure.dtype)
            if other is not None:
                failure = replace(other, sample=text)
                break
            if left <= 0:
                break
        else:
            return failure
    return failure
