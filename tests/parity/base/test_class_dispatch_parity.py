"""`__torch_dispatch__` of classes, the same in both libraries: which operators they see, and what becomes of theirs."""

from __future__ import annotations

import copy
import importlib
import io
import sys
from typing import Any

import pytest
import torch

import gradwright
from support.both import assert_same


def around(torch: Any, seen: list[Any]) -> Any:
    """A class of Tensors around others, which notes the operators that it does; PyTorch detaches what it saves."""
    tree_map = importlib.import_module(f"{torch.__name__}.utils._pytree").tree_map

    class Around(torch.Tensor):
        __torch_function__ = torch._C._disabled_torch_function_impl

        @staticmethod
        def __new__(cls, inner: Any, requires_grad: bool = False) -> Any:
            made = torch.Tensor._make_wrapper_subclass(
                cls, inner.shape, strides=inner.stride(), dtype=inner.dtype, requires_grad=requires_grad
            )
            made.inner = inner
            return made

        @classmethod
        def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            if str(func) != "aten.detach.default":
                seen.append((str(func), [each.__name__ for each in types]))
            args, kwargs = (
                tree_map(lambda x: x.inner if isinstance(x, Around) else x, each) for each in (args, kwargs or {})
            )
            out = func(*args, **kwargs)
            return tree_map(lambda x: cls(x) if isinstance(x, torch.Tensor) else x, out)

    return Around


def shown(value: Any) -> Any:
    """Classes by name, and what they are around."""
    if type(value).__name__ == "Around":
        return "Around", value.inner, value.requires_grad
    return [shown(each) for each in value] if isinstance(value, (list, tuple)) else value


EXPRESSIONS = [
    "x * y",
    "x + torch.ones(2, 2)",
    "torch.ones(2, 2) - x",
    "x.exp().sin()",
    "x @ y",
    "torch.addmm(x, x, y)",
    "(x.exp() / y.sum(0)).softmax(1)",
    "torch.nn.functional.layer_norm(x, (2,))",
    "torch.cat([x, y])",
    "torch.stack([x, torch.zeros(2, 2)])",
    "x == y",
    "x[x > y]",
    "x.max(0)",
    "x.sum((0, 1), keepdim=True)",
    "x.to(torch.float64)",
    "x.clone()",
    "torch.zeros_like(x)",
    "x.new_zeros(3)",
    "torch.func.vmap(torch.sin)(x)",
    "x.detach()",
    "x.data",
    "copy.deepcopy(x)",
    "x.sum().item()",
    "float(x.sum())",
    "bool(x.sum())",
    "x.tolist()",
    "x.numpy()",
    "len(x)",
    "torch.nn.Parameter(x)",
    "isinstance(torch.nn.Parameter(x), torch.nn.Parameter)",
    "x.shape, x.stride(), x.dim(), x.numel(), x.is_contiguous(), x.is_leaf, x.requires_grad, x.element_size()",
    "str(x.device), x.is_floating_point()",
    "x.t()",
    "x[0]",
    "x[:, 1:]",
    "x[0, 1]",
    "x.unbind(1)",
    "x.split(1)",
    "x.view(4)",
    "x.reshape(4)",
    "x.expand(2, 2, 2)",
    "x.T",
    "x.view(4)._base is x",
    "x.t().t()._base is x",
    "x.contiguous() is x",
    "x.cpu() is x",
    "list(x)",
    "x.detach().add_(y.detach())",
    "x.detach()[0].add_(y.detach()[1])",
    "x.detach().zero_()",
    "x.detach().t_()",
    "x.detach().copy_(torch.zeros(2, 2))",
    "x.detach().masked_fill_(x > y, 0)",
    "x.clone().mul_(y).exp_()",
    "torch.mul(x.detach(), y.detach(), out=torch.zeros(2, 2))",
]  # fmt: skip


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_operators_seen_and_results(text: str) -> None:
    def body(torch: Any) -> Any:
        seen: list[Any] = []
        cls = around(torch, seen)
        x = cls(torch.tensor([[1.0, 2.0], [3.0, 4.0]]), True)
        y = cls(torch.tensor([[0.5, 3.0], [0.25, 2.0]]), True)
        out = eval(text, {"torch": torch, "x": x, "y": y, "copy": copy})
        return shown(out), seen

    assert_same(body)


