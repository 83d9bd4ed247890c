"""Operators with an output mask (`bool[3] output_mask`) give None for what it leaves out."""

from __future__ import annotations

import pytest

import gradwright


@pytest.mark.parametrize("kind", [list, tuple])
def test_an_output_that_a_mask_leaves_out_is_none(kind: type) -> None:
    x = gradwright.tensor([[1.0, 2.0, 4.0]], requires_grad=True)
    _, mean, rstd = gradwright.ops.native_layer_norm(x.detach(), [3], None, None, 1e-5)
    arguments = gradwright.ones(1, 3), x, [3], mean, rstd, None, None
    of_input, of_weight, of_bias = gradwright.ops.native_layer_norm_backward(*arguments, kind((False, False, True)))
    assert (of_input, of_weight) == (None, None)
    assert of_bias.tolist() == [1.0, 1.0, 1.0]
    of_input, of_weight, of_bias = gradwright.ops.native_layer_norm_backward(*arguments, kind((True, False, False)))
    assert (of_weight, of_bias) == (None, None)
    assert of_input.requires_grad
    assert gradwright.autograd.grad(of_input.sum(), x)[0].shape == (1, 3)
