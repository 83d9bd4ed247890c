"""What `gradwright init --target torch --target jax` writes passes in both frameworks, with Gradwright and without."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.own_packages import Project

pytestmark = pytest.mark.parity

WITHOUT_GRADWRIGHT = """
import sys
sys.modules["gradwright"] = sys.modules["runtime"] = None  # any import of these fails
import mylib.torch, mylib.jax, torch, jax
assert mylib.torch.squareplus(torch.zeros(1)).item() == float(mylib.jax.squareplus(jax.numpy.zeros(1))[0]) == 1
"""


def test_its_tests_pass(tmp_path: Path) -> None:
    project = Project(tmp_path, "mylib")
    assert project.generate("init", "mylib", "--target", "torch", "--target", "jax").returncode == 0
    generated = project.generate()
    assert generated.returncode == 0, generated.stderr
    project.output(WITHOUT_GRADWRIGHT)
    tested = project.run("-m", "pytest", "-q", "-p", "no:cacheprovider")
    assert tested.returncode == 0, tested.stdout
    assert "5 passed" in tested.stdout
    for words in (["lint"], ["format", "--check"], ["--check", "--no-verify"]):
        finished = project.generate(*words)
        assert finished.returncode == 0, finished.stdout + finished.stderr
