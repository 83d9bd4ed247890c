"""`examples/machines`: losses are the same on any number of processes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from support_mpi import start

EXAMPLE = Path(__file__).parents[3] / "examples" / "machines" / "digits.py"


def losses(processes: int) -> list[float]:
    ended = start(processes, str(EXAMPLE), "--epochs", "2")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert f"on {processes} processes" in ended.stdout
    return [float(number) for number in re.findall(r"loss ([\d.]+)", ended.stdout)]


def test_losses_are_the_same_on_1_2_and_3_processes() -> None:
    pytest.importorskip("sklearn")
    alone = losses(1)
    assert len(alone) == 2
    for processes in (2, 3):
        assert losses(processes) == pytest.approx(alone, rel=0, abs=2e-5)
