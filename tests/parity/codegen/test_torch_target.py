"""Operators that the target torch makes are PyTorch's in all it asks of such, with the values of Gradwright's runtime.

`CHECKED` counts what is compared, so that nothing is left out unseen.
"""

from __future__ import annotations

import importlib
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from torch.autograd import gradcheck, gradgradcheck
from torch.autograd.forward_ad import dual_level, make_dual, unpack_dual
from torch.func import functional_call, functionalize, grad, hessian, jacfwd, jacrev, jvp, vjp, vmap
from torch.fx.experimental.proxy_tensor import make_fx
from torch.library import opcheck
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.checkpoint import checkpoint

import gradwright
from support.framework_package import make_framework_package
from support.own_packages import Project

pytestmark = pytest.mark.xdist_group("package for torch")  # one process makes it and counts

NAME = "framed"
CHECKED = 348


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """The project, generated."""
    made = make_framework_package(tmp_path_factory.mktemp("framework"), NAME, '["torch"]')
    finished = made.generate("--no-verify")
    assert finished.returncode == 0, finished.stderr
    return made


@pytest.fixture(scope="module")
def package(project: Project) -> Iterator[Any]:
    """`framed.torch`."""
    with project.imported("torch") as (operators,):
        yield operators


class Case(NamedTuple):
    """A call: what of its arguments are Tensors, and how the others stand around them."""

    operator: str
    tensors: tuple[torch.Tensor, ...]
    call: Callable[..., Any] = lambda function, *tensors: function(*tensors)
    forward: bool = True
    second: bool = True

    @property
    def id(self) -> str:
        shapes = ",".join("x".join(map(str, tensor.shape)) for tensor in self.tensors)
        return f"{self.operator}-{shapes}-{str(self.tensors[0].dtype).removeprefix('torch.')}"


def normal(*shape: int, dtype: torch.dtype = torch.float64) -> torch.Tensor:
    return torch.randn(shape, dtype=dtype, generator=_GENERATOR)


def positive(*shape: int) -> torch.Tensor:
    return torch.rand(shape, dtype=torch.float64, generator=_GENERATOR) + 0.5


_GENERATOR = torch.Generator().manual_seed(7)
CASES = (
    Case("squareplus", (normal(3, 4),)),
    Case("squareplus", (normal(2),), lambda f, x: f(x, 0.5)),
    Case("squareplus", (normal(),), lambda f, x: f(x, b=2)),
    Case("log_mean", (positive(3, 4),)),
    Case("log_mean", (positive(3, 4),), lambda f, x: f(x, 0, True)),
    Case("to_polar", (positive(3, 4), normal(4))),
    Case("hypot3", (normal(2, 3), normal(3, 2).t(), normal(3))),
    Case("polar_mean", (positive(3), normal(3))),
    Case("bent", (normal(3),)),
    Case("bent", (normal(3, dtype=torch.complex128),)),
    Case("soft", (positive(2, 3) - 1,), lambda f, x: f(x, 0.25)),
    Case("gate", (normal(3),), forward=False),
    Case("gate", (normal(3), normal(3)), forward=False),
    Case("weave", (normal(3), normal(2)), lambda f, *x: f(list(x), scale=2.0), forward=False),
    Case("split_halves", (normal(5),), forward=False),
    Case("turn", (normal(3), normal(2, 3))),
    Case("turn", (normal(3, dtype=torch.complex128), normal(3, dtype=torch.complex128))),
    Case("distance", (normal(3), normal(3))),
    Case("top", (normal(2, 4),), lambda f, x: f(x)[0]),
    Case("lifted", (normal(3),)),
    Case("scaled", (normal(3), normal(3))),
    Case("scaled", (normal(3),), lambda f, x: f(x, 3)),
)
REAL = [case for case in CASES if not case.tensors[0].is_complex()]
counted: set[tuple[int, str]] = set()


def each(cases: Any = CASES) -> Any:
    return pytest.mark.parametrize("case", cases, ids=[f"{number}-{case.id}" for number, case in enumerate(cases)])


def count(case: Case, *properties: str) -> None:
    counted.update((id(case), name) for name in properties)


def results(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, list | tuple) else (value,)


def norm(case: Case, package: Any) -> Callable[..., torch.Tensor]:
    """One number of the results, whose second derivatives are not zero."""
    function = getattr(package, case.operator)

    def of(*tensors: torch.Tensor) -> torch.Tensor:
        return sum((each * each).sum() for each in results(case.call(function, *tensors)))  # type: ignore[return-value]

    return of


