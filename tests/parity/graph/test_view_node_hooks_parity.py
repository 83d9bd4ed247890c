"""Hooks on the Node of a view whose memory is written without a record: the view gets another Node, as in PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

import gradwright

VIEWS: dict[str, Callable[[Any], Any]] = {
    "slice": lambda base: base[:2],
    "select": lambda base: base[1],
    "view": lambda base: base.view(2, 2),
    "view of a view": lambda base: base.view(2, 2).t(),
    "as_strided": lambda base: base.as_strided((2,), (2,)),
}


def _write(library: Any, how: str, base: Any, view: Any) -> None:
    written = base if how.startswith("base") else view
    if how.endswith("detached"):
        written.detach().mul_(3)
    elif how.endswith("data"):
        written.data.mul_(3)
    elif how.endswith("recorded"):
        written.mul_(3)
    else:
        with library.no_grad():
            if how == "base, a part":
                base[1:].fill_(7)
            else:
                written.mul_(3)


def _outcome(library: Any, view_of: Callable[[Any], Any], how: str, leaf: bool) -> Any:
    log: list[Any] = []

    def listen(node: Any, name: str) -> None:
        def shown(grads: Any) -> list[Any]:
            return [None if grad is None else grad.tolist() for grad in grads]

        node.register_hook(lambda inputs, outputs: log.append((name, shown(inputs), shown(outputs))))
        node.register_prehook(lambda outputs: log.append((name, shown(outputs))))

    a = library.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
    base = a if leaf else a * 2
    view = view_of(base)
    before = view.grad_fn
    listen(before, "before")
    before.metadata["noted"] = True
    _write(library, how, base, view)
    after = view.grad_fn
    listen(after, "after")
    (view * 2).sum().backward()
    return log, before is after, after.name(), after.metadata, view.grad_fn is after, view.tolist(), a.grad.tolist()


WRITES = (
    "base, no_grad", "base, a part", "base, detached", "base, data", "base, recorded",
    "view, no_grad", "view, detached", "view, data", "view, recorded",
)  # fmt: skip


@pytest.mark.parametrize("name", VIEWS)
def test_hooks(name: str) -> None:
    cases = [(how, leaf) for how in WRITES for leaf in (False, True) if not (leaf and how.endswith("recorded"))]
    found = {case: (_outcome(gradwright, VIEWS[name], *case), _outcome(torch, VIEWS[name], *case)) for case in cases}
    assert len(found) == 16
    assert {case: both for case, both in found.items() if both[0] != both[1]} == {}
