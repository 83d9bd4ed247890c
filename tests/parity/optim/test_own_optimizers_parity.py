"""Optimizers of others that do not call `Optimizer.__init__`, and `broadcast_shapes`, against PyTorch."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import gradwright


def test_an_optimizer_without_init() -> None:
    outcomes = []
    for m in (gradwright, torch):
        module: Any = m

        class Own(module.optim.Optimizer):  # type: ignore[name-defined, misc]
            def __init__(self, params: Any, lr: float) -> None:
                self.defaults = {"lr": lr}
                self.state: dict[Any, Any] = {}
                self.param_groups = [{"params": list(params), "lr": lr}]

            def step(self, closure: Any = None) -> None:
                for group in self.param_groups:
                    for p in group["params"]:
                        p.data.add_(p.grad, alpha=-group["lr"])

        w = module.ones(2, requires_grad=True)
        optimizer = Own([w], 0.1)
        (w * w).sum().backward()
        optimizer.step()
        (w * w).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
        outcomes.append((w.tolist(), w.grad, repr(optimizer)))
    assert outcomes[0] == outcomes[1]


@pytest.mark.parametrize(
    "shapes", [(), (2,), (2, (3, 1)), ((3, 1), (1, 4), 4), ((0,), (1,)), ((2, 0), (1, 1)), ((2,), (3,)), ((-1,), (1,))]
)
def test_broadcast_shapes(shapes: Any) -> None:
    outcomes: list[Any] = []
    for m in (gradwright, torch):
        try:
            found = m.broadcast_shapes(*shapes)
            assert type(found) is m.Size
            outcomes.append(tuple(found))
        except Exception as error:
            outcomes.append(type(error).__name__)
    assert outcomes[0] == outcomes[1]
