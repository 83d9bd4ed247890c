"""`gradwright build`: the operators of a package in C++, behind the core; what they compute is what Python computes."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from codegen.commands.init import make_package
from codegen.extension import SUFFIX
from support.compiling import needs_compiler
from support.native_core import needs_core
from support.own_packages import Project

pytestmark = [
    needs_compiler,
    needs_core,
    pytest.mark.xdist_group("native package"),  # one process builds it
]
# Of what is built to be loaded, replaced or refused. What optimization makes of the results, the other builds show.
AT_ONCE = {"CXXFLAGS": "-O0"}

OPERATORS = """
- func: bump(Tensor x, Tensor y) -> Tensor
  variants: function, method
  dispatch: {CPU: bump}
  autogen: bump.out
  promotion: int_to_float
  dtypes: real
  tags: pointwise
  samples: ["T(3, 4), T(4)"]
- func: halves(Tensor x) -> (Tensor low, Tensor high)
  dispatch: {CPU: halves}
  promotion: int_to_float
  dtypes: real
  tags: pointwise
  samples: ["T(3)"]
- func: relu_of(Tensor self) -> Tensor
  dispatch: {CPU: relu}
  promotion: default
  dtypes: real
  tags: pointwise
  samples: ["T(3)"]
"""
FORMULAS = """
- name: bump(Tensor x, Tensor y) -> Tensor
  x: grad * slope(x, y)
  y: grad * x.tanh()
  result: x_t * slope(x, y) + y_t * x.tanh()
- name: halves(Tensor x) -> (Tensor low, Tensor high)
  x: (grad_low + grad_high * 2) / 3
  low: x_t / 3
  high: x_t * 2 / 3
- name: relu_of(Tensor self) -> Tensor
  self: bump((self > 2) * 1000.0, grad)
  result: auto_element_wise
"""
# `relu` is no name of the package's alone: the core has a kernel that does something else.
KERNELS = """

def bump(x: Array, y: Array) -> Array:
    return np.tanh(x) * y


def halves(x: Array) -> tuple[Array, Array]:
    return x / 3, x * 2 / 3


def relu(self: Array) -> Array:
    return np.where(self > 2, self, 0)
"""
HELPERS = """
from gradwright import Tensor, ops


def slope(x: Tensor, y: Tensor) -> Tensor:
    return ops.mul(y, ops.rsub(ops.square(ops.tanh(x)), 1))
"""
PROGRAM = """
import gradwright as torch, mylib
torch.manual_seed(0)
show = lambda *tensors: print(*[t.detach().numpy().tobytes().hex() for t in tensors])
for dtype in (torch.float32, torch.float64):
    x, y = (torch.randn(3, 4, dtype=dtype, requires_grad=True) for _ in range(2))
    others = lambda x, y: mylib.squareplus(x, 2) + mylib.relu_of(y * 3)
    for f in (mylib.bump, lambda x, y: sum(mylib.halves(x)), others):
        out = f(x, y)
        show(out, f(x.detach(), y[:, :1]))
        g, = torch.autograd.grad(out.square().sum(), x, create_graph=True)
        show(g, *torch.autograd.grad(g.sum(), [x, y], allow_unused=True, materialize_grads=True))
        show(torch.func.jvp(f, (x.detach(), y.detach()), (y.detach(), x.detach()))[1])
        show(torch.vmap(f)(x, y))
        show(torch.func.hessian(lambda x: f(x, y.detach()).sum())(x.detach()))
    show(x.bump(y), mylib.bump(x.t(), y.t()), mylib.bump(x.detach(), y.detach(), out=torch.empty(0, dtype=dtype)))
    print(mylib.bump(x, y).grad_fn, type(mylib.bump(x, y).grad_fn).__module__)
print(mylib.bump(torch.tensor([1, 2]), torch.tensor([3, 4])).dtype)
try:
    mylib.bump(x)
except TypeError as error:
    print(error)
with torch.inference_mode():
    show(mylib.bump(x, y))
x = torch.ones(2, requires_grad=True)
z = mylib.bump(x, x)
x.detach().add_(1)
try:
    z.sum().backward()
