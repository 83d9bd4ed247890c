"""`examples/frameworks`: all that it says is proven, its tests pass, and its rules hold on plain arrays of NumPy."""

from __future__ import annotations

import re
import shutil
import tomllib
from pathlib import Path

import pytest

from codegen import pipeline, project
from codegen.project import read_project
from codegen.source import Diagnostics
from support.documents import ROOT
from support.own_packages import Project

EXAMPLE = ROOT / "examples" / "frameworks"
OPERATORS = 36
PROVEN = 551
# Their formulas call kernels of the package, which are NumPy's and of no other library.
OF_NUMPY = {
    "compensated_sum", "cubic_spline", "cubic_spline_adjoint", "fourier_modes", "fourier_series",
    "quaternion_conjugate", "quaternion_product", "solid_harmonics", "solid_harmonics_adjoint",
    "solid_harmonics_backward", "solid_harmonics_tangent", "sylvester", "unit_vector", "unit_vector_backward",
}  # fmt: skip
RULES = 18
COMPARE = """
import numpy as np
from fields._generated.registry import OPERATORS
from fields._generated.rules import RULES
from support.rule_agreement import compare_all
found = compare_all(RULES, np.array, np.asarray, lambda name: np.dtype(name), OPERATORS)
print(*found.wrong, len(found.agreeing), sep="\\n")
"""


def copied(folder: Path) -> Project:
    ignored = shutil.ignore_patterns("_generated", "__pycache__", "torch", "jax")
    shutil.copytree(EXAMPLE, folder, ignore=ignored, dirs_exist_ok=True)
    return Project(folder, "fields")


@pytest.fixture(scope="module")
def fields(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A copy of the example, for which nothing is generated yet."""
    return copied(tmp_path_factory.mktemp("frameworks"))


def test_all_that_the_example_says_is_proven_and_its_tests_pass(fields: Project) -> None:
    finished = fields.generate(GRADWRIGHT_VERIFY="1")
    assert (finished.returncode, finished.stderr) == (0, "")
    assert finished.stdout.startswith(f"{OPERATORS} operators, ")
    proven = re.search(r"^proven: .*: (\d+) properties", finished.stdout, re.MULTILINE)
    assert proven is not None, finished.stdout
    assert int(proven[1]) >= PROVEN
    tested = fields.run("-m", "pytest", "-q", "-p", "no:cacheprovider")
    assert tested.returncode == 0, tested.stdout


def test_what_calls_no_kernel_of_its_own_is_written_as_rules(fields: Project) -> None:
    listed = fields.generate("coverage", "--target", "rules", "--missing")
    missing = {line.split("\t")[0]: line for line in listed.stdout.splitlines()}
    assert missing.keys() == OF_NUMPY
    assert all("has no kernel over the array API" in line for line in missing.values())


def test_the_rules_hold_on_arrays(tmp_path: Path) -> None:
    part = copied(tmp_path)
    for name in ("native_functions.yaml", "derivatives.yaml"):
        file = part.file(name)
        first, *entries = re.split(r"^(?=- )", file.read_text(), flags=re.MULTILINE)
        kept = [each for each in entries if _operator(each) not in {*OF_NUMPY, "spherical_harmonics"}]
        file.write_text("".join([first, *kept]))
    file = part.folder / "pyproject.toml"
    file.write_text(file.read_text().replace('targets = ["torch", "jax"]', 'targets = ["rules"]'))
    finished = part.generate("--no-verify")
    assert finished.returncode == 0, finished.stderr
    compared = part.run("-c", COMPARE, PYTHONPATH=f"{ROOT}:{ROOT / 'tests'}")
    assert compared.stdout == f"{RULES}\n", compared.stdout + compared.stderr


def _operator(entry: str) -> str:
    found = re.match(r"- (?:func|name): (\w+)", entry)
    assert found is not None
    return found[1]


def test_nothing_is_found_in_it() -> None:
    paths = read_project(EXAMPLE / "pyproject.toml", Diagnostics())
    assert paths is not None
    assert pipeline.analyze(paths).findings.items == []


def test_it_depends_on_what_there_is() -> None:
    table = tomllib.loads((EXAMPLE / "pyproject.toml").read_text(encoding="utf-8"))
    assert table["tool"]["gradwright"] == {
        "schema_version": project.SCHEMA_VERSION, "package": "fields", "targets": ["torch", "jax"],
    }  # fmt: skip
