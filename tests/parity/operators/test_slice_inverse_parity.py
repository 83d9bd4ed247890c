"""What a slice was taken of, found again from the slice, beside PyTorch; and copies that leave the graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import gradwright
from support.both import assert_same

CASES: dict[str, Callable[[Any], Any]] = {
    "a part": lambda t: (lambda x: t.slice_inverse(x[1:3], x, 0, 1, 3))(t.arange(15.0).reshape(5, 3)),
    "with steps": lambda t: (lambda x: x[::2].slice_inverse(x, step=2))(t.arange(15.0).reshape(5, 3)),
    "of columns": lambda t: (lambda x: x[1:3].slice_inverse(x, 0, 1, 3).stride())(t.arange(30.0).view(5, 6)[:, ::2]),
    "other numbers are not looked at": lambda t: t.slice_inverse(*[t.arange(4.0)] * 2, 7, 3, 1, -1),
    "no dimensions": lambda t: t.slice_inverse(t.ones(()), t.ones(())),
    "another dtype": lambda t: t.slice_inverse(t.ones(3).double(), t.ones(3)).dtype is t.float64,
    "too little memory": lambda t: t.slice_inverse(t.ones(2, 3), t.ones(5, 3), 0, 1, 3),
    "without data": lambda t: (lambda x: t.slice_inverse(x[1:3], x, 0, 1, 3).shape)(t.empty(5, 3, device="meta")),
}


@pytest.mark.parametrize("name", CASES)
def test_slice_inverse(name: str) -> None:
    assert_same(CASES[name])


def test_it_is_a_view() -> None:
    def body(torch: Any) -> Any:
        x = torch.zeros(5, 3)
        whole = torch.slice_inverse(x[1:3], x, 0, 1, 3)
        whole.add_(1)
        return x, whole._is_view(), whole.storage_offset()

    assert_same(body)


def test_gradients_of_slice_inverse() -> None:
    def body(torch: Any) -> Any:
        leaf = torch.arange(15.0).reshape(5, 3).requires_grad_()
        part = (leaf * 1)[1:3]
        whole = torch.slice_inverse(part, leaf, 0, 1, 3)
        weights = torch.arange(15.0).reshape(5, 3)
        return whole.grad_fn, torch.autograd.grad((whole * weights).sum(), (part, leaf))

    assert_same(body)


def test_tangents_of_slice_inverse() -> None:
    def body(torch: Any) -> Any:
        x, t = torch.arange(15.0).reshape(5, 3), torch.ones(5, 3).cumsum(0)
        return torch.func.jvp(lambda x: torch.slice_inverse(x[1:3], x, 0, 1, 3), (x,), (t,))

    assert_same(body)


def test_batches_of_slices() -> None:
    """PyTorch has no rule for them."""
    x, parts = gradwright.arange(24.0).reshape(4, 6), gradwright.zeros(4, 3)
    whole = gradwright.vmap(lambda x: gradwright.slice_inverse(x[::2], x, step=2).mul_(2))(x)
    assert whole.tolist() == x.tolist() == (gradwright.arange(24.0).reshape(4, 6) * 2).tolist()
    found = gradwright.vmap(lambda part: gradwright.slice_inverse(part, x[0], step=2))(parts)
    assert found.tolist() == [[0.0, 2.0, 0.0, 6.0, 0.0, 10.0]] * 4


def test_detach_copy() -> None:
    def body(torch: Any) -> Any:
        x = torch.arange(6.0).reshape(2, 3).t()
        copied = torch.detach_copy(x)
        out = torch.empty(1)
        torch.detach_copy(x, out=out)
        x.add_(1)
        return copied, copied.stride(), out

    assert_same(body)


def test_a_detached_copy_has_no_history() -> None:
    """In PyTorch it says that it has one, which raises in the backward pass."""
    x = gradwright.ones(3, requires_grad=True)
    assert not gradwright.detach_copy(x).requires_grad
