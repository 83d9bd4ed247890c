"""Convolutions of one to three dimensions, and their adjoints: products of matrices with windows of the input."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from runtime.operators.array_api._common import Array, Namespace, is_complex
from runtime.operators.array_api._windows import laid_over, stretched, surrounded, windows
from runtime.operators.kernels._windows import widths
from runtime.operators.kernels.convolution import _blocks, _checked, _checked_gradient, _Geometry


def convolution(
    xp: Namespace,
    input: Array,
    weight: Array,
    bias: Array | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
) -> Array:
    geometry = _checked(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups)
    compute = _spread if transposed else _correlate
    out = compute(xp, input, weight, geometry, geometry.result_shape(input, weight)[2:])
    return out if bias is None else out + xp.reshape(bias, (-1, *(1,) * (input.ndim - 2)))


def convolution_backward(
    xp: Namespace,
    grad_output: Array,
    input: Array,
    weight: Array,
    bias_sizes: Sequence[int] | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
    output_mask: Sequence[bool],
) -> tuple[Array | None, Array | None, Array | None]:
    numbers: Any = (stride, padding, dilation, transposed, output_padding, groups, output_mask)
    geometry, _ = _checked_gradient(grad_output, input, weight, *numbers)
    conj = xp.conj if is_complex(xp, input) else lambda array: array
    of_input = of_weight = of_bias = None
    if output_mask[0]:
        compute = _correlate if transposed else _spread
        of_input = compute(xp, grad_output, conj(weight), geometry, input.shape[2:])
    if output_mask[1]:
        images, gradients = (grad_output, conj(input)) if transposed else (conj(input), grad_output)
        of_weight = _of_weight(xp, images, gradients, geometry)
    if output_mask[2]:
        of_bias = xp.sum(grad_output, axis=(0, *range(2, grad_output.ndim)), dtype=grad_output.dtype)
    return of_input, of_weight, of_bias


def _columns(xp: Namespace, images: Array, geometry: _Geometry, count: Sequence[int]) -> Array:
    """The windows as columns for each group: (N, groups, channels of a group * places of a window, windows)."""
    padding = geometry.padding
    whole = surrounded(xp, images, padding, padding)
    view = windows(xp, whole, geometry.kernel, geometry.stride, geometry.dilation, count)
    inner = images.shape[1] // geometry.groups * math.prod(geometry.kernel)
    return xp.reshape(view, (images.shape[0], geometry.groups, inner, math.prod(count)))


def _correlate(xp: Namespace, input: Array, weight: Array, geometry: _Geometry, count: Sequence[int]) -> Array:
    """The sums of windows of the input, weighted."""
    groups, channels = geometry.groups, weight.shape[0]
    columns = _columns(xp, input, geometry, count)
    rows = xp.reshape(weight, (1, groups, channels // groups, math.prod(weight.shape[1:])))
    return xp.reshape(xp.matmul(rows, columns), (input.shape[0], channels, *count))


def _spread(xp: Namespace, values: Array, weight: Array, geometry: _Geometry, sizes: Sequence[int]) -> Array:
    """The adjoint: the sums of windows of the values with zeros between them, by the weights the other way round."""
    groups, dims = geometry.groups, len(geometry.kernel)
    channels, inner = weight.shape[0] // groups, weight.shape[1]
    turned = xp.flip(weight, axis=tuple(range(2, 2 + dims)))
    turned = xp.reshape(turned, (groups, channels, inner, *geometry.kernel))
    turned = xp.reshape(
        xp.permute_dims(turned, (0, 2, 1, *range(3, 3 + dims))), (groups * inner, channels, *geometry.kernel)
    )
    apart = stretched(xp, values, geometry.stride)
    before = [extent - 1 - pad for extent, pad in zip(geometry.extents, geometry.padding, strict=True)]
    lengths = apart.shape[2:]
    after = [
        size + extent - 1 - low - length
        for size, extent, low, length in zip(sizes, geometry.extents, before, lengths, strict=True)
    ]
    whole = surrounded(xp, apart, before, after)
    step = (1,) * dims
    plain = _Geometry(geometry.kernel, step, (0,) * dims, geometry.dilation, groups)
    return _correlate(xp, whole, turned, plain, tuple(sizes))


def _of_weight(xp: Namespace, images: Array, gradients: Array, geometry: _Geometry) -> Array:
    """The products of all windows with the gradients of what was made of them, added up."""
    groups, count = geometry.groups, gradients.shape[2:]
    channels, inner = gradients.shape[1], images.shape[1] // groups
    columns = _columns(xp, images, geometry, count)
    flat = xp.reshape(gradients, (gradients.shape[0], groups, channels // groups, math.prod(count)))
    product = xp.sum(xp.matmul(flat, xp.matrix_transpose(columns)), axis=0, dtype=gradients.dtype)
    return xp.reshape(product, (channels, inner, *geometry.kernel))


# -- windows of images as columns


def im2col(
    xp: Namespace,
    self: Array,
    kernel_size: Sequence[int],
    dilation: Sequence[int],
    padding: Sequence[int],
    stride: Sequence[int],
) -> Array:
    geometry = _blocks(kernel_size, dilation, padding, stride)
    if self.ndim not in (3, 4) or not all(self.shape[-3:]):
        raise RuntimeError(f"Expected 3D or 4D (batch mode) tensor for input, but got: {list(self.shape)}")
    count = geometry.count(self.shape[-2:])
    if min(count) < 1:
        raise RuntimeError(f"the array of sliding blocks would have the shape {count}: at least one is needed of each")
    whole = surrounded(xp, self, geometry.padding, geometry.padding)
    view = windows(xp, whole, geometry.kernel, geometry.stride, geometry.dilation, count)
    shape = (*self.shape[:-3], self.shape[-3] * math.prod(geometry.kernel), math.prod(count))
    return xp.reshape(view, shape)


def col2im(
    xp: Namespace,
    self: Array,
    output_size: Sequence[int],
    kernel_size: Sequence[int],
    dilation: Sequence[int],
    padding: Sequence[int],
    stride: Sequence[int],
) -> Array:
    geometry = _blocks(kernel_size, dilation, padding, stride)
    sizes, places = widths(output_size, 2, "output_size"), math.prod(geometry.kernel)
    if self.ndim not in (2, 3) or not all(self.shape[-2:]) or self.shape[-2] % places:
        raise RuntimeError(
            f"Expected columns of {places} places of a window for each channel, but got: {list(self.shape)}"
        )
    count = geometry.count(sizes)
    if min(count) < 1 or math.prod(count) != self.shape[-1]:
        raise RuntimeError(f"expected {count[0]} * {count[1]} sliding blocks, but got {self.shape[-1]}")
    outer, channels = self.shape[:-2], self.shape[-2] // places
    values = xp.reshape(self, (*outer, channels, places, *count))
    axis = len(outer) + 1
    parts = (values[(slice(None),) * axis + (number, ...)] for number in range(places))
    return laid_over(xp, parts, geometry.kernel, geometry.stride, geometry.dilation, geometry.padding, sizes)
