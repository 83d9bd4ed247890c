"""`__torch_function__`, autocast, and queries of devices that are not there, against PyTorch."""

from __future__ import annotations

import contextlib
import inspect
import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch

import gradwright
from support.both import assert_same, assert_same_results


def logged(library: Any, calls: list[Any]) -> Any:
    """A Tensor of a class that notes names and types of calls."""

    class Logged(library.Tensor):  # type: ignore[misc]
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            calls.append((func.__name__, [kind.__name__ for kind in types]))
            return super().__torch_function__(func, types, args, kwargs or {})

    return library.tensor([[1.0, 2.0], [3.0, 4.0]]).as_subclass(Logged)


CALLS = """
x + y
y + x
2 * x
x / y
x % y
x @ y
y @ x
x ** 2
-x
+x
abs(x)
x > y
x != y
x[0]
len(x)
bool(x[0, 0] > 0)
x.sum()
x.mean(0)
x.add(y)
x.add_(1)
x.t()
x.exp()
x.view(4)
x.reshape(1, 4)
x.max(0)
x.split(1)
x.shape
x.dtype.itemsize
x.requires_grad
x.clone().detach()
x.tolist()
torch.add(y, x, alpha=2)
torch.stack([y, x])
torch.cat([x, y], dim=1)
torch.where(x > 2, x, y)
torch.matmul(y, x)
torch.sum(x, 0)
torch.add(y, y, out=x)
torch.relu(x)
torch.linalg.inv(x)
torch.zeros_like(x)
torch.split(x, 1)
torch.overrides.has_torch_function((x,))
torch.overrides.has_torch_function((y,))
"""


@pytest.mark.parametrize("text", CALLS.strip().splitlines())
def test_calls_of_a_class(text: str) -> None:
    def body(library: Any) -> Any:
        calls: list[Any] = []
        out = eval(text, {"torch": library, "x": logged(library, calls), "y": library.ones(2, 2)})
        kinds = [type(each).__name__ for each in (out if isinstance(out, tuple) else (out,))]
        seen = list(calls)
        with library.DisableTorchFunctionSubclass():
            return seen, kinds if isinstance(out, library.Tensor | tuple) else out

    assert_same(body)


@pytest.mark.parametrize("text", ["x + x", "torch.mul(x, x)", "x.sum()", "torch.ones(2)", "torch.cat([x, x])"])
def test_calls_in_a_mode(text: str) -> None:
    def body(library: Any) -> Any:
        calls: list[Any] = []

        class Mode(library.overrides.TorchFunctionMode):  # type: ignore[misc]
            def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
                calls.append((func.__name__, list(types), len(args)))
                return func(*args, **(kwargs or {}))

        x = library.ones(2)
        with Mode(), Mode():
            out = eval(text, {"torch": library, "x": x})
        return out, calls

    assert_same(body)


AUTOCAST: list[Callable[[Any, Any], Any]] = [
    lambda t, x: x @ x,
    lambda t, x: x + x,
    lambda t, x: t.nn.functional.linear(x, x),
    lambda t, x: t.nn.functional.softmax(x @ x, -1),
    lambda t, x: t.nn.functional.mse_loss(x @ x, x),
    lambda t, x: t.nn.functional.cross_entropy(x @ x, t.tensor([0, 1])),
    lambda t, x: t.nn.functional.l1_loss(x @ x, x @ x),
    lambda t, x: t.nn.functional.layer_norm(x @ x, (2,)),
    lambda t, x: t.nn.functional.conv1d(x[None], x[None]),
    lambda t, x: t.nn.functional.scaled_dot_product_attention(x[None], x[None], x[None]),
    lambda t, x: t.cat([x, x @ x]),
    lambda t, x: t.stack([x @ x, x @ x]),
    lambda t, x: t.addmm(x, x, x),
    lambda t, x: t.baddbmm(x[None], x[None], x[None]),
    lambda t, x: t.einsum("ij,jk->ik", x, x),
    lambda t, x: t.mv(x, x[0]),
    lambda t, x: (x @ x).prod(),
    lambda t, x: t.linalg.inv(x @ x + t.eye(2)),
    lambda t, x: t.linalg.norm(x @ x),
    lambda t, x: t.trace(x @ x),
    lambda t, x: t.kron(x, x),
    lambda t, x: x.double() @ x.double(),
]


@pytest.mark.parametrize("call", AUTOCAST)
@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_autocast(call: Callable[[Any, Any], Any], dtype: str) -> None:
    def body(library: Any) -> Any:
        with library.autocast("cpu", dtype=getattr(library, dtype)):
            return str(call(library, library.ones(2, 2)).dtype).rpartition(".")[2]

    assert_same(body)


MODULES = ("cuda", "xpu", "mps", "mtia", "accelerator", "cpu", "distributed")


@pytest.mark.parametrize("name", MODULES)
def test_queries_answer_as_without_a_device(name: str) -> None:
    """Each function that PyTorch answers without arguments answers the same, or raises the same class of error."""
    theirs, ours = getattr(torch, name), getattr(gradwright, name)
    for query in dir(ours):
        function = getattr(theirs, query, None)
        if query.startswith("_") or not inspect.isfunction(function) or not _needs_nothing(function):
            continue
        expected, actual = _answer(function), _answer(getattr(ours, query))
        assert actual == expected or query in _DIFFERENT, (query, actual, expected)


# PyTorch has a package that could do it, has code for memory it never meets, or makes an object; here there is nothing.
_DIFFERENT = frozenset(
    ("is_available", "is_gloo_available", "current_stream", "destroy_process_group", "init_process_group", "new_group")
)


