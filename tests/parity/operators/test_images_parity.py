"""Resizing of images and elements in other places beside PyTorch, as functions and as Modules."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch

import gradwright
from support.kernel_cases import cases, compare

_RANDOM = np.random.default_rng(0)
ARRAYS: dict[str, np.ndarray] = {
    "a": _RANDOM.standard_normal((2, 3, 7)),
    "x": _RANDOM.standard_normal((2, 3, 5, 6)),
    "v": _RANDOM.standard_normal((1, 2, 3, 4, 5)),
    "s": _RANDOM.standard_normal((2, 8, 4, 6)),
    "g": _RANDOM.uniform(-1.6, 1.6, (2, 3, 4, 2)),
    "h": _RANDOM.uniform(-1.6, 1.6, (1, 2, 3, 2, 3)),
    "m": _RANDOM.standard_normal((2, 2, 3)),
    "n": _RANDOM.standard_normal((1, 3, 4)),
    "INF": np.where(np.arange(20).reshape(1, 1, 4, 5) == 7, np.inf, 1.0),
    "N": np.arange(180).reshape(2, 3, 5, 6),
}

CASES = """
F.interpolate(a, 11) | F.interpolate(a, scale_factor=1.7) | F.interpolate(a, 4, mode='linear')
F.interpolate(a, 9, mode='nearest-exact')
F.interpolate(a, scale_factor=2.3, mode='linear', align_corners=True) | F.interpolate(a, 3, mode='area')
F.interpolate(a, 1, mode='linear')
F.interpolate(x, (7, 4)) | F.interpolate(x, scale_factor=(1.7, 0.6))
F.interpolate(x, (7, 4), mode='nearest-exact') | F.interpolate(x, 10)
F.interpolate(x, scale_factor=1.4, mode='nearest-exact') | F.interpolate(x, (7, 4), mode='bilinear')
F.interpolate(x, (1, 9), mode='bicubic')
F.interpolate(x, (7, 4), mode='bilinear', align_corners=True)
F.interpolate(x, scale_factor=2, mode='bilinear', align_corners=False)
F.interpolate(x, scale_factor=1.3, mode='bilinear')
F.interpolate(x, scale_factor=1.3, mode='bilinear', recompute_scale_factor=True)
F.interpolate(x, (7, 4), mode='bicubic') | F.interpolate(x, (7, 4), mode='bicubic', align_corners=True)
F.interpolate(x, (3, 4), mode='area')
F.interpolate(x, scale_factor=(0.7, 2.2), mode='bicubic') | F.interpolate(x, scale_factor=0.5, mode='area')
F.interpolate(x, 0)
F.interpolate(v, (5, 3, 7)) | F.interpolate(v, 4, mode='trilinear')
F.interpolate(v, scale_factor=1.5, mode='trilinear', align_corners=True)
F.interpolate(v, (5, 3, 7), mode='nearest-exact') | F.interpolate(v, 2, mode='area')
F.interpolate(v, scale_factor=(2, 1.5, 0.8), mode='trilinear')
F.interpolate(x) | F.interpolate(x, 3, 2.0) | F.interpolate(x, (3,)) | F.interpolate(x, scale_factor=(2.0,))
F.interpolate(x, 3, mode='linear')
F.interpolate(x, 3, mode='nearest', align_corners=True) | F.interpolate(x, 3, recompute_scale_factor=True)
F.interpolate(v, 3, mode='bicubic')
F.interpolate(a[0], 3) | F.interpolate(x, 3, mode='other') | F.interpolate(x.half(), 8, mode='bilinear')
F.interpolate(x[:0], 8)
F.interpolate(x[:, :0], 8) | F.interpolate(a, 3, antialias=True) | F.upsample(x, 7) | F.upsample_nearest(x, 7)
F.upsample_bilinear(x, (7, 4))
F.interpolate(x.bfloat16(), (7, 4), mode='bicubic') | F.interpolate(x, 5, mode='bilinear', align_corners=True)
F.interpolate(x, (5, 6), mode='bicubic')
F.interpolate(x, (2, 4), mode='bilinear', antialias=True) | F.interpolate(x, (7, 4), mode='bicubic', antialias=True)
F.interpolate(x, scale_factor=0.4, mode='bilinear', antialias=True)
F.interpolate(x, scale_factor=(0.7, 1.6), mode='bicubic', antialias=True)
F.interpolate(x, (2, 3), mode='bilinear', align_corners=True, antialias=True)
F.interpolate(x, (2, 3), mode='bicubic', align_corners=True, antialias=True)
F.interpolate(x, (1, 9), mode='bicubic', antialias=True) | F.interpolate(x, (2, 8), mode='lanczos', antialias=True)
F.interpolate(x, (3, 2), mode='lanczos', align_corners=True, antialias=True) | F.interpolate(x, 3, mode='lanczos')
F.interpolate(x, 3, antialias=True) | F.interpolate(x.half(), 3, mode='bilinear', antialias=True)
aten._upsample_bilinear2d_aa.vec(x, None, False, [1.5, 0.6]) | aten._upsample_bicubic2d_aa.vec(x, [3, 3], False, None)
aten._upsample_bilinear2d_aa.vec(x, [3, 3], True, [1.5, 0.6]) | aten._upsample_bicubic2d_aa.vec(x, None, True, None)
aten._upsample_bilinear2d_aa(INF, [2, 3], True) | aten._upsample_bilinear2d_aa(INF, [4, 5], False)
aten._upsample_bilinear2d_aa(INF, [6, 5], False) | aten._upsample_bicubic2d_aa(INF, [7, 5], False)
aten._upsample_bicubic2d_aa(INF, [4, 9], True) | aten._upsample_lanczos2d_aa(INF, [9, 5], False)
aten._upsample_bilinear2d_aa(x.detach(), [4, 9], False, 3.0, 2.0)
aten.grid_sampler_2d(x, g, 0, 0, False) | aten.grid_sampler_3d(v, h, 0, 1, True)
aten.grid_sampler_2d(v, h, 0, 0, False) | aten.grid_sampler_3d(x, g, 0, 0, False)
aten.grid_sampler_3d(v, h, 2, 0, False)
F.pixel_shuffle(s, 2) | F.pixel_unshuffle(s, 2) | F.channel_shuffle(s, 4) | F.pixel_shuffle(x, 2)
F.pixel_unshuffle(x, 2) | F.channel_shuffle(x, 2)
F.pixel_shuffle(s, 0) | F.pixel_unshuffle(s, -1) | F.channel_shuffle(s, 0) | F.pixel_shuffle(s[0], 2)
F.pixel_shuffle(s[0, 0], 2)
F.grid_sample(x, g, 'bilinear', 'zeros', True) | F.grid_sample(x, g, 'bilinear', 'zeros', False)
F.grid_sample(x, g, 'bilinear', 'border', True) | F.grid_sample(x, g, 'bilinear', 'border', False)
F.grid_sample(x, g, 'bilinear', 'reflection', True) | F.grid_sample(x, g, 'bilinear', 'reflection', False)
F.grid_sample(x, g, 'nearest', 'zeros', True) | F.grid_sample(x, g, 'nearest', 'zeros', False)
F.grid_sample(x, g, 'nearest', 'border', True) | F.grid_sample(x, g, 'nearest', 'border', False)
F.grid_sample(x, g, 'nearest', 'reflection', True) | F.grid_sample(x, g, 'nearest', 'reflection', False)
F.grid_sample(x, g, 'bicubic', 'zeros', True) | F.grid_sample(x, g, 'bicubic', 'zeros', False)
F.grid_sample(x, g, 'bicubic', 'border', True) | F.grid_sample(x, g, 'bicubic', 'border', False)
F.grid_sample(x, g, 'bicubic', 'reflection', True) | F.grid_sample(x, g, 'bicubic', 'reflection', False)
F.grid_sample(v, h, 'bilinear', 'zeros', True) | F.grid_sample(v, h, 'bilinear', 'zeros', False)
F.grid_sample(v, h, 'bilinear', 'border', True) | F.grid_sample(v, h, 'bilinear', 'border', False)
F.grid_sample(v, h, 'bilinear', 'reflection', True) | F.grid_sample(v, h, 'bilinear', 'reflection', False)
F.grid_sample(v, h, 'nearest', 'zeros', True) | F.grid_sample(v, h, 'nearest', 'zeros', False)
F.grid_sample(v, h, 'nearest', 'border', True) | F.grid_sample(v, h, 'nearest', 'border', False)
F.grid_sample(v, h, 'nearest', 'reflection', True) | F.grid_sample(v, h, 'nearest', 'reflection', False)
F.grid_sample(v, h, 'bicubic') | F.grid_sample(x, g, 'other') | F.grid_sample(x, g, padding_mode='other')
F.grid_sample(x, g)
F.grid_sample(x, g[:1]) | F.grid_sample(x, h) | F.grid_sample(x, g.double().float().half())
F.grid_sample(x, g[..., :1])
F.affine_grid(m, [2, 1, 3, 4], True) | F.affine_grid(m, [2, 1, 3, 4], False) | F.affine_grid(n, [1, 1, 3, 2, 4], False)
F.affine_grid(m, [2, 1, 1, 4], True) | F.affine_grid(n, [1, 1, 3, 1, 4]) | F.affine_grid(m, [2, 1, 3])
F.affine_grid(m, [2, 1, 3, 4, 5])
F.affine_grid(m, [2, 1, 0, 4]) | F.affine_grid(N, [2, 1, 3, 4])
F.grid_sample(x, F.affine_grid(m, [2, 3, 4, 5], False), align_corners=False)
F.channel_shuffle(a, 3) | F.pixel_unshuffle(s.half(), 2) | T.pixel_shuffle(s, 2) | F.channel_shuffle(N, 3)
F.pixel_unshuffle(N, 1)
"""


@pytest.mark.parametrize("text", cases(CASES))
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_case(text: str, dtype: str) -> None:
    compare(text, ARRAYS, dtype)


@pytest.mark.parametrize("align_corners", [True, False])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("mode", ["nearest", "bilinear", "bicubic"])
def test_what_is_no_place_is_where_pytorch_looks(mode: str, padding: str, align_corners: bool) -> None:
    image = np.arange(16.0).reshape(1, 1, 4, 4) + 1
    places = [[math.nan, 0], [0, math.nan], [math.inf, 0], [-math.inf, 0.3], [0.2, math.inf], [0.2, 0.2]]
    mine, other = (
        library.nn.functional.grid_sample(
            library.tensor(image), library.tensor([[places]], dtype=library.float64), mode, padding, align_corners
        ).numpy()
        for library in (gradwright, torch)
    )
    np.testing.assert_allclose(mine, other, rtol=1e-12)


@pytest.mark.parametrize("mode", ["nearest", "bilinear"])
def test_what_is_no_place_in_a_volume_is_left_out(mode: str) -> None:
    volume = np.arange(8.0).reshape(1, 1, 2, 2, 2) + 1
    places = [[math.nan, 0, 0], [0, math.nan, 0.5], [math.inf, 0, 0], [-math.inf, 0.3, 0], [0.2, 0.2, 0.2]]
    found = []
    for library in (gradwright, torch):
        x = library.tensor(volume).requires_grad_()
        grid = library.tensor([[[places]]], dtype=library.float64).requires_grad_()
        out = library.nn.functional.grid_sample(x, grid, mode, align_corners=False)
        out.sum().backward()
        found.append([tensor.detach().numpy() for tensor in (out, x.grad, grid.grad)])
    for mine, other in zip(*found, strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-12)


@pytest.mark.parametrize("shape", [(2, 3, 4, 2), (2, 2, 3, 4, 3)])
def test_each_order_of_a_gradient_is_one_node(shape: tuple[int, ...]) -> None:
    names = []
    for library in (gradwright, torch):
        grid = library.full(shape, 0.3, dtype=library.float64).requires_grad_()
        image = library.ones((2, 1, *shape[2:]), dtype=library.float64).requires_grad_()
        out = library.nn.functional.grid_sample(image, grid, align_corners=False)
        seed = library.ones_like(out).requires_grad_()
        pair = library.autograd.grad(out, (image, grid), seed, create_graph=True)
        names.append([type(tensor.grad_fn).__name__ for tensor in (out, *pair)])
    assert names[0] == names[1]


@pytest.mark.parametrize("shape", [(2, 3, 4, 2), (2, 2, 3, 4, 3)])
def test_the_gradient_of_the_nearest_place_has_a_graph(shape: tuple[int, ...]) -> None:
    for library in (gradwright, torch):
        grid = library.zeros(shape).requires_grad_()
        image = library.ones((2, 1, *shape[2:])).requires_grad_()
        out = library.nn.functional.grid_sample(image, grid, "nearest", align_corners=False)
        (gradient,) = library.autograd.grad(out.sum(), grid, create_graph=True)
        assert gradient.requires_grad
        assert not gradient.any()


MODULES = """
nn.Upsample(scale_factor=2), x | nn.Upsample((7, 4), mode='bilinear'), x
nn.Upsample(scale_factor=(2, 1.5), mode='bicubic'), x
nn.Upsample(scale_factor=2.0, mode='linear', align_corners=True), a | nn.UpsamplingNearest2d(scale_factor=2), x
nn.UpsamplingBilinear2d((7, 4)), x | nn.PixelShuffle(2), s | nn.PixelUnshuffle(2), s | nn.ChannelShuffle(4), s
"""


def _outcome(library: Any, text: str) -> Any:
    names = {name: library.tensor(array) for name, array in ARRAYS.items()}
    module, x = eval(f"({text})", {"nn": library.nn, **names})
    x.requires_grad_()
    out = module(x)
    out.square().sum().backward()
    return repr(module), out.detach().numpy(), x.grad.numpy()


@pytest.mark.parametrize("text", cases(MODULES))
def test_module(text: str) -> None:
    mine, other = _outcome(gradwright, text), _outcome(torch, text)
    assert mine[0] == other[0]
    for one, another in zip(mine[1:], other[1:], strict=True):
        np.testing.assert_allclose(one, another, rtol=1e-9, atol=1e-9)