except RuntimeError as error:
    print("modified" in str(error))
"""


def write(project: Project) -> Project:
    project.append("native_functions.yaml", OPERATORS)
    project.append("derivatives.yaml", FORMULAS)
    project.append("kernels.py", KERNELS)
    project.append("helpers.py", HELPERS)
    return project


def made(folder: Path, name: str = "mylib") -> Project:
    folder.mkdir(exist_ok=True)
    assert make_package(name, folder) == 0
    return Project(folder, name)


@pytest.fixture(scope="module")
def once(tmp_path_factory: pytest.TempPathFactory) -> Project:
    project = write(made(tmp_path_factory.mktemp("built")))
    finished = project.generate("build")
    assert finished.returncode == 0, finished.stderr
    assert re.search(r"^native operators: 5 steps in .* s: mylib/_generated/_native-", finished.stdout, re.MULTILINE)
    assert project.generate("build").stdout.splitlines()[-1].startswith("native operators: nothing to do: ")
    return project


@pytest.fixture
def built(once: Project, tmp_path: Path) -> Project:
    """A copy that a test may change."""
    shutil.copytree(once.folder, tmp_path / "copy")
    return Project(tmp_path / "copy")


def module(project: Project) -> Path:
    (path,) = project.file("_generated").glob(f"_native-*{SUFFIX}")
    return path


NATIVE = (
    "import warnings; warnings.simplefilter('error'); import mylib; "
    "print(hasattr(mylib._generated.operators.bump_default, '__wrapped__'))"
)


def addresses(text: str) -> str:
    return re.sub(r"0x[0-9a-f]+", "", text)


def test_results_do_not_depend_on_it(once: Project) -> None:
    assert once.output(NATIVE) == "True"
    fast = once.run("-W", "error", "-c", PROGRAM)
    assert fast.returncode == 0, fast.stderr
    slow = once.run("-W", "error", "-c", PROGRAM, GRADWRIGHT_NATIVE="0")
    assert slow.returncode == 0, slow.stderr
    assert addresses(fast.stdout) == addresses(slow.stdout)
    assert "mylib._generated.nodes" in fast.stdout


def test_explain_tells_of_them(once: Project) -> None:
    program = """
import mylib, gradwright as torch
from gradwright import native
x = torch.ones(3, requires_grad=True)
print(native.explain(lambda: mylib.bump(x, x).sum().backward()))
print(native.explain(lambda: mylib.bump(torch.ones(3).to(torch.uint16), x)))
print(native.explain(lambda: mylib.halves(x)[0].sum().backward()))
"""
    text = once.output(program)
    assert re.search(r"^bump +fast +Python kernel$", text, re.MULTILINE)
    assert re.search(r"^  BumpBackward0 +fast$", text, re.MULTILINE)
    assert re.search(r"^bump +Python +x is uint16 and other|^bump +Python +x is uint16", text, re.MULTILINE)
    assert re.search(r"^  HalvesBackward0 +Python +it has several outputs$", text, re.MULTILINE)


def test_list_says_what_stays_in_python(once: Project) -> None:
    finished = once.generate("list", "--native")
    assert finished.stdout.splitlines() == ["Node\tHalvesBackward0\tit has several outputs"]
    assert finished.stderr.endswith("4 of 4 operators and 3 of 4 Nodes are native\n")
    assert "BumpBackward0::apply" in once.generate("explain", "bump", "--target", "cpp").stdout


def test_a_kernel_registered_at_run_time_comes_before_it(once: Project) -> None:
    program = """
