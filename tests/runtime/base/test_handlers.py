"""Handlers around operator calls, and callbacks that see recorded Nodes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import gradwright
from runtime.base import modes
from runtime.call.dispatch import Operator
from runtime.graph.node import Node


def test_handlers_see_calls_of_every_variant_from_the_newest_to_the_oldest() -> None:
    seen: list[str] = []

    def handler(label: str) -> modes.Handler:
        def handle(
            operator: Operator, variant: modes.Variant, values: list[Any], proceed: Callable[[list[Any]], Any]
        ) -> Any:
            seen.append(f"{label} {variant} {operator.name}")
            return proceed(values)

        return handle

    x = gradwright.tensor([1.0, 2.0])
    with modes.handle_calls(handler("old")), modes.handle_calls(handler("new")):
        y = gradwright.exp(x)
        y.add_(1)
        gradwright.exp(x, out=y)
    assert y.tolist() == pytest.approx(gradwright.exp(x).tolist())  # in Python and in the core: NumPy's and our own
    assert seen[:2] == ["new call exp", "old call exp"]
    assert "new inplace add.Scalar" in seen or "new inplace add.Tensor" in seen
    assert seen.count("new out exp") == 1
    before = len(seen)
    gradwright.exp(x)
    assert len(seen) == before


def test_a_handler_may_change_arguments_and_results() -> None:
    def double(
        operator: Operator, variant: modes.Variant, values: list[Any], proceed: Callable[[list[Any]], Any]
    ) -> Any:
        return proceed([values[0] * 2]) if operator.name == "exp" else proceed(values)

    x = gradwright.tensor([1.0])
    with modes.handle_calls(double):
        changed = gradwright.exp(x)
    assert changed.tolist() == pytest.approx(gradwright.exp(gradwright.tensor([2.0])).tolist())


def test_callbacks_see_recorded_nodes() -> None:
    nodes: list[Node] = []
    x = gradwright.tensor([1.0, 2.0], requires_grad=True)
    with modes.handle_recorded(nodes.append):
        y = x.exp().unbind()[0]
        z = (x * 2).sin_()
        with gradwright.no_grad():
            x.exp()
    assert [node.name() for node in nodes] == ["ExpBackward0", "UnbindBackward0", "MulBackward0", "SinBackward0"]
    assert y.grad_fn is nodes[1]
    assert z.grad_fn is nodes[3]
