"""Deep copies: Tensors that share memory have copies that do, laid out as they are."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradwright
from support.both import assert_same

SHARING: dict[str, Callable[[Any], list[Any]]] = {
    "a slice": lambda t: (lambda v: [v, v[1:3]])(t.arange(6.0)),
    "the slice first": lambda t: (lambda v: [v[1:3], v])(t.arange(6.0)),
    "two views": lambda t: (lambda v: [v[:4], v[2:]])(t.arange(6.0)),
    "twice the same": lambda t: [t.arange(6.0)] * 2,
    "detached": lambda t: (lambda v: [v, v.detach()])(t.arange(6.0).requires_grad_()),
    "transposed": lambda t: (lambda v: [v.view(2, 3), v.view(2, 3).t(), v])(t.arange(6.0)),
    "expanded": lambda t: (lambda v: [v, v[:1].expand(3)])(t.arange(6.0)),
    "real parts": lambda t: (lambda v: [v, t.view_as_real(v)])(t.complex(t.arange(3.0), t.ones(3))),
    "data of a Parameter": lambda t: (lambda p: [p, p.data])(t.nn.Parameter(t.arange(6.0))),
    "empty": lambda t: (lambda v: [v, v[:0], v.view(0, 3)])(t.zeros(0)),
    "strangers": lambda t: [t.arange(6.0), t.arange(6.0)],
}


@pytest.mark.parametrize("name", SHARING)
def test_deep_copies_share_memory_as_the_originals_do(name: str) -> None:
    def body(torch: Any) -> Any:
        tensors = SHARING[name](torch)
        copies = copy.deepcopy(tensors)
        shown = [(type(c).__name__, c.stride(), c.storage_offset(), c.requires_grad, c.is_leaf) for c in copies]
        before = [c.detach().clone() for c in copies]
        changed = []
        for one in copies:
            if one.numel():
                one.detach()[(0,) * one.dim()].add_(100)
            changed.append([c.tolist() for c in copies])
        return shown, before, changed, [tensor.tolist() for tensor in tensors]

    assert_same(body)


def test_deep_copies_of_arrays_beside_tensors_are_arrays() -> None:
    array = np.arange(4.0)
    tensor, other = copy.deepcopy([gradwright.from_numpy(array), array])
    assert (tensor.dtype, other.dtype) == (gradwright.float64, np.float64)
    assert other.tolist() == tensor.tolist() == array.tolist()


def test_deep_copy_keeps_the_layout_of_a_gradient() -> None:
    def body(torch: Any) -> Any:
        x = torch.ones(4, requires_grad=True)
        x.grad = torch.arange(8.0)[::2]
        copied = copy.deepcopy(x)
        copied.grad.add_(1)
        return copied.grad, copied.grad.stride(), x.grad

    assert_same(body)
