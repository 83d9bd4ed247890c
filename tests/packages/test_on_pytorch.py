"""A package on top of PyTorch's YAML, as its back ends have theirs; what lies beneath is a small file of our own."""

from __future__ import annotations

from pathlib import Path

import pytest

from codegen.pytorch_files import find_pytorch
from support.own_packages import Project

BASE = """\
- func: neg(Tensor self) -> Tensor
  variants: function, method
  dispatch: {CPU: neg_cpu}
- func: scaled(Tensor self, float factor) -> Tensor
  structured_delegate: scaled.out
- func: scaled.out(Tensor self, float factor, *, Tensor(a!) out) -> Tensor(a!)
  structured: True
  dispatch:
    CPU, CUDA: scaled_out
- func: folded(Tensor self, Tensor other) -> Tensor
  tags: of_that_release
- func: norm_of(Tensor self, int n) -> Tensor
  dispatch: {CPU: norm_cpu, XPU: norm_xpu}
"""
BASE_FORMULAS = """\
- name: neg(Tensor self) -> Tensor
  self: grad.neg()
- name: scaled(Tensor self, float factor) -> Tensor
  self: scaled(grad, factor)
- name: norm_of(Tensor self, int n) -> Tensor
  self: norm_backward(grad, self, n, 2)
"""
HEADER = "Tensor norm_backward(const Tensor& grad, const Tensor& self, int64_t n, int64_t release);\n"
OWN = """\
- func: scaled.out(Tensor self, float factor, *, Tensor(a!) out) -> Tensor(a!)
  dispatch:
    PrivateUse1: theirs::scaled_out
- func: cubed(Tensor self) -> Tensor
  variants: function, method
  dispatch:
    CPU: cubed
    PrivateUse1: theirs::cubed
- func: rolled(Tensor(a!) self, Tensor other) -> Tensor(a!)
  dispatch:
    PrivateUse1: theirs::rolled
"""
OWN_FORMULAS = """\
- name: cubed(Tensor self) -> Tensor
  self: cubed_backward(grad, neg(self))
- name: norm_of(Tensor self, int n) -> Tensor
  self: scaled(grad, 2.0).neg()
"""
OWN_HEADER = "namespace theirs { at::Tensor cubed_backward(const at::Tensor& grad, const at::Tensor& self); }\n"


def write(folder: Path, texts: dict[str, str]) -> None:
    for name, text in texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")


@pytest.fixture
def on_top(project: Project) -> Project:
    source = "../pytorch/aten/src/ATen/native"
    write(project.folder / "mylib", {
        f"{source}/native_functions.yaml": BASE,
        f"{source}/tags.yaml": "- tag: of_that_release\n  desc: |\n    there alone\n",
        "../pytorch/tools/autograd/derivatives.yaml": BASE_FORMULAS,
        "../pytorch/torch/csrc/autograd/FunctionsManual.h": HEADER,
        "native_functions.yaml": OWN,
        "derivatives.yaml": OWN_FORMULAS,
        "theirs.h": OWN_HEADER,
        # One is called like a function of C++ that the base names.
        "kernels.py": "def cubed(self):\n    return self * self * self\n\n\ndef norm_cpu(self, n):\n    return self\n",
        "helpers.py": "from gradwright import Tensor\n\n\ndef cubed_backward(grad: Tensor, self: Tensor) -> Tensor:\n"
        "    return grad * self * self * 3\n",
    })  # fmt: skip
    project.configure('base = "pytorch"', 'pytorch = "../pytorch"', 'declarations = ["theirs.h"]')
    return project


def test_own_operators_and_formulas_stand_on_top(on_top: Project) -> None:
    done = on_top.generate("--warn")
    assert done.returncode == 0, done.stderr
    assert (
        "mylib/native_functions.yaml:9:50: warning: 'rolled' returns the argument 'self' that it writes" in done.stderr
    )
    assert "pytorch" not in done.stderr  # what is found in the base is not the author's
    program = (
        "import gradwright, mylib\n"
        "x = gradwright.tensor([1.0, 2.0], requires_grad=True)\n"
        "y = mylib.cubed(x)\n"
        "y.sum().backward()\n"
        "print(type(y.grad_fn).__name__, y.tolist(), x.grad.tolist())\n"
        "print(mylib.neg(x).tolist())\n"  # Gradwright's kernel, for PyTorch's operator
        "for call in (lambda: mylib.scaled(x, 2.0), lambda: mylib.rolled(x, x), lambda: mylib.norm_of(x, 2)):\n"
        "    try: call()\n"
        "    except NotImplementedError as error: print(str(error).splitlines()[0])\n"
    )
    assert on_top.output(program).splitlines() == [
        "CubedBackward0 [1.0, 8.0] [3.0, 12.0]",
        "[-1.0, -2.0]",
        "'scaled' has no kernel for the CPU",
        "'rolled' has no kernel for the CPU",
        "'norm_of' has no kernel for the CPU",
    ]
    nodes = on_top.file("_generated/nodes.py").read_text(encoding="utf-8")
    assert "derivatives.yaml:4  self: scaled(grad, 2.0).neg()" in nodes
    assert "norm_backward(grad, self, n, 2)" not in nodes  # the base's formula, whose place the package's has taken


