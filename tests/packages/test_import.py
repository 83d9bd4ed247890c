"""Generated packages at work: their operators beside Gradwright's, and what their import refuses."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from codegen.inputs import INTERFACE
from support.own_packages import Project

MAKE = Callable[[str], Project]


@pytest.fixture
def generated(project: Project) -> Project:
    finished = project.generate()
    assert finished.returncode == 0, finished.stderr
    return project


def test_operators_are_functions_methods_and_in_their_namespace(generated: Project) -> None:
    program = """
import mylib, gradwright as torch, gradwright
assert torch is gradwright
x = torch.tensor([3.0])
print(mylib.squareplus(x), x.squareplus(2), torch.ops.mylib.squareplus.default(x, b=0))
print(torch.ops.mylib.squareplus.default._schema, list(torch.ops.mylib))
print(mylib.squareplus(torch.tensor([1, 2])).dtype, mylib.squareplus(x, out=torch.empty(1)))
"""
    assert generated.output(program) == (
        "tensor([3.3028]) tensor([3.1583]) tensor([3.])\n"
        "mylib::squareplus(Tensor self, Scalar b=4) -> Tensor ['squareplus']\n"
        "gradwright.float32 tensor([3.3028])"
    )


def test_every_mode_differentiates_them(generated: Project) -> None:
    program = """
import gradwright as torch, mylib
x = torch.tensor([0.0, 1.0], dtype=torch.float64)
print(torch.func.grad(lambda x: mylib.squareplus(x).sum())(x))
print(torch.func.jvp(mylib.squareplus, (x,), (torch.ones_like(x),))[1])
print(torch.func.hessian(lambda x: mylib.squareplus(x).sum())(x).diagonal())
print(torch.func.vmap(mylib.squareplus)(x.reshape(2, 1)).shape)
print(torch.autograd.gradgradcheck(mylib.squareplus, (x.requires_grad_(),)))
y = x.squareplus()
print(y.grad_fn.name(), y.grad_fn._saved_self is x)
"""
    assert generated.output(program) == (
        "tensor([0.5000, 0.7236], dtype=gradwright.float64)\ntensor([0.5000, 0.7236], dtype=gradwright.float64)\n"
        "tensor([0.2500, 0.1789], dtype=gradwright.float64)\ngradwright.Size([2, 1])\nTrue\nSquareplusBackward0 True"
    )


@pytest.mark.parametrize(
    "order", ["gradwright, mylib", "mylib, gradwright", "generated, mylib", "mylib._generated.nodes"]
)
def test_any_order_of_imports(order: str, generated: Project) -> None:
    assert (
        generated.output(f"import {order}, gradwright; print(gradwright.ops.mylib.squareplus(gradwright.zeros(())))")
        == "tensor(1.)"
    )


def test_composites_and_helpers_call_operators_of_both(project: Project) -> None:
    project.append("native_functions.yaml", "- func: twice_squared(Tensor self) -> Tensor\n  samples: [T(3)]\n")
    project.append(
        "composites.py",
        "from gradwright import Tensor, ops\n\n\ndef twice_squared(self: Tensor) -> Tensor:\n"
        "    return ops.mylib.twice(self).square().sum()\n",
    )
    project.append(
        "native_functions.yaml", "- func: twice(Tensor self) -> Tensor\n  dispatch: {CPU: twice}\n  samples: [T(3)]\n"
    )
    project.append("kernels.py", "\n\ndef twice(self: Array) -> Array:\n    return self + self\n")
    project.append(
        "derivatives.yaml", "- name: twice(Tensor self) -> Tensor\n  self: doubled(grad)\n  result: auto_linear\n"
    )
    project.append(
        "helpers.py",
        "from gradwright import Tensor, ops\n\n\n"
        "def doubled(grad: Tensor) -> Tensor:\n    return ops.mylib.twice(grad)\n",
    )
    finished = project.generate()
    assert finished.returncode == 0, finished.stderr
    program = """
import mylib
from gradwright.testing import gradcheck_operator
from mylib._generated.registry import OPERATORS
for name in ("twice_squared", "twice"):
    result = gradcheck_operator(OPERATORS[name])
    print(result.passed, result.first, result.second, result.failures)
