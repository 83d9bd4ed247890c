"""Every differentiable operator against finite differences, first and second order."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor

from rich.console import Console

from demo.progress import track
from generated.registry import OPERATORS
from gradwright.testing import CheckResult, gradcheck_operator


def check(name: str) -> CheckResult:
    """One operator; runs in a worker process."""
    return gradcheck_operator(OPERATORS[name])


def check_all(console: Console) -> list[CheckResult]:
    """Check the differentiable operators on all cores, in the order of their names."""
    # Nothing to take differences of: a random operator gives another result each time, and what is a convention is
    # meant to be no derivative.
    checked = [info for info in OPERATORS.values() if info.differentiable and not (info.random or info.convention)]
    names = sorted(info.name for info in checked)
    with ProcessPoolExecutor(max_workers=os.cpu_count()) as pool:
        return list(track(console, pool.map(check, names), len(names), "gradcheck"))


def show(results: Sequence[CheckResult]) -> None:
    """One line on all of them, and in full what failed."""
    for result in results:
        for failure in result.failures or [f"{result.name}: not checked"] * (not result.passed):
            print(failure)
    passed = sum(result.passed for result in results)
    first = sum(result.first for result in results)
    second = sum(result.second for result in results)
    print(f"{passed} of {len(results)} operators passed: {first} first-order and {second} second-order checks")
