"""Helpers of PyTorch's formulas that no operator here calls, against PyTorch's gradients and tangents."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch.func import jvp, vjp

import gradwright
from runtime.operators.upstream import activation, convolution, linalg, loss, nn, pointwise, shape


def numbers(*sizes: int, seed: int = 0) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(seed).normal(0, 1, sizes))


def ours(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return gradwright.tensor(value.detach().numpy())
    return value


def close(found: Any, expected: Any) -> None:
    for one, other in zip(found, expected, strict=True):
        assert (one is None) == (other is None)
        if one is not None:
            np.testing.assert_allclose(one.numpy(), other.numpy(), 1e-10, 1e-10)


def test_the_second_slope_of_log_sigmoid() -> None:
    x, grad = numbers(7), numbers(7, seed=1)
    _, expected = jvp(lambda x: vjp(F.logsigmoid, x)[1](grad)[0], (x,), (torch.ones(7, dtype=torch.float64),))
    close([activation.log_sigmoid_double_backward(ours(grad), ours(x))], [expected])


def normalized(x: torch.Tensor, weight: torch.Tensor | None) -> tuple[torch.Tensor, torch.Tensor]:
    rstd = ((x * x).mean((-2, -1), keepdim=True) + 1e-5).rsqrt()
    return x * rstd * (1 if weight is None else weight), rstd


@pytest.mark.parametrize("weighted", [True, False])
def test_derivatives_of_rms_norm(weighted: bool) -> None:
    x, x_t = numbers(2, 3, 4), numbers(2, 3, 4, seed=1)
    weight, weight_t = (numbers(3, 4, seed=2), numbers(3, 4, seed=3)) if weighted else (None, None)
    if weighted:
        results, tangents = jvp(normalized, (x, weight), (x_t, weight_t))
    else:
        results, tangents = jvp(lambda x: normalized(x, None), (x,), (x_t,))
    assert torch.allclose(results[0], F.rms_norm(x, (3, 4), weight, 1e-5))
    p, t, w, w_t, rstd = (ours(value) for value in (x, x_t, weight, weight_t, results[1]))
    found = nn.rms_norm_jvp(p, t, w, w_t, rstd, [3, 4]), nn.rms_norm_rstd_jvp(p, t, rstd, [3, 4])
    close(found, tangents)
    of_out, of_rstd = numbers(2, 3, 4, seed=4), numbers(2, 1, 1, seed=5)
    inputs = [value for value in (x, weight) if value is not None]
    _, pull = vjp(lambda *values: normalized(*values, *([] if weighted else [None])), *inputs)
    for first, second in ((of_out, of_rstd), (of_out, None), (None, of_rstd)):
        zeros = torch.zeros_like(of_out), torch.zeros_like(of_rstd)
        expected = pull((zeros[0] if first is None else first, zeros[1] if second is None else second))
        gradients = nn.infinitely_differentiable_native_rms_norm_backward(
            ours(first), ours(second), p, [3, 4], rstd, w, [True, True]
        )
        of_weight = expected[1] if weighted and first is not None else None
        close(gradients, (expected[0], of_weight))
    skipped = nn.infinitely_differentiable_native_rms_norm_backward(ours(of_out), None, p, [3, 4], rstd, w, [False] * 2)
    assert skipped == (None, None)


def test_fused_dropout() -> None:
    grad = numbers(2, 3)
    mask = torch.tensor([[True, False, True], [False, True, True]])
    close([nn._fused_dropout_backward(ours(grad), ours(mask), 0.8)], [grad * mask / 0.8])


@pytest.mark.parametrize("helper", [loss._cudnn_ctc_loss_backward, loss._miopen_ctc_loss_backward])
def test_ctc_loss_of_devices(helper: Callable[..., gradwright.Tensor]) -> None:
    """The gradient of each sample is what PyTorch's own kernel gives for a gradient of ones."""
    x = numbers(5, 3, 4).log_softmax(-1).requires_grad_()
    targets = torch.tensor([[1, 2], [3, 1], [2, 2]])
    lengths = torch.tensor([5, 5, 2]), torch.tensor([2, 2, 2])  # the last sample has no alignment
    values = F.ctc_loss(x, targets, *lengths, reduction="none", zero_infinity=True)
    raw = torch.autograd.grad(values.sum(), x, retain_graph=True)[0]
    raw[:, 2] = torch.nan
    grad = numbers(3, seed=1)
    expected = torch.autograd.grad(values, x, grad)[0]
    close([helper(ours(grad), ours(values), ours(raw), True)], [expected])
    assert gradwright.isnan(helper(ours(grad), ours(values), ours(raw), False)[:, 2]).all()


