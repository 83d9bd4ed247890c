"""Operators and kernels that are registered at run time: what no comparison with PyTorch can show."""

import gc
import itertools
import logging
import re
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import gradwright as torch_module
from generated import operators
from gradwright.library import Library, _scoped_library, custom_op, get_kernel
from runtime.base import modes
from runtime.base.tensor import Tensor
from runtime.call.dispatch import Operator
from runtime.call.kernel_table import TensorKernel

torch: Any = torch_module
_numbers = itertools.count()


@pytest.fixture
def lib() -> Iterator[Library]:
    """A new namespace."""
    with _scoped_library(f"test{next(_numbers)}", "DEF") as library:
        yield library


@pytest.fixture
def aten() -> Iterator[Library]:
    """Kernels for built-in operators, for one test."""
    with _scoped_library("aten", "IMPL") as library:
        yield library


def ops_of(library: Library) -> Any:
    return getattr(torch.ops, library.ns)


class Remote(Tensor):
    """A Tensor of another backend."""

    _dispatch_key = "PrivateUse1"


def remote(*values: float) -> Any:
    return Tensor._make_subclass(Remote, torch.tensor(list(values)))


# -- schemas


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ("h(Tensr x) -> Tensor", "unknown type 'Tensr':\nh(Tensr x) -> Tensor\n  ^~~~~\nhint: did you mean 'Tensor'?"),
        ("h(Tensor x", "unbalanced parenthesis: '(' is never closed:\nh(Tensor x\n ^"),
        (
            "h(int n=1.5) -> Tensor",
            "'1.5' is no default for 'int':\nh(int n=1.5) -> Tensor\n        ^~~\nhint: such as 0",
        ),
    ],
)
def test_a_schema_that_does_not_parse_is_shown_with_its_mistake(lib: Library, schema: str, message: str) -> None:
    with pytest.raises(RuntimeError) as caught:
        lib.define(schema)
    assert str(caught.value) == message


def test_two_definers_of_one_namespace_are_both_named(lib: Library) -> None:
    with pytest.raises(RuntimeError, match=rf"namespace {lib.ns};.*Previous registration at .*:\d+; latest .*:\d+"):
        Library(lib.ns, "DEF")


# -- kernels in place of built-in ones


def test_the_fast_path_comes_back(aten: Library) -> None:
    straight, x = operators.hypot_default_kernel, torch.ones(1)
    with pytest.warns(UserWarning, match="(?s)Overriding.*operator: hypot.*dispatch key: CPU"):
        aten.impl("hypot", lambda a, b: a * 0, "CPU")
    assert torch.hypot(x, x).item() == 0.0
    assert operators.hypot_default_kernel is not straight
    aten._destroy()
    assert operators.hypot_default_kernel is straight
    assert operators.hypot_default_op.table is None
    assert torch.hypot(x, x).item() == pytest.approx(2**0.5)


def test_composite_operators_come_back(aten: Library) -> None:
    traced = operators.square_default_op.composite
    aten.impl("square", lambda a: a * 0, "CPU")
    assert torch.ones(1).square().item() == 0.0
    aten._destroy()
    assert operators.square_default_op.composite is traced
    assert torch.tensor(3.0).square().item() == 9.0


@pytest.mark.filterwarnings("ignore:Overriding")
def test_kernels_are_a_stack_and_any_of_them_can_go_first() -> None:
    x = torch.ones(1)
    libraries = [Library("aten", "IMPL", "CPU") for _ in range(3)]
    for number, library in enumerate(libraries):
        library.impl("hypot", lambda a, b, number=number: a * number)
    found = [torch.hypot(x, x).item()]
    for number in (1, 2, 0):
        libraries[number]._destroy()
        found.append(torch.hypot(x, x).item())
    assert found == [2.0, 2.0, 0.0, pytest.approx(2**0.5)]


def test_a_library_that_nobody_holds_is_taken_back(lib: Library) -> None:
    lib.define("f(Tensor x) -> Tensor")
    other = Library(lib.ns, "IMPL", "CPU")
    other.impl("f", lambda x: x)
    assert ops_of(lib).f(torch.ones(1)).item() == 1.0
    del other
    gc.collect()
    with pytest.raises(NotImplementedError, match=r"'CPU' backend.*only available for these backends: \[\]"):
        ops_of(lib).f(torch.ones(1))


