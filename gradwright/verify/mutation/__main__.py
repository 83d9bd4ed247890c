"""`python -m gradwright.verify.mutation [OPERATOR ...]`: how many mistakes the proofs find, and which they do not."""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import re
import sys
import time
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from codegen.extension import SWITCH
from codegen.module_names import GENERATED
from codegen.ranks import processors, ranks
from gradwright.verify.mutation import faults
from gradwright.verify.mutation.changes import AT_ZERO, FAULTS, ORDER, Change
from gradwright.verify.mutation.subjects import KernelSubject, Subject, subjects
from gradwright.verify.points import Point, array, points
from gradwright.verify.printing import progress
from gradwright.verify.property import BOTH, REAL
from gradwright.verify.proving import prove
from gradwright.verify.results import Inapplicable
from gradwright.verify.running import chosen, operators_of, part_of
from gradwright.verify.search import beside
from gradwright.verify.second_order import at_special_values
from gradwright.verify.table import BY_NAME
from runtime import native
from runtime.base.tensor import Tensor
from runtime.load.operator_info import OperatorInfo

# What a wrong formula shows in; the rest is about kernels and variants.
LOOKED_AT = (
    "gradient", "gradient_complex", "boundary", "forward", "forward_complex", "second", "second_complex", "modes",
    "linear", "complex_step", "undefined", "needed", "dtypes", "transposed", "empty", "layouts", "batching", "beyond",
)  # fmt: skip
# What a wrong kernel shows in, whose derivatives are looked at by their values.
OF_KERNELS = ("returns", "gradient", "forward", "inputs", "beyond")
# Kinds of mistakes that only values of derivatives show.
OF_VALUES = ("digits", "range", "overflow", AT_ZERO)
LEAST = 0.98


@dataclass(frozen=True, slots=True)
class Mutant:
    """A mistake, and the property that it was found by: None where it was not.

    Not reached is one that no call shows, of the samples and of those that are made of them.
    """

    subject: str
    change: str
    kind: str
    killed_by: str | None
    is_reached: bool = True

    @property
    def name(self) -> str:
        """What patterns of known survivors are compared with."""
        return f"{self.subject}: {self.change}"

    @property
    def outcome(self) -> str:
        """A word for what has become of it."""
        return self.killed_by or ("SURVIVED" if self.is_reached else "NOT REACHED")


def main(argv: Sequence[str] | None = None) -> int:
    """Alter, prove and print; the exit status: 0, 1 (too few found, or one survives that is not listed), 2 (usage)."""
    parser = argparse.ArgumentParser(
        prog="python -m gradwright.verify.mutation",
        description="Puts one mistake at a time into formulas and helpers, and counts those that the proofs refute.",
    )
    parser.add_argument("operators", nargs="*", metavar="OPERATOR", help="default: all")
    parser.add_argument("--package", default=GENERATED)
    parser.add_argument("--jobs", type=int, help="how many processes (default: all processors)")
    parser.add_argument(
        "--part", default="1/1", metavar="K/N", help="every Nth function with its mistakes, from the Kth"
    )
    parser.add_argument("--every", action="store_true", help="print each mistake, with the property that found it")
    parser.add_argument(
        "--known",
        type=Path,
        metavar="FILE",
        help="patterns of mistakes that make no difference or that no sample shows, with reasons",
    )
    arguments = parser.parse_args(argv)
    started = time.perf_counter()
    operators = operators_of(arguments.package)
    try:
        names = chosen(operators, arguments.operators)
        every = part_of(subjects(operators, names), arguments.part)
    except ValueError as error:
        parser.error(str(error))
    equivalent, missed = _listed(arguments.known)
    together = ranks()
    own = every[together.rank :: together.size]
    parts = together.collect(
        _run(arguments.package, own, arguments.jobs or processors() // together.here or 1, arguments.every)
    )
    if parts is None:
        return 0  # the first process says what all have found
    order = {subject.name: number for number, subject in enumerate(every)}
    tried = sorted((each for part in parts for each in part), key=lambda each: order[each.subject])
    found = [each for each in tried if each.is_reached]
    alive = [each for each in found if each.killed_by is None]
    survived = [each for each in alive if not any(pattern.match(each.name) for pattern in equivalent)]
    unknown = [each for each in survived if not any(pattern.match(each.name) for pattern in missed)]
    for each in unknown:
        print(f"survived: {each.name}")
    kinds = Counter(each.kind for each in found)
    lost = Counter(each.kind for each in survived)
    for kind, total in kinds.most_common():
        print(f"{kind}\t{total - lost[kind]} of {total}")
    counted = len(found) - (len(alive) - len(survived))
    rate = 1 - len(survived) / counted if counted else 1.0
    seconds = time.perf_counter() - started
    print(
        f"{len(every)} functions, {len(found)} mistakes: {len(found) - len(alive)} found, "
        f"{len(alive) - len(survived)} make no difference, {len(survived)} survived: {rate:.2%} in {seconds:.0f} s"
        + f"; {len(tried) - len(found)} more are reached by no call"
    )
    is_whole = arguments.part == "1/1" and not arguments.operators
    return 1 if unknown or (is_whole and rate < LEAST) else 0


def _listed(file: Path | None) -> tuple[list[re.Pattern[str]], list[re.Pattern[str]]]:
    """The patterns of a file: of mistakes that make no difference, and of those that do, and no sample shows."""
    groups = [] if file is None else json.loads(file.read_text(encoding="utf-8"))
    equivalent: list[re.Pattern[str]] = []
    missed: list[re.Pattern[str]] = []
    for group in groups:
        (missed if group.get("missed") else equivalent).extend(map(re.compile, group["mistakes"]))
    return equivalent, missed


def _run(package: str, every: Sequence[Subject | KernelSubject], jobs: int, shown: bool) -> list[Mutant]:
    if jobs == 1 or len(every) < 2:
        return [mutant for subject in every for mutant in mutants(package, subject)]
    _shared.update({subject.name: subject for subject in every})
    with (
        progress(len(every)) as report,
        ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("fork")) as pool,
    ):
        found: list[Mutant] = []
        parts = pool.map(_mutants, [(package, each.name) for each in every])
        for number, part in enumerate(parts, 1):
            found += part
            report(number, sum(each.killed_by is None for each in found))
            for each in part if shown else ():
                print(f"{each.outcome}\t{each.name}", flush=True)
    return found


