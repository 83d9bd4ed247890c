"""Generation for a package: what of its YAML and of its table is refused, and what comes out."""

from __future__ import annotations

import io
import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from codegen import extending
from codegen.bind.call_targets import OperatorTable
from codegen.bind.entries import resolve_entries
from codegen.commands.diagnostics import print_diagnostics
from codegen.commands.verify import refuted
from codegen.paths import find_project
from codegen.pipeline import Result, analyze
from codegen.project import read_project
from codegen.read.model import DerivativeEntry
from codegen.source import Diagnostics
from support.own_packages import Project


def table_errors(project: Project) -> str:
    """What is printed of the table of a project."""
    diagnostics = Diagnostics()
    assert read_project(project.folder / "pyproject.toml", diagnostics) is None
    return printed(diagnostics)


def result_of(project: Project) -> Result:
    diagnostics = Diagnostics()
    paths = read_project(project.folder / "pyproject.toml", diagnostics)
    assert paths is not None, printed(diagnostics)
    return analyze(paths)


def printed(diagnostics: Diagnostics) -> str:
    stream = io.StringIO()
    print_diagnostics(diagnostics, stream)
    return stream.getvalue()


def messages(result: Result) -> list[str]:
    return [f"{item.span}: {item.message}" for item in result.diagnostics.sorted()]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("pakage = 1", "19:1: error: unknown key 'pakage'"),
        ('base = "torch"', "19:1: error: no base 'torch'"),
        ("base = 1", "19:1: error: 'base' is to be a text"),
        ('namespace = "aten"', "19:1: error: 'aten' is the namespace of Gradwright's own operators"),
        ('namespace = "a-b"', "19:1: error: 'a-b' is no name"),
        ('kernels = ["other.py"]', "19:1: error: no file or folder 'other.py' in the package"),
        ('kernels = "../tests"', "19:1: error: no file or folder '../tests' in the package"),
        ("kernels = 3", "19:1: error: 'kernels' is to be a path or a list of paths"),
        ('output = "../made"', "19:1: error: the output '../made' is no folder of the package"),
        ("strict = 0", "19:1: error: 'strict' is to be true or false"),
        ("strict = false", "19:1: error: operators beside Gradwright's have kernels of their own"),
        ("= 3", "19:1: error: this is not TOML: "),
        ("tags = mine", "19:8: error: this is not TOML: Invalid value [GW010]"),
    ],
)
def test_errors_of_the_table_have_their_place(line: str, message: str, project: Project) -> None:
    project.configure(line)
    assert table_errors(project).startswith(f"pyproject.toml:{message}")


def test_all_errors_of_the_table_come_at_once(project: Project) -> None:
    file = project.folder / "pyproject.toml"
    file.write_text("[tool.gradwright]\nschema_version = 9\npackage = 'yourlib'\nkernel = ''\n")
    assert table_errors(project) == (
        "pyproject.toml:2:1: error: schema_version is to be 1, the version of YAML that this Gradwright reads [GW010]\n"
        "schema_version = 9\n^~~~~~~~~~~~~~~~~~\nhint: write schema_version = 1\n"
        "pyproject.toml:3:1: error: no folder 'yourlib' here or in src [GW010]\n"
        "package = 'yourlib'\n^~~~~~~~~~~~~~~~~~~\nhint: make the package's folder\n"
        "pyproject.toml:4:1: error: unknown key 'kernel' [GW010]\n"
        "kernel = ''\n^~~~~~~~~~~\nhint: did you mean 'kernels'?\n"
        "3 errors\n"
    )


def test_the_project_is_that_of_the_nearest_folder(project: Project, tmp_path: Path) -> None:
    inner = project.folder / "mylib" / "deep"
    inner.mkdir()
    (inner / "pyproject.toml").write_text("[project]\nname = 'other'\n")
    assert find_project(inner) == project.folder / "pyproject.toml"
    assert find_project(tmp_path) is None


def test_a_package_in_src(project: Project) -> None:
    (project.folder / "src").mkdir()
    os.rename(project.folder / "mylib", project.folder / "src" / "mylib")
    assert not messages(result_of(project))