"""
    assert project.output(program) == "True 2 2 []\nTrue 2 2 []"


def test_an_error_in_a_formula_names_its_place(project: Project) -> None:
    project.append(
        "native_functions.yaml", "- func:\n  - two(Tensor self, Tensor other) -> Tensor\n  dispatch: {CPU: two}\n"
    )
    project.append("kernels.py", "\n\ndef two(self: Array, other: Array) -> Array:\n    return self + other\n")
    entry = "- name: two(Tensor self, Tensor other) -> Tensor\n  self: grad\n  other: broken(grad)\n"
    project.append("derivatives.yaml", entry)
    project.append(
        "helpers.py",
        "from gradwright import Tensor\n\n\ndef broken(grad: Tensor) -> Tensor:\n"
        "    if grad.dim() == 1:\n        raise ValueError('broken')\n    return grad\n",
    )
    assert project.generate().returncode == 0
    program = "import mylib, gradwright as t; x = t.ones(2, requires_grad=True); mylib.two(x, x).sum().backward()"
    assert project.run("-c", program).stderr.endswith(
        "ValueError: broken\nin the derivative of two (TwoBackward0)\n  mylib/derivatives.yaml:8  other: broken(grad)\n"
    )
    program = "import mylib, gradwright as t; mylib.two(t.ones(2), t.ones(3))"
    assert ", mylib/native_functions.yaml:17\n" in project.run("-c", program).stderr


def test_edited_yaml_is_noticed(generated: Project) -> None:
    generated.append("native_functions.yaml", "\n# edited\n")
    finished = generated.run("-c", "import mylib")
    assert finished.stderr.strip().endswith("was made from other YAML; run in its project: gradwright")
    check = generated.generate("--check")
    assert (check.returncode, check.stderr.splitlines()[-1]) == (1, "run: python -m codegen")
    assert generated.generate().returncode == 0
    assert generated.generate("--check").returncode == 0
    assert generated.output("import mylib; print(1)") == "1"


def test_another_version_of_the_interface_is_refused(generated: Project) -> None:
    file = generated.file("_generated/__init__.py")
    text = file.read_text()
    assert text.count(f"interface={INTERFACE}") == 1
    file.write_text(text.replace(f"interface={INTERFACE}", "interface=20"))  # longer: bytecode goes by the size
    finished = generated.run("-c", "import mylib")
    assert (
        f"ImportError: mylib._generated was generated for interface 20, this is interface {INTERFACE} of Gradwright"
        in finished.stderr
    )


def test_a_package_that_fails_to_load_can_be_loaded_when_it_is_mended(generated: Project) -> None:
    program = """
import pathlib
file = pathlib.Path("mylib/kernels.py")
text = file.read_text()
file.write_text(text + "\\nraise OSError('no kernels today')\\n")
try:
    import mylib
except OSError as error:
    print(error)
