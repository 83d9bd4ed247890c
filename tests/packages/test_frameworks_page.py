"""docs/frameworks.md holds: in an empty folder, everything it says is done and prints what it says."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from support.documents import ROOT, Block, blocks, follow
from support.in_process import run_line

# Programs of the page, and what they need that the extra `parity` installs.
NEEDED = {"python use_jax.py": "jax", "gradwright verify --target jax": "jax"}


def test_the_page_holds(tmp_path: Path) -> None:
    for block in blocks(ROOT / "docs" / "frameworks.md"):
        if not _lacks(block):
            follow(block, tmp_path, run_line)


def _lacks(block: Block) -> bool:
    """Whether a block runs what is not installed."""
    return any(f"$ {line}\n" in block.text and find_spec(name) is None for line, name in NEEDED.items())
