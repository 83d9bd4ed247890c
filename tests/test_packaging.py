"""What is built is whole: a wheel, made from a source distribution, runs and can regenerate itself."""

from __future__ import annotations

import ast
import functools
import os
import re
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import venv
import zipfile
from importlib.metadata import packages_distributions, version
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from codegen.version import VERSION
from support.documents import ROOT, copy_tree

TESTS = ROOT / "tests"
# Tests, and what they share with the tools.
SOURCES = sorted(path for folder in (TESTS, ROOT / "tools") for path in folder.rglob("*.py"))


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the source distribution and the wheel that was made from it."""
    tree = copy_tree(tmp_path_factory.mktemp("packaging"))
    for left in (tree / "generated").glob("*.py*"):
        left.unlink()  # a fresh checkout has none; the build makes its own
    out = tree / "dist"
    # Without isolation: the extra `test` has all that a build needs, so that no test reaches for a registry.
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(out)]
    # The extension has tests of its own, with less to compile (tests/runtime/native/test_build.py).
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
    assert top == {"gradwright", "gradwright_methods-stubs"}  # the second is for type checkers, and no name of a module
    for name in (
        "native_functions.yaml",
        "derivatives.yaml",
        "samples.yaml",
        "docs/reports/examples.txt",
        "templates/python",
        "templates/init/pyproject.toml.j2",
    ):
        assert (installed / "gradwright" / "codegen" / "data" / name).exists()
    assert (installed / "gradwright" / "codegen" / "schemas" / "backend.schema.json").exists()
    assert not [*installed.rglob("*.pyc")]
    assert (installed / "gradwright" / "generated" / "registry.py").exists()


def test_installed_package_computes(installed: Path) -> None:
    program = (
        "import gradwright, sys; x = gradwright.tensor([2.0], requires_grad=True); (x * x).backward();"
        "print(x.grad.item(), gradwright.__file__)"
    )
    finished = python(installed, "-c", program)
    assert finished.returncode == 0, finished.stderr
    value, file = finished.stdout.split(maxsplit=1)
    assert value == "4.0"
    assert Path(file.strip()).is_relative_to(installed)


@pytest.mark.parametrize("name", ["codegen", "generated", "runtime"])
def test_a_module_of_the_user_may_have_the_name_of_an_inner_package(installed: Path, name: str) -> None:
    folder = installed.parent / f"with_{name}"
    folder.mkdir()
    (folder / f"{name}.py").write_text("VALUE = 'of the user'\n")
    (folder / "program.py").write_text(
        f"import {name}\nimport gradwright\nprint({name}.VALUE, gradwright.tensor([2.0]).square().item())\n"
        f"import gradwright.{name}\nassert gradwright.{name} is not {name}\n"
    )
    finished = python(installed, "-W", "error", str(folder / "program.py"))
    assert finished.returncode == 0, finished.stderr
    assert finished.stdout == "of the user 4.0\n"


def test_what_is_installed_imports_nothing_by_the_name_that_it_has_in_a_checkout(installed: Path) -> None:
    """Modules that are loaded late, too: no test imports them all from a wheel."""
    names = [
        (path.relative_to(installed).as_posix(), name)
        for path in (*installed.rglob("*.py"), *installed.rglob("*.pyi"))
        for name in _imported(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert len(names) > 3000
    assert not [each for each in names if each[1] in ("codegen", "generated", "runtime")]


def test_no_text_names_a_module_by_the_name_that_it_has_in_a_checkout() -> None:
    """A text is not renamed in a wheel: `codegen/module_names.py` has the names for it."""
    looked_at = 0
    named = set()
    for package in ("gradwright", "runtime"):
        for path in sorted((ROOT / package).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Constant) and isinstance(node.value, str):
                    looked_at += 1
                    if re.fullmatch(r"(codegen|generated|runtime)(\.\w*)*", node.value):
                        named.add((path.relative_to(ROOT).as_posix(), node.value))
    assert looked_at > 18_000
    assert named == NOT_MODULES


# Texts that are equal to such a name and mean something else, or are of a checkout only.
NOT_MODULES = {
    ("gradwright/fx/graph.py", "codegen"),
    ("runtime/base/identity.py", "generated"),
    ("runtime/base/identity.py", "runtime"),
    ("runtime/load/loading.py", "codegen"),  # behind the prefix
    ("runtime/load/old_names.py", "runtime"),
}


def test_installed_package_regenerates_itself(installed: Path) -> None:
    made = installed.parent / "made"
    finished = python(installed, "-m", "gradwright", "--no-verify", "--out", str(made))
    assert finished.returncode == 0, finished.stdout + finished.stderr
    names = [path.name for path in (installed / "gradwright" / "generated").glob("*.py*")]
    assert len(names) > 10
    for name in names:
        assert (made / name).read_text() == (installed / "gradwright" / "generated" / name).read_text(), name


def test_the_version_is_that_of_the_wheel(built: Path) -> None:
    (wheel,) = built.glob("*-py3-none-any.whl")
    assert wheel.name.split("-")[1] == VERSION


def test_lower_bounds_are_given_and_are_met() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for text in project["dependencies"]:
        requirement = Requirement(text)
        assert requirement.specifier, f"{text} has no lower bound"
        assert requirement.specifier.contains(version(requirement.name))


# Of a machine with a GPU, where one test more can run; pip installs it for one version of CUDA.
FOR_DEVICES = {"cupy"}


@pytest.mark.parametrize(
    ("extra", "least"), [("test", 280), pytest.param("parity", 240, marks=pytest.mark.parity)], ids=["test", "parity"]
)
def test_what_tests_import_stands_in_an_extra(extra: str, least: int) -> None:
    """A package that only some machines happen to have would leave tests out without a word."""
    compared = 0
    missing = set()
    for path in SOURCES:
        text = path.read_text(encoding="utf-8")
        if _extra_of(path, text) != extra:
            continue
        for module in _imported(ast.parse(text)) - OWN - sys.stdlib_module_names:
            compared += 1
            if not _distributions(module) & _required(extra):
                missing.add((str(path.relative_to(ROOT)), module))
    assert compared > least
    assert not missing, f"not in the dependencies, nor in the extra of these tests: {sorted(missing)}"


def _extra_of(path: Path, text: str) -> str:
    if path.is_relative_to(ROOT / "tools" / "site"):
        return "docs"
    shared = not path.name.startswith("test_") and re.search(r"^\s*(from|import) (torch|jax)\b", text, re.MULTILINE)
    of_parity = path.is_relative_to(TESTS / "parity") or "pytest.mark.parity" in text
    return "parity" if shared or of_parity else "test"


def test_no_test_is_skipped_for_a_missing_package() -> None:
    asked = {
        (path.name, node.args[0].value)
        for path in SOURCES
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "importorskip"
        and isinstance(node.args[0], ast.Constant)
    }
    assert {module for _, module in asked} == FOR_DEVICES


def _imported(tree: ast.Module) -> set[str]:
    """The packages that a module imports, functions and all."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            names.add(node.module)
    return {name.partition(".")[0] for name in names}