def _needs_nothing(function: Any) -> bool:
    return all(
        parameter.default is not parameter.empty or parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
        for parameter in inspect.signature(function).parameters.values()
    )


def _answer(function: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return function()
        except (AttributeError, KeyError, ImportError):
            return AssertionError  # what PyTorch without a device raises by accident
        except Exception as error:
            return type(error)


NAMES = """
torch.broadcast_shapes((2, 1), 3, (1, 3))
torch.broadcast_shapes((2,), (3,))
torch.broadcast_shapes((-1,))
torch.broadcast_shapes()
torch.unravel_index(torch.tensor([5, 3]), (2, 3))
torch.unravel_index(torch.tensor([1.0]), (2, 3))
torch.unravel_index(torch.tensor([1]), (-2, 3))
torch.LongTensor([1.5, 2])
torch.LongTensor(torch.ones(2))
torch.FloatTensor(2, 3).shape
torch.FloatTensor(torch.Size([2])).shape
torch.FloatTensor(5.0)
torch.DoubleTensor([[1, 2]])
torch.ones(1).new([1, 2])
torch.ones(1).new(2, 3).shape
torch.ones(2).type(torch.LongTensor)
isinstance(torch.ones(1), torch.FloatTensor)
isinstance(torch.ones(1), torch.LongTensor)
torch.sym_max(1, 2.0)
torch.sym_int(-2.5)
torch.sym_sum([1, 2])
torch.sym_ite(True, 1, 2)
torch.typename(1)
torch.is_signed(torch.ones(1))
torch.get_device(torch.ones(1))
torch.ones(1, 2, 3, 4).to(memory_format=torch.channels_last).dim_order()
torch.ones(2).is_set_to(torch.ones(2))
torch.ones(3).apply_(lambda a: a + 1)
torch.ones(3).map_(torch.ones(3), lambda a, b: a + b)
torch.ones(2, requires_grad=True).apply_(lambda a: a)
torch.ones(1).cuda()
torch.ones(1).pin_memory()
torch.ones(1).is_pinned()
torch.set_deterministic_debug_mode('x')
torch.set_deterministic_debug_mode(5)
torch.set_default_tensor_type(torch.LongTensor)
torch.get_float32_matmul_precision()
torch.autograd.Variable(torch.ones(2), requires_grad=True)
torch.autograd.Variable(1.5)
torch.GradScaler('cpu').state_dict()
torch.autocast('foo')
torch.amp.is_autocast_available('cpu')
torch.get_autocast_dtype('cpu') == torch.bfloat16
torch.cuda.amp.GradScaler().is_enabled()
"""


@pytest.mark.parametrize("text", NAMES.strip().splitlines())
def test_names(text: str) -> None:
    assert_same(lambda library: eval(text, {"torch": library}))


def test_versions_compare_as_pytorchs() -> None:
    from gradwright.torch_version import TorchVersion

    theirs = torch.torch_version.TorchVersion("2.13.0+cpu")
    ours = TorchVersion("2.13.0+cpu")
    for other in ("1.9", "2.13", "2.13.0", "2.9.1", "3", (2, 0), (2, 13), (2, 13, 1), "2.13.0+cpu"):
        for compare in ("__lt__", "__le__", "__gt__", "__ge__"):
            if other in ("2.13", "2.13.0", (2, 13)):
                continue  # PyTorch's counts the name of the build as later than the release
            assert getattr(ours, compare)(other) == getattr(theirs, compare)(other), (other, compare)


class _Counting:
    """Modes of a library that count calls, under names."""

    def __init__(self, library: Any) -> None:
        class Mode(library.overrides.TorchFunctionMode):  # type: ignore[misc]
            calls = 0

            def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
                self.calls += 1
                return func(*args, **kwargs or {})

        self.first, self.second = Mode(), Mode()


@pytest.mark.parametrize("order", ["aa", "aba", "aab", "abab"])
def test_a_mode_lies_in_itself(order: str) -> None:
    def body(library: Any) -> Any:
        modes = _Counting(library)
        found = []
        with contextlib.ExitStack() as blocks:
            for name in order:
                blocks.enter_context(modes.first if name == "a" else modes.second)
                library.add(library.ones(2), 1)
                found.append((modes.first.calls, modes.second.calls))
        library.add(library.ones(2), 1)
        return *found, modes.first.calls, modes.second.calls

    assert_same_results(body)


def test_a_mode_that_enters_itself_while_it_handles_a_call() -> None:
    def body(library: Any) -> Any:
        calls = []

        class Mode(library.overrides.TorchFunctionMode):  # type: ignore[misc]
            def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
                calls.append(len(calls))
                with self if len(calls) < 4 else contextlib.nullcontext():
                    return func(*args, **kwargs or {})

        with Mode():
            return library.sin(library.ones(2)), len(calls)

    assert_same_results(body)


@pytest.mark.parametrize("what", ["operator", "factory", "with a class", "in another mode"])
def test_a_mode_declines(what: str) -> None:
    def body(library: Any) -> Any:
        class Declining(library.overrides.TorchFunctionMode):  # type: ignore[misc]
            def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
                return NotImplemented

        class Taking(library.Tensor):  # type: ignore[misc]
            @classmethod
            def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
                return "taken"

        x = library.ones(2)
        mine = x.as_subclass(Taking)
        outer = _Counting(library).first if what == "in another mode" else contextlib.nullcontext()
        with outer, Declining():
            if what == "factory":
                return library.zeros(2)
            return library.add(mine if what == "with a class" else x, 1)

    assert_same(body)
