"""docs/torch.md holds: from an empty folder, all it says is done and prints what it says."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.documents import ROOT, blocks, follow
from support.in_process import run_line


def test_the_page_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRADWRIGHT_VERIFY", "1")
    for block in blocks(ROOT / "docs" / "torch.md"):
        follow(block, tmp_path, run_line)