# What lies in the checkout: packages at its root, and what tests share.
OWN = {path.stem for path in ROOT.iterdir()} | {path.stem for path in (*SOURCES, *TESTS.iterdir())} | {"gradwright"}


@functools.cache
def _distributions(module: str) -> set[str]:
    return {canonicalize_name(name) for name in packages_distributions().get(module, ())}


@functools.cache
def _required(extra: str) -> frozenset[str]:
    """The distributions that an extra asks for itself, with the dependencies and the extras that it includes."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    names = set()
    for text in [*project["dependencies"], *project["optional-dependencies"][extra]]:
        requirement = Requirement(text)
        if requirement.name == project["name"]:
            names.update(*map(_required, requirement.extras))
        else:
            names.add(canonicalize_name(requirement.name))
    return frozenset(names)


# What type checkers see of an installed wheel.

PROGRAM = """\
from typing import assert_type

import gradwright as torch
import gradwright.nn.functional as F
import mylib
from gradwright import Tensor, nn, optim
from gradwright.utils.data import DataLoader, TensorDataset

x: Tensor = torch.randn(2, 3, requires_grad=True)
assert_type(torch.tanh(x), Tensor)
assert_type(torch.linalg.svdvals(x) + 1, Tensor)
assert_type(torch.ops.relu(x), Tensor)
assert_type(F.softmax(x, dim=1), Tensor)
values, indices = x.sort()
assert_type(values, Tensor)
assert_type(torch.max(x, 0).indices, Tensor)
assert_type(torch.linalg.svd(x).Vh, Tensor)
x.nonzero(as_tuple=True)
optim.SGD(nn.Linear(3, 4).parameters(), lr=0.1).step()
DataLoader(TensorDataset(x))
assert_type(mylib.squareplus(x), Tensor)
assert_type(x.squareplus(b=2), Tensor)
torch.ops.mylib.squareplus(x)
"""

MISTAKES = """\
import gradwright as torch
from gradwright import Tensor, no_such_name

