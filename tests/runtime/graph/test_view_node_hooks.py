"""Hooks on the Node of a view, and writes to its base that nothing records."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import gradwright
from gradwright import Tensor


def _by_no_grad(base: Tensor) -> None:
    with gradwright.no_grad():
        base.mul_(3)


@pytest.mark.parametrize("write", [_by_no_grad, lambda base: base.detach().mul_(3)], ids=["no_grad", "detach"])
def test_a_write_leaves_the_hooks_of_a_view_behind(write: Callable[[Tensor], None]) -> None:
    a = gradwright.tensor([1.0, 2.0, 3.0], requires_grad=True)
    base = a * 2
    view = base[:2]
    calls: list[str] = []
    before = view.grad_fn
    assert before is not None
    before.register_hook(lambda inputs, outputs: calls.append("hook before"))
    before.register_prehook(lambda outputs: calls.append("prehook before"))
    earlier = view * 1
    write(base)
    after = view.grad_fn
    assert after is not None
    assert after is not before
    assert after.name() == "AsStridedBackward0"
    after.register_prehook(lambda outputs: calls.append("prehook after"))
    (view * 5).sum().backward(retain_graph=True)
    assert calls == ["prehook after"]
    assert a.grad is not None
    assert a.grad.tolist() == [10.0, 10.0, 0.0]
    earlier.sum().backward()  # what was computed before the write goes the old way
    assert calls == ["prehook after", "prehook before", "hook before"]


def test_a_node_without_hooks_stays() -> None:
    base = gradwright.tensor([1.0, 2.0, 3.0], requires_grad=True) * 2
    view = base[:2]
    edge = view._edge
    _by_no_grad(base)
    assert view._edge is edge
