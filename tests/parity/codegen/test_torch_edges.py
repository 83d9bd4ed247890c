"""What users of the operators for PyTorch come to at the edges: types of arguments, batches, names, writes, shapes."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.func import grad, vmap

from codegen.commands.init import make_package
from support.own_packages import Project

# One process makes the package.
pytestmark = pytest.mark.xdist_group("edges for torch")

NAME = "edges"
NATIVE_FUNCTIONS = """
- func: rms(Tensor self, int[1]? dim=None, bool keepdim=False) -> Tensor
  dispatch:
    CPU: rms
    Meta: rms_shape
  dtypes: floating
  samples:
  - T(3, 4, low=0.5), 0

- func: shifted(Tensor self, int by, float factor=1.0, str mode="add", Scalar[]? weights=None) -> Tensor
  dispatch:
    CPU: shifted
  dtypes: floating
  samples:
  - T(5), 2

- func: product(Tensor self, Tensor other) -> Tensor
  dispatch:
    CPU: product
  autogen: product_, product.out
  promotion: default
  tags: pointwise

- func: squared_(Tensor(a!) self, Tensor other) -> Tensor(a!)
  dispatch:
    CPU: squared_
  dtypes: floating
  samples:
  - T(3), T(3)

- func: scaled(Tensor self, Scalar by) -> Tensor
  elementwise: self * by
- func: scaled.Tensor(Tensor self, Tensor by) -> Tensor
  elementwise: self * by
  autogen: scaled_.Tensor, scaled.Tensor_out

# Names of Python, of the module of operators, and of what belongs to another operator.
- func: run(Tensor self, *, int lambda=2, float np=1.0) -> Tensor
  dispatch:
    CPU: run
  autogen: run_
  dtypes: floating
  tags: pointwise
- func: float(Tensor self, float by=2.0) -> Tensor
  elementwise: self * by
- func: product_out(Tensor self) -> Tensor
  composite: run(self, 3, 0.5)

- func: counted(Tensor[] tensors) -> Tensor
  dispatch:
    CPU: counted
  samples:
  - '[T(2)]'

- func: picked(Tensor self, Tensor index) -> Tensor
  dispatch:
    CPU: picked
  samples:
  - T(5), I(3, high=5)

- func: mixed(Tensor[] tensors, Scalar[] numbers) -> Tensor
  dispatch:
    CPU: mixed
  promotion: default
  samples:
  - '[T(3), I(3, high=5)], [1, 2.5]'

- func: joined(Tensor[] tensors) -> Tensor[]
  dispatch:
    CPU: joined
  dtypes: floating
  samples:
  - '[T(3), T(2)]'

- func: total(Tensor self, *, ScalarType? dtype=None) -> Tensor
  dispatch:
    CPU: total
  promotion: bool_to_int
  samples:
  - T(3), dtype=dtype("float64")
"""
DERIVATIVES = """
- name: rms(Tensor self, int[1]? dim=None, bool keepdim=False) -> Tensor
  self: rms_backward(grad, self, result, dim, keepdim)

- name: shifted(Tensor self, int by, float factor=1.0, str mode="add", Scalar[]? weights=None) -> Tensor
  self: grad.roll(-by) * factor
  result: auto_linear

- name: product(Tensor self, Tensor other) -> Tensor
  self: grad * other.conj()
  other: grad * self.conj()
  result: self_t * other_p + other_t * self_p

- name: squared_(Tensor(a!) self, Tensor other) -> Tensor(a!)
  self: grad * 2 * self * other
  other: grad * self * self
  result: self_t * 2 * self_p * other_p + other_t * self_p * self_p

- name: run(Tensor self, *, int lambda=2, float np=1.0) -> Tensor
  self: grad * lambda * np
  result: auto_element_wise

- name: counted(Tensor[] tensors) -> Tensor
  output_differentiability: [False]

- name: mixed(Tensor[] tensors, Scalar[] numbers) -> Tensor
  output_differentiability: [False]

- name: picked(Tensor self, Tensor index) -> Tensor
  self: at::zeros_symint(self.sym_sizes(), self.options()).index_add(0, index, grad)
  index: non_differentiable
  result: self_t.index_select(0, index)

- name: total(Tensor self, *, ScalarType? dtype=None) -> Tensor
  self: grad.expand_symint(self.sym_sizes()).to(self.scalar_type())
  result: self_t.sum(dtype)
"""
KERNELS = """

calls = []


def rms(self: Array, dim: tuple[int, ...] | None, keepdim: bool) -> Array:
    assert dim is None or type(dim) is tuple
    return np.sqrt(np.mean(self * self, axis=dim or None, keepdims=keepdim))


