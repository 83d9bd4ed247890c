"""Options of the test run."""

from __future__ import annotations

import os

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


@pytest.fixture
def update_goldens(request: pytest.FixtureRequest) -> bool:
    return bool(request.config.getoption("--update-goldens"))
