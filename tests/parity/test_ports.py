"""Ordinary programs of PyTorch in `examples/ports/`: with only the import changed they reach the same losses."""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from typing import Any

import pytest

from support.documents import ROOT

PORTS = ROOT / "examples" / "ports"
NAMES = sorted(path.stem for path in PORTS.glob("*.py"))


def losses(path: Path) -> list[float]:
    found: Any = runpy.run_path(str(path))["train"]()
    return list(found)


@pytest.mark.parametrize("name", NAMES)
def test_a_port_reaches_the_losses_of_pytorch(name: str, tmp_path: Path) -> None:
    text = (PORTS / f"{name}.py").read_text(encoding="utf-8")
    changed = re.sub(
        r"^from gradwright\b", "from torch", text.replace("import gradwright as torch", "import torch"), flags=re.M
    )
    assert "gradwright" not in changed
    (tmp_path / "port.py").write_text(changed, encoding="utf-8")
    assert losses(PORTS / f"{name}.py") == pytest.approx(losses(tmp_path / "port.py"), rel=2e-3, abs=1e-5)
