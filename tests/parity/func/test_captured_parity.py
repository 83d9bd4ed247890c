"""Functions under transforms that write Tensors from outside: they are refused before the write, as in PyTorch."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import pytest
import torch

import gradwright

# What a function does to a Tensor `c` from outside; `x` is its argument.
STATEMENTS = """
c.add_(1) | c.add_(x) | c.mul_(2) | c.copy_(x) | c.zero_() | c.fill_(2.0) | c.exp_() | c.clamp_(0, 1) | c.uniform_()
c.masked_fill_(c > 1, 0.0) | c.index_put_((tensor([0]),), tensor([5.0])) | c.scatter_(0, tensor([0]), 3.0)
c.view(-1).add_(1) | c.view(-1).add_(x) | c[0].add_(1) | c.detach().add_(1) | c.detach().add_(x) | c.data.add_(1)
c.data.add_(x) | c.__setitem__(0, 5.0) | c.__setitem__(0, x.sum()) | c.__iadd__(1) | relu_(c)
nn.functional.relu(c, inplace=True) | c.t_() | c.unsqueeze_(0) | c.squeeze_() | c.detach_() | c.resize_(2)
c.resize_(3) | c.resize_as_(zeros(2)) | c.requires_grad_() | c.requires_grad_(False) | setattr(c, "requires_grad", True)
exp(c, out=c) | add(c, 1, out=c) | zeros(3).add_(1) | zeros(3).add_(x) | zeros(3).data.add_(1) | x.exp().mul_(2)
"""
TRANSFORMS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "grad": lambda func, f, x: func.grad(f)(x),
    "vjp": lambda func, f, x: func.vjp(f, x),
    "jvp": lambda func, f, x: func.jvp(f, (x,), (x.clone(),)),
    "jacrev": lambda func, f, x: func.jacrev(f)(x),
    "grad of grad": lambda func, f, x: func.grad(lambda x: func.grad(f)(x).sum())(x),
}


def _outcome(library: Any, transform: Callable[[Any, Any, Any], Any], statement: str) -> Any:
    c, x = library.tensor([1.0, 2.0, 3.0]), library.tensor([4.0, 5.0, 6.0])
    passed = []

    def f(x: Any) -> Any:
        eval(statement, {**vars(library), "setattr": setattr, "c": c, "x": x})
        passed.append(c is not None)
        return (x * x).sum()

    try:
        transform(library.func, f, x)
        error = ""
    except RuntimeError as raised:
        error = str(raised)
    with library.no_grad():
        values = c.tolist()
        c.add_(1)  # it may be written again
    return error, passed, [round(value, 4) for value in values], c.requires_grad


@pytest.mark.parametrize("name", TRANSFORMS)
def test_writes(name: str) -> None:
    statements = [each for line in STATEMENTS.strip().splitlines() for each in line.split(" | ")]
    found = {
        statement: [_outcome(library, TRANSFORMS[name], statement) for library in (gradwright, torch)]
        for statement in statements
    }
    assert sum(bool(both[1][0]) for both in found.values()) > 25
    assert {statement: both for statement, both in found.items() if both[0] != both[1]} == {}


class _Holder:
    def __init__(self, value: Any) -> None:
        self.value = value

    def write(self, x: Any) -> None:
        self.value.add_(x)


_KEPT: dict[str, Any] = {}


def _write_kept(x: Any) -> None:
    _KEPT["c"].add_(x)


# What a function may reach a Tensor `c` by, and write `x` to it.
WAYS: dict[str, Callable[[Any], Callable[[Any], Any]]] = {
    "dict in a closure": lambda c: (lambda held: lambda x: held["c"].add_(x))({"c": c}),
    "list in a closure": lambda c: (lambda held: lambda x: held[0][0].add_(x))([[c]]),
    "object": lambda c: (lambda holder: lambda x: holder.write(x))(_Holder(c)),
    "method": lambda c: _Holder(c).write,
    "partial": lambda c: functools.partial(lambda c, x: c.add_(x), c),
    "function of a function": lambda c: (lambda inner: lambda x: inner(x))(lambda x: c.add_(x)),
    "name of the module": lambda c: lambda x: _write_kept(x),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", ["grad", "jvp"])
def test_writes_to_what_is_reached_otherwise(name: str, way: str) -> None:
    for library in (gradwright, torch):
        c, x = library.tensor([1.0, 2.0, 3.0]), library.tensor([4.0, 5.0, 6.0])
        _KEPT["c"] = c
        write = WAYS[way](c)
        with pytest.raises(
            RuntimeError, match=r"in-place operation \(aten::add_\.Tensor\) that would mutate a captured"
        ):
            TRANSFORMS[name](library.func, functools.partial(_write_and_sum, write), x)
        assert c.tolist() == [1, 2, 3]
        assert c.grad_fn is None
        assert not c.requires_grad
        c.add_(1)  # it may be written again


def _write_and_sum(write: Callable[[Any], Any], x: Any) -> Any:
    write(x)
    return (x * x).sum()


def test_where_pytorch_writes_and_loses_a_gradient() -> None:
    """Lists of Tensors are not looked at there, and neither is memory that the argument and `out` share."""
    c, x = torch.zeros(2), torch.ones(2)
    assert torch.func.grad(lambda x: (torch._foreach_add_([c], [2 * x]), (c * x).sum())[1])(x).tolist() == [2, 2]  # 4 x
    c = torch.ones(2, 2)
    torch.func.grad(lambda x: (torch.sum(c, 0, out=c[0]), x.sum())[1])(x)
    assert c.tolist() == [[1, 1], [1, 1]]  # the first row is written while it is read: it should be 2
    c, x = gradwright.zeros(2), gradwright.ones(2)
    with pytest.raises(RuntimeError, match="would mutate a captured Tensor"):
        gradwright.func.grad(lambda x: (gradwright._foreach_add_([c], [2 * x]), (c * x).sum())[1])(x)
    c = gradwright.ones(2, 2)
    for run in (lambda f, x: f(x), lambda f, x: gradwright.func.grad(f)(x)):
        with pytest.raises(RuntimeError, match="single memory location"):
            run(lambda x: (gradwright.sum(c, 0, out=c[0]), x.sum())[1], x)
    assert c.tolist() == [[1, 1], [1, 1]]
