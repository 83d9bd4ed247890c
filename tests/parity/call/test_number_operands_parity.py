"""Calls with a number beside a Tensor: the overload that modes and classes see, and the edges of Nodes."""

from __future__ import annotations

import pickle
import re
from typing import Any

import pytest
import torch
import torch.utils._python_dispatch

import gradwright
from gradwright.utils._python_dispatch import TorchDispatchMode

MODES = {gradwright: TorchDispatchMode, torch: torch.utils._python_dispatch.TorchDispatchMode}

CALLS = """
x + 1 | x + 1.5 | 1 + x | x + True | x - 1 | 1 - x | x * 2 | 2 * x | x / 2 | 2.5 / x | -1 / x | x.add(1) | add(x, 1)
add(x, 1, alpha=2) | sub(x, 1, alpha=3) | mul(x, 2) | div(x, 2) | x.sub(1) | x.mul(2.5) | x.div(2) | rsub(x, 1)
subtract(x, 1) | multiply(x, 2) | divide(x, 2) | true_divide(x, 2) | x.clone().add_(1) | x.clone().sub_(1, alpha=2)
x.clone().mul_(2) | x.clone().div_(2) | x ** 2 | x.remainder(2) | x.fmod(2) | x.clamp(0) | xlogy(x, 2.0)
ops.aten.add.Tensor(x, 1) | ops.aten.sub.Tensor(x, 1, alpha=2) | ops.aten.mul.Tensor(x, 2) | ops.aten.div.Tensor(x, 2)
ops.aten.mul.Tensor(x, True) | ops.aten.add_.Tensor(x.clone(), 1) | ops.aten.mul_.Tensor(x.clone(), 2)
add(2, x) | mul(2.5, x) | sub(2, x) | div(2, x) | true_divide(2, x) | subtract(2, x) | multiply(2, x) | divide(2, x)
add(2, x, alpha=3) | add(True, x)
ops.aten.add(x, 1) | ops.aten.mul(x, 2) | ops.aten.add.Tensor(x, other=1) | ops.aten.rsub.Scalar(x, 2)
"""
EXACT = """
ops.aten.add.Scalar(x, 1) | ops.aten.sub.Scalar(x, 1) | ops.aten.mul.Scalar(x, 2) | ops.aten.div.Scalar(x, 2)
ops.aten.add_.Scalar(x.clone(), 1) | x > 1 | x == 1 | x // 2 | x.floor_divide(2)
2 // x | floor_divide(2, x) | 2 % x | remainder(2, x) | 2 ** x | pow(2, x) | xlogy(2, x)
add(2, x.detach(), out=x.detach().clone())
"""
REFUSED = """
fmod(2, x) | eq(2, x) | ne(2, x) | lt(2, x) | le(2, x) | gt(2, x) | ge(2, x) | greater(2, x) | not_equal(2, x)
rsub(2, x) | copysign(2, x) | maximum(2, x) | minimum(2, x) | fmax(2, x) | hypot(2, x) | atan2(2, x) | logaddexp(2, x)
nextafter(2, x) | heaviside(2, x) | logical_and(2, x) | gcd(2, x) | ldexp(2, x) | fmod(2, 2) | eq(2, 2) | maximum(2, 2)
"""


def _listed(text: str) -> list[str]:
    return [call for line in text.strip().splitlines() for call in line.split(" | ")]


def _run(library: Any, call: str, x: Any) -> Any:
    return eval(call, {**vars(library), "x": x, "ops": library.ops})


def _seen(library: Any, call: str) -> tuple[list[Any], list[float]]:
    """What a dispatch mode sees, and the result."""
    seen: list[Any] = []

    class Mode(MODES[library]):  # type: ignore[misc,name-defined]
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            if str(func) != "aten.detach.default":  # PyTorch packs what it saves
                seen.append((str(func), [type(value).__name__ for value in args], sorted(kwargs or {})))
            return func(*args, **(kwargs or {}))

    x = library.tensor([1.0, 2.0], requires_grad=True)
    with Mode(), Mode():
        out = _run(library, call, x)
    return seen, out.tolist()


