"""The examples run; each asserts what it shows."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

from support.documents import ROOT, run

EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
PORTS = sorted((ROOT / "examples" / "ports").glob("*.py"))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_example(example: Path) -> None:
    # `-c` and not the file itself: an example belongs to the checkout, whose root is then the first place for imports.
    finished = run(f'python -c \'import runpy; runpy.run_path("examples/{example.name}", run_name="__main__")\'', ROOT)
    assert finished.returncode == 0, finished.stdout
    assert finished.stdout


@pytest.mark.parametrize("port", PORTS, ids=lambda path: path.stem)
def test_a_port_learns(port: Path) -> None:
    losses = runpy.run_path(str(port))["train"]()
    assert min(losses[-5:-1]) < losses[0]


def test_the_list_names_every_example() -> None:
    page = (ROOT / "examples" / "README.md").read_text(encoding="utf-8")
    assert [path.name for path in (*EXAMPLES, *PORTS) if f"`{path.name}`" not in page] == []