NATIVE = """#pragma once

#include "loops.hpp"

namespace gradwright::kernels {

struct squareplus {
  template <class T>
  static T apply(T x, T b) { return x; }
};
ROW

}  // namespace gradwright::kernels
"""
ROW = "GRADWRIGHT_KERNEL(squareplus, 2, elements)"


def errors_in_cpp(project: Project, text: str) -> list[tuple[str, str, str | None]]:
    """The place, the message and the hint of each error of a package that has this C++."""
    project.file("native").mkdir(exist_ok=True)
    project.file("native/mine.hpp").write_text(text)
    result = result_of(project)
    assert (result.plan is None) is bool(result.diagnostics)
    return [
        (str(item.span).removeprefix("mylib/native/mine.hpp:"), item.message, item.hint)
        for item in result.diagnostics.sorted()
    ]


@pytest.mark.parametrize(
    ("row", "error"),
    [
        (ROW, None),
        (
            "GRADWRIGHT_KERNEL(squareplus, 1, elements)",
            ("11:19", "'squareplus' has 1 operand, and 'squareplus(self, b)' in Python 2", ROW),
        ),
        (
            "GRADWRIGHT_KERNEL(squareplus, 2, elements)\nGRADWRIGHT_KERNEL(squareplu, 2, tensors)",
            (
                "12:19", "'squareplu' stands for no function in Python of the project's own: it is never called",
                "did you mean 'squareplus'?",
            ),
        ),
        (
            "GRADWRIGHT_KERNEL(squareplus, 2, elements)\nGRADWRIGHT_KERNEL(relu, 1, tensors)",
            (
                "12:19", "'relu' stands for no function in Python of the project's own: it is never called",
                "it has the name of the function in Python",
            ),
        ),
        (
            "GRADWRIGHT_KERNEL(squareplus, 2, elements)\nGRADWRIGHT_KERNEL(unused, 1, tensors)",
            ("12:19", "no operator takes 'unused': it is never called", None),
        ),
        (f"{ROW}\n{ROW}", ("12:19", "'squareplus' has two rows", None)),
        (
            "",
            (
                "7:8", "'squareplus' has no row in the table of kernels: it is never called", f"write behind it: {ROW}",
            ),
        ),
        (
            "Ref squareplus(PyObject* self, PyObject* b);",
            (
                "7:8", "'squareplus' has no row in the table of kernels: it is never called", f"write behind it: {ROW}",
            ),
        ),
    ],
)  # fmt: skip
def test_a_kernel_in_cpp_has_a_row_that_fits(
    project: Project, row: str, error: tuple[str, str, str | None] | None
) -> None:
    project.append("kernels.py", "\n\ndef unused(self: Array) -> Array:\n    return self\n")
    assert errors_in_cpp(project, NATIVE.replace("ROW", row))[:1] == ([] if error is None else [error])


def test_functions_in_cpp_without_a_row_show_theirs(project: Project) -> None:
    kernel = "namespace gradwright::kernels {\n\nRef squareplus(PyObject* self, PyObject* b) { return Ref(); }\n\n}\n"
    assert errors_in_cpp(project, kernel) == [
        (
            "3:5", "'squareplus' has no row in the table of kernels: it is never called",
            "write behind it: GRADWRIGHT_KERNEL(squareplus, 2, tensors)",
        )
    ]  # fmt: skip


def test_a_struct_stands_in_a_header(project: Project) -> None:
    project.file("native").mkdir()
    project.file("native/mine.cpp").write_text(NATIVE.replace("ROW", ROW))
    (error,) = result_of(project).diagnostics.items
    assert str(error.span) == "mylib/native/mine.cpp:11:19"
    assert "can not include mylib/native/mine.cpp" in error.message


def test_a_kernel_in_cpp_may_be_made_of_others(project: Project) -> None:
    inner = "struct of_roots {};\nRef both(PyObject* x) { return Ref(); }\n"
    text = NATIVE.replace("struct squareplus", f"{inner}struct squareplus").replace("ROW", ROW)
    assert errors_in_cpp(project, text) == []