x: Tensor = torch.ones(2)
torch.no_such_operator(x)
torch.linalg.no_such_operator(x)
x.no_such_method()
x.squareplus(c=1)
x.sort().no_such_field
torch.mm(x, "a")
"""

# Names at run time, but for modules, and for operators of other devices, which refuse every call.
NAMES = """\
import importlib, types
import gradwright
from gradwright import other_devices

OURS = ("runtime", "generated", "gradwright")
names = ["", "nn", "nn.functional", "nn.init", "nn.utils", "optim", "autograd", "func", "linalg", "fft", "special"]
names += ["distributions", "utils.data", "utils.checkpoint", "fx", "sparse", "autograd.forward_ad", "amp", "library"]
for name in names:
    module = importlib.import_module(f"gradwright.{name}".rstrip("."))
    print(f"import gradwright.{name}".rstrip("."))
    for each in getattr(module, "__all__", vars(module)):
        ours = getattr(getattr(module, each), "__module__", "runtime").split(".")[0] in OURS
        if ours and not each.startswith("_") and not isinstance(getattr(module, each), types.ModuleType):
            imported = ("Tensor", "DType", "no_grad", "wrap", "Generator") if name.startswith("nn.") else ()
            if each not in ("TYPE_CHECKING", *other_devices.__all__, *imported):
                print(f"gradwright.{name}.{each}".replace("..", "."))
"""


@pytest.fixture(scope="module")
def project(installed: Path) -> Path:
    """The project of a package, in an environment `env` that has the wheel and what the tests have besides it."""
    folder = installed.parent / "project"
    venv.create(folder / "env")
    site = sysconfig.get_path("purelib", vars={"base": str(folder / "env"), "platbase": str(folder / "env")})
    others = sysconfig.get_path("purelib")
    Path(site, "installed.pth").write_text(f"{installed}\n{others}\n")
    environment = {**os.environ, "PYTHONPATH": str(installed)}
    for command in (["init", "mylib"], []):
        subprocess.run([sys.executable, "-m", "gradwright", *command], cwd=folder, env=environment, check=True)
    (folder / "program.py").write_text(PROGRAM)
    (folder / "mistakes.py").write_text(MISTAKES)
    names = python(installed, "-c", NAMES)
    assert names.returncode == 0, names.stderr
    (folder / "names.py").write_text(names.stdout)
    return folder


def check_types(project: Path, *command: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return subprocess.run(
        [sys.executable, "-m", *command], cwd=project, env=environment, capture_output=True, text=True
    )


def lines_of_errors(text: str) -> set[int]:
    return {int(line.split(":")[1]) for line in text.splitlines() if "mistakes.py:" in line and "error" in line}


def test_mypy_knows_an_installed_wheel(project: Path) -> None:
    interpreter = project / "env" / "bin" / "python"
    found = check_types(
        project, "mypy", "--strict", "--python-executable", str(interpreter), "program.py", "names.py", "mylib"
    )
    assert found.returncode == 0, found.stdout + found.stderr
    mistakes = check_types(project, "mypy", "--strict", "--python-executable", str(interpreter), "mistakes.py")
    assert lines_of_errors(mistakes.stdout) == {2, *range(5, 11)}, mistakes.stdout


def test_pyright_knows_an_installed_wheel(project: Path) -> None:
    interpreter = project / "env" / "bin" / "python"
    found = check_types(project, "pyright", "--pythonpath", str(interpreter), "program.py", "mylib")
    assert found.returncode == 0, found.stdout + found.stderr
    mistakes = check_types(project, "pyright", "--pythonpath", str(interpreter), "mistakes.py")
    assert lines_of_errors(mistakes.stdout) == {2, *range(5, 11)}, mistakes.stdout
