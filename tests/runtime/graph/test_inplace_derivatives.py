"""Derivatives through in-place writes: of constants, of operators without derivatives, in forward mode."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import gradwright
from gradwright.autograd import forward_ad
from runtime.base.tensor import Tensor


@pytest.mark.parametrize(
    "write",
    [lambda y, x: y.eq_(x), lambda y, x: y.less_(x), lambda y, x: y.gt_(0.0), lambda y, x: y.logical_not_()],
    ids=["eq_", "less_", "gt_", "logical_not_"],
)
def test_what_a_constant_overwrote_gets_zeros(write: Callable[[Tensor, Tensor], Any]) -> None:
    x = gradwright.tensor([1.0, -2.0, 3.0], requires_grad=True)
    y = x * 2
    write(y, x)
    assert y.requires_grad
    (y * x).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == y.tolist()  # only the factor x has a gradient


def test_what_a_comparison_compared_with_gets_zeros() -> None:
    x = gradwright.tensor([1.0, -2.0], requires_grad=True)
    y = gradwright.zeros(2).eq_(x)
    assert y.requires_grad
    assert gradwright.autograd.grad(y.sum(), x)[0].tolist() == [0.0, 0.0]


def test_a_leaf_that_requires_grad_is_not_overwritten_with_a_constant() -> None:
    x = gradwright.tensor([1.0], requires_grad=True)
    with pytest.raises(RuntimeError, match="leaf Variable that requires grad"):
        x.eq_(1.0)


@pytest.mark.parametrize(
    ("write", "tangent"),
    [
        (lambda y, x: y.mul_(x), [5.0, 8.0]),  # y' x + y x' with the y of before
        (lambda y, x: y.exp_(), [1.0, 1.0]),
        (lambda y, x: y.zero_(), [0.0, 0.0]),
        (lambda y, x: y.eq_(x), [0.0, 0.0]),
    ],
    ids=["mul_", "exp_", "zero_", "eq_"],
)
@pytest.mark.parametrize("requires_grad", [False, True])
def test_tangents_through_a_write(write: Callable[[Tensor, Tensor], Any], tangent: Any, requires_grad: bool) -> None:
    start = [0.0, 0.0] if tangent == [1.0, 1.0] else [3.0, 4.0]
    x = gradwright.tensor([2.0, 4.0])
    leaf = gradwright.tensor(start, requires_grad=requires_grad)
    with forward_ad.dual_level():
        y = forward_ad.make_dual(leaf, gradwright.tensor([1.0, 1.0])).clone()
        write(y, forward_ad.make_dual(x, gradwright.tensor([1.0, 1.0])))
        found = forward_ad.unpack_dual(y).tangent
    assert (None if found is None else found.tolist()) == tangent