@pytest.mark.filterwarnings("ignore:Overriding")
def test_variants_follow_the_kernel_of_their_operator(aten: Library) -> None:
    aten.impl("hypot", lambda a, b: torch.from_numpy(a.numpy() * b.numpy() * 10), "CPU")
    a, b = torch.tensor([2.0]), torch.tensor([3.0], requires_grad=True)
    out = torch.hypot(a, b.detach(), out=torch.zeros(1))
    written = (b * 1).hypot_(a)
    assert (out.item(), written.item()) == (60.0, 60.0)
    (grad,) = torch.autograd.grad(written, b)
    assert grad.item() == pytest.approx(3.0 / 60.0)  # the derivative is still that of hypot
    with pytest.raises(RuntimeError, match=r"aten::hypot_ has no kernels of its own.*Register for aten::hypot"):
        aten.impl("hypot_", lambda a, b: a, "CPU")


@pytest.mark.filterwarnings("ignore:Overriding")
def test_variants_of_traced_operators_follow_too(aten: Library) -> None:
    aten.impl("square", lambda a: a - 1, "CompositeImplicitAutograd")
    x = torch.tensor([3.0], requires_grad=True)
    y = (x * 1).square_()
    assert (y.item(), torch.autograd.grad(y, x)[0].item()) == (2.0, 1.0)


@pytest.mark.filterwarnings("ignore:Overriding")
def test_views_from_kernels_on_tensors_are_views(aten: Library) -> None:
    aten.impl("transpose.int", lambda a, i, j: a.permute(j, i), "CPU")
    x = torch.ones(2, 3, requires_grad=True)
    base = x * 1
    view = base.transpose(0, 1)
    assert (view._base is base, view.grad_fn.name()) == (True, "TransposeBackward0")
    view.mul_(2)
    base.sum().backward()
    assert x.grad.tolist() == [[2.0] * 3] * 2


@pytest.mark.filterwarnings("ignore:Overriding")
def test_a_kernel_that_returns_its_argument_leaves_the_history_of_that_alone(aten: Library) -> None:
    aten.impl("hypot", lambda a, b: a, "CPU")
    x = torch.ones(1, requires_grad=True)
    out = torch.hypot(x, x)
    assert out is not x
    assert x.is_leaf
    assert out.grad_fn.name() == "HypotBackward0"


@pytest.mark.filterwarnings("ignore:Overriding")
def test_array_kernels_stand_below_those_on_tensors() -> None:
    operator = Operator("f(Tensor self) -> Tensor", lambda self: self, kernels={"CPU": lambda a: a + 1})
    x, kernel = torch.zeros(1), TensorKernel(lambda x: x + 10, "CPU")
    operator.add_kernel("CPU", kernel)
    operator.register("CPU", lambda a: a + 2)
    assert operator(x).item() == 10.0
    operator.remove_kernel("CPU", kernel)
    assert operator(x).item() == 2.0


def test_a_kernel_that_was_fetched_stays_what_it_was(aten: Library) -> None:
    kernel = get_kernel("aten::hypot", "CPU")
    with pytest.warns(UserWarning, match="Overriding"):
        aten.impl("hypot", lambda a, b: a * 0, "CPU")
    x = torch.ones(1)
    assert kernel.call_boxed(None, x, x).item() == pytest.approx(2**0.5)
    assert get_kernel("aten::hypot", "CPU").call_boxed(None, x, x).item() == 0.0
    assert kernel.op_handle is torch.ops.aten.hypot.default


# -- other backends


def test_a_class_names_its_backend(aten: Library) -> None:
    seen = []

    def add(a: Any, b: Any, alpha: Any = 1) -> Any:
        seen.append((type(a), type(b), alpha))
        return remote(*(a.numpy() + alpha * b.numpy()))

    x, y = remote(1.0, 2.0), torch.tensor([10.0, 20.0])
    with pytest.raises(NotImplementedError) as caught:
        x + y
    assert "Could not run 'aten::add.Tensor' with arguments from the 'PrivateUse1' backend." in str(caught.value)
    # Sparse kernels are there from the first sparse Tensor on, which another test may have made.
    only = r"'aten::add\.Tensor' is only available for these backends: \[CPU(, SparseCPU)?\]\."
    assert re.search(only, str(caught.value))
    aten.impl("add.Tensor", add, "PrivateUse1")
    assert [type(z) for z in (x + y, y + x, torch.add(x, y), y + y)] == [Remote, Remote, Remote, Tensor]
    assert (x + y).tolist() == [11.0, 22.0]
    assert seen[1][:2] == (Tensor, Remote)
    x.add_(y, alpha=2)
    assert x.tolist() == [21.0, 42.0]
    assert torch.ops.aten.add.Tensor.has_kernel_for_dispatch_key("PrivateUse1")