def by_hand(function: Callable[..., torch.Tensor], tensors: Any) -> tuple[torch.Tensor, torch.Tensor]:
    """The gradient and the second derivatives by the first Tensor, from backward passes."""
    first, *others = (tensor.clone().requires_grad_() for tensor in tensors)
    (gradient,) = torch.autograd.grad(function(first, *others), first, create_graph=True)
    rows = [torch.autograd.grad(each, first, retain_graph=True)[0] for each in gradient.reshape(-1)]
    return gradient.detach(), torch.stack(rows).reshape((*first.shape, *first.shape))


@each()
def test_values_and_gradients_of_the_runtime(case: Case, package: Any) -> None:
    theirs = importlib.import_module(f"{NAME}._generated")
    ours = [tensor.clone().requires_grad_() for tensor in case.tensors]
    values = results(case.call(getattr(package, case.operator), *ours))
    others = [gradwright.tensor(tensor.numpy().copy(), requires_grad=True) for tensor in case.tensors]
    expected = results(case.call(getattr(theirs, case.operator), *others))
    for value, other in zip(values, expected, strict=True):
        assert str(value.dtype).removeprefix("torch.") == str(other.dtype).rpartition(".")[2]
        np.testing.assert_allclose(value.detach().numpy(), other.detach().numpy(), rtol=1e-12)
    sum(abs(value).sum() for value in values).backward()  # type: ignore[union-attr]
    sum(abs(value).sum() for value in expected).backward()
    for tensor, other in zip(ours, others, strict=True):
        assert tensor.grad is not None
        np.testing.assert_allclose(tensor.grad.numpy(), other.grad.numpy(), rtol=1e-9, atol=1e-12)
    count(case, "value", "gradient")


@each()
def test_finite_differences(case: Case, package: Any) -> None:
    function = getattr(package, case.operator)
    tensors = tuple(tensor.clone().requires_grad_() for tensor in case.tensors)

    def call(*tensors: torch.Tensor) -> Any:
        value = case.call(function, *tensors)
        return tuple(value) if isinstance(value, list) else value

    assert gradcheck(
        call,
        tensors,
        check_forward_ad=case.forward,
        check_batched_grad=True,
        check_batched_forward_grad=case.forward,
        check_undefined_grad=True,
    )
    assert gradgradcheck(
        call, tensors, check_fwd_over_rev=case.forward, check_rev_over_rev=True, check_batched_grad=True
    )
    count(case, "gradcheck", "gradgradcheck")


@each(REAL)
def test_transforms_and_their_compositions(case: Case, package: Any) -> None:
    function, (first, *others) = norm(case, package), case.tensors
    gradient, second = by_hand(function, case.tensors)

    def of_first(x: torch.Tensor) -> torch.Tensor:
        return function(x, *others)

    torch.testing.assert_close(grad(of_first)(first), gradient)
    torch.testing.assert_close(vjp(of_first, first)[1](torch.ones((), dtype=first.dtype))[0], gradient)
    torch.testing.assert_close(jacrev(of_first)(first), gradient)
    torch.testing.assert_close(jacrev(jacrev(of_first))(first), second)
    count(case, "grad", "vjp", "jacrev", "jacrev(jacrev)")
    if case.forward:
        direction = torch.ones_like(first)
        torch.testing.assert_close(jvp(of_first, (first,), (direction,))[1], gradient.sum())
        torch.testing.assert_close(jacfwd(of_first)(first), gradient)
        torch.testing.assert_close(hessian(of_first)(first), second)
        torch.testing.assert_close(jacrev(jacfwd(of_first))(first), second)
        torch.testing.assert_close(jacfwd(jacfwd(of_first))(first), second)
        count(case, "jvp", "jacfwd", "hessian", "jacrev(jacfwd)", "jacfwd(jacfwd)")
    stacks = [torch.stack([tensor, tensor * 0.75]) for tensor in case.tensors]
    rows = [[stack[index] for stack in stacks] for index in range(2)]
    gradients = torch.stack([grad(function)(*row) for row in rows])
    torch.testing.assert_close(vmap(grad(function))(*stacks), gradients)
    torch.testing.assert_close(grad(lambda *x: vmap(function)(*x).sum())(*stacks), gradients)
    torch.testing.assert_close(vmap(function)(*stacks), torch.stack([function(*row) for row in rows]))
    shared = torch.stack([function(rows[0][0], *row[1:]) for row in rows]) if others else None
    if shared is not None:
        torch.testing.assert_close(vmap(function, (None, *(0 for _ in others)))(rows[0][0], *stacks[1:]), shared)
    count(case, "vmap(grad)", "grad(vmap)", "vmap")


