"""docs/frameworks.md holds: in an empty folder, everything it says is done and prints what it says."""

from __future__ import annotations

from pathlib import Path

from support.documents import ROOT, blocks, follow
from support.in_process import run_line


def test_the_page_holds(tmp_path: Path) -> None:
    for block in blocks(ROOT / "docs" / "frameworks.md"):
        follow(block, tmp_path, run_line)
