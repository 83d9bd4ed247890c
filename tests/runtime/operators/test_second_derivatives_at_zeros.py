"""Second derivatives where a branch that is not taken divides by zero: they are those of the branch that is."""

from __future__ import annotations

import pytest

import gradwright as torch

DOUBLE = torch.float64


def test_beside_the_limits_of_logit_backward() -> None:
    grad = torch.ones(4, dtype=DOUBLE, requires_grad=True)
    x = torch.tensor([0.0, 0.05, 0.5, 1.0], dtype=DOUBLE, requires_grad=True)
    first = torch.autograd.grad(torch.ops.aten.logit_backward(grad, x, 0.1).sum(), (grad, x), create_graph=True)
    by_grad, by_x = torch.autograd.grad(first[0].sum() + first[1].sum(), (grad, x))
    assert by_grad.tolist() == [0, 0, 0, 0]
    assert by_x.tolist() == [0, 0, 32, 0]


@pytest.mark.parametrize("p", [0.5, 1.0, 2.0])
def test_of_parts_of_zeros_that_renorm_leaves_alone(p: float) -> None:
    x = torch.tensor([[0.0, 0.0], [3.0, 4.0]], dtype=DOUBLE, requires_grad=True)
    (first,) = torch.autograd.grad(x.renorm(p, 0, 1.0).sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x)
    assert first[0].tolist() == [1, 1]
    assert second[0].tolist() == [0, 0]
    assert second[1].isfinite().all()