@each(REAL)
def test_compiled(case: Case, package: Any) -> None:
    function, (first, *others) = norm(case, package), case.tensors
    gradient, second = by_hand(function, case.tensors)

    def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
        torch._dynamo.reset()
        made: Callable[..., Any] = torch.compile(function, backend="aot_eager", fullgraph=True)
        return made

    leaf = first.clone().requires_grad_()
    compiled(function)(leaf, *others).backward()
    torch.testing.assert_close(leaf.grad, gradient)
    transform = hessian if case.forward else (lambda f: jacrev(jacrev(f)))
    torch.testing.assert_close(compiled(transform(lambda x: function(x, *others)))(first), second)
    count(case, "compile", "compile(hessian)")


ENTRIES: tuple[tuple[str, Callable[[], tuple[Any, ...]]], ...] = (
    ("squareplus.default", lambda: (normal(3, 4), 2.0)),
    ("squareplus_.default", lambda: (normal(3),)),
    ("bent_.default", lambda: (normal(3),)),
    ("damp_.default", lambda: (normal(3), 0.25)),
    ("damp_functional.default", lambda: (normal(3),)),
    ("ramp.default", lambda: (3,)),
    ("log_mean.default", lambda: (positive(3, 4), 0, True)),
    ("to_polar.default", lambda: (positive(3, 4), normal(4))),
    ("hypot3.default", lambda: (normal(2, 3), normal(3, 2).t(), normal(3))),
    ("polar_mean.default", lambda: (positive(3), normal(3))),
    ("bent.default", lambda: (normal(3, 2).t(),)),
    ("soft.default", lambda: (normal(3), 0.5)),
    ("gate.default", lambda: (normal(3), normal(3))),
    ("gate.default", lambda: (normal(3),)),
    ("weave.default", lambda: ([normal(3), normal(2)],)),
    ("split_halves.default", lambda: (normal(5),)),
    ("turn.default", lambda: (normal(3), normal(2, 3))),
    ("distance.default", lambda: (normal(3), normal(3))),
    ("rank_of.default", lambda: (normal(3),)),
    ("top.default", lambda: (normal(2, 4),)),
    ("lifted.default", lambda: (normal(3, 2).t(),)),
    ("scaled.Scalar", lambda: (normal(3), 2)),
)


@pytest.mark.parametrize(("entry", "make"), ENTRIES, ids=[f"{n}-{entry}" for n, (entry, _) in enumerate(ENTRIES)])
@pytest.mark.parametrize("recorded", [False, True])
@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf:UserWarning")  # opcheck looks
def test_opcheck(entry: str, make: Callable[[], tuple[Any, ...]], recorded: bool, package: Any) -> None:
    base, _, overload = entry.partition(".")
    operator = getattr(getattr(getattr(torch.ops, NAME), base), overload)
    arguments = make()
    if recorded and not base.endswith("_"):
        arguments = tuple(_recorded(each) for each in arguments)
    found = opcheck(operator, arguments)
    assert len(found) == 4
    assert set(found.values()) == {"SUCCESS"}


def _recorded(value: Any) -> Any:
    if isinstance(value, list):
        return [_recorded(each) for each in value]
    return value.requires_grad_() if isinstance(value, torch.Tensor) else value


def test_out_and_in_place(package: Any) -> None:
    x = normal(3)
    out = torch.empty(0, dtype=torch.float64)
    assert package.squareplus(x, out=out) is out
    torch.testing.assert_close(out, package.squareplus(x))
    found = opcheck(torch.ops.framed.squareplus.out, (x,), {"out": torch.empty(3, dtype=torch.float64)})
    assert set(found.values()) == {"SUCCESS"}
    leaf = x.clone().requires_grad_()
    written = leaf * 1
    assert package.squareplus_(written) is written
    written.sum().backward()
    torch.testing.assert_close(leaf.grad, grad(lambda x: package.squareplus(x).sum())(x))
    with pytest.raises(RuntimeError, match="don't support automatic differentiation"):
        package.squareplus(leaf, out=out)
    with pytest.raises(RuntimeError, match="result type Float can't be cast to the desired output type Long"):
        package.squareplus_(torch.ones(2, dtype=torch.int64))


