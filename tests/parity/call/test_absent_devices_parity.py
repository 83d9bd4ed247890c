"""Devices that are not there: what raises, and of which class, as in PyTorch for a CPU alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

import gradwright
from runtime.base.types import KINDS

USES: dict[str, Callable[[Any, Any], object]] = {
    "zeros": lambda m, at: m.zeros(3, device=at),
    "rand": lambda m, at: m.rand(3, device=at),
    "arange": lambda m, at: m.arange(3, device=at),
    "tril_indices": lambda m, at: m.tril_indices(2, 2, device=at),
    "zeros_like": lambda m, at: m.zeros_like(m.ones(1), device=at),
    "new_empty": lambda m, at: m.ones(1).new_empty((2,), device=at),
    "Linear": lambda m, at: m.nn.Linear(1, 1, device=at),
    "tensor": lambda m, at: m.tensor([1.0], device=at),
    "as_tensor": lambda m, at: m.as_tensor(m.ones(1), device=at),
    "asarray": lambda m, at: m.asarray([1.0], device=at),
    "new_tensor": lambda m, at: m.ones(1).new_tensor([1.0], device=at),
    "to": lambda m, at: m.ones(1).to(at),
    "to, named": lambda m, at: m.ones(1).to(device=at, dtype=m.float64),
    "Module.to": lambda m, at: m.nn.Linear(1, 1).to(at),
}


def _error(use: Callable[[Any, Any], object], library: Any, place: Any) -> str:
    try:
        use(library, place)
    except Exception as error:
        return type(error).__name__
    return "none"


@pytest.mark.parametrize("use", USES)
def test_errors(use: str) -> None:
    places = [kind for kind in KINDS if kind in str(_message())] + ["cpu", "meta", 0, -1, "", "nowhere", "cuda:0"]
    found = {place: (_error(USES[use], gradwright, place), _error(USES[use], torch, place)) for place in places}
    assert len(found) > 20
    assert {place: pair for place, pair in found.items() if pair[0] != pair[1]} == {}


def _message() -> Exception:
    """PyTorch's list of its kinds of devices; packages may have brought others here."""
    with pytest.raises(RuntimeError) as raised:
        torch.device("nowhere")
    return raised.value


@pytest.mark.parametrize("name", ["cuda", "xpu", "ipu", "mtia"])
def test_methods(name: str) -> None:
    found = []
    for library in (gradwright, torch):
        owners = (library.ones(1), library.nn.Linear(1, 1), library.nn.ReLU())
        calls = [(owner, args) for owner in owners for args in ((), (0,), (-1,), ("cpu",), (1.5,))]
        found.append([_error(lambda m, at: getattr(at[0], name)(*at[1]), library, call) for call in calls])
    assert len(found[0]) == 15
    assert found[0] == found[1]
