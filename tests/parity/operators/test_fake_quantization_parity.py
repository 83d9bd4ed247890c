"""Fake quantization and its straight-through gradients beside PyTorch."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import gradwright
from support.kernel_cases import cases, compare

_RANDOM = np.random.default_rng(0)
ARRAYS: dict[str, np.ndarray] = {
    "x": _RANDOM.standard_normal((3, 8)) * 3,
    "y": np.arange(-12.0, 12).reshape(3, 8) / 4,  # halves of steps, which are rounded to even numbers
    "SCALE": np.array([0.5]),
    "SCALES": np.array([0.5, 1.0, 0.3]),
    "POINTS": np.array([1, 0, -2], np.int32),
    "FRACTIONS": np.array([0.4, 1.0, -1.75]),
    "ODD": np.array([np.nan, np.inf, -np.inf, 1e30]),
    "scale": np.array([0.5]),
    "scales": np.array([0.5, 1.0, 0.25]),
    "point": np.array([1.3]),
    "points": np.array([1.3, 0.6, -9.0]),
    "M": np.arange(24).reshape(3, 8) % 3 > 0,
}

TENSOR, CHANNEL = "T.fake_quantize_per_tensor_affine", "T.fake_quantize_per_channel_affine"
LEARN = "aten._fake_quantize_learnable_per_tensor_affine"
LEARN_CHANNEL = "aten._fake_quantize_learnable_per_channel_affine"
CASES = f"""
{TENSOR}(x, 0.3, 1, -4, 5)
{TENSOR}(y, 0.5, 1, -4, 5)
{TENSOR}(y, 0.5, 0, -128, 127)
{TENSOR}(ODD, 0.5, 1, -4, 5)
{TENSOR}(x.double(), 0.1, 3, -100, 100)
{TENSOR}(x.half(), 0.5, 1, -4, 5)
{TENSOR}(x.bfloat16(), 0.5, 1, -4, 5)
{TENSOR}(x.long(), 0.5, 1, -4, 5) | {TENSOR}(x * 1j, 0.5, 1, -4, 5) | {TENSOR}(x, 0.5, 7, -4, 5)
{TENSOR}(x, 0.5, 1, 6, 5)
{TENSOR}(x, -0.5, 1, -4, 5)
{TENSOR}(x, 0.0, 1, -4, 5)
{TENSOR}(x[:0], 0.5, 1, -4, 5)
{TENSOR}(x, SCALE, POINTS[:1], -4, 5)
{TENSOR}(x, SCALE[0], POINTS[0], -4, 5)
{TENSOR}(x, SCALES, POINTS, -4, 5)
{TENSOR}(x, SCALE, POINTS[:1] + 9, -4, 5) | {TENSOR}(x, SCALE, FRACTIONS[1:2] + 0.4, -4, 5)
{TENSOR}(x.double(), SCALE.double(), POINTS[:1].long(), -4, 5) | {TENSOR}(x.half(), SCALE, POINTS[:1], -4, 5)
{CHANNEL}(x, SCALES, POINTS, 0, -4, 5) | {CHANNEL}(y.t(), SCALES, POINTS, 1, -4, 5)
{CHANNEL}(y, SCALES, FRACTIONS, 0, -4, 5) | {CHANNEL}(y, SCALES, FRACTIONS + 9, 0, -4, 5)
{CHANNEL}(x, SCALES, FRACTIONS.half(), 0, -4, 5) | {CHANNEL}(x.double(), SCALES, POINTS, 0, -4, 5)
{CHANNEL}(x.half(), SCALES, POINTS, 0, -4, 5) | {CHANNEL}(x.bfloat16(), SCALES, POINTS, 0, -4, 5)
{CHANNEL}(x, SCALES, POINTS.long(), 0, -4, 5)
{CHANNEL}(x, SCALES, POINTS, 1, -4, 5)
{CHANNEL}(x, SCALES, POINTS, -2, -4, 5)
{CHANNEL}(x, SCALES, POINTS, 4, -4, 5)
{CHANNEL}(x, SCALES, POINTS, 0, 5, -4)
{CHANNEL}(x, SCALES, POINTS + 9, 0, -4, 5)
{CHANNEL}(x, SCALES[None], POINTS, 0, -4, 5)
{CHANNEL}(x, SCALES[:2], POINTS, 0, -4, 5)
{CHANNEL}(x.long(), SCALES, POINTS, 0, -4, 5)
aten.fake_quantize_per_tensor_affine_cachemask(x, 0.5, 1, -4, 5)
aten.fake_quantize_per_channel_affine_cachemask(x, SCALES, POINTS, 0, -4, 5)
aten._fake_quantize_per_tensor_affine_cachemask_tensor_qparams(x, SCALE, POINTS[:1], T.ones(1), -4, 5)
aten._fake_quantize_per_tensor_affine_cachemask_tensor_qparams(x, SCALE, POINTS[:1], T.zeros(1), -4, 5)
aten.fake_quantize_per_tensor_affine_cachemask_backward(x, M)
aten.fake_quantize_per_channel_affine_cachemask_backward(x, M)
aten.fake_quantize_per_tensor_affine_cachemask_backward(x, x.detach())
aten.fake_quantize_per_tensor_affine_cachemask_backward(x, M[0])
{LEARN}(x, scale, point, -4, 5, 1.0)
{LEARN}(y, scale, point, -4, 5, 0.25)
{LEARN}(y, scale, point + 20, -4, 5, 1.0)
{LEARN}(y.detach(), SCALE, FRACTIONS[:1] * 0 + 2.5, -4, 5, 1.0)
{LEARN}(x, scale, point, 5, -4, 1.0)
{LEARN}(x, scale[0], point, -4, 5, 1.0)
{LEARN}(x.detach().double(), SCALE, FRACTIONS[:1], -4, 5, 1.0)
{LEARN}(x.detach(), SCALE, FRACTIONS[:1], 1, 5, 1.0)
{LEARN}(x.detach(), SCALE, POINTS[:1], -4, 5, 1.0)
{LEARN_CHANNEL}(x, scales, points, 0, -4, 5, 1.0) | {LEARN_CHANNEL}(y, scales, points, 0, -4, 5, 0.25)
{LEARN_CHANNEL}(y.t(), scales, points, 1, -4, 5, 0.25) | {LEARN_CHANNEL}(y, scales[:2], points, 0, -4, 5, 0.25)
{LEARN_CHANNEL}(y, scales, points, 3, -4, 5, 0.25) | {LEARN_CHANNEL}(y.detach(), SCALES, POINTS, 0, -4, 5, 0.25)
{LEARN}_backward(x.detach(), y.detach(), SCALE, FRACTIONS[:1], -4, 5, 0.5)
{LEARN_CHANNEL}_backward(x.detach(), y.detach(), SCALES, FRACTIONS, 0, -4, 5, 0.5)
"""


@pytest.mark.parametrize("text", cases(CASES))
def test_case(text: str) -> None:
    compare(text, ARRAYS)


@pytest.mark.parametrize(
    ("call", "node"),
    [
        (f"{TENSOR}(x, 0.5, 1, -4, 5)", "FakeQuantizePerTensorAffineCachemaskBackward0"),
        (f"{TENSOR}(x, s[:1], z[:1], -4, 5)", "FakeQuantizePerTensorAffineCachemaskTensorQparamsBackward0"),
        (f"{CHANNEL}(x, s, z, 0, -4, 5)", "FakeQuantizePerChannelAffineCachemaskBackward0"),
    ],
)
def test_nodes_are_named_as_pytorchs(call: str, node: str) -> None:
    for library in (gradwright, torch):
        names = {
            "T": library,
            "x": library.ones(3, 4, requires_grad=True),
            "s": library.ones(3),
            "z": library.zeros(3, dtype=library.int32),
        }
        assert eval(call, names).grad_fn.name() == node


def test_a_model_learns_through_it() -> None:
    """What is rounded has the gradient of what is not."""
    weight = gradwright.zeros(4, requires_grad=True)
    wanted = gradwright.tensor([0.5, -0.25, 1.0, 9.0])
    for _ in range(60):
        loss = (gradwright.fake_quantize_per_tensor_affine(weight, 0.25, 0, -4, 4) - wanted).square().sum()
        (grad,) = gradwright.autograd.grad(loss, weight)
        weight.data.sub_(grad * 0.1)
    assert gradwright.fake_quantize_per_tensor_affine(weight, 0.25, 0, -4, 4).tolist() == [0.5, -0.25, 1.0, 1.0]


def test_second_derivatives_of_learned_parameters() -> None:
    """PyTorch has none of them: here they are those of the gradients."""
    x = gradwright.tensor(ARRAYS["x"], requires_grad=True)
    scales, points = (gradwright.tensor(ARRAYS[name], requires_grad=True) for name in ("scales", "points"))
    grad = gradwright.ones(3, 8, dtype=gradwright.float64, requires_grad=True)
    backward = gradwright.ops._fake_quantize_learnable_per_channel_affine_backward
    assert gradwright.autograd.gradcheck(lambda *given: backward(*given, 0, -4, 5, 0.5), (grad, x, scales, points))
