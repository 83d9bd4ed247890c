"""Convolutions, their adjoints and columns of windows beside PyTorch, as functions and as Modules."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import gradwright
from support.kernel_cases import cases, compare

_RANDOM = np.random.default_rng(0)
ARRAYS: dict[str, np.ndarray] = {
    "a": _RANDOM.standard_normal((2, 4, 7)),
    "x": _RANDOM.standard_normal((2, 4, 5, 6)),
    "v": _RANDOM.standard_normal((1, 2, 4, 3, 5)),
    "wa": _RANDOM.standard_normal((6, 4, 3)),
    "w": _RANDOM.standard_normal((6, 4, 2, 3)),
    "wg": _RANDOM.standard_normal((6, 2, 2, 3)),
    "wd": _RANDOM.standard_normal((8, 1, 2, 3)),
    "wv": _RANDOM.standard_normal((4, 2, 2, 1, 3)),
    "wt": _RANDOM.standard_normal((4, 3, 2, 3)),
    "wp": _RANDOM.standard_normal((3, 4, 1, 1)),
    "far": _RANDOM.standard_normal((3, 4, 9, 9)),
    "tw": _RANDOM.standard_normal((2, 7, 3)),
    "b": _RANDOM.standard_normal(6),
    "c": _RANDOM.standard_normal(3),
    "cols": _RANDOM.standard_normal((2, 24, 16)),
    "N": np.arange(240).reshape(2, 4, 5, 6),
    "M": np.arange(144).reshape(6, 4, 2, 3),
}

CASES = """
F.conv1d(a, wa) | F.conv1d(a, wa, b) | F.conv1d(a, wa, b, 2, 1, 1) | F.conv1d(a, wa, b, (2,), (1,), (3,))
F.conv1d(a[0], wa, b, padding='same') | F.conv1d(a, wa, padding='valid', stride=2) | F.conv1d(a, wa[:, :2], groups=2)
F.conv1d(a, wa, padding='same', dilation=2) | F.conv1d(a, wa[:, :, :2], padding='same', dilation=3)
F.conv1d(a, wa, padding='same', stride=2) | F.conv1d(a, wa, padding='other') | F.conv1d(a[0, 0], wa) | F.conv1d(x, wa)
F.conv2d(x, w) | F.conv2d(x, w, b) | F.conv2d(x, w, b, 2) | F.conv2d(x, w, b, (2, 1), (1, 2), (1, 2))
F.conv2d(x, wg, b, groups=2) | F.conv2d(x, wd, None, 1, 1, 2, 4) | F.conv2d(x[0], w, b) | F.conv2d(x, wp, c)
F.conv2d(x, wp, c, 2) | F.conv2d(x, wp, c, 1, 1) | F.conv2d(x, w, padding='same') | F.conv2d(x[:0], w, b)
F.conv2d(x[:1, :, :, :3], w) | F.conv2d(x.transpose(2, 3), w) | F.conv2d(x, w.transpose(2, 3)) | F.conv2d(N, M)
F.conv2d(N, M.float()) | F.conv2d(x, w.double()) | F.conv2d(x, w, b.double()) | F.conv2d(N, M, M[:, 0, 0, 0], 2, 1)
F.conv2d(N > 3, M > 3) | F.conv2d(x, w, c) | F.conv2d(x, wg) | F.conv2d(x, wg, groups=3) | F.conv2d(x, w, groups=0)
F.conv2d(x, w, stride=0) | F.conv2d(x, w, dilation=0) | F.conv2d(x, w, padding=-1) | F.conv2d(x, w, stride=[1, 2, 3])
F.conv2d(x, far) | F.conv2d(x, far, padding=2) | F.conv2d(x, w[0]) | F.conv2d(x, w[:0]) | F.conv2d(x[..., :0], w)
F.conv2d(x.half(), w.half(), b.half()) | F.conv2d(x.bfloat16(), w.bfloat16()) | F.conv2d(x * 1j, w * (1 + 1j), b * 1j)
F.conv3d(v, wv) | F.conv3d(v, wv, None, (2, 1, 1), (1, 0, 1), (1, 2, 1)) | F.conv3d(v[0], wv, padding='same')
F.conv3d(v, wv[:, :1], groups=2) | F.conv_transpose1d(a, wa[:4], c[:1].expand(3), 2, 1, 1)
F.conv_transpose1d(a, wa[:4, :3], c, 2, 1, 1) | F.conv_transpose1d(a[0], wa[:4, :3], dilation=2)
F.conv_transpose2d(x, wt) | F.conv_transpose2d(x, wt, c) | F.conv_transpose2d(x, wt, c, 2, 1, 1)
F.conv_transpose2d(x, wt, None, (2, 3), (1, 0), (1, 2), 1, (2, 1)) | F.conv_transpose2d(x, wt, b, groups=2)
F.conv_transpose2d(x, wt, groups=4, stride=2) | F.conv_transpose2d(x[0], wt) | F.conv_transpose2d(x[:0], wt)
F.conv_transpose2d(x, wp.transpose(0, 1), c) | F.conv_transpose2d(x, wt, output_padding=1)
F.conv_transpose2d(x, wt[:2]) | F.conv_transpose2d(x, wt, padding=10) | F.conv_transpose2d(x, wt, b[:4])
F.conv_transpose2d(x, wt, output_padding=-1) | F.conv_transpose2d(N, M[:4]) | F.conv_transpose2d(x * 1j, wt * (1 - 1j))
F.conv_transpose3d(v, wv[:2], None, (1, 2, 1), 0, (0, 1, 0)) | F.conv_transpose3d(v[0], wv[:2], padding=(1, 0, 1))
T.convolution(x, w, b, [1, 1], [0, 0], [1, 1], False, [0, 0], 1)
T.convolution(x, w, None, [1], [0], [1], False, [0], 1)
T.convolution(x[0], w, None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1)
T.convolution(x.detach(), w.detach(), None, [1, 1], [0, 0], [1, 1], False, [3, 3], 1)
T.conv2d(x, w, b, padding='same') | T.conv_transpose2d(x, wt, c, stride=2) | T.conv2d(x, w, padding=[1, 2])
T.conv_tbc(a, tw, c) | T.conv_tbc(a, tw, c, 1) | T.conv_tbc(v[0, :, 0], tw[:, :3, :2], c[:2], 2)
F.conv_tbc(a, tw, c, pad=1) | T.conv_tbc(a, tw, None)
T.conv_tbc(a[:1], tw, c) | T.conv_tbc(v[0, 0], tw[:, :5], c, -1)
T.conv_tbc(a, tw, b) | T.conv_tbc(a, tw, c[None]) | T.conv_tbc(a[0], tw, c) | T.conv_tbc(a, tw[0], c)
T.conv_tbc(a, tw[:, :5], c) | T.conv_tbc(a.double(), tw, c)
T.conv_tbc(a.double(), tw.double(), c) | T.conv_tbc(a[:0], tw, c)
T.conv_tbc(a[:, :0], tw, c) | T.conv_tbc(a.half(), tw.half(), c.half()) | T.conv_tbc(a > 0, tw > 0, c > 0)
T.conv_tbc(a.detach() * 1j, tw.detach() * (1 + 1j), c.detach() * 1j) | T.conv_tbc(a.long(), tw.long(), c.long(), 1)
F.unfold(x, (2, 3)) | F.unfold(x, 2, 2, 1, 2) | F.unfold(x[0], 3, (1, 2), (0, 1), (2, 1)) | F.unfold(N, 2)
F.unfold(N > 7, 2) | F.unfold(x, 9) | F.unfold(x, 2, stride=0) | F.unfold(x, 2, padding=-1) | F.unfold(x[:0], 2)
F.unfold(x[:, :0], 2) | F.unfold(x.half(), 2) | F.unfold(x * 1j, 2) | F.unfold(x, 2, dilation=0)
F.fold(cols, (5, 6), (2, 3)) | F.fold(cols[0], (5, 6), (2, 3)) | F.fold(cols, (5, 7), (2, 3))
F.fold(cols, (5, 6), (5, 3))
F.fold(cols, (3, 3), 2, 1, 1) | F.fold(cols, 6, 2, 2, 0, 1) | F.fold(cols, (5, 6), (2, 3), stride=0)
F.fold(cols[:0], (5, 6), (2, 3)) | F.fold(cols[0, 0], (5, 6), (2, 3)) | F.fold(cols > 0, (5, 6), (2, 3))
"""


@pytest.mark.parametrize("text", cases(CASES))
def test_case(text: str) -> None:
    compare(text, ARRAYS)


def _operators(library: Any) -> Any:
    return library.ops.aten if library is torch else library.ops


@pytest.mark.parametrize("mask", [[True, True, True], [True, False, False], [False, True, False], [False, False, True]])
def test_masked_backward(mask: list[bool]) -> None:
    results = []
    for library in (gradwright, torch):
        x, w = (library.tensor(ARRAYS[name]) for name in ("x", "w"))
        g = library.ones(2, 6, 4, 4, dtype=library.float64)
        geometry = ([1, 1], [0, 0], [1, 1], False, [0, 0], 1)
        results.append(_operators(library).convolution_backward(g, x, w, [6], *geometry, mask))
    for mine, other in zip(*results, strict=True):
        assert (mine is None) == (other is None)
        if other is not None:
            np.testing.assert_allclose(mine.numpy(), other.numpy())


MODULES = """
nn.Conv1d(4, 6, 3), a | nn.Conv1d(4, 6, 3, 2, 1, bias=False), a
nn.Conv1d(4, 6, 3, padding=2, padding_mode='circular'), a
nn.Conv2d(4, 6, (2, 3), (2, 1), (1, 0), 1, 2), x | nn.Conv2d(4, 6, 3, padding='same'), x
nn.Conv2d(4, 4, 2, groups=4), x[0]
nn.Conv2d(4, 6, 3, padding='same', padding_mode='reflect'), x
nn.Conv2d(4, 6, 3, padding='valid', padding_mode='reflect'), x
nn.Conv2d(4, 6, 3, padding=1, padding_mode='replicate'), x
nn.Conv2d(4, 6, 2, padding=(1, 2), padding_mode='circular'), x
nn.Conv2d(4, 6, (2, 3), padding='same', padding_mode='replicate'), x
nn.Conv3d(2, 4, 2, padding=1), v | nn.ConvTranspose1d(4, 6, 3, 2, 1, 1), a | nn.ConvTranspose2d(4, 6, 3, 2, groups=2), x
nn.ConvTranspose2d(4, 6, 3, 2), x, [12, 13] | nn.ConvTranspose2d(4, 6, 3, 2), x, [2, 6, 11, 14]
nn.ConvTranspose2d(4, 6, 3, 2), x, [20, 13] | nn.ConvTranspose2d(4, 6, 3, 2), x, [12]
nn.ConvTranspose3d(2, 4, 2, 2), v
nn.ConvTranspose2d(4, 6, 3, 2, dilation=2, output_padding=1), x | nn.Unfold(2, 1, 1, 2), x
nn.Fold((5, 6), (2, 3)), cols
nn.Conv2d(3, 6, 3, groups=2), x | nn.Conv2d(4, 5, 3, groups=2), x | nn.Conv2d(4, 6, 3, groups=0), x
nn.Conv2d(4, 6, 3, padding='other'), x | nn.Conv2d(4, 6, 3, 2, padding='same'), x
nn.Conv2d(4, 6, 3, padding_mode='other'), x
nn.ConvTranspose2d(4, 6, 3, padding_mode='reflect'), x
"""


def _outcome(library: Any, text: str) -> Any:
    names = {name: library.tensor(array.astype(np.float32)) for name, array in ARRAYS.items() if name.islower()}
    try:
        module, x, *more = eval(f"({text})", {"nn": library.nn, **names})
    except Exception as error:
        return type(error)
    shapes = {name: tuple(value.shape) for name, value in module.state_dict().items()}
    for number, parameter in enumerate(module.parameters()):
        values = np.linspace(-1, 1, parameter.numel()).reshape(tuple(parameter.shape)) + number / 10
        parameter.data.copy_(parameter.new_tensor(values))
    x.requires_grad_()
    try:
        out = module(x, *more)
    except Exception as error:
        return repr(module), shapes, type(error)
    out.square().sum().backward()
    gradients = [parameter.grad.numpy() for parameter in module.parameters()]
    return repr(module), shapes, out.detach().numpy(), x.grad.numpy(), gradients


def _assert_equal(mine: Any, other: Any) -> None:
    assert type(mine) is type(other)
    if isinstance(other, np.ndarray):
        np.testing.assert_allclose(mine, other, rtol=1e-4, atol=1e-4)
    elif isinstance(other, tuple | list):
        assert len(mine) == len(other)
        for one, another in zip(mine, other, strict=True):
            _assert_equal(one, another)
    else:
        assert mine == other


@pytest.mark.parametrize("text", cases(MODULES))
def test_module(text: str) -> None:
    _assert_equal(_outcome(gradwright, text), _outcome(torch, text))


@pytest.mark.parametrize("made", ["Conv2d(8, 600, 3)", "ConvTranspose2d(80, 600, 3, groups=2)", "Conv1d(8, 600, 5)"])
def test_parameters_start_within_pytorchs_limits(made: str) -> None:
    modules = [eval(f"library.nn.{made}", {"library": library}) for library in (gradwright, torch)]
    for mine, other in zip(*(module.parameters() for module in modules), strict=True):
        limits = [float(values.detach().abs().max()) for values in (mine, other)]
        assert limits[0] == pytest.approx(limits[1], rel=0.05)


# -- gradients of convolutions as functions


@pytest.mark.parametrize("dims", [1, 2, 3])
@pytest.mark.parametrize("options", [{}, {"stride": 2, "padding": 1, "dilation": 2, "groups": 2}])
def test_gradients_from_shapes(dims: int, options: dict[str, int]) -> None:
    generator = np.random.default_rng(0)
    x = generator.standard_normal((2, 2, *(7,) * dims))
    w = generator.standard_normal((4, 2 // options.get("groups", 1), *(3,) * dims))

    def body(library: Any) -> Any:
        grad, F = library.nn.grad, library.nn.functional
        assert F.grad is grad
        input, weight = (library.tensor(array, requires_grad=True) for array in (x, w))
        out = getattr(F, f"conv{dims}d")(input, weight, None, **options)
        given = library.ones_like(out).cumsum(-1)
        one = getattr(grad, f"conv{dims}d_input")(tuple(input.shape), weight, given, **options)
        other = getattr(grad, f"conv{dims}d_weight")(input, weight.shape, given, *options.values())
        expected = library.autograd.grad(out, (input, weight), given)
        assert library.allclose(one, expected[0])
        assert library.allclose(other, expected[1])
        return one.detach().numpy(), other.detach().numpy(), one.requires_grad, other.requires_grad

    _assert_equal(body(gradwright), body(torch))