def test_a_kernel_in_place_and_one_without_tensors(package: Any) -> None:
    x = normal(3)
    leaf = x.clone().requires_grad_()
    written = leaf * 1
    assert package.damp_(written, 0.25) is written
    written.sum().backward()
    torch.testing.assert_close(written.detach(), x * x * 0.25)
    torch.testing.assert_close(leaf.grad, x / 2)
    torch.testing.assert_close(grad(lambda x: package.damp_(x * 1, 0.25).sum())(x), x / 2)
    torch.testing.assert_close(jvp(lambda x: package.damp_(x * 1, 0.25), (x,), (torch.ones_like(x),))[1], x / 2)
    assert package.ramp(3).tolist() == [0, 1, 2]
    assert (package.ramp(3).dtype, package.ramp(3, dtype=torch.int16).dtype) == (torch.float32, torch.int16)
    assert package.ramp(3, device=torch.device("meta")).is_meta
    outs = torch.empty(0), torch.empty(0)
    radius, angle = package.to_polar(x.float(), x.float(), out=outs)
    assert (radius is outs[0], angle is outs[1]) == (True, True)
    torch.testing.assert_close(outs, package.to_polar(x.float(), x.float()))


def test_kernels_of_other_backends(package: Any) -> None:
    assert torch._C._dispatch_has_kernel_for_dispatch_key("framed::gate", "CUDA")
    assert not torch._C._dispatch_has_kernel_for_dispatch_key("framed::hypot3", "CUDA")
    assert package.lifted(torch.empty(3, device="meta")).is_meta


def test_dtypes(package: Any) -> None:
    ints = torch.tensor([1, 2])
    assert package.squareplus(ints).dtype == torch.float32
    for half in (torch.float16, torch.bfloat16):
        x = normal(4).to(half)
        torch.testing.assert_close(package.squareplus(x), package.squareplus(x.float()).to(half), rtol=0, atol=0)
        torch.testing.assert_close(package.soft(x), package.soft(x.float()).to(half), rtol=0, atol=0)
    mixed = package.hypot3(normal(2), torch.tensor(1.0), ints)
    assert mixed.dtype == torch.float64
    with pytest.raises(NotImplementedError, match="\"framed::squareplus\" not implemented for 'ComplexDouble'"):
        package.squareplus(normal(2, dtype=torch.complex128))
    with pytest.raises(NotImplementedError, match="\"framed::distance\" not implemented for 'ComplexDouble'"):
        package.distance(normal(2, dtype=torch.complex128), normal(2))
    with pytest.raises(NotImplementedError, match="\"framed::log_mean\" not implemented for 'Long'"):
        torch.ops.framed.log_mean(torch.ones(2, dtype=torch.int64))


def test_wrong_inputs(package: Any) -> None:
    with pytest.raises(RuntimeError, match="framed::hypot3: operands could not be broadcast"):
        package.hypot3(normal(3), normal(2), normal(3))
    with pytest.raises(RuntimeError, match="slope must not be negative, but is -1"):
        package.soft(normal(3), -1)
    with pytest.raises(NotImplementedError, match="forward AD with gate"):
        jvp(package.gate, (normal(3),), (normal(3),))
    with pytest.raises(TypeError):
        package.squareplus()


def test_results_without_a_gradient(package: Any) -> None:
    x = normal(2, 4).requires_grad_()
    value, index = package.top(x)
    assert value.requires_grad
    assert not index.requires_grad
    assert not package.rank_of(x).requires_grad


def test_only_what_is_asked_for_is_kept(package: Any) -> None:
    x, y, z = normal(3), normal(3).requires_grad_(), normal(3)
    kept = [each for each in package.hypot3(x, y, z).grad_fn.saved_tensors if each is not None]
    assert len(kept) == 2  # y and the result


def test_memory_can_be_given_back_and_views_with_signs_are_read_right(package: Any) -> None:
    x = normal(3).requires_grad_()  # as FSDP frees parameters that it has gathered
    package.squareplus(x)
    assert x.untyped_storage().resizable()
    z = normal(3, dtype=torch.complex128)
    negative = z.conj().imag
    assert negative.is_neg()
    torch.testing.assert_close(package.squareplus(negative), package.squareplus(-z.imag))
    torch.testing.assert_close(package.turn(z.conj(), z), z.conj() * z.conj())


