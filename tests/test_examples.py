"""The examples run; each asserts what it shows."""

from __future__ import annotations

from pathlib import Path

import pytest

from documents import ROOT, run

EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_example(example: Path) -> None:
    # `-c` and not the file itself: an example belongs to the checkout, whose root is then the first place for imports.
    finished = run(f'python -c \'import runpy; runpy.run_path("examples/{example.name}", run_name="__main__")\'', ROOT)
    assert finished.returncode == 0, finished.stdout
    assert finished.stdout


def test_the_list_names_every_example() -> None:
    page = (ROOT / "examples" / "README.md").read_text(encoding="utf-8")
    assert [path.name for path in EXAMPLES if f"`{path.name}`" not in page] == []
