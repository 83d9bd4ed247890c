"""Options of the test run."""

from __future__ import annotations

import gc
import os
import sys
import zlib
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

# Generations of tests are many; those that are about proofs say so.
os.environ["GRADWRIGHT_VERIFY"] = "0"

# How long anything takes is up to the machine, and what else runs on it.
settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")

# What tests of the native core say where they are skipped.
NO_CORE = "the native core is not built"


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
    parser.addoption(
        "--rotate",
        type=_part,
        metavar="K/N",
        help="of the tests that are marked with `rotates`, and are one of many, only such a part",
    )


def _part(text: str) -> tuple[int, int]:
    number, _, count = text.partition("/")
    return int(number) % int(count), int(count)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    every, rotating = config.getoption("--part"), config.getoption("--rotate")
    left_out = [
        item for item in items if not _is_of(item, every) or (_takes_turns(item) and not _is_of(item, rotating))
    ]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        without = set(left_out)
        items[:] = [item for item in items if item not in without]


def _takes_turns(item: pytest.Item) -> bool:
    """Whether it is one of many with other parameters; what guards these runs each time."""
    return item.get_closest_marker("rotates") is not None and hasattr(item, "callspec")


def _is_of(item: pytest.Item, part: tuple[int, int] | None) -> bool:
    return part is None or zlib.crc32(item.nodeid.encode()) % part[1] == part[0]


@pytest.fixture(autouse=True, scope="module")
def _small_heap() -> None:
    """The garbage collector leaves alone what is there before a module's tests: tests are a million objects."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True, scope="module")
def _nothing_registered() -> Iterator[None]:
    """A module's tests leave no package and no method in the process: others walk over all that there are."""
    before = _registered()
    yield
    if before not in (None, _registered()):
        gc.collect()  # a Library goes with what holds it
    left = set() if before is None else (_registered() or set()) - before
    assert not left, "see `Project.imported` in tests/support/own_packages.py"


def _registered() -> set[str] | None:
    """Namespaces, and the members of Tensor; None where the library is not loaded yet."""
    registered, library = sys.modules.get("runtime.call.registered"), sys.modules.get("gradwright")
    if registered is None or library is None:
        return None
    return {*registered.packages, *registered.definers, *vars(library.Tensor)}


@pytest.fixture
def update_goldens(request: pytest.FixtureRequest) -> bool:
    return bool(request.config.getoption("--update-goldens"))


def pytest_unconfigure(config: pytest.Config) -> None:
    """The last line says so where the tests of the native core were not run."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    skipped = reporter.stats.get("skipped", ()) if reporter is not None else ()
    if any(NO_CORE in str(report.longrepr) for report in skipped):
        print(f"The tests of the native core were not run: {NO_CORE}, or switched off.")