def test_derivatives_are_recorded_over_kernels_of_other_backends(aten: Library) -> None:
    aten.impl("mul.Tensor", lambda a, b: remote(*(a.detach().numpy() * b.detach().numpy())), "PrivateUse1")
    x = remote(3.0).requires_grad_()
    out = x * torch.tensor([5.0])
    assert (type(out), out.grad_fn.name()) == (Remote, "MulBackward0")
    assert torch.autograd.grad(out, x, torch.ones(1))[0].item() == 5.0


def test_traced_operators_reach_the_kernels_of_other_backends(aten: Library) -> None:
    calls = []

    def power(a: Any, exponent: Any) -> Any:
        calls.append(exponent)
        return remote(*(a.numpy() ** exponent))

    aten.impl("pow.Tensor_Scalar", power, "PrivateUse1")
    assert torch.square(remote(3.0)).tolist() == [9.0]
    assert calls == [2]
    aten.impl("square", lambda a: remote(0.0), "PrivateUse1")
    assert torch.square(remote(3.0)).tolist() == [0.0]
    assert torch.square(torch.tensor(3.0)).item() == 9.0


def test_fallback_for_a_backend() -> None:
    called = []

    def fallback(op: Any, *args: Any, **kwargs: Any) -> Any:
        called.append(op)
        return op(*[Tensor(arg) if isinstance(arg, Tensor) else arg for arg in args], **kwargs)

    with _scoped_library("_", "IMPL") as library:
        library.fallback(fallback, "PrivateUse1")
        assert torch.hypot(remote(3.0), remote(4.0)).tolist() == [5.0]
        assert (remote(1.0) + 2).tolist() == [3.0]
    assert called == [torch.ops.aten.hypot.default, torch.ops.aten.add.Scalar]
    with pytest.raises(NotImplementedError, match="aten::hypot"):
        torch.hypot(remote(3.0), remote(4.0))


def test_precedence_of_other_backends(lib: Library) -> None:
    lib.define("f(Tensor[] x) -> Tensor")
    f = ops_of(lib).f
    found = []
    for key in ("CPU", "CompositeImplicitAutograd", "CompositeExplicitAutograd", "PrivateUse1", "AutogradPrivateUse1"):
        lib.impl("f", lambda x, key=key: torch.tensor(float(len(key))), key)
        try:
            found.append(f([torch.ones(1), remote(1.0)]).item())
        except NotImplementedError:
            found.append(None)
    assert found == [None, 25.0, 25.0, 11.0, 19.0]
    assert f([torch.ones(1)]).item() == 3.0


# -- custom operators


def test_the_graph_of_a_custom_operator_makes_no_cycle() -> None:
    @custom_op(f"test{next(_numbers)}::double", mutates_args=())
    def double(x: Tensor) -> Tensor:
        return x * 2

    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(inputs[0], output)

    double.register_autograd(lambda ctx, grad: grad * ctx.saved_tensors[1], setup_context=setup_context)
    gc.collect()
    gc.disable()
    try:
        out = double(torch.ones(1, requires_grad=True))
        node = weakref.ref(out.grad_fn)
        assert [t.item() for t in out.grad_fn.saved_tensors] == [1.0, 2.0]
        del out
        assert node() is None
    finally:
        gc.enable()


