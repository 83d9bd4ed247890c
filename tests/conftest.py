"""Options of the test run."""

from __future__ import annotations

import gc
import os
import zlib

import pytest
from hypothesis import HealthCheck, settings

# Generations of tests are many; those that are about proofs say so.
os.environ["GRADWRIGHT_VERIFY"] = "0"

# How long anything takes is up to the machine, and what else runs on it.
settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-goldens",
        action="store_true",
        help="write what the tests find into the golden files instead of comparing",
    )
    parser.addoption(
        "--part",
        type=_part,
        metavar="K/N",
        help="only the tests of part K of N equal parts, K modulo N: every test is in one of them, by its name",
    )


def _part(text: str) -> tuple[int, int]:
    number, _, count = text.partition("/")
    return int(number) % int(count), int(count)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    part: tuple[int, int] | None = config.getoption("--part")
    if part is None:
        return
    number, count = part
    chosen = [item for item in items if zlib.crc32(item.nodeid.encode()) % count == number]
    taken = set(chosen)
    config.hook.pytest_deselected(items=[item for item in items if item not in taken])
    items[:] = chosen


@pytest.fixture(autouse=True, scope="module")
def _small_heap() -> None:
    """The garbage collector leaves alone what is there before a module's tests: tests are a million objects."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def update_goldens(request: pytest.FixtureRequest) -> bool:
    return bool(request.config.getoption("--update-goldens"))
