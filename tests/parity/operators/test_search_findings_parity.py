"""Calls that a search beside the samples of operators has found to differ from PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import gradwright

X = np.arange(60.0).reshape(3, 4, 5)


def outcome(module: Any, call: Callable[[Any, Any], Any]) -> tuple[str, Any]:
    """The numbers that a call gives, or the error with its first line."""
    try:
        return "gives", call(module, lambda array: module.tensor(array.tolist())).tolist()
    except (RuntimeError, IndexError) as error:
        return type(error).__name__, str(error).split("\n")[0]


@pytest.mark.parametrize(
    "call",
    [
        lambda m, t: t(X[0]).index_copy(0, m.tensor([1]), t(np.array(1.0))),
        lambda m, t: t(X[0]).index_copy(0, m.tensor([1]), t(X[0, 0])),
        lambda m, t: t(X).index_copy(1, m.tensor([1]), t(X[:, :1, :4])),
        lambda m, t: t(X[0, 0]).index_copy(0, m.tensor([1]), t(np.array(1.0))),
        lambda m, t: t(X[0, 0, :1]).index_copy(0, m.tensor([0]), t(np.array(1.0))),
        lambda m, t: t(np.array(2.0)).index_copy(0, m.tensor([0]), t(np.array([1.0]))),
        lambda m, t: m._trilinear(t(X[0]), t(X[0]), t(X[0]), [], [], [], [-2]),
        lambda m, t: m._trilinear(t(X[0]), t(X[0]), t(X[0]), [], [], [], [-1, 0]),
    ],
)
def test_a_call_is_taken_as_there(call: Callable[[Any, Any], Any]) -> None:
    assert outcome(gradwright, call) == outcome(torch, call)


@pytest.mark.parametrize(("name", "size"), [("adaptive_max_pool2d", [5]), ("adaptive_max_pool3d", [2, 3])])
def test_a_size_for_each_dimension(name: str, size: list[int]) -> None:
    with pytest.raises(RuntimeError) as there:
        getattr(torch.ops.aten, name)(torch.zeros(1, 4, 5, 6), size)
    with pytest.raises(RuntimeError) as here:
        getattr(gradwright.ops.aten, name)(gradwright.zeros(1, 4, 5, 6), size)
    assert str(here.value).split("\n")[0] == str(there.value)