def test_where_cpp_differs_the_kernel_in_cpp_is_to_blame(project: Project) -> None:
    project.file("native").mkdir()
    project.file("native/mine.hpp").write_text(NATIVE.replace("ROW", ROW))
    paths = read_project(project.folder / "pyproject.toml", Diagnostics())
    assert paths is not None
    failure = {"argument": "self", "number": 1, "sample": "T(3)", "dtype": "float64", "message": "wrong", "again": ""}
    cells = [
        {"operator": "squareplus", "property": each, "status": "refuted", "failures": [failure]}
        for each in ("gradient", "native")
    ]
    (error,) = refuted(cells, paths).items
    assert str(error.span) == "mylib/native/mine.hpp:11:19"
    (error,) = refuted(cells[:1], paths).items
    assert str(error.span).startswith("mylib/derivatives.yaml:")


STRUCTURED = """
- func: twice(Tensor self, float by=2.0) -> Tensor
  variants: function, method
  structured_delegate: twice.out
  samples:
  - T(3)
- func: twice_(Tensor(a!) self, float by=2.0) -> Tensor(a!)
  variants: method
  structured_delegate: twice.out
- func: twice.out(Tensor self, float by=2.0, *, Tensor(a!) out) -> Tensor(a!)
  structured: True
  dispatch:
    CPU: twice
"""


def test_structured_operators_share_a_kernel(project: Project) -> None:
    project.append("native_functions.yaml", STRUCTURED)
    project.append("kernels.py", "\n\ndef twice(self: Array, by: float) -> Array:\n    return self * by\n")
    project.append("derivatives.yaml", "\n- name: twice(Tensor self, float by=2.0) -> Tensor\n  self: grad * by\n")
    finished = project.generate()
    assert (finished.returncode, finished.stderr) == (0, "")
    program = """
import mylib, gradwright as torch
x, out = torch.ones(2, requires_grad=True), torch.empty(2)
mylib.twice(x, 3).sum().backward()
y = torch.ones(2)
print(x.grad.tolist(), mylib.twice(y, out=out) is out, out.tolist(), y.twice_(5.0) is y, y.tolist())
"""
    assert project.output(program) == "[3.0, 3.0] True [2.0, 2.0] True [5.0, 5.0]"


def test_names_of_gradwright_are_taken(project: Project) -> None:
    project.append("native_functions.yaml", "- func: relu(Tensor self) -> Tensor\n  dispatch: {CPU: squareplus}\n")
    project.append("native_functions.yaml", "- func: add_(Tensor(a!) self) -> Tensor(a!)\n  dispatch: {CPU: one}\n")
    project.append("kernels.py", "\n\ndef one(self: Array) -> Array:\n    return self\n")
    project.append("derivatives.yaml", "- name: tanh(Tensor self) -> Tensor\n  self: grad\n")
    project.append("native_functions.yaml", "- func: plus(Tensor self, Tensor other) -> Tensor\n")
    project.append("native_functions.yaml", "  dispatch: {CPU: two}\n  python_operator: self + other\n")
    project.append("kernels.py", "\n\ndef two(self: Array, other: Array) -> Array:\n    return self\n")
    found = messages(result_of(project))
    assert "mylib/derivatives.yaml:6:9: 'tanh' is an operator of Gradwright, and has its derivatives" in found
    assert "mylib/native_functions.yaml:16:9: 'relu' is an operator of Gradwright" in found
    assert "mylib/native_functions.yaml:18:9: 'add_' is an operator of Gradwright" in found
    assert "mylib/native_functions.yaml:20:3: 'self + other' calls an operator of Gradwright already" in found


def test_functions_of_gradwright_are_not_hidden(project: Project) -> None:
    project.append("helpers.py", "def scaled(grad: Tensor, factor: Scalar) -> Tensor:\n    return grad\n")
    project.append("composites.py", "def _own(self):\n    return self\n")
    assert messages(result_of(project)) == ["mylib/helpers.py:1:5: 'scaled' is a function of Gradwright already"]