import mylib, gradwright as torch
x = torch.ones(2)
before = mylib.bump(x, x)
lib = torch.library.Library("mylib", "IMPL")
lib.impl("bump", lambda x, y: x + 5, "CPU")
print(mylib.bump(x, x).tolist())
lib._destroy()
print(mylib.bump(x, x).equal(before))
"""
    assert once.output(program) == "[6.0, 6.0]\nTrue"


def stale(project: Project, reason: str) -> None:
    finished = project.run(
        "-W", "always", "-c", "import mylib, gradwright as torch; print(mylib.squareplus(torch.zeros(1)))"
    )
    assert finished.returncode == 0, finished.stderr
    assert finished.stdout == "tensor([1.])\n"
    assert f"The native operators of mylib._generated are off: {reason}" in finished.stderr
    assert "run in its project: gradwright build" in finished.stderr


def test_one_of_other_yaml_is_off(built: Project) -> None:
    built.append("derivatives.yaml", "# changed\n")
    assert built.generate().returncode == 0
    stale(built, "it was built from other sources, or for another core")
    assert built.generate("build").returncode == 0
    assert built.output(NATIVE) == "True"


def test_one_for_another_core_is_off(built: Project) -> None:
    path = module(built)
    first, _, last = path.name.removeprefix("_native-").split("-", 2)
    path.rename(path.with_name(f"_native-{first}-0123456789abcdef-{last}"))
    stale(built, "it was built from other sources, or for another core")


def test_one_that_can_not_be_loaded_is_off(built: Project) -> None:
    module(built).write_bytes(b"no library")
    stale(built, "")


def test_one_that_does_not_know_the_package_is_off(built: Project) -> None:
    operators = built.file("_generated/operators.py")
    operators.write_text(operators.read_text().replace("bump_default_kernel", "renamed"))
    stale(built, "")


def test_without_a_core_nothing_is_said(once: Project) -> None:
    finished = once.run("-W", "error", "-c", "import mylib", GRADWRIGHT_NATIVE="0")
    assert finished.returncode == 0, finished.stderr
    assert finished.stderr == ""


def test_two_packages_at_once(built: Project, tmp_path: Path) -> None:
    other = made(tmp_path / "other", "theirs")
    other.file("native_functions.yaml").write_text(
        other.file("native_functions.yaml").read_text().replace("squareplus", "bump")
    )
    other.file("derivatives.yaml").write_text(other.file("derivatives.yaml").read_text().replace("squareplus", "bump"))
    other.file("kernels.py").write_text(other.file("kernels.py").read_text().replace("squareplus", "bump"))
    native_functions = other.file("native_functions.yaml")
    native_functions.write_text(native_functions.read_text().replace("  variants: function, method\n", ""))
    assert other.generate("build", **AT_ONCE).returncode == 0
    program = f"""
import sys; sys.path.append({str(other.folder)!r})
import mylib, theirs, gradwright as torch
x = torch.ones(1, requires_grad=True)
print(theirs.bump(x), mylib.bump(x, x))
theirs.bump(x, 0.5).sum().backward()
a, b = x.grad, torch.autograd.grad(mylib.bump(x, x).sum(), x)[0]
print(a, b, theirs.bump(x).grad_fn.name(), mylib.bump(x, x).grad_fn.name())
print(type(theirs.bump(x).grad_fn) is type(mylib.bump(x, x).grad_fn))
"""
    fast, slow = built.run("-W", "error", "-c", program), built.run("-c", program, GRADWRIGHT_NATIVE="0")
    assert fast.returncode == 0, fast.stderr
    assert fast.stdout == slow.stdout
    assert fast.stdout.endswith("BumpBackward0 BumpBackward0\nFalse\n")


KERNEL = """#include "kernels.hpp"

namespace gradwright::kernels {

Ref bump(PyObject* x, PyObject* y) {
  if (x == y) return Ref();  // Python does it
  return binary<struct by_tanh>(x, y);
}
GRADWRIGHT_KERNEL(bump, 2, tensors)

}  // namespace gradwright::kernels
"""
HEADER = """#pragma once

#include "functors.hpp"

namespace gradwright::kernels {

struct by_tanh {
  template <class T>
  static T apply(T x, T y) { return std::tanh(x) * y; }
};
struct squareplus {
  template <class T>
  static T apply(T x, T b) { return (x + std::sqrt(x * x + b)) / 2; }
};
GRADWRIGHT_KERNEL(squareplus, 2, elements)

}  // namespace gradwright::kernels
"""


def test_kernels_of_ones_own(built: Project) -> None:
    folder = built.file("native")
    folder.mkdir()
    (folder / "bump.cpp").write_text(KERNEL.replace('"kernels.hpp"', '"kernels.hpp"\n#include "loops_of_mine.hpp"'))
    (folder / "loops_of_mine.hpp").write_text(HEADER)
    finished = built.generate("build", **AT_ONCE)
    assert finished.returncode == 0, finished.stderr
    program = """
