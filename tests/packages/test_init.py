"""`gradwright init`: an empty folder becomes a package whose tests pass."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from types import SimpleNamespace

import jsonschema
import pytest
import yaml

from codegen.commands import init as init_module
from codegen.commands.init import make_package
from codegen.version import VERSION
from support.own_packages import Project


def test_three_commands_lead_to_a_tested_operator(tmp_path: Path) -> None:
    project = Project(tmp_path, "mylib")
    made = project.generate("init", "mylib")
    assert made.returncode == 0, made.stderr
    assert re.fullmatch(r"mylib: \d+ files written; next: gradwright && pytest\n", made.stdout)
    generated = project.generate()
    assert generated.returncode == 0, generated.stderr
    assert re.match(
        r"1 operators, 1 Nodes, 2 formulas: (\d+) of \1 files written to mylib/_generated in ", generated.stdout
    )
    tested = project.run("-m", "pytest", "-q", "-p", "no:cacheprovider")
    assert tested.returncode == 0, tested.stdout
    assert "2 passed" in tested.stdout


TARGETS = ("torch", "jax")


@pytest.fixture
def of_frameworks(tmp_path: Path) -> Project:
    """A new project whose operators are for PyTorch and JAX as well; nothing was generated for it."""
    project = Project(tmp_path, "mylib")
    made = project.generate("init", "mylib", "--target", "jax", "--target", "torch")
    assert made.returncode == 0, made.stderr
    return project


def test_frameworks_are_asked_for(of_frameworks: Project) -> None:
    table = tomllib.loads((of_frameworks.folder / "pyproject.toml").read_text())
    assert table["tool"]["gradwright"]["targets"] == [*TARGETS]
    assert table["tool"]["setuptools"]["packages"] == ["mylib", "mylib._generated", "mylib.torch", "mylib.jax"]
    assert not any("gradwright" in each for each in table["project"]["dependencies"])
    extras = table["project"]["optional-dependencies"]
    assert extras["gradwright"] == [f"gradwright>={VERSION}"]
    assert extras["test"] == ["mylib[gradwright,torch,jax]", "pytest>=8.2"]
    jobs = yaml.safe_load((of_frameworks.folder / ".github/workflows/ci.yml").read_text())["jobs"]
    commands = [step.get("run") for step in jobs["test"]["steps"]]
    for each in TARGETS:
        assert f"gradwright verify --target {each}" in commands
        assert [step.get("run") for step in jobs[each]["steps"]][-1] == f"pytest tests/test_{each}.py"
        assert (of_frameworks.folder / "tests" / f"test_{each}.py").exists()
        assert f"mylib/{each}/** linguist-generated" in (of_frameworks.folder / ".gitattributes").read_text()


def test_one_framework_alone(tmp_path: Path) -> None:
    assert make_package("mylib", tmp_path, ["torch"]) == 0
    assert 'targets = ["torch"]\n' in (tmp_path / "pyproject.toml").read_text()
    assert sorted(file.name for file in (tmp_path / "tests").iterdir()) == ["test_operators.py", "test_torch.py"]
    assert "jax" not in "".join(file.read_text() for file in tmp_path.rglob("*") if file.is_file())


def test_a_package_with_frameworks_imports_gradwright_when_it_is_asked(of_frameworks: Project) -> None:
    file = of_frameworks.folder / "pyproject.toml"
    file.write_text(re.sub(r"^targets = .*\n", "", file.read_text(), flags=re.MULTILINE))  # these take frameworks
    assert of_frameworks.generate().returncode == 0
    of_frameworks.file("torch.py").write_text("from mylib import kernels\n")
    program = """
import sys
import mylib, mylib.torch
from mylib import torch
assert "gradwright" not in sys.modules and torch is mylib.torch
assert "squareplus" in dir(mylib)
from mylib import *
import gradwright
assert squareplus(gradwright.zeros(1)).item() == mylib.squareplus(gradwright.zeros(1)).item() == 1
try:
    mylib.cubeplus
except AttributeError as error:
    print(error)