file.write_text(text)
import mylib, gradwright
print(gradwright.zeros(()).squareplus())
"""
    assert generated.output(program) == "no kernels today\ntensor(1.)"


def test_two_packages(generated: Project, new_project: MAKE) -> None:
    """Beside each other where their names differ; an error that names both where they do not."""
    other = new_project("yourlib")
    other.file("native_functions.yaml").write_text(
        "- func: thrice(Tensor self) -> Tensor\n  variants: function, method\n  dispatch: {CPU: thrice}\n"
    )
    other.file("derivatives.yaml").write_text("- name: thrice(Tensor self) -> Tensor\n  self: grad * 3\n")
    other.append("kernels.py", "\n\ndef thrice(self: Array) -> Array:\n    return self * 3\n")
    assert other.generate().returncode == 0
    both = f"import sys; sys.path.append({str(other.folder)!r}); import mylib, yourlib; import gradwright as torch\n"
    assert generated.output(both + "print(torch.ones(1).squareplus().thrice())") == "tensor([4.8541])"

    other.append(
        "native_functions.yaml",
        "- func: squareplus(Tensor self) -> Tensor\n  variants: method\n  dispatch: {CPU: thrice}\n",
    )
    assert other.generate().returncode == 0
    finished = generated.run("-c", both)
    assert "yourlib._generated declares methods that Tensors have already: 'squareplus'" in finished.stderr

    other.configure('namespace = "mylib"')
    assert other.generate().returncode == 0
    finished = generated.run("-c", both)
    assert "yourlib._generated can not define the namespace 'mylib': mylib._generated has defined it" in finished.stderr
    finished = generated.run("-c", 'import mylib; from gradwright.library import Library; Library("mylib", "DEF")')
    assert "Previous registration at mylib._generated" in finished.stderr


def test_overloads_of_packages_do_not_meet(new_project: MAKE) -> None:
    """What a packet remembers of types belongs to its namespace: here two packets have one base name."""
    projects = [new_project(name) for name in ("onelib", "twolib")]
    for factor, project in enumerate(projects, 2):
        project.file("native_functions.yaml").write_text(
            "- func: times(Tensor self, Tensor other) -> Tensor\n  dispatch: {CPU: times}\n"
            "- func: times.Scalar(Tensor self, Scalar other, *, Scalar more=1) -> Tensor\n"
            "  dispatch: {CPU: times_more}\n"
        )
        project.file("derivatives.yaml").write_text("[]\n")
        project.append(
            "kernels.py",
            f"\n\ndef times(self: Array, other: Array) -> Array:\n    return self * other * {factor}\n"
            "\n\ndef times_more(self: Array, other: float, more: float) -> Array:\n"
            f"    return self * other * more * {factor}\n",
        )
        assert project.generate().returncode == 0
    program = f"""
import sys; sys.path.append({str(projects[1].folder)!r})
import onelib, twolib, gradwright as torch
x = torch.ones(1)
for _ in range(2):
    print(onelib.times(x, 1.0, more=5).item(), twolib.times(x, 1.0, more=5).item(), end=" ")
    print(onelib.times(x, other=x).item(), twolib.times(x, other=x).item())
"""
    assert projects[0].output(program) == "10.0 15.0 2.0 3.0\n10.0 15.0 2.0 3.0"


def test_a_whole_set_of_operators_of_ones_own(project: Project) -> None:
    """A complete YAML stands alone: here Gradwright's, in a namespace of another name."""
    from codegen.paths import project_paths

    project.configure('base = "none"')
    paths = project_paths()
    project.file("native_functions.yaml").write_text(paths.native_functions.read_text())
    project.file("derivatives.yaml").write_text(paths.derivatives.read_text())
    finished = project.generate()
    assert finished.returncode == 0, finished.stderr
    program = """
import mylib, gradwright as torch
x = torch.tensor([1.0], requires_grad=True)
y = mylib.tanh(mylib.mul(x, 2))
print(type(y.grad_fn).__module__, torch.autograd.grad(y, x), (x * 2).tanh().grad_fn.__class__ is type(y.grad_fn))
"""
    assert project.output(program) == "mylib._generated.nodes (tensor([0.1413]),) False"


@pytest.mark.parametrize("name", ["generated", "codegen"])
def test_folders_of_a_project_may_have_our_names(name: str, generated: Project) -> None:
    (generated.folder / name).mkdir()
    (generated.folder / name / "notes.txt").write_text("mine")
    assert generated.output("import mylib; print(1)") == "1"
    assert generated.generate().returncode == 0


def test_second_names_of_modules() -> None:
    import codegen.paths
    import gradwright
    import gradwright.codegen.paths
    import gradwright.nn.functional
    import gradwright.nn.functional as functional

    assert functional is gradwright.nn.functional
    assert gradwright.codegen.paths is codegen.paths
    assert gradwright.nn.functional.__spec__ is not None
    assert gradwright.nn.functional.__spec__.name == "gradwright.nn.functional"
    with pytest.raises(ModuleNotFoundError, match=r"No module named 'gradwright\.nothing'"):
        import gradwright.nothing


@pytest.mark.parametrize(
    "name", ["codegen.paths", "runtime.base.tensor", "generated.registry", "runtime.native.threads"]
)
def test_a_module_is_the_same_under_the_name_that_it_has_in_a_wheel(name: str, project: Project) -> None:
    """The second name comes first: what looks into folders would load the file once more."""
    names = f"importlib.import_module('gradwright.{name}') is importlib.import_module('{name}')"
    program = f"import importlib; print({names})"
    assert project.output(program) == "True"
