"""The operators of `examples/frameworks` are the same in PyTorch and in JAX as in the runtime, in every mode."""

from __future__ import annotations

import re
import shutil

import pytest

from support.documents import ROOT
from support.own_packages import Project

pytestmark = [pytest.mark.parity, pytest.mark.xdist_group("fields")]  # one process makes the package

EVERYWHERE = ("gradient", "gradient_complex", "forward", "forward_complex")
OTHERS = ("returns", "second", "second_complex", "modes", "undefined", "needed", "dtypes", "batching", "compiled")
OF_TORCH = ("inplace", "out", "registered")
# At least so many properties are proven.
LEAST = {
    "torch": {"gradient": 36, "gradient_complex": 9, "forward": 36, "forward_complex": 9},
    "jax": {"gradient": 36, "gradient_complex": 9, "forward": 21, "forward_complex": 3},
}


@pytest.fixture(scope="module")
def fields(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A copy of the example, with what is generated."""
    folder = tmp_path_factory.mktemp("frameworks")
    ignored = shutil.ignore_patterns("_generated", "__pycache__", "torch", "jax")
    shutil.copytree(ROOT / "examples" / "frameworks", folder, ignore=ignored, dirs_exist_ok=True)
    project = Project(folder, "fields")
    finished = project.generate("--no-verify")
    assert finished.returncode == 0, finished.stderr
    return project


def verified(project: Project, target: str, *properties: str) -> dict[str, int]:
    """How often each property is proven; what is refuted fails."""
    words = [word for each in properties for word in ("--property", each)]
    finished = project.run(
        "-m", "gradwright.verify", "--package", "fields._generated", "--target", target, "--jobs", "1", *words
    )
    assert finished.returncode == 0, finished.stdout + finished.stderr
    lines = re.findall(r"^(\w+)\t(\d+) proven\t0 refuted", finished.stdout, re.MULTILINE)
    return {name: int(count) for name, count in lines}


@pytest.mark.parametrize("target", ["torch", "jax"])
def test_programs_run(target: str, fields: Project) -> None:
    finished = fields.run("-m", "pytest", "-q", "-p", "no:cacheprovider", f"tests/test_{target}.py")
    assert finished.returncode == 0, finished.stdout + finished.stderr
    assert "3 passed" in finished.stdout


@pytest.mark.parametrize("target", ["torch", pytest.param("jax", marks=pytest.mark.rotates)])
def test_gradients_and_tangents_are_the_same(target: str, fields: Project) -> None:
    proven = verified(fields, target, *EVERYWHERE)
    assert proven.keys() == LEAST[target].keys()
    assert all(proven[name] >= count for name, count in LEAST[target].items()), proven


@pytest.mark.rotates
@pytest.mark.parametrize(
    ("target", "property"),
    [*(("torch", each) for each in (*OTHERS, *OF_TORCH)), *(("jax", each) for each in OTHERS)],
)
def test_other_modes_are_the_same(target: str, property: str, fields: Project) -> None:
    assert verified(fields, target, property)
