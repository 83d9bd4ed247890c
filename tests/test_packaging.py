"""What is built is whole: a wheel, made from a source distribution, runs and can regenerate itself."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

from codegen.version import VERSION
from documents import ROOT, copy_tree


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the source distribution and the wheel that was made from it."""
    tree = copy_tree(tmp_path_factory.mktemp("packaging"))
    for left in (tree / "generated").glob("*.py*"):
        left.unlink()  # a fresh checkout has none; the build makes its own
    out = tree / "dist"
    # Without isolation: the extra `test` has all that a build needs, so that no test reaches for a registry.
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(out)]
    # The extension has tests of its own, with less to compile (tests/native/test_build.py).
    environment = {**os.environ, "GRADWRIGHT_NATIVE": "0"}
    finished = subprocess.run(command, cwd=tree, env=environment, capture_output=True, text=True)
    assert finished.returncode == 0, finished.stdout + finished.stderr
    return out


def python(installed: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run Python with the unpacked wheel in front of everything else, from a folder that is no checkout."""
    environment = {**os.environ, "PYTHONPATH": str(installed)}
    return subprocess.run(
        [sys.executable, *arguments], cwd=installed.parent, env=environment, capture_output=True, text=True
    )


@pytest.fixture(scope="module")
def installed(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The unpacked wheel."""
    (wheel,) = built.glob("*-py3-none-any.whl")
    target = tmp_path_factory.mktemp("installed") / "site"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(target)
    return target


def test_source_distribution_holds_the_sources_and_no_output(built: Path) -> None:
    (archive,) = built.glob("*.tar.gz")
    with tarfile.open(archive) as source:
        names = {name.partition("/")[2] for name in source.getnames()}
    for name in (
        "native_functions.yaml",
        "derivatives.yaml",
        "build_backend.py",
        "CMakeLists.txt",
        "runtime/native/src/module.cpp",
        "Makefile",
        "LICENSE",
        "docs/yaml.md",
    ):
        assert name in names
    assert not [name for name in names if name.endswith((".pyc", ".so"))]
    assert {name for name in names if name.startswith("generated/")} == {"generated/README.md"}


def test_wheel_holds_the_packages_and_the_data(installed: Path) -> None:
    top = {path.name for path in installed.iterdir() if not path.name.endswith(".dist-info")}
    assert top == {"codegen", "gradwright", "runtime", "generated"}
    for name in (
        "native_functions.yaml",
        "derivatives.yaml",
        "examples.txt",
        "templates/python",
        "templates/init/pyproject.toml.j2",
    ):
        assert (installed / "codegen" / "data" / name).exists()
    assert (installed / "generated" / "registry.py").exists()


def test_installed_package_computes(installed: Path) -> None:
    program = (
        "import runtime, sys; x = runtime.tensor([2.0], requires_grad=True); (x * x).backward();"
        "print(x.grad.item(), runtime.__file__)"
    )
    finished = python(installed, "-c", program)
    assert finished.returncode == 0, finished.stderr
    value, file = finished.stdout.split(maxsplit=1)
    assert value == "4.0"
    assert Path(file.strip()).is_relative_to(installed)


def test_installed_package_regenerates_itself(installed: Path) -> None:
    finished = python(installed, "-m", "codegen", "--check")
    assert finished.returncode == 0, finished.stdout + finished.stderr


def test_the_version_is_that_of_the_wheel(built: Path) -> None:
    (wheel,) = built.glob("*-py3-none-any.whl")
    assert wheel.name.split("-")[1] == VERSION


def test_lower_bounds_are_given_and_are_met() -> None:
    from importlib.metadata import version

    from packaging.requirements import Requirement

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for text in project["dependencies"]:
        requirement = Requirement(text)
        assert requirement.specifier, f"{text} has no lower bound"
        assert requirement.specifier.contains(version(requirement.name))
