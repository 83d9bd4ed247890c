"""`gradwright graph script.py`: a program runs, and its graph lies beside it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from support.documents import ROOT

PROGRAM = """
import sys
import torch

model = torch.nn.Linear(3, 1)


def main(scale):
    loss = (model(torch.ones(2, 3)) * scale).sqrt().sum()
    loss.backward()


if __name__ == "__main__":
    main(float(sys.argv[1]))
"""


def graph(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "gradwright", "graph", *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )


def test_the_first_backward_is_drawn(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(PROGRAM)
    finished = graph(tmp_path, "train.py", "1")
    assert finished.returncode == 0, finished.stderr
    assert finished.stderr == "graph written to train.svg\n"
    picture = (tmp_path / "train.svg").read_text()
    assert ">model.weight: Float[1, 3]<" in picture
    assert ">SqrtBackward0<" in picture
    assert "freed" not in picture
    assert 'class="failed"' not in picture


def test_a_node_that_fails_is_red(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(PROGRAM)
    finished = graph(tmp_path, "--anomaly", "-o", "red.svg", "train.py", "0")
    assert finished.returncode == 1
    assert "returned nan values" in finished.stderr
    assert (tmp_path / "red.svg").read_text().count('class="failed"') == 1


def test_a_program_without_gradients_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "plain.py").write_text("print('nothing to draw')\n")
    finished = graph(tmp_path, "plain.py")
    assert (finished.returncode, finished.stdout) == (1, "nothing to draw\n")
    assert finished.stderr == "error: plain.py computes no gradient: there is no graph to draw\n"
    assert not (tmp_path / "plain.svg").exists()


def test_words_that_are_missing(tmp_path: Path) -> None:
    finished = graph(tmp_path)
    assert finished.returncode == 2
    assert "usage: gradwright graph" in finished.stderr