def test_functionalized(package: Any) -> None:
    x = normal(3)
    torch.testing.assert_close(functionalize(lambda x: package.squareplus(x).add_(1))(x), package.squareplus(x) + 1)
    torch.testing.assert_close(functionalize(lambda x: package.squareplus_(x.clone()))(x), package.squareplus(x))


def test_where_calls_are_watched(package: Any) -> None:
    x = normal(3).requires_grad_()
    seen = []

    class Watching(TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append(str(func))
            return func(*args, **(kwargs or {}))

    with Watching():
        package.squareplus(x).sum()
    assert seen == ["framed.squareplus.default", "aten.sum.default"]
    expected = grad(lambda x: package.squareplus(x).sum())(x.detach())
    recomputed = checkpoint(lambda x: package.squareplus(x).sum(), x, use_reentrant=False)
    torch.testing.assert_close(torch.autograd.grad(recomputed, x)[0], expected)
    with dual_level():
        dual = make_dual(x.detach(), torch.ones_like(x))
        torch.testing.assert_close(unpack_dual(package.squareplus(dual)).tangent, expected)
    traced = make_fx(grad(lambda x: package.squareplus(x).sum()))(x.detach())
    torch.testing.assert_close(traced(x.detach()), expected)


def test_exported_with_symbolic_sizes(package: Any) -> None:
    class Model(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = torch.nn.Parameter(torch.ones(3))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            value: torch.Tensor = package.squareplus(package.hypot3(x, self.weight, x))
            return value

    model = Model()
    rows = torch.export.Dim("rows")
    program = torch.export.export(model, (torch.ones(2, 3),), dynamic_shapes={"x": {0: rows}})
    called = [str(node.target) for node in program.graph.nodes if node.op == "call_function"]
    assert called == ["framed.hypot3.default", "framed.squareplus.default"]
    x = torch.rand(5, 3)
    torch.testing.assert_close(program.module()(x), model(x))
    parameters = dict(model.named_parameters())
    gradients = grad(lambda parameters: functional_call(model, parameters, (x,)).sum())(parameters)
    model(x).sum().backward()
    torch.testing.assert_close(gradients["weight"], model.weight.grad)


def test_it_needs_pytorch_and_numpy_alone(project: Project) -> None:
    program = (
        "import sys, framed.torch, torch\n"
        "x = torch.ones(2, requires_grad=True)\n"
        "framed.torch.polar_mean(x, x).backward()\n"
        "ours = ('gradwright', 'runtime', 'generated', 'codegen')\n"
        "print([name for name in sys.modules if name.partition('.')[0] in ours])"
    )
    finished = subprocess.run(
        [sys.executable, "-c", program], cwd=project.folder, capture_output=True, text=True, check=True
    )
    assert finished.stdout.strip() == "[]"


def test_strict_types(project: Project) -> None:
    finished = project.run("-m", "mypy", "--strict", "--config-file=", f"{NAME}/torch")
    errors = [line for line in finished.stdout.splitlines() if f"{NAME}/torch" in line]
    assert errors == []


def test_every_operator_of_gradwright_is_one_of_pytorch() -> None:
    from codegen.targets.torch.names import ABSENT, entry_of, function_of, is_method
    from support.own_project import own_analysis

    plan = own_analysis().plan
    assert plan is not None
    absent, wrong = set(), []
    for operator in plan.operators:
        entry = _evaluated(entry_of(operator))
        wanted = [argument.name for argument in operator.schema.all_arguments]
        if entry is None or [argument.name for argument in entry._schema.arguments] != wanted:
            absent.add(str(operator.name))
            continue
        function = function_of(operator)
        if function is not None and _evaluated(function) is None:
            wrong.append(function)
        elif function is None and is_method(operator) and not hasattr(torch.Tensor, operator.name.base):
            wrong.append(operator.name.base)
    assert absent == ABSENT
    assert wrong == []


def _evaluated(path: str) -> Any:
    value: Any = torch
    for name in path.split(".")[1:]:
        value = getattr(value, name, None)
    return value


def test_as_much_is_compared_as_is_known() -> None:
    """The last one: counts what those above have compared, where all of them ran."""
    if {name for _, name in counted} >= {"value", "gradcheck", "hessian", "compile"}:
        assert len(counted) == CHECKED
