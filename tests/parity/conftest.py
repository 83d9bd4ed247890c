"""Where the extra `parity` is not installed (`make test`), no test of this folder is imported."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

from tools import upstream

FOLDER = Path(__file__).parent
# The extra `bench` has the first alone.
HAS_PYTORCH = all(find_spec(name) is not None for name in ("torch", "expecttest"))

collect_ignore_glob = [] if HAS_PYTORCH else ["*test_*.py"]


def pytest_report_header() -> str | None:
    return None if HAS_PYTORCH else "the extra `parity` is not installed: tests/parity is left out"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All tests of this folder have the mark `parity`, by which a run takes them or leaves them out.

    On PyTorch's formulas operators on lists have entries, which are not understood: see docs/upstream.md.
    """
    from generated.registry import OPERATORS

    items = [item for item in items if item.path.is_relative_to(FOLDER)]
    of_lists = tuple(name for name, info in OPERATORS.items() if name.startswith("_foreach_") and info.node is not None)
    for item in items:
        item.add_marker(pytest.mark.parity)
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
