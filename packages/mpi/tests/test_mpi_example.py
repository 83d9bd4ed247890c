"""`examples/machines`: losses are the same on any number of processes."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest
from support_mpi import start

EXAMPLES = Path(__file__).parents[3] / "examples" / "machines"


def losses(processes: int, name: str, *words: str) -> list[float]:
    ended = start(processes, str(EXAMPLES / f"{name}.py"), *words)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert f"on {processes} processes" in ended.stdout
    return [float(number) for number in re.findall(r"loss ([\d.e+-]+)", ended.stdout)]


@pytest.mark.parametrize(
    ("name", "words", "rounding"),
    [
        ("digits", ["--epochs", "2"], 2e-5),  # in float32
        ("heat", ["--iterations", "11"], 1e-12),
        ("gaussian_process", ["--iterations", "2"], 1e-9),
    ],
)
def test_losses_are_the_same_on_1_2_and_3_processes(name: str, words: list[str], rounding: float) -> None:
    if name == "digits" and importlib.util.find_spec("sklearn") is None:
        pytest.skip("scikit-learn has the digits")
    alone = losses(1, name, *words)
    assert len(alone) == 2
    for processes in (2, 3):
        assert losses(processes, name, *words) == pytest.approx(alone, rel=rounding, abs=rounding)


def test_blocks_of_a_gaussian_process_are_one_matrix() -> None:
    words = ["--iterations", "2"]
    whole = losses(1, "gaussian_process", *words, "--blocks", "1")
    assert losses(3, "gaussian_process", *words, "--blocks", "6") == pytest.approx(whole, rel=1e-9)