def _node(library: Any, call: str) -> Any:
    x = library.tensor([1.0, 2.0], requires_grad=True)
    out = _run(library, call, x)
    node = out.grad_fn
    counts: list[Any] = []
    node.register_hook(lambda inputs, outputs: counts.append([each is None for each in inputs]))
    out.sum().backward(retain_graph=True)
    called = node(library.ones(2))
    called = [each is None for each in (called if isinstance(called, tuple) else [called])]
    following = [(each and each.name().rpartition(":")[2], number) for each, number in node.next_functions]
    return node.name(), following, counts[0], called, x.grad.tolist()


def test_what_modes_see() -> None:
    calls = [*_listed(CALLS), *_listed(EXACT)]
    found = {call: (_seen(gradwright, call), _seen(torch, call)) for call in calls}
    assert len(found) > 50
    assert {call: both for call, both in found.items() if both[0] != both[1]} == {}


def test_a_number_comes_first_where_an_operator_has_an_overload_for_it() -> None:
    for library in (gradwright, torch):
        x = library.tensor([1.0, 2.0])
        for call in _listed(REFUSED):
            with pytest.raises(TypeError):
                _run(library, call, x)


NAMES = """
x.exp_() | x.zero_() | x.copy_(x.clone()) | x.t_() | x.tril_() | x.add_(2) | x.mul_(x) | x.transpose_(0, 1) | x.relu_()
x.normal_() | x.absolute_() | x.clone() | x.sigmoid() | x.t() | x.fill_(1.0) | x.squeeze_(0) | x.trunc_()
"""


@pytest.mark.parametrize("call", _listed(NAMES))
def test_methods_in_place_have_their_names(call: str) -> None:
    outcomes = []
    for library in (gradwright, torch):
        seen: list[str] = []

        class Named(library.Tensor):  # type: ignore[misc,name-defined]
            @classmethod
            def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
                seen.append(func.__name__)  # noqa: B023
                return super().__torch_function__(func, types, args, kwargs or {})

        eval(call, {"x": library.ones(2, 2).as_subclass(Named)})
        outcomes.append(seen)
        function = getattr(library.Tensor, call.split(".")[1].partition("(")[0])
        assert function.__name__ == seen[-1]
        assert pickle.loads(pickle.dumps(function)) is function
    assert outcomes[0] == outcomes[1]


def test_nodes() -> None:
    found = {call: (_node(gradwright, call), _node(torch, call)) for call in _listed(CALLS)}
    assert len(found) > 40
    assert {call: both for call, both in found.items() if both[0] != both[1]} == {}


def test_classes_see_the_same() -> None:
    outcomes = []
    for library in (gradwright, torch):
        seen: list[str] = []

        class Around(library.Tensor):  # type: ignore[misc,name-defined]
            inner: Any

            @classmethod
            def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
                seen.append(str(func))  # noqa: B023
                plain = [each.inner if isinstance(each, cls) else each for each in args]
                return around(func(*plain, **(kwargs or {})))

        def around(inner: Any, kind: Any = Around, library: Any = library) -> Any:
            made = library.Tensor._make_wrapper_subclass(kind, inner.shape, dtype=inner.dtype)
            made.inner = inner
            return made

        x = around(library.ones(2))
        for call in ("x + 1", "2 * x", "x / 2", "1 - x", "2 / x", "ops.aten.mul.Scalar(x, 2)", "x * 2"):
            _run(library, call, x)
        outcomes.append([name for name in seen if re.search("add|mul|div|sub|reciprocal", name)])
    assert len(outcomes[0]) == 8
    assert outcomes[0] == outcomes[1]


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16", "int64", "bool", "complex64"])
@pytest.mark.parametrize("number", ["2", "2.5", "True", "3j"])
def test_quotients_are_rounded_alike(dtype: str, number: str) -> None:
    values = [1.0, 2.0, 3.0, 7.0, 11.0, 13.0, 49.0, 0.0]
    found = []
    for library in (gradwright, torch):
        out = eval(number) / library.tensor(values).to(getattr(library, dtype))
        found.append((str(out.dtype).partition(".")[2], str(out.tolist())))
    assert found[0] == found[1]