def rms_shape(self: Array, dim: tuple[int, ...] | None, keepdim: bool) -> Array:
    calls.append(self.shape)
    return np.mean(self, axis=dim or None, keepdims=keepdim)


def shifted(self: Array, by: int, factor: float, mode: str, weights: tuple[float, ...] | None) -> Array:
    assert type(factor) is float
    assert weights is None or type(weights) is tuple
    return np.roll(self, by) * factor


def product(self: Array, other: Array) -> Array:
    return self * other


def squared_(self: Array, other: Array) -> Array:
    self *= self * other
    return self


def run(self: Array, lambda_: int, np: float) -> Array:
    return self * lambda_ * np


def counted(tensors: list[Array]) -> Array:
    return len(tensors)


def picked(self: Array, index: Array) -> Array:
    return self[index]


def mixed(tensors: list[Array], numbers: tuple[float, ...]) -> Array:
    assert len({each.dtype for each in tensors}) == 1
    return sum(tensors[1:], tensors[0]) * sum(numbers)


def joined(tensors: list[Array]) -> list[Array]:
    return [np.concatenate(tensors)]


def total(self: Array, dtype: Any) -> Array:
    return np.asarray(self.sum(dtype=dtype))
"""
HELPERS = '''"""Functions on Tensors that formulas call."""

from gradwright import Tensor


def rms_backward(grad: Tensor, self: Tensor, result: Tensor, dim: tuple[int, ...] | None, keepdim: bool) -> Tensor:
    count = self.numel()
    if dim:
        count = 1
        for each in dim:
            count = count * self.shape[each]
        if not keepdim:
            for each in sorted(each % self.dim() for each in dim):
                grad = grad.unsqueeze(each)
                result = result.unsqueeze(each)
    return grad * self / (result * count)
'''


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """The project, generated."""
    folder = tmp_path_factory.mktemp("edges")
    assert make_package(NAME, folder, ("torch",)) == 0
    made = Project(folder, NAME)
    made.append("native_functions.yaml", NATIVE_FUNCTIONS)
    made.append("derivatives.yaml", DERIVATIVES)
    made.append("kernels.py", KERNELS)
    made.append("helpers.py", HELPERS)
    finished = made.generate("--no-verify")
    assert finished.returncode == 0, finished.stderr
    return made


@pytest.fixture(scope="module")
def package(project: Project) -> Iterator[Any]:
    """`edges.torch`."""
    with project.imported("torch") as (operators,):
        yield operators


# -- arguments that are no Tensors


def test_one_number_stands_for_a_list(package: Any) -> None:
    x = torch.rand(3, 4, dtype=torch.float64) + 0.5
    expected = torch.sqrt((x * x).mean(0))
    assert torch.allclose(package.rms(x, 0), expected)
    assert torch.autograd.gradcheck(lambda x: package.rms(x, 0), (x.requires_grad_(),))
    assert torch.autograd.gradcheck(lambda x: package.rms(x, -1, True), (x,))
    compiled = torch.compile(lambda x: package.rms(x, 0), backend="aot_eager", fullgraph=True)
    assert torch.allclose(compiled(x), expected)


def test_a_list_that_is_changed_later_on_changes_no_gradient(package: Any) -> None:
    x = (torch.rand(3, 4) + 0.5).requires_grad_()
    dims = [0]
    result = package.rms(x, dims)
    dims[0] = 1
    (gradient,) = torch.autograd.grad(result.sum(), x)
    assert torch.equal(gradient, torch.autograd.grad(package.rms(x, [0]).sum(), x)[0])


@pytest.mark.parametrize(
    "arguments", [{"by": 1.5}, {"by": "1"}, {"by": 1, "factor": "x"}, {"by": 1, "mode": 3}, {"by": None}]
)
@pytest.mark.parametrize("requires_grad", [False, True])
def test_arguments_of_other_types_are_refused(package: Any, arguments: dict[str, Any], requires_grad: bool) -> None:
    with pytest.raises((RuntimeError, TypeError), match="Expected a value of type"):
        package.shifted(torch.ones(3, requires_grad=requires_grad), **arguments)


def test_numbers_become_what_the_schema_says(package: Any) -> None:
    x = torch.arange(4.0, requires_grad=True)
    result = package.shifted(x, torch.tensor(1), 2, weights=[1, 2.5])
    assert torch.equal(result, torch.tensor([6.0, 0.0, 2.0, 4.0]))
    assert torch.equal(torch.autograd.grad(result[0], x)[0], torch.tensor([0.0, 0.0, 0.0, 2.0]))


def test_what_is_no_array_is_refused(package: Any) -> None:
    with pytest.raises(TypeError, match="gave int, which is no array of NumPy's"):
        package.counted([torch.ones(2)])
    with pytest.raises(NotImplementedError, match=r"take no Tensors of the layout torch\.sparse_coo"):
        package.product(torch.eye(2).to_sparse(), torch.ones(2, 2))


# -- batches


@pytest.mark.parametrize("first", [torch.float16, torch.float32, torch.int64])
@pytest.mark.parametrize("second", [torch.float32, torch.float64, torch.bool, torch.complex64])
@pytest.mark.parametrize("shape", [(), (3,)])
@pytest.mark.parametrize("in_dims", [(0, None), (None, 0), (0, 0)])
def test_dtypes_of_a_batch_are_those_of_its_elements(
    package: Any, first: torch.dtype, second: torch.dtype, shape: tuple[int, ...], in_dims: Any
) -> None:
    """An element without dimensions counts less than one with some, though the batch has one."""
    if torch.complex64 in (first, second) and torch.float16 in (first, second):
        return  # NumPy has no complex numbers of two float16
    pair = [torch.ones(() if place else shape, dtype=dtype) for place, dtype in enumerate((first, second))]
    batch = [each if dim is None else each.expand(2, *each.shape) for each, dim in zip(pair, in_dims, strict=True)]
    assert vmap(package.product, in_dims)(*batch).dtype == package.product(*pair).dtype == torch.mul(*pair).dtype


@pytest.mark.parametrize("dim", [0, 1])
def test_empty_batches(package: Any, dim: int) -> None:
    empty = torch.zeros((0, 3, 4) if dim == 0 else (3, 0, 4), requires_grad=True)
    result = vmap(lambda x: package.rms(x, [0]), dim)(empty)
    assert result.shape == (0, 4)
    (gradient,) = torch.autograd.grad(result.sum(), empty)
    assert gradient.shape == empty.shape
    assert vmap(package.product)(empty.detach(), empty.detach()).shape == empty.shape


# -- names


def test_functions_have_the_names_of_the_schemas(package: Any) -> None:
    x = torch.tensor([1.0, 2.0])
    assert torch.equal(package.run(x, lambda_=3), 3 * x)
    assert torch.equal(package.run_(x.clone(), lambda_=3), 3 * x)
    assert torch.equal(package.product_out(x), 1.5 * x)
    assert torch.equal(package.float(x, by=3.0), 3 * x)
    assert torch.equal(package.product(x, x, out=torch.empty(0)), x * x)
    assert torch.equal(vmap(lambda x: package.run(x, lambda_=3))(x), 3 * x)
    assert torch.equal(grad(lambda x: package.run(x, lambda_=3, np_=0.5).sum())(x), torch.full((2,), 1.5))
    assert {"run", "run_", "product", "product_", "product_out", "scaled", "scaled_"} <= set(package.__all__)


def test_overloads_in_place(package: Any) -> None:
    x = torch.tensor([1.0, 2.0])
    assert torch.equal(package.scaled(x, x), x * x)
    assert package.scaled_(x, torch.tensor(3.0)) is x
    assert torch.equal(x, torch.tensor([3.0, 6.0]))
    assert torch.equal(torch.ops.edges.scaled.Tensor_out(x, x, out=torch.empty(0)), x * x)


# -- writes


@pytest.mark.parametrize("name", ["product_", "squared_"])
def test_the_other_argument_alone_has_a_gradient(package: Any, name: str) -> None:
    written = torch.tensor([2.0, 3.0])
    other = torch.tensor([1.0, 4.0], requires_grad=True)
    getattr(package, name)(written, other).sum().backward()
    assert torch.equal(other.grad, torch.tensor([2.0, 3.0] if name == "product_" else [4.0, 9.0]))


@pytest.mark.parametrize("name", ["product_", "squared_"])
def test_writes_are_compiled(package: Any, name: str) -> None:
    def written(x: torch.Tensor) -> torch.Tensor:
        y = x * 2
        getattr(package, name)(y[1:], x[1:])
        return y

    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    compiled = torch.compile(written, backend="aot_eager", fullgraph=True)
    assert torch.equal(compiled(x), written(x))
    assert torch.equal(torch.autograd.grad(compiled(x).sum(), x)[0], torch.autograd.grad(written(x).sum(), x)[0])


@pytest.mark.parametrize("to", [torch.bool, torch.uint8, torch.float16, torch.float64, torch.complex64])
@pytest.mark.parametrize("dtype", [torch.bool, torch.int64, torch.float32, torch.complex128])
def test_what_can_be_cast(package: Any, dtype: torch.dtype, to: torch.dtype) -> None:
    support = importlib.import_module(f"{NAME}.torch._support")
    assert support._can_cast(dtype, to) is torch.can_cast(dtype, to)


# -- shapes


def test_a_kernel_for_meta_gives_the_shapes(package: Any) -> None:
    calls = importlib.import_module(f"{NAME}.torch.kernels").calls
    calls.clear()
    assert package.rms(torch.empty(5, 7, device="meta"), [0]).shape == (7,)
    assert calls == [(5, 7)]


def test_what_formulas_make_of_nothing_lies_where_the_gradient_does(package: Any) -> None:
    x = torch.empty(5, device="meta", requires_grad=True)
    result = package.picked(x, torch.empty(3, dtype=torch.int64, device="meta"))
    (gradient,) = torch.autograd.grad(result.sum(), x)
    assert (gradient.shape, gradient.device) == (x.shape, x.device)


# -- what PyTorch can not read


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ("Scalar[] weights=[]", "no default for 'Scalar[]'"),
        ('str[] words=["a"]', "no default for 'str[]'"),
        ("float limit=inf", "no default 'inf'"),
        ("float limit=nan", "no default 'nan'"),
        ("SymBool flag=True", "no default for 'SymBool'"),
        ("Dimname dim", "no type 'Dimname'"),
    ],
)
def test_arguments_that_schemas_of_pytorch_have_not(tmp_path: Path, argument: str, message: str) -> None:
    assert make_package("unread", tmp_path, ("torch",)) == 0
    made = Project(tmp_path, "unread")
    made.append(
        "native_functions.yaml", f"\n- func: odd(Tensor self, {argument}) -> Tensor\n  dispatch:\n    CPU: odd\n"
    )
    made.append("derivatives.yaml", f"\n- name: odd(Tensor self, {argument}) -> Tensor\n  self: grad\n")
    made.append("kernels.py", f"\n\ndef odd(self, {argument.split()[1].partition('=')[0]}):\n    return self\n")
    finished = made.generate("--no-verify")
    assert finished.returncode == 1
    assert f"'odd' can not be written for PyTorch: PyTorch's schemas have {message}" in finished.stderr
    place = re.search(r"^unread/native_functions\.yaml:(\d+):(\d+): error:.*\n(.*)\n( *\^~*)$", finished.stderr, re.M)
    assert place is not None
    assert place[3][place[4].index("^") : len(place[4])] == argument


# -- what is proven of such operators


LOADED_AGAIN = """
import importlib, sys
import torch
import edges.torch as edges
x = torch.rand(3, dtype=torch.float64, requires_grad=True)
def gradient():
    return torch.autograd.grad(edges.scaled(x, 3).sum(), x)[0].tolist()
