"""`TorchDispatchMode`, the same in both libraries: which operators it sees, and what becomes of what it gives."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import pytest

import gradwright
from support.both import assert_same, outcome

# PyTorch detaches what it saves, and marks what it makes of Python's numbers.
UNSEEN = frozenset(("aten.detach.default", "aten.lift_fresh.default"))


def dispatch_mode(torch: Any) -> Any:
    return importlib.import_module(f"{torch.__name__}.utils._python_dispatch").TorchDispatchMode


def noting(torch: Any, seen: list[Any], name: str = "", look: Callable[..., Any] | None = None) -> Any:
    """A mode that notes the operators that it sees, with what `look` gives of operator, arguments and result."""

    class Noting(dispatch_mode(torch)):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            out = func(*args, **(kwargs or {}))
            if str(func) not in UNSEEN:
                seen.append(f"{name}{func}" if look is None else (str(func), look(func, args, out)))
            return out

    return Noting()


def giving(torch: Any, give: Callable[..., Any]) -> Any:
    """A mode in which results are what `give` makes of operator, arguments and keywords."""

    class Giving(dispatch_mode(torch)):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return give(func, args, kwargs or {})

    return Giving()


def leaves(torch: Any) -> tuple[Any, Any]:
    return (
        torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True),
        torch.tensor([[0.5, 0.6], [0.7, 0.8]], requires_grad=True),
    )


SAME_BOTH_WAYS = [
    "x * y",
    "x.sin().exp()",
    "torch.mm(x, y)",
    "x @ y",
    "x.t()",
    "x[0]",
    "x[:, 1:]",
    "x[0, 1]",
    "x.clone().t_()",
    "x.clone().transpose_(0, 1)",
    "x.clone().unsqueeze_(0)",
    "x.softmax(0)",
    "x.log_softmax(-1)",
    "x.reshape(4)",
    "x.view(4).view(2, 2)",
    "x.mean()",
    "torch.cat([x, y])",
    "x.unsqueeze(0)",
    "-x",
    "x.relu()",
    "x.tanh()",
    "x.permute(1, 0)",
    "x.flatten()",
    "torch.nn.functional.gelu(x)",
    "torch.nn.functional.layer_norm(x, (2,))",
    "torch.nn.functional.mse_loss(x, y)",
    "torch.nn.functional.cross_entropy(x, torch.tensor([0, 1]))",
    "torch.addmm(x, x, y)",
    "x.exp() * x.exp()",
    "x.index_select(0, torch.tensor([0]))",
    "x.mean(0)",
    "x.pow(3)",
    "2**x",
    "x * 2",
    "x / 2",
    "x.multiply(2)",
    "torch.divide(x, 2)",
    "x.clone().mul_(2)",
    "x.clone().div_(2)",
    "x.log2()",
    "x.log10()",
    "x.log1p()",
    "x.expm1()",
    "x.sqrt()",
    "x.atan()",
    "torch.lerp(x, y, 0.5)",
    "x.deg2rad()",
    "torch.nn.functional.l1_loss(x, y)",
]
SAME_FORWARD = [
    *SAME_BOTH_WAYS,
    "torch.nn.functional.linear(x, y)",
    "x.clone().add_(y)",
    "x.clone().zero_()",
    "x.clone().copy_(y)",
    "x.clone()[0].mul_(y)",
    "torch.mul(x.detach(), y.detach(), out=torch.empty(2, 2))",
    "torch.max(x.detach(), 0, out=(torch.empty(2), torch.empty(2, dtype=torch.int64)))",
    "torch.sort(x.detach(), 0, out=(torch.empty(2, 2), torch.empty(2, 2, dtype=torch.int64)))",
    "torch.sum(x.detach(), 0, out=torch.empty(2))",
    "torch.pow(x.detach(), 2, out=torch.empty(2, 2))",
    "x.detach().clone().pow_(2)",
    "x.detach().clone().clamp_(0, 1)",
    "x.detach().clone().masked_fill_(x > 1, 2.0)",
    "x.detach().clone().squeeze_(0)",
    "x.detach().clone().eq_(y)",
    "torch.ones(2, 3, device='meta').t().exp().shape",
    "torch.linalg.svd(x)",
    "x.unbind(0)",
    "x.max(0)",
    "x.split(1)",
    "x.sum(0) + y[0]",
    "x > y",
    "x.pow(y) / y",
    "torch.stack([x, y])",
    "x.var()",
    "x.norm()",
]


@pytest.mark.parametrize("text", SAME_FORWARD)
def test_operators_seen_in_forward(text: str) -> None:
    def body(torch: Any) -> Any:
        x, y = leaves(torch)
        seen: list[Any] = []
        with noting(torch, seen):
            out = eval(text.replace("mul_(y)", "mul_(y.detach()[0])"), {"torch": torch, "x": x, "y": y})
        return seen, out

    assert_same(body)


@pytest.mark.parametrize("text", SAME_BOTH_WAYS)
def test_operators_seen_in_backward(text: str) -> None:
    def body(torch: Any) -> Any:
        x, y = leaves(torch)
        seen: list[Any] = []
        out = eval(text, {"torch": torch, "x": x, "y": y})
        with noting(torch, seen):
            out.backward(torch.ones_like(out))
        return seen, x.grad, y.grad

    assert_same(body)


def test_numbers_in_what_a_program_calls_within_a_backward() -> None:
    """Hooks and the `backward` of a Function are Python; formulas, between which they run, are C++ in PyTorch."""

    def body(torch: Any) -> Any:
        class Twice(torch.autograd.Function):
            @staticmethod
            def forward(ctx: Any, x: Any) -> Any:
                return x.clone()

            @staticmethod
            def backward(ctx: Any, grad: Any) -> Any:
                return grad * 2

        x, _ = leaves(torch)
        x.register_hook(lambda grad: grad / 3)
        kept = x.exp()
        kept.register_hook(lambda grad: grad + 1)
        with torch.autograd.graph.saved_tensors_hooks(lambda tensor: tensor, lambda tensor: tensor.detach() - 0):
            out = kept.sqrt()
        out.grad_fn.register_prehook(lambda grads: (grads[0] * 4,))
        out.grad_fn.register_hook(lambda inputs, grads: (inputs[0] - 1,))
        out = Twice.apply(out)
        seen: list[Any] = []
        with noting(torch, seen):
            out.backward(torch.ones(2, 2))
        return [name for name in seen if name != "aten.ones.default"], x.grad

    assert_same(body)


def test_numbers_in_what_a_handler_calls_within_a_backward() -> None:
    def body(torch: Any) -> Any:
        def double_quotients(func: Any, args: Any, kwargs: Any) -> Any:
            out = func(*args, **kwargs)
            return out * 2 if str(func) == "aten.div.Tensor" else out

        x, _ = leaves(torch)
        out = x.sqrt()
        seen: list[Any] = []
        with noting(torch, seen), giving(torch, double_quotients):
            out.backward(torch.ones(2, 2))
        return [name for name in seen if name != "aten.ones.default"], x.grad

    assert_same(body)


def test_numbers_in_composites_and_forward_formulas() -> None:
    def body(torch: Any) -> Any:
        x, y = leaves(torch)
        composite: list[Any] = []
        with noting(torch, composite):
            torch.trapz(x) * 2
        tangents: list[Any] = []
        forward = torch.autograd.forward_ad
        with forward.dual_level():
            dual = forward.make_dual(x.detach(), y.detach())
            with noting(torch, tangents):
                tangent = forward.unpack_dual(dual.log2() * 2).tangent
        return (
            sorted(name for name in composite if "mul" in name),
            [name for name in tangents if "aten.mul" in name],
            tangent,
        )

    assert_same(body)


def test_it_stands_below_the_recording_of_gradients() -> None:
    def body(torch: Any) -> Any:
        x, y = leaves(torch)
        seen: list[Any] = []

        def look(func: Any, args: Any, out: Any) -> Any:
            return args[0] is x, args[0].requires_grad, out.requires_grad, out.grad_fn, (out * 2 + x).requires_grad

        with noting(torch, seen, look=look):
            out = x.exp()
            product = out * y
        product.sum().backward()
        return seen, out, out.grad_fn, product.grad_fn, x.grad, y.grad

    assert_same(body)


def test_what_it_gives_has_the_history_of_the_call() -> None:
    def body(torch: Any) -> Any:
        x, _ = leaves(torch)
        given = torch.zeros(2, 2)

        def give(func: Any, args: Any, kwargs: Any) -> Any:
            return given if func is torch.ops.aten.sin.default else func(*args, **kwargs) * 10

        with giving(torch, give):
            a = x.sin()
            b = x.cos()
        (a + b).sum().backward()
        return a is given, a, a.grad_fn, b, b.grad_fn, x.grad

    assert_same(body)


def test_modes_inside_each_other() -> None:
    def body(torch: Any) -> Any:
        x, y = leaves(torch)
        seen: list[Any] = []
        inner, outer = noting(torch, seen, "inner "), noting(torch, seen, "outer ")
        with outer:
            with inner:
                out = (x @ y).sin()
            out = out.exp()
            with inner, inner:
                out.backward(x.detach())
        x.sin()
        return seen, x.grad

    assert_same(body)


def test_calls_of_a_handler_are_seen_outside_of_it() -> None:
    def body(torch: Any) -> Any:
        x, _ = leaves(torch)
        seen: list[Any] = []

        def give(func: Any, args: Any, kwargs: Any) -> Any:
            return func(*args).neg() if func is torch.ops.aten.exp.default else func(*args)

        with noting(torch, seen), giving(torch, give):
            out = x.exp()
        return seen, out, out.grad_fn

    assert_same(body)


def test_writes_in_place() -> None:
    def body(torch: Any) -> Any:
        x, y = leaves(torch)
        seen: list[Any] = []

        def look(func: Any, args: Any, out: Any) -> Any:
            return out is args[0]

        with noting(torch, seen, look=look):
            z = x * y
            z.add_(y)
            row = z[0]
            row.mul_(y.detach()[1])
            z.t_()
            z.exp_()
        z.sum().backward()
        return seen, z, z._version, z.grad_fn, row, x.grad, y.grad

    assert_same(body)


def test_a_write_that_is_left_out() -> None:
    def body(torch: Any) -> Any:
        x, y = leaves(torch)
        z, turned = x.clone(), torch.ones(2, 3)
        target = torch.ones(2, 2)
        with giving(torch, lambda func, args, kwargs: torch.zeros(2, 2)):
            same = z.add_(y), turned.t_(), torch.exp(x.detach(), out=target)
        return z, z.grad_fn, turned, target, same[0] is z, same[1] is turned

    def versions(torch: Any) -> Any:
        z = torch.ones(2, 3)
        with giving(torch, lambda func, args, kwargs: func(*args, **kwargs)):
            z.t_()
            z.add_(torch.ones(2))
            torch.exp(torch.ones(3, 2), out=z)
        return z, z._version

    assert_same(body)
    assert_same(versions)


def test_views_stay_views() -> None:
    def body(torch: Any) -> Any:
        x, _ = leaves(torch)
        z = x.clone()
        with giving(torch, lambda func, args, kwargs: func(*args, **kwargs)):
            row, parts, turned = z[0], z.split(1), z.t()
        z.mul_(2)
        turned.sum().backward()
        return row, [part.tolist() for part in parts], turned, row._base is z, turned.grad_fn, x.grad

    assert_same(body)


def test_second_derivatives() -> None:
    def body(torch: Any) -> Any:
        x, y = leaves(torch)
        seen: list[Any] = []
        with noting(torch, seen):
            (first,) = torch.autograd.grad((x * x * y).sum(), x, create_graph=True)
            count = len(seen)
            (second,) = torch.autograd.grad(first.sum(), y)
        return count > 0, len(seen) > count, first, second

    assert_same(body)


def test_tangents() -> None:
    def body(torch: Any) -> Any:
        x, y = leaves(torch)
        seen: list[Any] = []
        forward = torch.autograd.forward_ad
        with forward.dual_level(), noting(torch, seen):
            primal, tangent = forward.unpack_dual(forward.make_dual(x.detach(), y.detach()).sin())
        return primal, tangent, "aten.cos.default" in seen

    assert_same(body)


def test_batches() -> None:
    def body(torch: Any) -> Any:
        x, y = leaves(torch)
        seen: list[Any] = []
        with noting(torch, seen):
            out = torch.func.vmap(lambda row: row.sin() * y[0])(x)
        return out, "aten.sin.default" in seen

    assert_same(body)


def test_without_recording() -> None:
    def body(torch: Any) -> Any:
        x, y = leaves(torch)
        seen: list[Any] = []
        with noting(torch, seen):
            with torch.no_grad():
                a = x * y
            with torch.inference_mode():
                b = x.sin()
        return seen, a, b, b.is_inference()

    assert_same(body)


def test_views_without_recording() -> None:
    def body(torch: Any) -> Any:
        x, _ = leaves(torch)
        with giving(torch, lambda func, args, kwargs: func(*args, **kwargs)):
            with torch.inference_mode():
                a = x.detach().t()
            with torch.no_grad():
                b = x.t()
        return a, a.is_inference(), b, b.requires_grad, b._base is x

    assert_same(body)


def test_operators_that_write() -> None:
    def body(torch: Any) -> Any:
        @torch.library.custom_op("noted::add_one", mutates_args={"x"}, schema="(Tensor(a!) x) -> ()")
        def add_one(x: Any) -> None:
            x.add_(1)

        x, _ = leaves(torch)
        z = x.detach().clone()
        seen: list[Any] = []
        with noting(torch, seen):
            out = add_one(z)
        return seen[0], out, z

    assert outcome(body, gradwright)[0] == "noted.add_one.default"
    assert_same(body)


def test_operators_of_a_program() -> None:
    def body(torch: Any) -> Any:
        @torch.library.custom_op("noted::twice", mutates_args=(), schema="(Tensor x) -> Tensor")
        def twice(x: Any) -> Any:
            return x * 2

        twice.register_fake(torch.empty_like)
        twice.register_autograd(lambda ctx, grad: grad + grad)
        x, _ = leaves(torch)
        seen: list[Any] = []
        with noting(torch, seen):
            out = twice(x)
            out.backward(torch.ones(2, 2))
        return seen[0], out, out.grad_fn is not None, x.grad

    assert outcome(body, gradwright)[0] == "noted.twice.default"
    assert_same(body)


@pytest.mark.parametrize("result", [NotImplemented, 3, "text", (1,)])
def test_results_that_are_none(result: Any) -> None:
    def body(torch: Any) -> Any:
        x, _ = leaves(torch)
        with giving(torch, lambda func, args, kwargs: result):
            return x.exp()

    assert_same(body)


def test_an_error_of_the_handler_ends_the_block() -> None:
    def body(torch: Any) -> Any:
        x, _ = leaves(torch)
        seen: list[Any] = []

        def give(func: Any, args: Any, kwargs: Any) -> Any:
            raise LookupError("not here")

        try:
            with giving(torch, give):
                x.exp()
        except LookupError as error:
            seen.append(str(error))
        return seen, x.exp(), torch.is_grad_enabled()

    assert_same(body)