GRADIENTS = [
    "(x * y).sum()",
    "(x @ y).sum()",
    "(x.exp() / y).sum()",
    "x.softmax(1).mul(y).sum()",
    "x.t()[0].mul(y[1]).sum()",
    "torch.nn.functional.mse_loss(x, y)",
    "x.clone().mul_(y).exp_().sum()",
    "torch.nn.functional.gelu(x * y).sum()",
]


@pytest.mark.parametrize("text", GRADIENTS)
def test_gradients(text: str) -> None:
    def body(torch: Any) -> Any:
        cls = around(torch, [])
        x = cls(torch.tensor([[1.0, 2.0], [3.0, 4.0]], dtype=torch.float64), True)
        y = cls(torch.tensor([[0.5, 3.0], [0.25, 2.0]], dtype=torch.float64), True)
        loss = eval(text, {"torch": torch, "x": x, "y": y})
        first = torch.autograd.grad(loss, (x, y), create_graph=True)
        second = torch.autograd.grad(sum(each.sum() for each in first), (x, y), allow_unused=True)
        loss = eval(text, {"torch": torch, "x": x, "y": y})
        loss.backward()
        return shown(first), shown(second), shown([x.grad, y.grad])

    assert_same(body)


def test_training() -> None:
    def body(torch: Any) -> Any:
        cls = around(torch, [])
        module = torch.nn.Linear(2, 2)
        with torch.no_grad():
            module.bias.zero_()
        module.weight = torch.nn.Parameter(cls(torch.tensor([[1.0, -1.0], [0.5, 2.0]])))
        losses = []
        for optimizer in (
            torch.optim.SGD(module.parameters(), 0.1, momentum=0.5),
            torch.optim.Adam(module.parameters()),
        ):
            for _ in range(2):
                optimizer.zero_grad()
                loss = module(torch.tensor([[1.0, 2.0], [0.0, 1.0]])).square().mean()
                loss.backward()
                optimizer.step()
                losses.append(loss.inner.item())
        return losses, shown(module.weight)

    assert_same(body)


def test_declining() -> None:
    def body(torch: Any) -> Any:
        class Declining(torch.Tensor):
            __torch_function__ = torch._C._disabled_torch_function_impl

            @classmethod
            def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
                return NotImplemented

        x = torch.Tensor._make_wrapper_subclass(Declining, (2,))
        try:
            return x.sin()
        except TypeError as error:
            return str(error).splitlines()[0].replace("torch._ops.", "")

    assert_same(body)


def test_a_parameter_needs_detach() -> None:
    def body(torch: Any) -> Any:
        class Plain(torch.Tensor):
            __torch_function__ = torch._C._disabled_torch_function_impl

            @classmethod
            def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
                return torch.ones(2)

        try:
            return torch.nn.Parameter(torch.Tensor._make_wrapper_subclass(Plain, (2,)))
        except RuntimeError as error:
            return str(error)

    assert_same(body)


class Stored:
    """Where the classes of both libraries are found by the name that a file has."""


@pytest.mark.parametrize("writer", [torch, gradwright])
def test_files_are_the_others(writer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """What one library writes the other one reads, each with its class of that name."""
    reader = gradwright if writer is torch else torch
    module, made = sys.modules[__name__], []
    for library in (writer, reader):
        kind = around(library, [])
        kind.__module__, kind.__qualname__ = __name__, "Stored"
        monkeypatch.setattr(module, "Stored", kind)
        if library is writer:
            file = io.BytesIO()
            library.save(kind(library.arange(6.0).reshape(2, 3).t(), True), file)
        else:
            file.seek(0)
            made.append(library.load(file, weights_only=False))
        assert kind is module.Stored
    (found,) = made
    assert type(found) is module.Stored
    assert (tuple(found.shape), tuple(found.stride()), found.requires_grad) == ((3, 2), (1, 3), True)
    assert found.inner.tolist() == [[0.0, 3.0], [1.0, 4.0], [2.0, 5.0]]
