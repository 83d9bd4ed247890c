"""Pictures: pixels in another order, nearest neighbours, and the places of maxima."""

from __future__ import annotations

import math
from collections.abc import Sequence

from runtime.operators.array_api._common import Array, Namespace
from runtime.operators.array_api.indexing import index_add, scatter_add
from runtime.operators.array_api.placing import scatter_src

# -- pixels


def pixel_shuffle(xp: Namespace, self: Array, upscale_factor: int) -> Array:
    outer, (channels, height, width), r = self.shape[:-3], self.shape[-3:], upscale_factor
    if channels % (r * r):
        raise RuntimeError(f"pixel_shuffle expects channels divisible by {r * r}, but got {channels}")
    parts = xp.reshape(self, (math.prod(outer), channels // (r * r), r, r, height, width))
    parts = xp.permute_dims(parts, (0, 1, 4, 2, 5, 3))
    return xp.reshape(parts, (*outer, channels // (r * r), height * r, width * r))


def pixel_unshuffle(xp: Namespace, self: Array, downscale_factor: int) -> Array:
    outer, (channels, height, width), r = self.shape[:-3], self.shape[-3:], downscale_factor
    if height % r or width % r:
        raise RuntimeError(f"pixel_unshuffle expects height and width divisible by {r}, but got {height} and {width}")
    parts = xp.reshape(self, (math.prod(outer), channels, height // r, r, width // r, r))
    parts = xp.permute_dims(parts, (0, 1, 3, 5, 2, 4))
    return xp.reshape(parts, (*outer, channels * r * r, height // r, width // r))


def channel_shuffle(xp: Namespace, self: Array, groups: int) -> Array:
    batch, channels, *rest = self.shape
    if groups <= 0 or channels % groups:
        raise RuntimeError(f"Number of channels must be divisible by groups. Got {channels} channels and {groups}")
    parts = xp.reshape(self, (batch, groups, channels // groups, *rest))
    return xp.reshape(xp.moveaxis(parts, 1, 2), tuple(self.shape))


# -- nearest neighbours


def _up(
    xp: Namespace, self: Array, output_size: Sequence[int], scales: Sequence[float | None], middle: float = 0.0
) -> Array:
    for axis, (count, scale) in enumerate(zip(output_size, scales, strict=True), 2):
        self = xp.take(self, _nearest(xp, self.shape[axis], count, scale, middle), axis=axis)
    return self


def _back(
    xp: Namespace,
    grad_output: Array,
    input_size: Sequence[int],
    scales: Sequence[float | None],
    middle: float = 0.0,
) -> Array:
    grad = grad_output
    for axis, (size, scale) in enumerate(zip(input_size[2:], scales, strict=True), 2):
        places = _nearest(xp, size, grad.shape[axis], scale, middle)
        shape = (*grad.shape[:axis], size, *grad.shape[axis + 1 :])
        grad = index_add(xp, xp.zeros(shape, dtype=grad.dtype), axis, places, grad)
    return grad


def _nearest(xp: Namespace, size: int, count: int, scale: float | None, middle: float) -> Array:
    """The element that each one of the result lies in, in single precision."""
    ratio = 1 / scale if scale is not None and scale > 0 else size / count
    at = (xp.arange(count, dtype=xp.float32) + middle) * xp.asarray(ratio, dtype=xp.float32)
    return xp.clip(xp.astype(xp.floor(at), xp.int64), 0, size - 1)


def upsample_nearest1d(
    xp: Namespace,
    self: Array,
    output_size: Sequence[int],
    scales: float | None = None,
) -> Array:
    return _up(xp, self, output_size, [scales])


def upsample_nearest1d_backward(
    xp: Namespace,
    grad_output: Array,
    output_size: Sequence[int],
    input_size: Sequence[int],
    scales: float | None = None,
) -> Array:
    return _back(xp, grad_output, input_size, [scales])


def upsample_nearest2d(
    xp: Namespace,
    self: Array,
    output_size: Sequence[int],
    scales_h: float | None = None,
    scales_w: float | None = None,
) -> Array:
    return _up(xp, self, output_size, [scales_h, scales_w])


def upsample_nearest2d_backward(
    xp: Namespace,
    grad_output: Array,
    output_size: Sequence[int],
    input_size: Sequence[int],
    scales_h: float | None = None,
    scales_w: float | None = None,
) -> Array:
    return _back(xp, grad_output, input_size, [scales_h, scales_w])


def upsample_nearest3d(
    xp: Namespace,
    self: Array,
    output_size: Sequence[int],
    scales_d: float | None = None,
    scales_h: float | None = None,
    scales_w: float | None = None,
) -> Array:
    return _up(xp, self, output_size, [scales_d, scales_h, scales_w])


def upsample_nearest3d_backward(
    xp: Namespace,
    grad_output: Array,
    output_size: Sequence[int],
    input_size: Sequence[int],
    scales_d: float | None = None,
    scales_h: float | None = None,
    scales_w: float | None = None,
) -> Array:
    return _back(xp, grad_output, input_size, [scales_d, scales_h, scales_w])


def _upsample_nearest_exact1d(
    xp: Namespace,
    self: Array,
    output_size: Sequence[int],
    scales: float | None = None,
) -> Array:
    return _up(xp, self, output_size, [scales], 0.5)


def _upsample_nearest_exact1d_backward(
    xp: Namespace,
    grad_output: Array,
    output_size: Sequence[int],
    input_size: Sequence[int],
    scales: float | None = None,
) -> Array:
    return _back(xp, grad_output, input_size, [scales], 0.5)


def _upsample_nearest_exact2d(
    xp: Namespace,
    self: Array,
    output_size: Sequence[int],
    scales_h: float | None = None,
    scales_w: float | None = None,
) -> Array:
    return _up(xp, self, output_size, [scales_h, scales_w], 0.5)


def _upsample_nearest_exact2d_backward(
    xp: Namespace,
    grad_output: Array,
    output_size: Sequence[int],
    input_size: Sequence[int],
    scales_h: float | None = None,
    scales_w: float | None = None,
) -> Array:
    return _back(xp, grad_output, input_size, [scales_h, scales_w], 0.5)


def _upsample_nearest_exact3d(
    xp: Namespace,
    self: Array,
    output_size: Sequence[int],
    scales_d: float | None = None,
    scales_h: float | None = None,
    scales_w: float | None = None,
) -> Array:
    return _up(xp, self, output_size, [scales_d, scales_h, scales_w], 0.5)


def _upsample_nearest_exact3d_backward(
    xp: Namespace,
    grad_output: Array,
    output_size: Sequence[int],
    input_size: Sequence[int],
    scales_d: float | None = None,
    scales_h: float | None = None,
    scales_w: float | None = None,
) -> Array:
    return _back(xp, grad_output, input_size, [scales_d, scales_h, scales_w], 0.5)


# -- the places of maxima


def _unpooled(xp: Namespace, grad_output: Array, self: Array, indices: Array, dims: int) -> Array:
    """The gradient at the places where the maxima were, counted as if each picture were flat."""
    outer = tuple(self.shape[:-dims])
    pictures = xp.zeros((*outer, math.prod(self.shape[-dims:])), dtype=grad_output.dtype)
    flat = (*outer, math.prod(indices.shape[-dims:]))
    placed = scatter_add(xp, pictures, -1, xp.reshape(indices, flat), xp.reshape(grad_output, flat))
    return xp.reshape(placed, tuple(self.shape))


def max_pool2d_with_indices_backward(
    xp: Namespace,
    grad_output: Array,
    self: Array,
    kernel_size: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    ceil_mode: bool,
    indices: Array,
) -> Array:
    return _unpooled(xp, grad_output, self, indices, 2)


def adaptive_max_pool2d_backward(xp: Namespace, grad_output: Array, self: Array, indices: Array) -> Array:
    return _unpooled(xp, grad_output, self, indices, 2)


def fractional_max_pool2d_backward(
    xp: Namespace,
    grad_output: Array,
    self: Array,
    kernel_size: Sequence[int],
    output_size: Sequence[int],
    indices: Array,
) -> Array:
    return _unpooled(xp, grad_output, self, indices, 2)


def max_pool3d_with_indices_backward(
    xp: Namespace,
    grad_output: Array,
    self: Array,
    kernel_size: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    ceil_mode: bool,
    indices: Array,
) -> Array:
    return _unpooled(xp, grad_output, self, indices, 3)


def adaptive_max_pool3d_backward(xp: Namespace, grad_output: Array, self: Array, indices: Array) -> Array:
    return _unpooled(xp, grad_output, self, indices, 3)


def fractional_max_pool3d_backward(
    xp: Namespace,
    grad_output: Array,
    self: Array,
    kernel_size: Sequence[int],
    output_size: Sequence[int],
    indices: Array,
) -> Array:
    return _unpooled(xp, grad_output, self, indices, 3)


def _unpool(xp: Namespace, self: Array, indices: Array, output_size: Sequence[int], dims: int) -> Array:
    """The maxima at the places where they were, counted as if each picture were flat."""
    outer = tuple(self.shape[:-dims])
    flat = (*outer, math.prod(self.shape[-dims:]))
    pictures = xp.zeros((*outer, math.prod(output_size)), dtype=self.dtype)
    placed = scatter_src(xp, pictures, -1, xp.reshape(indices, flat), xp.reshape(self, flat))
    return xp.reshape(placed, (*outer, *output_size))


def max_unpool2d(xp: Namespace, self: Array, indices: Array, output_size: Sequence[int]) -> Array:
    return _unpool(xp, self, indices, output_size, 2)


def max_unpool3d(
    xp: Namespace,
    self: Array,
    indices: Array,
    output_size: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
) -> Array:
    return _unpool(xp, self, indices, output_size, 3)
