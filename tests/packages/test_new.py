"""`gradwright new`: what it writes generates, and says what is missing; what it can not add it leaves alone."""

from __future__ import annotations

import pytest

from codegen.commands.new import add_operator
from codegen.input_files import read_operators
from codegen.paths import Paths
from codegen.project import read_project
from codegen.source import Diagnostics
from support.own_packages import Project

BLEND = "blend(Tensor self, Tensor[] others, Scalar weight, *, int[2]? size=None) -> (Tensor low, Tensor high)"


def paths_of(project: Project) -> Paths:
    paths = read_project(project.folder / "pyproject.toml", Diagnostics())
    assert paths is not None
    return paths


def test_what_it_writes(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    assert add_operator(BLEND, paths_of(project)) == 0
    assert (
        project.file("native_functions.yaml")
        .read_text()
        .endswith(
            f"\n\n- func: {BLEND}\n  dispatch:\n    CPU: blend\n  samples:\n  - T(3, 4), [T(3, 4), T(3, 4)], 0.5\n"
        )
    )
    assert (
        project.file("derivatives.yaml")
        .read_text()
        .endswith(
            f'\n\n- name: {BLEND}\n  self: not_implemented("blend, the gradient of self")\n'
            '  others: not_implemented("blend, the gradient of others")\n'
        )
    )
    assert (
        project.file("kernels.py")
        .read_text()
        .endswith(
            "\n\n\ndef blend(self: Array, others: list[Array], weight: float, size: list[int] | None)"
            " -> tuple[Array, Array]:\n"
            '    raise NotImplementedError("write the kernel of blend")\n'
        )
    )
    assert capsys.readouterr().out.splitlines()[-1].startswith("blend: added to mylib/native_functions.yaml, ")


def test_it_generates_and_a_call_says_what_is_missing(project: Project) -> None:
    assert project.generate("new", "mish2(Tensor self) -> Tensor").returncode == 0
    finished = project.generate()
    assert finished.returncode == 0, finished.stderr
    finished = project.run("-c", "import mylib, gradwright; mylib.mish2(gradwright.ones(2))")
    assert "NotImplementedError: write the kernel of mish2" in finished.stderr
    kernels = project.file("kernels.py")
    missing = 'raise NotImplementedError("write the kernel of mish2")'
    kernels.write_text(kernels.read_text().replace(missing, "return self"))
    program = "import mylib, gradwright; mylib.mish2(gradwright.ones(2, requires_grad=True)).sum().backward()"
    assert "mish2, the gradient of self" in project.run("-c", program).stderr


@pytest.mark.parametrize("schema", ["joined(Tensor[] parts) -> Tensor", "said(str how, Tensor x) -> Tensor"])
def test_a_sample_that_begins_with_a_mark_of_yaml(schema: str, project: Project) -> None:
    paths = paths_of(project)
    assert add_operator(schema, paths) == 0
    functions, _ = read_operators(paths.native_functions, paths.derivatives, paths, found := Diagnostics())
    assert found.items == []
    assert functions is not None
    assert [str(sample)[:1] for sample in functions[-1].samples] == ["[" if "[]" in schema else '"']


def test_another_overload_of_an_operator_of_ones_own(project: Project) -> None:
    assert add_operator("squareplus.Tensor(Tensor self, Tensor b) -> Tensor", paths_of(project)) == 0
    assert "CPU: squareplus_Tensor\n" in project.file("native_functions.yaml").read_text()
    assert project.generate().returncode == 0


def test_kernels_in_a_folder_and_in_none(project: Project) -> None:
    project.file("kernels.py").rename(project.file("basic.py"))
    project.configure('kernels = ["basic.py"]')
    assert add_operator("one(Tensor self) -> Tensor", paths_of(project)) == 0
    assert "def one(" in project.file("basic.py").read_text()
    project.file("kernels").mkdir()
    project.configure('kernels = ["kernels", "basic.py"]')
    file = project.folder / "pyproject.toml"
    file.write_text(file.read_text().replace('kernels = ["basic.py"]\n', ""))
    assert add_operator("two(Tensor self) -> Tensor", paths_of(project)) == 0
    assert project.file("kernels/two.py").read_text().startswith('"""Kernels: two."""\n')
    assert project.generate().returncode == 0


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ("f(Tensor self -> Tensor", "<schema>:1:2: error: unbalanced parenthesis"),
        ("relu(Tensor self) -> Tensor", "<schema>:1:1: error: there is an operator 'relu' already"),
        ("squareplus(Tensor self) -> Tensor", "<schema>:1:1: error: there is an operator 'squareplus' already"),
        ("f_(Tensor(a!) self) -> Tensor(a!)", "<schema>:1:1: error: 'f_' writes to its arguments"),
    ],
)
def test_what_it_refuses(schema: str, message: str, project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    before = {path: path.read_bytes() for path in project.folder.rglob("*") if path.is_file()}
    assert add_operator(schema, paths_of(project)) == 1
    assert capsys.readouterr().err.startswith(message)
    assert before == {path: path.read_bytes() for path in project.folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("name", ["squareplus", "squareplus.out", "SquareplusBackward0"])
def test_explain_finds_operators_by_their_variants_and_nodes(name: str, project: Project) -> None:
    finished = project.generate("explain", name)
    assert finished.stdout.startswith("squareplus(Tensor self, Scalar b=4) -> Tensor\n"), finished.stderr


def test_samples_go_to_their_file_where_there_is_one(project: Project) -> None:
    project.file("samples.yaml").write_text("- squareplus:\n  - T(3)\n")
    text = project.file("native_functions.yaml").read_text()
    project.file("native_functions.yaml").write_text(text[: text.index("  samples:\n")])
    assert project.generate().returncode == 0
    finished = project.generate("new", "mish2(Tensor self) -> Tensor")
    assert finished.returncode == 0, finished.stderr
    assert "mylib/derivatives.yaml, mylib/samples.yaml, mylib/kernels.py" in finished.stdout
    assert project.file("samples.yaml").read_text() == "- squareplus:\n  - T(3)\n\n- mish2:\n  - T(3, 4)\n"
    assert "samples" not in project.file("native_functions.yaml").read_text()
    assert project.generate("--check").returncode == 1  # the samples are among what the output is made of
    assert project.generate("format", "--check").returncode == 0
    kernels = project.file("kernels.py")
    missing = 'raise NotImplementedError("write the kernel of mish2")'
    kernels.write_text(kernels.read_text().replace(missing, "return self + 0"))
    assert project.generate("--no-verify").returncode == 0
    proven = project.generate("verify", "squareplus", "--property", "gradient")
    assert "squareplus" not in proven.stderr
    assert proven.returncode == 0
