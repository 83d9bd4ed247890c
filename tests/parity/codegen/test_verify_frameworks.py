"""`gradwright verify --target`: operators of PyTorch and JAX against the runtime's, and what is told of mistakes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from codegen.commands.init import make_package
from support.own_packages import Project

EVERY = {
    "torch": {
        "returns", "gradient", "forward", "second", "modes", "dtypes", "batching", "compiled", "out", "registered",
    },
    "jax": {"returns", "gradient", "forward", "second", "modes", "dtypes", "batching", "compiled"},
}  # fmt: skip
# What is wrong with what was written, and the property that shows it first.
MISTAKES = (
    ("torch", "operators.py", r"self_gradient = ", "self_gradient = 2 * ", "gradient", "gradient of 'self'"),
    ("torch", "operators.py", r"return fitted_tangent\(", "return -fitted_tangent(", "forward", "tangent of 'result'"),
    ("torch", "operators.py", r"return batch_pointwise\((\w+)", r"return batch_pointwise(lambda *a: -\1(*a)",
     "batching", "of a batch along dimension 0"),
    ("jax", "kernels.py", r"return \(", "return 2 * (", "returns", "result"),
)  # fmt: skip


@pytest.fixture
def both(tmp_path: Path) -> Project:
    """A package of one operator with what is written for both frameworks."""
    assert make_package("mylib", tmp_path, ("torch", "jax")) == 0
    made = Project(tmp_path, "mylib")
    finished = made.generate("--no-verify")
    assert finished.returncode == 0, finished.stderr
    return made


@pytest.mark.parametrize("target", EVERY)
def test_every_property_is_proven(both: Project, target: str) -> None:
    finished = both.generate("verify", "--target", target, "--jobs", "1")
    assert finished.returncode == 0, finished.stderr
    proven = set(re.findall(r"^(\w+)\t1 proven\t0 refuted\t0 skipped", finished.stdout, re.MULTILINE))
    assert proven == EVERY[target], finished.stdout


@pytest.mark.parametrize(("target", "file", "pattern", "text", "property", "message"), MISTAKES)
def test_a_mistake_in_what_is_written_is_refuted(
    both: Project, target: str, file: str, pattern: str, text: str, property: str, message: str
) -> None:
    path = both.file(f"{target}/{file}")
    wrong, count = re.subn(pattern, text, path.read_text(encoding="utf-8"))
    assert count
    path.write_text(wrong, encoding="utf-8")
    asked = ("-m", "gradwright.verify", "--package", "mylib._generated", "--target", target, "--jobs", "1")
    finished = both.run(*asked, "--property", property)
    assert finished.returncode == 1, finished.stdout + finished.stderr
    assert f"{property}: in {target}: " in finished.stderr
    assert message in finished.stderr
    again = re.search(r"^  (from gradwright.verify import check; .*)", finished.stderr, re.MULTILINE)
    assert again is not None
    assert "Refuted" in both.run("-c", again[1]).stderr


def test_a_wrong_kernel_is_an_error_at_its_place(both: Project) -> None:
    """The runtime has another one than what was written: a run that generates would have told."""
    refuted = both.generate("verify", "--target", "torch", "--property", "gradient", "--jobs", "1")
    assert refuted.returncode == 0
    kernels = both.file("kernels.py")
    kernels.write_text(kernels.read_text(encoding="utf-8") + "\n# changed\n", encoding="utf-8")
    stale = both.generate("verify", "--target", "torch")
    assert stale.returncode == 1
    assert "is not what the YAML gives\nrun: " in stale.stderr


WITHOUT = """
import sys
sys.modules["jax"] = None
from gradwright.verify.__main__ import main
asked = ["--package", "mylib._generated", "--target", "jax", "--jobs", "1", "--property", "gradient", "--skipped"]
sys.exit(main(asked))
"""


def test_a_framework_that_is_not_installed_skips_all(both: Project) -> None:
    finished = both.run("-c", WITHOUT)
    assert finished.returncode == 0, finished.stderr
    assert finished.stdout.splitlines()[0] == "skipped: squareplus: gradient: jax is not installed"


def test_what_is_not_asked_for_in_the_table_is_not_verified(tmp_path: Path) -> None:
    assert make_package("plain", tmp_path) == 0
    made = Project(tmp_path, "plain")
    assert made.generate("--no-verify").returncode == 0
    finished = made.generate("verify", "--target", "jax")
    assert finished.returncode == 1
    assert finished.stderr == "error: the table [tool.gradwright] of pyproject.toml has not 'jax' in 'targets'\n"
    assert made.generate("verify", "--property", "registered").returncode == 2
