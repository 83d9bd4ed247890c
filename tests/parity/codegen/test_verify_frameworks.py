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


MIXED = "(Tensor self, Tensor other, float a, float b=0.5, *, float c, float d=2.0) -> Tensor"
OPERATORS = "".join(
    f"""
- func: {name}{MIXED}
  dispatch: {key}
  dtypes: floating
  samples:
  - T(3, 4), T(3, 4), 0.5, c=3.0
  - T(3, 4), T(3, 4), 0.5, 0.7, c=3.0, d=1.5
"""
    for name, key in (
        ("blend", "CPU"), ("mixed", "CompositeImplicitAutograd"), ("mixed_too", "CompositeImplicitAutograd"),
    )
)  # fmt: skip
RULES = f"""
- name: blend{MIXED}
  self: grad * a * c
  other: grad * b * d
  result: self_t * a * c + other_t * b * d
"""
KERNELS = '''

def blend(self: Array, *arguments: Any) -> Array:
    """The weighted sum of two arrays."""
    return _blend(self, *arguments)


def _blend(self: Array, other: Array, a: float, b: float, c: float, d: float) -> Array:
    return np.asarray(self * a * c + other * b * d, self.dtype)
'''
COMPOSITES = '''"""Composite operators."""

from typing import Any

from gradwright import Tensor


def mixed(self: Tensor, other: Tensor, a: float, b: float, *, c: float, d: float) -> Tensor:
    return self * a * c + other * b * d


def mixed_too(self: Tensor, *arguments: Any, **options: Any) -> Tensor:
    return mixed(self, *arguments, **options)
'''


@pytest.mark.parametrize("target", EVERY)
def test_arguments_by_name_that_have_no_default(both: Project, target: str) -> None:
    """They follow ones that have a default, which Python has no parameters by position for."""
    for file, text in (
        ("native_functions.yaml", OPERATORS), ("derivatives.yaml", RULES), ("kernels.py", KERNELS),
    ):  # fmt: skip
        both.file(file).write_text(both.file(file).read_text(encoding="utf-8") + text, encoding="utf-8")
    both.file("composites.py").write_text(COMPOSITES, encoding="utf-8")
    generated = both.generate()
    assert generated.returncode == 0, generated.stderr
    asked = ("gradient", "forward", "modes", "compiled", *(["registered"] if target == "torch" else []))
    properties = [word for name in asked for word in ("--property", name)]
    finished = both.generate("verify", "blend", "mixed", "mixed_too", "--target", target, "--jobs", "1", *properties)
    assert finished.returncode == 0, finished.stderr
    counts = dict(re.findall(r"^(\w+)\t(\d) proven\t0 refuted\t0 skipped", finished.stdout, re.MULTILINE))
    assert counts == dict.fromkeys(asked, "3"), finished.stdout