_shared: dict[str, Subject | KernelSubject] = {}  # functions are not sent to other processes, they are there


def _mutants(task: tuple[str, str]) -> list[Mutant]:
    package, name = task
    return mutants(package, _shared[name])


def mutants(package: str, subject: Subject | KernelSubject) -> list[Mutant]:
    """Each mistake of a function, and what it was found by."""
    operators = operators_of(package)
    found = []
    looked_at = OF_KERNELS if isinstance(subject, KernelSubject) else LOOKED_AT
    properties = [BY_NAME[name] for name in looked_at]
    is_convention = all(operators[name].convention is not None for name in subject.operators)
    for name, change in numbered(subject.changes()):
        if is_convention and change.kind in OF_VALUES:
            continue  # gradients that are meant to be others than the derivatives are compared with nothing
        killed_by = None
        faults.start()
        with subject.with_mistake(change), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for operator in subject.operators:
                cells = prove(operators[operator], properties, until_wrong=True)
                if cells[-1].failures:
                    killed_by = cells[-1].name
                    break
        if killed_by is None and change.kind in (AT_ZERO, ORDER) and not _differs(subject, change, operators):
            continue  # it stands in a branch that is not taken there, say, or its derivative is zero anyway
        is_reached = (
            killed_by is not None
            or not (FAULTS in change.after or isinstance(subject, KernelSubject))
            or faults.is_reached()
        )
        found.append(Mutant(subject.name, name, change.kind, killed_by, is_reached))
    return found


def _differs(subject: Subject | KernelSubject, change: Change, operators: Mapping[str, OperatorInfo]) -> bool:
    """Whether a mistake changes a second derivative at special values, or, of orders, a gradient."""

    def computed() -> list[Any]:
        every = [operators[name] for name in subject.operators]
        if change.kind == ORDER:
            calls = [point for info in every for point in (*points(info, REAL), *beside(info))]
            return [array(each) for point in calls for each in _gradients_of(point)]
        calls = [point for info in every for dtype in BOTH for point in points(info, dtype)]
        return [each for point in calls for each in at_special_values(point)]

    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        right = computed()
        with subject.with_mistake(change):
            wrong = computed()
    pairs = zip(right, wrong, strict=False)
    return len(right) != len(wrong) or any(np.shape(a) != np.shape(b) or _is_apart(a, b) for a, b in pairs)


def _is_apart(right: Any, wrong: Any) -> bool:
    """Whether numbers differ where the right ones are finite: elsewhere there is no derivative."""
    known = np.isfinite(right)
    return not np.allclose(np.asarray(right)[known], np.asarray(wrong)[known], rtol=1e-9)


def _gradients_of(point: Point) -> list[Tensor]:
    """The gradients of a call; nothing where there are none."""
    try:
        return point.gradients(point.like(point.results()))
    except (Inapplicable, RuntimeError, TypeError):
        return []


def numbered(changes: Iterator[Change]) -> Iterator[tuple[str, Change]]:
    """Mistakes with their names: of those that read alike in one function, the second has a `[2]`."""
    seen: Counter[str] = Counter()
    for change in changes:
        text = str(change)
        seen[text] += 1
        yield text if seen[text] == 1 else f"{text} [{seen[text]}]", change


def _start() -> int:
    """As `main`, in a process without the native core: it runs formulas of the same plans, and not those altered."""
    if native.core is None:
        return main()
    environment = {**os.environ, SWITCH: "0"}
    # The same process, so that it is still the one that mpiexec has started.
    os.execve(sys.executable, [sys.executable, "-m", "gradwright.verify.mutation", *sys.argv[1:]], environment)


if __name__ == "__main__":
    sys.exit(_start())
