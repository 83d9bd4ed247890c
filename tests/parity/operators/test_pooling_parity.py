"""Pooling and unpooling beside PyTorch, as functions and as Modules."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import gradwright
from support.kernel_cases import cases, compare

_RANDOM = np.random.default_rng(0)
ARRAYS: dict[str, np.ndarray] = {
    "a": _RANDOM.standard_normal((2, 3, 9)),
    "x": _RANDOM.standard_normal((2, 3, 7, 6)),
    "v": _RANDOM.standard_normal((1, 2, 4, 5, 6)),
    "p": _RANDOM.random((2, 3, 7, 6)) + 0.1,
    "ties": _RANDOM.integers(0, 2, (2, 3, 7, 6)).astype(float),
    "inf": np.full((1, 1, 5, 5), -np.inf),
    "R": _RANDOM.random((2, 3, 2)),
    "S": _RANDOM.random((1, 2, 3)),
    "N": np.arange(252).reshape(2, 3, 7, 6) % 17,
    "i": np.array([[[[0, 3], [8, 9]]]]),
    "far": np.array([[[[0, 3], [8, 99]]]]),
    "q": _RANDOM.standard_normal((1, 1, 2, 2)),
}

CASES = """
F.max_pool1d(a, 2) | F.max_pool1d(a, 3, 2, 1, 2, True) | F.max_pool1d(a[0], (3,), return_indices=True)
F.max_pool1d(x, 2)
F.max_pool2d(x, 2) | F.max_pool2d(x, (3, 2), 2, (1, 1)) | F.max_pool2d(x, 3, 1, 1, 2)
F.max_pool2d(x, 2, ceil_mode=True)
F.max_pool2d(x[0], 2, return_indices=True) | F.max_pool2d(x, 3, (2, 3), 1, (1, 2), True, True)
F.max_pool2d(ties, 3, 2, 1)
F.max_pool2d(ties, 2, return_indices=True) | F.max_pool2d(inf, 3, 2, 1, return_indices=True) | F.max_pool2d(inf * 0, 2)
F.max_pool2d(inf * 0, 2, return_indices=True) | F.max_pool2d(N, 2) | F.max_pool2d(x, 0) | F.max_pool2d(x, 2, 0)
F.max_pool2d(x, 2, padding=2) | F.max_pool2d(x, 9) | F.max_pool2d(x, 2, dilation=0) | F.max_pool2d(x[:0], 2)
F.max_pool2d(x[:, :0], 2) | F.max_pool2d(x[0, 0], 2) | F.max_pool2d(x.half(), 2) | F.max_pool2d(x.bfloat16(), 3, 2)
F.max_pool2d(x, 2, padding=-1) | F.max_pool2d(x.transpose(2, 3), 2) | T.max_pool2d(x, [2, 3], [2, 1])
F.max_pool2d(x, 5, 3, 2)
F.max_pool3d(v, 2) | F.max_pool3d(v, (2, 3, 2), 2, 1, 1, True, True) | F.max_pool3d(v[0], 2, 1, 0, (1, 2, 1))
F.avg_pool1d(a, 2) | F.avg_pool1d(a[0], 3, 2, 1, True, False) | F.avg_pool2d(x, 2) | F.avg_pool2d(x, (3, 2), 2, (1, 1))
F.avg_pool2d(x, 3, 2, 1, True) | F.avg_pool2d(x, 3, 2, 1, True, False) | F.avg_pool2d(x, 2, divisor_override=3)
F.avg_pool2d(x, 2, divisor_override=0) | F.avg_pool2d(N, 2) | F.avg_pool2d(x[0], 2) | F.avg_pool2d(x[:0], 2)
F.avg_pool2d(x, 9) | F.avg_pool2d(x, 2, padding=2) | F.avg_pool2d(x.half(), 2) | F.max_pool2d(x[0, 0], 3)
F.avg_pool2d(x, 0)
F.avg_pool3d(v, 2) | F.avg_pool3d(v, (2, 3, 2), 2, 1, True, False, 5) | F.avg_pool3d(v[0], 2, 1)
F.avg_pool2d(x, (2,), (3,), (1,)) | F.max_pool2d(x, (2,), (3,), (1,), (1,))
F.adaptive_avg_pool1d(a, 4) | F.adaptive_avg_pool2d(x, (3, 4)) | F.adaptive_avg_pool2d(x, (None, 2))
F.adaptive_avg_pool2d(x, 1)
F.adaptive_avg_pool2d(x, (9, 10)) | F.adaptive_avg_pool2d(x[0], 3) | F.adaptive_avg_pool3d(v, (3, 2, 4))
F.adaptive_avg_pool2d(N, 2)
F.adaptive_avg_pool2d(x.detach(), (0, 2)) | F.adaptive_avg_pool2d(x.half(), 2) | F.adaptive_avg_pool2d(a[0], 2)
F.adaptive_avg_pool2d(x[:0], 2)
F.adaptive_max_pool1d(a, 4) | F.adaptive_max_pool2d(x, (3, 4), return_indices=True)
F.adaptive_max_pool2d(x, (None, 2))
F.adaptive_max_pool2d(ties, (3, 4), True) | F.adaptive_max_pool3d(v, (3, 2, 4), True)
F.adaptive_max_pool2d(x[0], (9, 8), True)
F.adaptive_max_pool1d(a[0], 3, True) | F.adaptive_max_pool2d(x, -1) | F.adaptive_max_pool2d(N, 2)
F.lp_pool1d(a.abs(), 2, 3) | F.lp_pool2d(p, 2, 2) | F.lp_pool2d(p, 3, (2, 3), 2, True) | F.lp_pool3d(v * v, 1.5, 2)
F.lp_pool2d(x, 2, 2)
F.max_unpool2d(q, i, 2) | F.max_unpool2d(q, i, 2, output_size=(5, 5)) | F.max_unpool2d(q, i, 2, output_size=(9, 9))
F.max_unpool2d(q, far, 2)
F.max_unpool1d(*F.max_pool1d(a, 2, return_indices=True), 2, output_size=[9])
F.max_unpool3d(*F.max_pool3d(v, 2, return_indices=True), 2)
F.max_unpool2d(*F.max_pool2d(x, 2, return_indices=True), 2) | F.max_unpool2d(q, i.int(), 2) | F.max_unpool2d(q, i[0], 2)
F.fractional_max_pool2d(x, 2, (3, 4), _random_samples=R.to(x.dtype))
F.fractional_max_pool3d(v, 2, (2, 3, 2), None, True, S.to(v.dtype))
F.fractional_max_pool2d(x, 2, None, (0.5, 0.5), True, R.to(x.dtype)) | F.fractional_max_pool2d(x, 2)
F.fractional_max_pool2d(x, 4, 5, _random_samples=R.to(x.dtype))
F.fractional_max_pool2d(x[0], 3, 2, None, True, R[:1].to(x.dtype))
F.fractional_max_pool2d(x, 3, 1, None, True, R.to(x.dtype))
"""


@pytest.mark.parametrize("text", cases(CASES))
def test_case(text: str) -> None:
    compare(text, ARRAYS)


MODULES = """
nn.MaxPool1d(2), a | nn.MaxPool2d((3, 2), 2, 1, ceil_mode=True), x | nn.MaxPool3d(2), v | nn.AvgPool1d(3, 2, 1), a
nn.AvgPool2d(3, count_include_pad=False, padding=1), x | nn.AvgPool3d(2, divisor_override=3), v
nn.AdaptiveAvgPool1d(2), a
nn.AdaptiveAvgPool2d((None, 3)), x | nn.AdaptiveAvgPool3d(2), v | nn.AdaptiveMaxPool1d(2), a
nn.AdaptiveMaxPool2d((2, 3)), x
nn.AdaptiveMaxPool3d(2), v | nn.LPPool1d(2, 3), a | nn.LPPool2d(2, 3, stride=2), p | nn.LPPool3d(2, 2), v
nn.FractionalMaxPool2d(2, output_size=3, _random_samples=R), x
nn.FractionalMaxPool3d(2, output_ratio=0.5, _random_samples=S), v
nn.FractionalMaxPool2d(2), x | nn.FractionalMaxPool2d(2, output_ratio=1.5), x | nn.MaxUnpool2d(2), q, i
nn.MaxUnpool2d(2), q, i, [1, 1, 5, 5]
"""


def _outcome(library: Any, text: str) -> Any:
    names = {name: library.tensor(array) for name, array in ARRAYS.items()}
    try:
        module, x, *more = eval(f"({text})", {"nn": library.nn, **names})
        x.requires_grad_()
        out = module(x, *more)
        out.square().sum().backward()
    except Exception as error:
        return type(error)
    return repr(module), list(module.state_dict()), out.detach().numpy(), x.grad.numpy()


@pytest.mark.parametrize("text", cases(MODULES))
def test_module(text: str) -> None:
    mine, other = _outcome(gradwright, text), _outcome(torch, text)
    if not isinstance(other, tuple):
        assert mine == other
        return
    assert mine[:2] == other[:2]
    for one, another in zip(mine[2:], other[2:], strict=True):
        np.testing.assert_allclose(one, another, rtol=1e-9, atol=1e-9)
