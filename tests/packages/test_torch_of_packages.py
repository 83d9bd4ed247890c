"""The target torch of a package, as far as that needs no PyTorch: what is written, and what is refused."""

from __future__ import annotations

import ast

import pytest

from support.in_process import codegen
from support.own_packages import Project

OPERATOR = """
- func: bent(Tensor self) -> Tensor
  variants: function
  elementwise: self * self
"""


@pytest.fixture
def framed(project: Project) -> Project:
    """A project whose operators become PyTorch's, too."""
    project.configure('targets = ["torch"]')
    return project


def modules(project: Project) -> dict[str, str]:
    """The texts of what is written."""
    return {path.name: path.read_text() for path in project.file("torch").glob("*.py")}


def test_it_lies_in_the_package_and_imports_nothing_of_gradwright(framed: Project) -> None:
    framed.append("native_functions.yaml", OPERATOR)
    finished = framed.generate("--no-verify")
    assert finished.returncode == 0, finished.stderr
    written = modules(framed)
    assert set(written) == {"__init__.py", "_support.py", "helpers.py", "kernels.py", "operators.py"}
    assert framed.file("torch/py.typed").exists()
    imported = set()
    for text in written.values():
        assert max(map(len, text.splitlines())) <= 120
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Import):
                imported |= {each.name.partition(".")[0] for each in node.names}
            elif isinstance(node, ast.ImportFrom) and not node.level:
                imported.add(str(node.module).partition(".")[0])
    assert imported <= {
        "__future__",
        "collections",
        "contextvars",
        "functools",
        "numpy",
        "threading",
        "torch",
        "typing",
    }
    assert "# mylib/derivatives.yaml:" in written["operators.py"]
    assert framed.generate("--check", "--no-verify").returncode == 0


def test_the_code_of_one_operator(framed: Project) -> None:
    framed.append("native_functions.yaml", OPERATOR)
    shown = framed.generate("explain", "bent", "--target", "torch")
    assert "class Bent(Function):" in shown.stdout
    assert "self_gradient = " in shown.stdout


@pytest.mark.parametrize(
    ("helper", "reason"),
    [
        ("from gradwright.optim import SGD\n\ndef bend(grad: Tensor) -> Tensor:\n    SGD\n    return grad", "'SGD'"),
        (
            "import scipy.special\n\ndef bend(grad: Tensor) -> Tensor:\n    return grad * scipy.special.pi",
            "'scipy.special' is neither",
        ),
    ],
    ids=["a class of Gradwright", "another library"],
)
def test_what_pytorch_lacks_is_an_error_with_its_place(framed: Project, helper: str, reason: str) -> None:
    framed.append("helpers.py", f"from gradwright import Tensor, ops\n{helper}\n")
    file = framed.file("derivatives.yaml")
    file.write_text(file.read_text().replace("self: grad *", "self: bend(grad) *"))
    finished = framed.generate("--no-verify")
    assert finished.returncode == 1
    assert reason in finished.stderr
    assert "mylib/derivatives.yaml:4:9: error: 'squareplus' can not be written for PyTorch" in finished.stderr
    assert "note: mylib/helpers.py:" in finished.stderr
    assert not framed.file("torch").exists()


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        ("- func: noted(Tensor(a!) self) -> Tensor\n  dispatch:\n    CPU: given\n", "writes to another argument"),
        ("- func: part(Tensor(a) self) -> Tensor(a)\n  dispatch:\n    CPU: given\n", "returns a view"),
    ],
)
def test_kernels_that_can_not_be_registered_are_errors(framed: Project, entry: str, reason: str) -> None:
    framed.append("kernels.py", "\n\ndef given(self: Array) -> Array:\n    return self\n")
    framed.append("native_functions.yaml", f"\n{entry}")
    finished = framed.generate("--no-verify")
    assert finished.returncode == 1
    assert reason in finished.stderr
    assert "mylib/native_functions.yaml:" in finished.stderr


def test_gradwrights_own_operators_are_no_package() -> None:
    for words in (("--target", "torch"), ("explain", "sin", "--target", "torch")):
        finished = codegen(*words)
        assert finished.returncode == 2
        assert "--target torch is for the operators of a package, in whose folder it is called" in finished.stderr