def test_second_derivatives_agree_with_differences() -> None:
    @custom_op(f"test{next(_numbers)}::cube", mutates_args=())
    def cube(x: Tensor, y: Tensor) -> Tensor:
        return torch.from_numpy(x.numpy() ** 3 * y.numpy())

    def backward(ctx: Any, grad: Any) -> Any:
        x, y = ctx.saved_tensors
        return grad * 3 * x * x * y, (grad * x**3).sum(0)

    cube.register_autograd(backward, setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs))
    x = torch.tensor([[0.5, -1.0], [2.0, 1.5]], dtype=torch.float64, requires_grad=True)
    y = torch.tensor([1.5, 2.5], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(cube, (x, y))
    assert torch.autograd.gradgradcheck(cube, (x, y))


def test_rules_for_batches_and_shapes_can_be_looked_up() -> None:
    @custom_op(f"test{next(_numbers)}::f", mutates_args=())
    def f(x: Tensor) -> Tensor:
        return x.clone()

    assert (f.operator.vmap_rule, f.operator.fake) == (None, None)

    @f.register_vmap
    def rule(info: Any, in_dims: Any, x: Any) -> Any:
        return f(x), in_dims[0]

    fake = f.register_fake(lambda x: torch.empty_like(x))
    assert (f.operator.vmap_rule, f.operator.fake) == (rule, fake)
    with _scoped_library("aten", "IMPL") as library:
        torch.library.register_vmap("aten::sin", rule, lib=library)
        assert operators.sin_default_op.vmap_rule is rule
    assert operators.sin_default_op.vmap_rule is None


def test_forward_mode_says_that_it_is_missing() -> None:
    @custom_op(f"test{next(_numbers)}::f", mutates_args=())
    def f(x: Tensor) -> Tensor:
        return x.clone()

    x = torch.ones(1)
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(x, torch.ones(1))
        with pytest.raises(NotImplementedError, match="forward AD"):
            f(dual)


def test_handlers_see_a_call_once(lib: Library) -> None:
    lib.define("f(Tensor x) -> Tensor")
    lib.impl("f", lambda x: x * 2, "CPU")
    seen, x = [], torch.ones(1)

    def handler(operator: Operator, variant: Any, values: list[Any], proceed: Any) -> Any:
        seen.append(operator.qualified_name)
        return proceed(values)

    with modes.handle_calls(handler):
        ops_of(lib).f(x)
    assert seen == [f"{lib.ns}::f", "aten::mul.Scalar"]


def test_disabling_what_is_not_there_is_noted(caplog: pytest.LogCaptureFixture) -> None:
    @custom_op(f"test{next(_numbers)}::f", mutates_args=())
    def f(x: Tensor) -> Tensor:
        return x.clone()

    with caplog.at_level(logging.WARNING), f.set_kernel_enabled("xpu", False):
        assert f(torch.ones(1)).item() == 1.0
    assert "no kernel was registered" in caplog.text


def test_a_custom_operator_can_be_made_again() -> None:
    name = f"test{next(_numbers)}::f"

    def f(x: Tensor) -> Tensor:
        return x * 2

    def g(x: Tensor, n: int) -> Tensor:
        return x * n

    custom_op(name, f, mutates_args=())
    second = custom_op(name, g, mutates_args=())
    packet = getattr(getattr(torch.ops, second._namespace), "f")  # noqa: B009
    assert packet(torch.ones(1), 7).item() == 7.0
    assert packet.default is second._opoverload


def test_results_are_checked_against_the_schema(lib: Library) -> None:
    lib.define("two(Tensor x) -> (Tensor, Tensor)")
    lib.impl("two", lambda x: (x,), "CPU")
    with pytest.raises(RuntimeError, match="expected 2 results, but the kernel returned 1 result\n  schema: "):
        ops_of(lib).two(torch.ones(1))
    lib.define("list(Tensor x) -> Tensor[]")
    lib.impl("list", lambda x: (x, np.ones(1)), "CPU")
    with pytest.raises(RuntimeError, match="Unable to cast"):
        ops_of(lib).list(torch.ones(1))


# -- gradwright.ops


def test_flat_operators_and_namespaces_live_side_by_side(lib: Library) -> None:
    x = torch.ones(2)
    assert torch.ops.add(x, x).tolist() == torch.ops.aten.add(x, x).tolist() == [2.0, 2.0]
    assert torch.ops.aten is torch.ops.aten
    assert repr(torch.ops.aten) == "<namespace 'gradwright.ops.aten'>"
    with pytest.raises(AttributeError, match="there is no operator 'nonsense'"):
        torch.ops.nonsense(x)
    with pytest.raises(AttributeError, match="__nonsense__"):
        torch.ops.__nonsense__
    assert not hasattr(torch.ops, "__path__")


def test_built_in_namespace_knows_every_generated_callable() -> None:
    from generated import packets

    for base, function in packets.PACKETS.items():
        packet = getattr(torch.ops.aten, base)
        assert packet.overloads() == function.overloads()
        for name in packet.overloads():
            overload = getattr(packet, name)
            assert str(overload._schema).startswith(f"{overload.name()}(")


def test_operators_can_be_added_to_the_built_in_namespace() -> None:
    with _scoped_library("aten", "FRAGMENT") as library:
        library.define("add.test(Tensor self, str text) -> Tensor")
        library.impl("add.test", lambda x, text: x * len(text), "CPU")
        x = torch.ones(1)
        assert torch.ops.aten.add.test(x, "four").item() == 4.0
        assert torch.ops.aten.add(x, "four").item() == 4.0
        assert torch.ops.aten.add(x, x).item() == 2.0
        with pytest.raises(RuntimeError, match="multiple times"):
            library.define("add.Tensor(Tensor self, Tensor other) -> Tensor")
        with pytest.raises(RuntimeError, match="multiple times"):
            library.define("add_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)")
    assert "test" not in torch.ops.aten.add.overloads()


def test_data_of_a_tensor_that_requires_grad_can_be_taken_while_grad_mode_is_off() -> None:
    x = torch.ones(1, requires_grad=True)
    with pytest.raises(RuntimeError, match="detach"):
        x.numpy()
    with torch.no_grad():
        assert x.numpy().tolist() == np.asarray(x).tolist() == [1.0]


def test_vmap_uses_the_registered_rule() -> None:
    seen: list[Any] = []

    @custom_op("rules::cube", mutates_args=())
    def cube(x: Tensor, scale: float) -> Tensor:
        return x**3 * scale

    @cube.register_vmap
    def rule(info: Any, in_dims: Any, x: Tensor, scale: float) -> Any:
        seen.append((info.batch_size, in_dims))
        return cube(x, scale), in_dims[0]

    x = torch_module.arange(6.0).reshape(2, 3)
    out = torch_module.vmap(cube, in_dims=(1, None))(x, 2.0)
    assert out.tolist() == (x.T**3 * 2).tolist()
    assert seen == [(3, (0, None))]


# -- vmap of operators without a rule: a call for each element of the batch

BATCH = torch_module.arange(6.0).reshape(3, 2)


@custom_op("looped::power", mutates_args=())
def power(x: Tensor, n: int = 2) -> Tensor:
    assert type(x) is Tensor
    return x**n


def _setup(ctx: Any, inputs: Any, output: Any) -> None:
    ctx.save_for_backward(inputs[0])
    ctx.n = inputs[1]


power.register_autograd(
    lambda ctx, grad: (grad * ctx.n * ctx.saved_tensors[0] ** (ctx.n - 1), None), setup_context=_setup
)


@custom_op("looped::added_to", mutates_args=("x",))
def added_to(x: Tensor, y: Tensor) -> None:
    x.add_(y)


@custom_op("looped::scaled", mutates_args=())
def scaled(xs: list[Tensor], factor: Tensor | None) -> list[Tensor]:
    return [x.clone() if factor is None else x * factor for x in xs]


@custom_op("looped::parts", mutates_args=())
def parts(x: Tensor) -> tuple[Tensor, Tensor]:
    return x.floor(), x.sum()


@custom_op("looped::noise", mutates_args=())
def noise(x: Tensor) -> Tensor:
    return torch_module.rand_like(x)


@custom_op("looped::number", mutates_args=())
def number(x: Tensor) -> int:
    return 3


def test_a_custom_operator_without_a_rule_is_called_for_each_element() -> None:
    func = torch_module.func
    assert func.vmap(power)(BATCH).tolist() == (BATCH**2).tolist()
    assert func.vmap(func.vmap(power))(BATCH).tolist() == (BATCH**2).tolist()
    assert func.vmap(lambda x: power(x, n=3), in_dims=1, out_dims=1)(BATCH).tolist() == (BATCH**3).tolist()
    whole, sums = func.vmap(parts)(BATCH + 0.5)
    assert (whole.tolist(), sums.tolist()) == (BATCH.tolist(), [2.0, 6.0, 10.0])
    first, second = func.vmap(lambda x, y: scaled([x, BATCH[1]], y))(BATCH, BATCH)
    assert first.tolist() == (BATCH * BATCH).tolist()
    assert second.tolist() == (BATCH[1] * BATCH).tolist()
    assert func.vmap(lambda x: scaled([x], None)[0])(BATCH).tolist() == BATCH.tolist()
    assert func.vmap(noise)(BATCH).unique().numel() == 6  # what a kernel draws is its own


def test_derivatives_of_a_custom_operator_without_a_rule() -> None:
    func = torch_module.func
    assert func.vmap(func.grad(lambda x: power(x, 3).sum()))(BATCH).tolist() == (3 * BATCH**2).tolist()
    assert func.grad(lambda x: func.vmap(power)(x).sum())(BATCH).tolist() == (2 * BATCH).tolist()
    assert func.jacrev(power)(BATCH[1]).tolist() == [[4.0, 0.0], [0.0, 6.0]]
    x = BATCH.clone().requires_grad_()
    func.vmap(power)(x).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == (2 * BATCH).tolist()


def test_an_operator_that_writes_writes_in_the_batch() -> None:
    vmap = torch_module.func.vmap

    def wrote(x: Tensor, y: Tensor) -> Tensor:
        added_to(x, y)
        return x * 2

    for y, in_dims in ((BATCH, 0), (BATCH[1], (0, None))):
        x = BATCH.clone()
        out = vmap(wrote, in_dims)(x, y)
        assert x.tolist() == (BATCH + y).tolist()
        assert out.tolist() == (2 * (BATCH + y)).tolist()
    one = BATCH[0].clone()
    with pytest.raises(RuntimeError, match=r"not possible .* vmapped over while `self` is not"):
        vmap(wrote, (None, 0))(one, BATCH)
    assert one.tolist() == BATCH[0].tolist()


def test_operators_of_a_library_without_a_rule(lib: Library) -> None:
    vmap, ops = torch_module.func.vmap, ops_of(lib)
    for key in ("CompositeImplicitAutograd", "CompositeExplicitAutograd", "CPU"):
        lib.define(f"f{key}(Tensor x, *, Tensor y, int n=1) -> Tensor")
        lib.impl(f"f{key}", lambda x, y, n=1: x * y.sum() * n, key)
        out = vmap(lambda x, key=key: getattr(ops, f"f{key}")(x, y=x, n=2))(BATCH)
        assert out.tolist() == (2 * BATCH * BATCH.sum(1, keepdim=True)).tolist()
    lib.define("add_(Tensor(a!) x, Tensor y) -> Tensor(a!)")
    lib.impl("add_", lambda x, y: x.add_(y), "CPU")
    x, same = BATCH.clone(), []
    vmap(lambda x, y: [same.append(ops.add_(x, y) is x), x][1])(x, BATCH)
    assert (x.tolist(), same) == ((BATCH * 2).tolist(), [True])
    lib.define("all_(Tensor(a!)[] xs, Tensor y) -> ()")
    lib.impl("all_", lambda xs, y: [x.add_(y) for x in xs] and None, "CPU")
    first, second = BATCH.clone(), BATCH.clone()
    vmap(lambda x, z: [ops.all_([x, z], x.clone()), x][1])(first, second)
    assert first.tolist() == second.tolist() == (BATCH * 2).tolist()
    lib.define("copied(Tensor x, *, Tensor(a!) out) -> Tensor(a!)")
    lib.impl("copied", lambda x, *, out: out.copy_(x), "CPU")
    vmap(lambda x, out: ops.copied(x, out=out))(BATCH, second)
    assert second.tolist() == BATCH.tolist()


@pytest.mark.parametrize(
    ("schema", "message"),
    [("v(Tensor(a) x) -> Tensor(a)", "view ops"), ("v(Tensor x) -> int", "could not generate a fallback")],
)
def test_views_and_numbers_are_not_looped_for(lib: Library, schema: str, message: str) -> None:
    lib.define(schema)
    lib.impl("v", lambda x: x, "CPU")
    with pytest.raises(RuntimeError, match=message):
        torch_module.func.vmap(ops_of(lib).v)(BATCH)
    with pytest.raises(RuntimeError, match="could not generate a fallback"):
        torch_module.func.vmap(number)(BATCH)
    with pytest.raises(RuntimeError, match="size 0"):
        torch_module.func.vmap(power)(BATCH[:0])