"""
    assert of_frameworks.output(program) == "module 'mylib' has no attribute 'cubeplus'"
    tested = of_frameworks.run("-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/test_operators.py")
    assert tested.returncode == 0, tested.stdout


def test_other_targets_are_refused(tmp_path: Path) -> None:
    finished = Project(tmp_path).generate("init", "mylib", "--target", "cpp")
    assert finished.returncode == 2
    assert "invalid choice: 'cpp'" in finished.stderr


def test_the_yaml_files_are_formatted(project: Project) -> None:
    assert project.generate("new", "mish2(Tensor self, *, float beta) -> Tensor").returncode == 0
    checked = project.generate("format", "--check")
    assert (checked.returncode, checked.stdout) == (
        0, "mylib/native_functions.yaml and mylib/derivatives.yaml: nothing to format\n",
    )  # fmt: skip
    project.append("native_functions.yaml", "\n\n")
    assert project.generate("format", "--check").returncode == 1


def test_the_files_are_what_their_readers_take(project: Project) -> None:
    table = tomllib.loads((project.folder / "pyproject.toml").read_text())
    assert table["project"]["dependencies"] == [f"gradwright>={VERSION}"]
    for name in (".github/workflows/ci.yml", ".pre-commit-config.yaml"):
        assert "gradwright --check" in str(yaml.safe_load((project.folder / name).read_text()))
    steps = yaml.safe_load((project.folder / ".github/workflows/ci.yml").read_text())["jobs"]["test"]["steps"]
    commands = [step["run"] for step in steps if "run" in step]
    assert commands[-5:] == [
        "gradwright --check",
        "gradwright format --check",
        "gradwright lint",
        "gradwright verify",
        "pytest",
    ]
    for file in project.folder.rglob("*"):
        if file.is_file():
            assert "{{" not in file.read_text().replace("${{", "")


@pytest.mark.parametrize("name", ["native_functions", "derivatives"])
def test_the_yaml_files_name_their_schemas(name: str, project: Project) -> None:
    assert project.generate().returncode == 0
    file = project.folder / "mylib" / f"{name}.yaml"
    found = re.match(r"# yaml-language-server: \$schema=(\S+)\n", file.read_text())
    assert found
    schema = json.loads((file.parent / found[1]).read_text())
    jsonschema.Draft202012Validator(schema).validate(yaml.safe_load(file.read_text()))


@pytest.mark.parametrize("name", ["3d", "my-lib", "class", "", "a.b", "runtime", "gradwright"])
def test_a_name_that_can_not_be_imported_is_refused(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert make_package(name, tmp_path) == 2
    assert capsys.readouterr().err.startswith(f"error: '{name}' ")
    assert not list(tmp_path.iterdir())


def test_nothing_is_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "pyproject.toml").write_text("# mine\n")
    assert make_package("mylib", tmp_path) == 2
    assert capsys.readouterr().err == "error: this folder has pyproject.toml already; nothing was written\n"
    assert [file.name for file in tmp_path.iterdir()] == ["pyproject.toml"]


def test_a_name_is_needed(tmp_path: Path) -> None:
    finished = Project(tmp_path).generate("init")
    assert finished.returncode == 2
    assert "the following arguments are required: NAME" in finished.stderr


@pytest.mark.parametrize(
    ("origin", "source"),
    [
        ("https://example.org/gradwright.git", "gradwright @ git+https://example.org/gradwright.git@{commit}"),
        ("git@example.org:us/gradwright.git", "gradwright @ git+ssh://git@example.org/us/gradwright.git@{commit}"),
        ("/somewhere/gradwright", None),
        (None, None),
    ],
)
def test_the_workflow_installs_gradwright_from_where_the_checkout_came_from(
    origin: str | None, source: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = {"remote": origin, "rev-parse": "0123456789abcdef"}
    monkeypatch.setattr(init_module, "_git", lambda *words: answers[words[0]])
    assert make_package("mylib", tmp_path) == 0
    workflow = yaml.safe_load((tmp_path / ".github/workflows/ci.yml").read_text())
    commands = [step["run"] for step in workflow["jobs"]["test"]["steps"] if "run" in step]
    wanted = [] if source is None else [f"pip install '{source.format(commit=answers['rev-parse'])}'"]
    assert commands[: commands.index("pip install -e '.[test]'")] == wanted
    assert workflow.get("env") == ({"PIP_FIND_LINKS": "wheels"} if source is None else None)
    assert ("--wheel-dir wheels" in (tmp_path / "README.md").read_text()) is (source is None)


@pytest.mark.parametrize(
    ("said", "source"),
    [
        (None, f"gradwright=={VERSION}"),
        ('{"url": "https://example.org/g.whl", "archive_info": {}}', "gradwright @ https://example.org/g.whl"),
        (
            '{"url": "https://example.org/g.git", "vcs_info": {"vcs": "git", "commit_id": "0123"}}',
            "gradwright @ git+https://example.org/g.git@0123",
        ),
        ('{"url": "file:///here/g.whl", "archive_info": {}}', None),
    ],
)
def test_an_installed_gradwright_knows_where_it_came_from(
    said: str | None, source: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(init_module, "data_folder", lambda: "elsewhere")
    installed = SimpleNamespace(read_text=lambda name: said)
    monkeypatch.setattr(init_module.importlib.metadata, "distribution", lambda name: installed)
    assert init_module._source() == source


def test_line_ends_are_the_same_everywhere(project: Project) -> None:
    assert "* text=auto eol=lf" in (project.folder / ".gitattributes").read_text().splitlines()