@pytest.mark.parametrize("transposed", [False, True])
def test_convolutions_with_switches(transposed: bool) -> None:
    x, w, b = numbers(2, 4, 7), numbers(4, 2, 3, seed=1), numbers(4, seed=2)
    stride, padding, dilation, more = [2], [1], [1], [1 if transposed else 0]

    def call(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return torch.convolution(x, w, b, stride, padding, dilation, transposed, more, 2)

    tangents = numbers(2, 4, 7, seed=3), numbers(4, 2, 3, seed=4), numbers(4, seed=5)
    result, expected = jvp(call, (x, w, b), tangents)
    pairs = [ours(value) for pair in zip((x, w, b), tangents, strict=True) for value in pair]
    geometry = stride, padding, dilation, transposed, more, 2
    close([convolution._convolution_jvp(*pairs, *geometry, False, False, True, True)], [expected])
    grad = numbers(*result.shape, seed=6)
    of_x, of_w, _ = vjp(call, x, w, b)[1](grad)
    arguments = padding, more, stride, dilation, transposed, 2
    given = ours(x), ours(grad), ours(w)
    close(convolution._cudnn_convolution_backward(*given, *arguments, [True, True]), (of_x, of_w))
    close(convolution._cudnn_convolution_backward(*given, *arguments, [False, True]), (None, of_w))
    assert convolution._cudnn_convolution_backward(ours(x), None, ours(w), *arguments, [True, True]) == (None, None)


@pytest.mark.parametrize("offset", [None, 3])
def test_what_is_written_over_has_no_gradient(offset: int | None) -> None:
    """PyTorch 2.13 gives just these elements a gradient, and the others none: its result says which they are."""
    x = numbers(30)[1:13].view(4, 3)
    result = torch.as_strided_scatter(x, numbers(2, 2, seed=1), (2, 2), (5, 2), offset)
    grad = numbers(4, 3, seed=2)
    expected = grad.masked_fill(result != x, 0)
    geometry = SimpleNamespace(shape=(4, 3), strides=(3, 1), offset=1)
    found = shape.as_strided_scatter_backward(ours(grad), geometry, geometry, (2, 2), (5, 2), offset)
    assert 0 < (found == 0).sum().item() < 12
    close([found], [expected])


def grouped(a: torch.Tensor, b: torch.Tensor, ends: list[int] | None) -> torch.Tensor:
    """Products of groups, by their definition."""
    if ends is None:
        return a @ b
    starts = [0, *ends[:-1]]
    if a.dim() == b.dim():
        return torch.stack([a[:, i:j] @ b[i:j] for i, j in zip(starts, ends, strict=True)])
    if a.dim() == 2:
        return torch.cat([a[i:j] @ b[n] for n, (i, j) in enumerate(zip(starts, ends, strict=True))])
    return torch.cat([a[n] @ b[:, i:j] for n, (i, j) in enumerate(zip(starts, ends, strict=True))], 1)


@pytest.mark.parametrize(
    ("left", "right", "ends"),
    [
        ((6, 4), (3, 4, 5), [1, 4, 6]),
        ((3, 6, 4), (4, 8), [2, 2, 8]),
        ((5, 6), (6, 4), [2, 5, 6]),
        ((3, 2, 4), (3, 4, 5), None),
    ],
)
def test_products_of_groups(left: tuple[int, ...], right: tuple[int, ...], ends: list[int] | None) -> None:
    a, b = numbers(*left), numbers(*right, seed=1)
    result, pull = vjp(lambda a, b: 2 * grouped(a, b, ends), a, b)
    grad = numbers(*result.shape, seed=2)
    offs = None if ends is None else gradwright.tensor(ends, dtype=gradwright.int32)
    layouts = [(list(x.shape), list(x.stride()), None) for x in (a, b)]
    found = (
        linalg._grouped_mm_mat1_backward(ours(grad), ours(b), *layouts[0], offs, 2.0),
        linalg._grouped_mm_mat2_backward(ours(grad), ours(a), *layouts[1], offs, 2.0),
    )
    close(found, pull(grad))


def test_rows_of_no_group_have_no_gradient() -> None:
    grad, b = numbers(6, 5), numbers(2, 4, 5)
    ends = gradwright.tensor([1, 4], dtype=gradwright.int32)
    found = linalg._grouped_mm_mat1_backward(ours(grad), ours(b), [6, 4], [4, 1], None, ends, 1.0)
    assert found.shape == (6, 4)
    assert (found[4:] == 0).all()
    assert (found[:4] != 0).all()


def test_a_warning_comes_with_the_gradient() -> None:
    grad = gradwright.ones(2)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert pointwise.warn_backwards(grad) is grad
    assert len(caught) == 1
