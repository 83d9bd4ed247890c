"""Where PyTorch is not installed (`make test`), no file of this folder is imported."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest
import upstream

HAS_PYTORCH = find_spec("torch") is not None

collect_ignore_glob = [] if HAS_PYTORCH else ["test_*.py"]


def pytest_report_header() -> str | None:
    return None if HAS_PYTORCH else "PyTorch is not installed: tests/parity is left out"


@pytest.fixture(scope="session")
def packaged() -> Path:
    """The folder of PyTorch's YAML."""
    folder = upstream.packaged()
    if folder is None:
        pytest.skip("needs the torchgen package of PyTorch")
    return folder