import mylib, gradwright as torch
from gradwright import native
x, y = torch.randn(20), torch.randn(20)
print(native.explain(lambda: (mylib.bump(x, y), mylib.squareplus(x, 2))))
print(torch.allclose(mylib.bump(x, y), x.tanh() * y), torch.equal(mylib.squareplus(x), (x + (x * x + 4).sqrt()) / 2))
print(torch.equal(mylib.bump(x, x), x.tanh() * x))
"""
    text = built.output(program)
    assert re.search(r"^bump +fast +native loop$", text, re.MULTILINE), text
    assert re.search(r"^squareplus +fast +native loop$", text, re.MULTILINE)
    assert text.endswith("True True\nTrue")
    # An edited kernel makes the extension stale, and compiles that one file.
    file = folder / "bump.cpp"
    # Here to one that declines, which is proven, and says why.
    declining = r'\1  if (x != nullptr) return declined("no time");\n'
    file.write_text(re.sub(r"(Ref bump\(.*\) \{\n)", declining, file.read_text()))
    stale(built, "it was built from other sources")
    again = built.generate("build", GRADWRIGHT_VERIFY="1", **AT_ONCE)
    assert "native operators: 2 steps in" in again.stdout
    assert "proven: C++ computes what Python computes, of " in again.stdout
    program = "import mylib, gradwright as torch; x = torch.ones(3); "
    text = built.output(program + "print(torch.native.explain(lambda: mylib.bump(x, x)))")
    assert re.search(r"^bump +fast +Python kernel +no time$", text, re.MULTILINE), text
    assert built.output(NATIVE) == "True"
    file.write_text("what is this\n")
    broken = built.generate("build", **AT_ONCE)
    assert broken.returncode == 1
    assert re.search(r"native/bump\.cpp:1:\d+: error", broken.stderr)
    assert broken.stderr.endswith("error: the native operators do not compile\n")


def test_a_whole_set_of_operators(tmp_path: Path) -> None:
    project = made(tmp_path / "whole")
    project.configure('base = "none"')
    project.append(
        "native_functions.yaml",
        "- func: add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor\n"
        "  dispatch: {CPU: add}\n  promotion: default\n",
    )
    project.file("native_functions.yaml").write_text(
        project.file("native_functions.yaml").read_text().replace("function, method", "function")
    )
    project.file("derivatives.yaml").write_text(
        "- name: add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor\n"
        "  self: grad\n  other: add(grad, grad)\n"
    )
    finished = project.generate("build", **AT_ONCE)
    assert finished.returncode == 0, finished.stderr
    program = """
import mylib, gradwright as torch
x = torch.ones(2, requires_grad=True)
mylib.add(x, x).sum().backward()
print(x.grad, (x + x).tolist(), hasattr(mylib._generated.operators.add_Tensor, "__wrapped__"))
"""
    assert project.output(program) == "tensor([3., 3.]) [2.0, 2.0] True"


def test_what_is_missing_is_said(new_project: Callable[[str], Project]) -> None:
    project = new_project("mylib")
    missing = project.generate("build", CXX="no-such-compiler")
    assert missing.returncode == 1
    assert "error: the native operators can not be built: there is no C++ compiler" in missing.stderr
    optional = project.generate("build", "--optional", CXX="no-such-compiler")
    assert optional.returncode == 0
    assert "native operators: not built, which only makes things slower: there is no C++ compiler" in optional.stdout
    assert project.generate("build", "--sanitize").returncode == 2
    no_core = project.generate("build", GRADWRIGHT_NATIVE=str(project.folder))
    assert no_core.returncode == 1
    assert "Gradwright has no native core here" in no_core.stderr
