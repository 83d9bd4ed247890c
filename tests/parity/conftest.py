"""Where the extra `parity` is not installed (`make test`), no test of this folder is imported."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

from tools import upstream

# The extra `bench` has the first alone.
HAS_PYTORCH = all(find_spec(name) is not None for name in ("torch", "expecttest"))

collect_ignore_glob = [] if HAS_PYTORCH else ["*test_*.py"]


def pytest_report_header() -> str | None:
    return None if HAS_PYTORCH else "the extra `parity` is not installed: tests/parity is left out"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """On PyTorch's formulas operators on lists have entries, which are not understood: see docs/upstream.md."""
    from generated.registry import OPERATORS

    of_lists = tuple(name for name, info in OPERATORS.items() if name.startswith("_foreach_") and info.node is not None)
    for item in items:
        case = item.name.partition("[")[2].removesuffix("]")
        if case in of_lists or case.startswith(tuple(f"{name}-" for name in of_lists)):
            item.add_marker(pytest.mark.skip(reason="PyTorch's formulas of operators on lists"))


@pytest.fixture(scope="session")
def packaged() -> Path:
    """The folder of PyTorch's YAML."""
    folder = upstream.packaged()
    if folder is None:
        pytest.skip("needs the torchgen package of PyTorch")
    return folder