def test_rules_see_through_operators_of_both(project: Project) -> None:
    """A formula that is not linear is refused, also where a helper calls operators by namespace."""
    project.append(
        "helpers.py",
        "from gradwright import Tensor, ops\n\n\n"
        "def bent(grad: Tensor) -> Tensor:\n    return ops.mylib.squareplus(grad)\n\n\n"
        "def straight(grad: Tensor) -> Tensor:\n    return ops.neg(grad)\n",
    )
    project.append("native_functions.yaml", "- func: one(Tensor self) -> Tensor\n  dispatch: {CPU: same}\n")
    project.append("native_functions.yaml", "- func: two(Tensor self) -> Tensor\n  dispatch: {CPU: same}\n")
    project.append("kernels.py", "\n\ndef same(self: Array) -> Array:\n    return self\n")
    project.append("derivatives.yaml", "- name: one(Tensor self) -> Tensor\n  self: bent(grad)\n")
    project.append("derivatives.yaml", "- name: two(Tensor self) -> Tensor\n  self: straight(grad)\n")
    (found,) = messages(result_of(project))
    assert found.startswith("mylib/derivatives.yaml:7:9: ")
    assert "not linear" in found


def test_of_the_base_only_what_is_asked_for_is_bound(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """A package of one operator is analyzed in a fraction of the time that the base takes."""
    bound = []

    def resolve(entries: Sequence[DerivativeEntry], table: OperatorTable, diagnostics: Diagnostics) -> object:
        bound.extend(entries)
        return resolve_entries(entries, table, diagnostics)

    monkeypatch.setattr(extending, "resolve_entries", resolve)
    assert result_of(project).plan is not None
    assert 0 < len(bound) < 20


def test_a_base_of_none_has_no_operators_but_the_packages(project: Project) -> None:
    project.configure('base = "none"')
    assert messages(result_of(project)) == [
        "mylib/derivatives.yaml:4:30: '*' on Tensors needs an operator with 'python_operator: self * other'"
    ]


@pytest.mark.parametrize("words", [[], ["fix"], ["fix", "--diff"], ["format"], ["format", "--out", "x"]])
def test_nothing_is_written_outside_a_project_by_an_installed_copy(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from codegen.commands import chosen
    from codegen.commands.main import main

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(chosen, "data_folder", lambda: str(tmp_path))
    with pytest.raises(SystemExit) as raised:
        main(words)
    assert raised.value.code == 2
    assert "'gradwright init NAME' makes one" in capsys.readouterr().err


JUDGING = (["--check"], ["lint"], ["format", "--check"], ["fix", "--diff"], ["verify"], ["verify", "relu", "--ledger"])


@pytest.mark.parametrize("words", [[], *JUDGING, ["new", "one(Tensor self) -> Tensor"]], ids=" ".join)
def test_a_command_that_judges_needs_a_project(words: list[str], tmp_path: Path) -> None:
    finished = Project(tmp_path).generate(*words)
    assert (finished.returncode, finished.stdout) == (2, "")
    assert "there is no project here" in finished.stderr


@pytest.mark.parametrize("words", [["explain", "relu"], ["list", "--missing"]], ids=" ".join)
def test_what_only_shows_needs_none(words: list[str], tmp_path: Path) -> None:
    assert Project(tmp_path).generate(*words).returncode == 0


@pytest.mark.parametrize("words", JUDGING, ids=" ".join)
def test_a_project_file_that_is_no_toml_is_an_error_of_every_command(words: list[str], tmp_path: Path) -> None:
    """Nobody can tell then whether it has a table for us."""
    (tmp_path / "pyproject.toml").write_text("[project]\nname = mylib\n")
    finished = Project(tmp_path).generate(*words)
    assert (finished.returncode, finished.stdout) == (1, "")
    assert finished.stderr == (
        "pyproject.toml:2:8: error: this is not TOML: Invalid value [GW010]\nname = mylib\n       ^~~~~\n1 error\n"
    )


@pytest.mark.parametrize(
    "text",
    [
        "tool.gradwright.package = 'mylib'\ntool.gradwright.schema_version = 1\n",
        "[tool]\ngradwright = {package = 'mylib', schema_version = 1}\n",
        "\ufeff[ tool.'gradwright' ]\r\npackage = 'mylib'\r\nschema_version = 1\r\n",
    ],
)
def test_the_table_is_found_however_it_is_written(text: str, project: Project) -> None:
    file = project.folder / "pyproject.toml"
    file.write_text(text, encoding="utf-8", newline="")
    assert find_project(project.folder) == file
    assert not messages(result_of(project))


def test_a_table_that_is_none(project: Project) -> None:
    (project.folder / "pyproject.toml").write_text("[tool]\ngradwright = 3\n")
    assert "error: 'tool.gradwright' is to be a table" in table_errors(project)
