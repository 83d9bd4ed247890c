"""In-place variants of operators that are other names for one: what is recorded, and what modes see."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.utils._python_dispatch

import gradwright
from gradwright.utils._python_dispatch import TorchDispatchMode

MODES = {gradwright: TorchDispatchMode, torch: torch.utils._python_dispatch.TorchDispatchMode}

CALLS = """
multiply_(2) | multiply_(y) | subtract_(2) | subtract_(y, alpha=2) | divide_(2) | divide_(y) | true_divide_(y)
absolute_() | negative_() | arcsin_() | arccos_() | arctan_() | arcsinh_() | arctanh_() | arctan2_(y) | fix_()
clip_(0.1, 0.3) | clip_(min=y) | square_() | greater_(0.2) | greater_(y) | less_(y) | less_equal_(0.2) | not_equal_(y)
swapaxes_(0, 1) | swapdims_(1, 0) | __ior__(y) | __ixor__(y)
"""
# Without derivatives: comparisons here, and in place there.
UNRECORDED = ("greater", "less", "not_equal", "arcsinh", "arctanh")
LISTED = [call for line in CALLS.strip().splitlines() for call in line.split(" | ")]


def _found(library: Any, call: str) -> dict[str, Any]:
    """What a mode sees, the Node, the values, the gradients, the tangent and the values in a batch."""
    whole = "__i" in call
    values, others = [[0.25, -0.5], [0.125, 0.75]], [[0.5, 0.25], [-0.25, 1.0]]
    x, y = (library.tensor(each, dtype=library.float64) for each in (values, others))
    if whole:
        x, y = (each.mul(8).long() for each in (x, y))
    seen: list[Any] = []

    class Mode(MODES[library]):  # type: ignore[misc,name-defined]
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append((str(func), len(args), sorted(kwargs or {})))
            return func(*args, **(kwargs or {}))

    def run(target: Any, other: Any = y) -> Any:
        return eval(f"target.{call}", {"target": target, "y": other})

    target = x.clone()
    with Mode():
        out = run(target)
    assert out is target
    found = {"seen": seen, "values": target.tolist(), "version": target._version}
    found["batch"] = library.func.vmap(run)(x.clone(), y).tolist() if "swap" not in call else None
    if whole or call.startswith(UNRECORDED):
        return found
    leaves = [each.clone().requires_grad_() for each in (x, y)]
    written = run(leaves[0] * 1, leaves[1])
    found["node"] = written.grad_fn.name().replace("TransposeBackward1", "TransposeBackward0")  # of two names there
    gradients = library.autograd.grad((written * written).sum(), leaves, allow_unused=True)
    found["gradients"] = [None if each is None else each.tolist() for each in gradients]
    _, tangent = library.func.jvp(lambda t: run(t * 1, y), (x,), (library.ones_like(x),))
    found["tangent"] = tangent.tolist()
    return found


@pytest.mark.filterwarnings("ignore:There is a performance drop")  # PyTorch has no batching rule for some
@pytest.mark.parametrize("call", LISTED)
def test_in_place_they_are_the_operator_that_they_name(call: str) -> None:
    assert _rounded(_found(gradwright, call)) == _rounded(_found(torch, call))


def _rounded(value: Any) -> Any:
    """Numbers without the digits in which the libraries' functions may differ."""
    if isinstance(value, dict):
        return {name: _rounded(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_rounded(each) for each in value]
    return float(f"{value:.12g}") if isinstance(value, float) else value