print(gradient(), end=" ")
importlib.reload(sys.modules["edges.torch.operators"])
importlib.reload(edges)
print(gradient(), torch.func.hessian(lambda y: edges.scaled(y, 3).sum())(x).shape, end=" ")
for name in [name for name in sys.modules if name.startswith("edges")]:
    del sys.modules[name]
import edges.torch as edges
print(gradient())
try:
    sys.modules["edges.torch._support"].library_of("edges", "another.module")
except RuntimeError as error:
    print(str(error).partition(" can be used")[0])
"""


def test_modules_may_be_loaded_again(project: Project) -> None:
    """As notebooks do; another module with the same namespace is refused, as by PyTorch."""
    finished = project.run("-c", LOADED_AGAIN)
    assert finished.returncode == 0, finished.stderr
    three = "[3.0, 3.0, 3.0]"
    assert finished.stdout == f"{three} {three} torch.Size([3, 3]) {three}\nOnly a single TORCH_LIBRARY\n"


def test_verify_refutes_none_of_them(project: Project) -> None:
    """Neither what has no forward formula, nor what works in place, nor an index in compiled code is an error."""
    finished = project.run(
        "-m", "gradwright.verify", "--package", f"{NAME}._generated", "--target", "torch", "--jobs", "1", "--skipped",
        *(word for name in ("returns", "forward", "modes", "needed", "compiled", "registered")
          for word in ("--property", name)),
        "rms", "squared_", "picked", "joined", "total", "mixed",
    )  # fmt: skip
    assert finished.returncode == 0, finished.stdout + finished.stderr
    assert "skipped: rms: forward: no formula gives tangents of what it calls" in finished.stdout