def test_a_second_run_has_nothing_to_do_until_the_base_changes(on_top: Project) -> None:
    assert on_top.generate().returncode == 0
    assert ": 0 of " in on_top.generate().stdout
    base = on_top.folder / "pytorch/tools/autograd/derivatives.yaml"
    base.write_text(BASE_FORMULAS.replace("grad.neg()", "neg(grad)"), encoding="utf-8")
    assert ": 0 of " not in on_top.generate().stdout


def test_coverage_says_what_of_the_base_its_kernels_are_for(on_top: Project) -> None:
    done = on_top.generate("coverage", "--backend", "PrivateUse1")
    assert done.stdout.splitlines() == [
        "neg\tmissing\t-\t-",
        "scaled\tkernel\t-\t-",
        "folded\tcomposite\t-\t-",
        "norm_of\tmissing\t-\t-",
        "cubed\tkernel\t-\tmul, neg",
        "rolled\tkernel\t-\t-",
    ]
    assert done.stderr.startswith(
        "PrivateUse1: of 6 operators 3 have kernels, 1 are made of them, 0 in part, 2 are missing"
    )
    xpu = on_top.generate("coverage", "--backend", "XPU")
    assert "norm_of\tkernel\t-\tneg, scaled" in xpu.stdout.splitlines()  # by the package's formula
    unknown = on_top.generate("coverage", "--backend", "PrivateUse")
    assert unknown.returncode == 2
    assert (
        "no backend 'PrivateUse'; there is CPU, CUDA, PrivateUse1, XPU\nhint: did you mean 'PrivateUse1'?"
        in unknown.stderr
    )


@pytest.mark.parametrize(
    ("file", "before", "after", "message"),
    [
        (
            "native_functions.yaml", "scaled.out(Tensor self, float factor,", "scaled.out(Tensor self, int factor,",
            "mylib/native_functions.yaml:1:9: error: this signature of 'scaled.out' differs from PyTorch's",
        ),
        ("native_functions.yaml", "CPU: cubed", "CPU: squared", "'squared(self, n)' does not fit 'cubed(Tensor self)"),
        ("derivatives.yaml", "cubed_backward(", "cubd_backward(", "unknown function 'cubd_backward'"),
        ("theirs.h", "grad, ", "grad, int64_t n, ", "this call of 'cubed_backward' has the arguments (Tensor, Tensor)"),
    ],
)  # fmt: skip
def test_mistakes(on_top: Project, file: str, before: str, after: str, message: str) -> None:
    on_top.append("kernels.py", "\n\ndef squared(self, n):\n    return self\n")
    path = on_top.file(file)
    path.write_text(path.read_text(encoding="utf-8").replace(before, after), encoding="utf-8")
    done = on_top.generate("--warn")
    assert message in done.stderr
    assert done.returncode == (0 if file == "theirs.h" else 1)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (['base = "pytorch"', 'pytorch = "nowhere"'], "no YAML of PyTorch in 'nowhere'"),
        (['base = "pytorch"', "strict = true"], "operators of PyTorch that have no kernel here are only declared"),
        (['base = "pytorch"', 'declarations = "nothing.h"'], "no file 'nothing.h' in the package"),
        (['base = "pytorch"', "declarations = 3"], "'declarations' is to be a path or a list of paths"),
        (['pytorch = "../pytorch"'], "'pytorch' is for operators on top of PyTorch's"),
        (['base = "torch"'], "no base 'torch'"),
    ],
)
def test_mistakes_in_the_table(project: Project, lines: list[str], message: str) -> None:
    project.configure(*lines)
    done = project.generate()
    assert done.returncode == 1
    assert message in done.stderr


def test_where_the_files_are_found(tmp_path: Path) -> None:
    packaged = "torchgen/packaged"
    names = ("ATen/native/native_functions.yaml", "ATen/native/tags.yaml", "autograd/derivatives.yaml")
    write(tmp_path, {f"{packaged}/{name}": "[]\n" for name in names})
    found = find_pytorch(tmp_path / "torchgen")
    assert found is not None
    assert (found.header, found) == (None, find_pytorch(tmp_path / packaged))
    write(tmp_path, {"torch/include/torch/csrc/autograd/FunctionsManual.h": ""})
    found = find_pytorch(tmp_path / packaged)
    assert found is not None
    assert found.header is not None
    assert find_pytorch(tmp_path) is None
