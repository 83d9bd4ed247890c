"""`verify --since REV`: only the operators whose rules have changed are proven."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from codegen.commands import since
from codegen.commands.init import make_package
from codegen.commands.main import main
from codegen.commands.since import touched
from codegen.paths import project_paths
from codegen.project import read_project
from codegen.source import Diagnostics
from support.own_packages import Project

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="there is no git")

OPERATORS = """
- func: twice(Tensor self) -> Tensor
  dispatch:
    CPU: twice
  samples:
  - T(3)

- func: thrice(Tensor self) -> Tensor
  dispatch:
    CPU: thrice
  samples:
  - T(2)
"""
RULES = """
- name: twice(Tensor self) -> Tensor
  self: doubled(grad)

- name: thrice(Tensor self) -> Tensor
  self: grad * 3
"""
KERNELS = """

FACTORS = (2, 3)


def scaled(self: Array, by: int) -> Array:
    return self * FACTORS[by - 2]


def twice(self: Array) -> Array:
    return self * 2


def thrice(self: Array) -> Array:
    return scaled(self, 3)
"""
HELPERS = """from gradwright import Tensor


def doubled(grad: Tensor) -> Tensor:
    return grad * 2
"""
ALL = ["squareplus", "twice", "thrice"]


def git(folder: Path, *words: str) -> None:
    names = {
        f"GIT_{who}_{what}": "somebody@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
    }
    environment = {**os.environ, **names, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    subprocess.run(["git", *words], cwd=folder, env=environment, check=True, capture_output=True)


def commit(folder: Path) -> None:
    git(folder, "add", "--all")
    git(folder, "commit", "-m", "a step")


def made(folder: Path) -> Project:
    """A package of three operators."""
    assert make_package("mylib", folder) == 0
    project = Project(folder)
    project.append("native_functions.yaml", OPERATORS)
    project.append("derivatives.yaml", RULES)
    project.append("kernels.py", KERNELS)
    project.file("helpers.py").write_text(HELPERS)
    return project


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """The package in a repository of its own, with one commit."""
    project = made(tmp_path)
    git(tmp_path, "init")
    commit(tmp_path)
    return project


def edit(project: Project, name: str, old: str, new: str) -> None:
    file = project.file(name)
    text = file.read_text()
    assert text.count(old) == 1
    file.write_text(text.replace(old, new))


def refused(project: Project, revision: str = "HEAD", **variables: str) -> str:
    """What is printed where there is nothing to compare with."""
    finished = project.run("-m", "codegen", "verify", f"--since={revision}", **variables)
    assert (finished.returncode, finished.stdout) == (2, "")
    return finished.stderr


def changed(project: Project, revision: str = "HEAD") -> list[str]:
    """The operators that are to be proven."""
    paths = read_project(project.folder / "pyproject.toml", Diagnostics())
    assert paths is not None
    status, names = touched(revision, paths)
    assert status == 0
    return list(names)


def test_where_nothing_has_changed_nothing_is_proven(project: Project) -> None:
    assert project.generate("--no-verify").returncode == 0
    file = project.folder / "found.json"
    finished = project.generate("verify", "--since", "HEAD", "--json", str(file), "--html", "page.html")
    assert (finished.returncode, finished.stdout) == (0, "")
    assert finished.stderr == "no rule has changed since HEAD\n"
    assert json.loads(file.read_text())["cells"] == []
    assert "no operators" in (project.folder / "page.html").read_text()


@pytest.mark.parametrize(
    ("file", "old", "new", "touched"),
    [
        ("derivatives.yaml", "grad * 3", "grad + grad * 2", ["thrice"]),
        ("helpers.py", "grad * 2", "grad + grad", ["twice"]),
        ("kernels.py", "return self * 2", "return self + self", ["twice"]),
        ("kernels.py", "FACTORS = (2, 3)", "FACTORS = (2, 3.0)", ["thrice"]),
        ("native_functions.yaml", "- T(2)\n", "- T(5)\n", ["thrice"]),
        ("native_functions.yaml", "dtypes: real", "dtypes: floating", ["squareplus"]),
        ("kernels.py", '"""Kernels', '"""The kernels', []),
    ],
    ids=["formula", "helper", "kernel", "constant", "sample", "key", "comment"],
)
def test_what_a_change_touches(project: Project, file: str, old: str, new: str, touched: list[str]) -> None:
    edit(project, file, old, new)
    assert changed(project) == touched


def test_an_earlier_revision_and_one_by_its_name(project: Project) -> None:
    git(project.folder, "tag", "first")
    edit(project, "kernels.py", "return self * 2", "return self + self")
    commit(project.folder)
    edit(project, "derivatives.yaml", "grad * 3", "grad + grad * 2")
    assert changed(project) == ["thrice"]
    assert changed(project, "first") == ["twice", "thrice"]


def test_a_wrong_rule_is_found(project: Project) -> None:
    edit(project, "derivatives.yaml", "grad * 3", "grad * 4")
    assert project.generate("--no-verify").returncode == 0
    finished = project.generate("verify", "--since", "HEAD")
    assert finished.returncode == 1
    assert "error: gradient of 'self' is off by the factor 1.33333" in finished.stderr
    assert "thrice(T(2))" in finished.stderr
    assert finished.stdout.splitlines()[-1].startswith("1 operators: ")


def test_other_files_are_named(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    project.append("__init__.py", "\n")
    capsys.readouterr()
    assert changed(project) == []
    assert capsys.readouterr().err == (
        "warning: not looked at is what these change, which no rule names: mylib/__init__.py\n"
        "no rule has changed since HEAD\n"
    )


def test_rules_of_the_project_itself_rest_on_its_packages() -> None:
    """But for what the rules name: kernels, helpers, and the functions on arrays that these share."""
    others = {name for name, _ in since._others(project_paths())}
    assert {"gradwright/verify/table.py", "runtime/graph/engine.py", "codegen/pipeline.py"} <= others
    assert (
        not {"runtime/operators/kernels/grid.py", "runtime/operators/helpers/grid.py", "runtime/base/arrays.py"}
        & others
    )


def test_a_project_in_a_folder_of_a_repository(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "deep" / "inside"
    folder.mkdir(parents=True)
    git(tmp_path, "init")
    (tmp_path / "README.md").write_text("older than the project\n")
    commit(tmp_path)
    git(tmp_path, "tag", "before")
    project = made(folder)
    commit(tmp_path)
    edit(project, "kernels.py", "return self * 2", "return self + self")
    assert changed(project) == ["twice"]
    assert changed(project, "before") == ALL
    assert "warning: before has no rules that could be compared: all are proven" in capsys.readouterr().err


def test_a_revision_whose_yaml_is_wrong(project: Project) -> None:
    edit(project, "derivatives.yaml", "grad * 3", "grad * nothing")
    commit(project.folder)
    edit(project, "derivatives.yaml", "grad * nothing", "grad * 3")
    assert changed(project) == ALL


def test_an_unknown_revision(project: Project) -> None:
    for revision in ("nowhere", "HEAD~5", "--all", ""):
        assert refused(project, revision) == f"error: there is no revision '{revision}' here\n"


def test_no_repository(tmp_path: Path) -> None:
    printed = refused(made(tmp_path), GIT_CEILING_DIRECTORIES=str(tmp_path.parent))
    assert printed == f"error: {tmp_path} is in no git repository\n"


def test_no_git(project: Project) -> None:
    assert refused(project, PATH=str(project.folder)) == "error: --since needs git, which is not there\n"


def test_it_says_itself_which_operators(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["verify", "twice", "--since", "HEAD"])
    assert "--since says which operators" in capsys.readouterr().err
