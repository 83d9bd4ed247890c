"""Convolutions of one to three dimensions, their adjoints, and the columns that they are products with.

A convolution is a product of matrices: the weights, a row for each channel of the result, with the windows of the
input, a column for each place of the result.  The windows are a view; they are copied in parts that stay in the cache.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from runtime.base.arrays import Array, shaped, type_name
from runtime.operators.kernels._windows import padded, widths, windows

# So many elements of columns are made at once.
_PART = 1 << 19


@dataclass(frozen=True)
class _Geometry:
    """How the windows of a convolution lie: a number for each of its dimensions."""

    kernel: tuple[int, ...]
    stride: tuple[int, ...]
    padding: tuple[int, ...]
    dilation: tuple[int, ...]
    groups: int
    transposed: bool = False
    output_padding: tuple[int, ...] = ()

    @property
    def extents(self) -> tuple[int, ...]:
        """The sizes of a window, with what the dilation leaves out."""
        return tuple(wide * (size - 1) + 1 for size, wide in zip(self.kernel, self.dilation, strict=True))

    def count(self, sizes: Sequence[int]) -> tuple[int, ...]:
        """How many windows there are in an input of these sizes."""
        each = zip(sizes, self.extents, self.padding, self.stride, strict=True)
        return tuple((size + 2 * pad - extent) // far + 1 for size, extent, pad, far in each)

    def spread_sizes(self, count: Sequence[int]) -> tuple[int, ...]:
        """The sizes of the input that so many windows come from, with the output padding."""
        each = zip(count, self.extents, self.padding, self.stride, self.output_padding, strict=True)
        return tuple((places - 1) * far - 2 * pad + extent + extra for places, extent, pad, far, extra in each)

    def result_shape(self, input: Array, weight: Array) -> tuple[int, ...]:
        if self.transposed:
            return input.shape[0], weight.shape[1] * self.groups, *self.spread_sizes(input.shape[2:])
        return input.shape[0], weight.shape[0], *self.count(input.shape[2:])


def convolution(input: Array, weight: Array, bias: Array | None, *arguments: Any) -> Array:
    """The sums of windows of the input, weighted, or with `transposed` their adjoint: windows laid over each other."""
    geometry = _checked(input, weight, bias, *arguments)
    compute = _spread if geometry.transposed else _correlate
    out = compute(input, weight, geometry, geometry.result_shape(input, weight)[2:])
    if bias is not None:
        out += bias.reshape(-1, *(1,) * (input.ndim - 2))
    return out


def convolution_shape(input: Array, weight: Array, bias: Array | None, *arguments: Any) -> Array:
    """The result of `convolution` without data, for the same arguments."""
    return shaped(_checked(input, weight, bias, *arguments).result_shape(input, weight), input.dtype)


def convolution_backward(
    grad_output: Array, input: Array, weight: Array, bias_sizes: Sequence[int] | None, *arguments: Any
) -> tuple[Array | None, Array | None, Array | None]:
    """The gradients of input, weight and bias; None for those that `output_mask`, the last argument, leaves out."""
    geometry, output_mask = _checked_gradient(grad_output, input, weight, *arguments)
    of_input = of_weight = of_bias = None
    if output_mask[0]:
        # Of a transposed one: output padding can leave room for more windows than there are inputs.
        compute = _correlate if geometry.transposed else _spread
        of_input = compute(grad_output, weight.conj(), geometry, input.shape[2:])
    if output_mask[1]:
        images, gradients = (grad_output, input.conj()) if geometry.transposed else (input.conj(), grad_output)
        of_weight = _of_weight(images, gradients, geometry)
    if output_mask[2]:
        of_bias = grad_output.sum(axis=(0, *range(2, grad_output.ndim)), dtype=grad_output.dtype)
    return of_input, of_weight, of_bias


def convolution_backward_shape(
    grad_output: Array, input: Array, weight: Array, bias_sizes: Sequence[int] | None, *arguments: Any
) -> tuple[Array | None, Array | None, Array | None]:
    """The results of `convolution_backward` without data, for the same arguments."""
    _, output_mask = _checked_gradient(grad_output, input, weight, *arguments)
    return (
        shaped(input.shape, input.dtype) if output_mask[0] else None,
        shaped(weight.shape, weight.dtype) if output_mask[1] else None,
        shaped((grad_output.shape[1],), grad_output.dtype) if output_mask[2] else None,
    )


def _checked_gradient(
    grad_output: Array, input: Array, weight: Array, *arguments: Any
) -> tuple[_Geometry, Sequence[bool]]:
    """`_checked`, and whether the gradient has the shape and the type of the result; and the mask, which is last."""
    *numbers, output_mask = arguments
    geometry = _checked(input, weight, None, *numbers)
    wanted = geometry.result_shape(input, weight)
    if grad_output.shape != wanted or grad_output.dtype != input.dtype:
        raise RuntimeError(
            f"convolution_backward: expected a gradient of shape {list(wanted)} and type {type_name(input.dtype)}, but "
            f"got shape {list(grad_output.shape)} and type {type_name(grad_output.dtype)}"
        )
    return geometry, output_mask


# -- the three products


def _parts(batch: int, columns: int) -> Iterator[slice]:
    """The batch in parts, of which each has about `_PART` elements in its columns."""
    size = max(1, _PART // max(columns, 1))
    return (slice(start, min(start + size, batch)) for start in range(0, batch, size))


def _is_plain(geometry: _Geometry) -> bool:
    """Whether each window is one element, and no element is left out: the columns are the input."""
    return all(size == 1 for size in (*geometry.kernel, *geometry.stride)) and not any(geometry.padding)


def _rows(weight: Array, groups: int) -> Array:
    """The weights as matrices: (groups, channels of a group of the result, channels of a group and places)."""
    channels, inner = weight.shape[:2]
    return weight.reshape(groups, channels // groups, inner * math.prod(weight.shape[2:]))


def _flat(values: Array, groups: int) -> Array:
    """Images as matrices: (groups, channels of a group, batch and places)."""
    batch, channels = values.shape[:2]
    return values.swapaxes(0, 1).reshape(groups, channels // groups, batch * math.prod(values.shape[2:]))


def _columns(images: Array, geometry: _Geometry, count: tuple[int, ...]) -> Array:
    """The windows of padded images as matrices: (groups, channels of a group and places in a window, windows)."""
    batch, channels = images.shape[:2]
    dims = len(count)
    view = windows(images, geometry.kernel, geometry.stride, geometry.dilation, count)
    order = (1, *range(2, 2 + dims), 0, *range(2 + dims, 2 + 2 * dims))
    rows = channels // geometry.groups * math.prod(geometry.kernel)
    made: Array = view.transpose(order).reshape(geometry.groups, rows, batch * math.prod(count))
    return made


def _multiplied(rows: Array, images: Array, groups: int) -> Array:
    """Matrices times the channels of each image, where windows are single elements."""
    batch, channels, *count = images.shape
    flat = images.reshape(batch, groups, channels // groups, math.prod(count))
    made: Array = np.matmul(rows, flat).reshape(batch, groups * rows.shape[1], *count)
    return made


def _correlate(input: Array, weight: Array, geometry: _Geometry, count: tuple[int, ...]) -> Array:
    """For each of the first `count` windows of `input` its products with the rows of `weight`."""
    rows = _rows(weight, geometry.groups)
    if _is_plain(geometry) and count == input.shape[2:]:
        return _multiplied(rows, input, geometry.groups)
    images = padded(input, geometry.padding, geometry.padding)
    out = np.empty((len(input), len(weight), *count), np.result_type(input, weight))
    for part in _parts(len(input), rows.shape[2] * geometry.groups * math.prod(count)):
        made = np.matmul(rows, _columns(images[part], geometry, count))
        out[part] = made.reshape(len(weight), -1, *count).swapaxes(0, 1)
    return out


def _spread(values: Array, weight: Array, geometry: _Geometry, sizes: Sequence[int]) -> Array:
    """The adjoint of `_correlate`: each of `values` times its row of `weight`, added up where the windows lie."""
    count, groups = values.shape[2:], geometry.groups
    rows = _rows(weight, groups).swapaxes(1, 2)
    if _is_plain(geometry):
        return _multiplied(rows, values, groups)
    inner = weight.shape[1] * groups
    images = _canvas(len(values), inner, sizes, geometry, np.result_type(values, weight))
    for part in _parts(len(values), inner * math.prod((*geometry.kernel, *count))):
        made = np.matmul(rows, _flat(values[part], groups))
        _lay(made.reshape(inner, *geometry.kernel, -1, *count), images[part], geometry)
    return _cropped(images, geometry.padding, sizes)


def _canvas(batch: int, channels: int, sizes: Sequence[int], geometry: _Geometry, dtype: np.dtype[Any]) -> Array:
    """Zeros, with the padding around them."""
    inner = (size + 2 * pad for size, pad in zip(sizes, geometry.padding, strict=True))
    return np.zeros((batch, channels, *inner), dtype)


def _lay(values: Any, images: Array, geometry: _Geometry) -> None:
    """Add up windows of shape (channels, *kernel, batch, *count) where they lie in images."""
    count = values.shape[2 + len(geometry.kernel) :]
    view: Any = windows(images.swapaxes(0, 1), geometry.kernel, geometry.stride, geometry.dilation, count)
    # Windows overlap, but their elements at one place do not.
    for place in itertools.product(*map(range, geometry.kernel)):
        view[:, :, *place] += values[:, *place]


def _cropped(images: Array, padding: Sequence[int], sizes: Sequence[int]) -> Array:
    if not any(padding):
        return images
    inner = tuple(slice(pad, pad + size) for pad, size in zip(padding, sizes, strict=True))
    return np.ascontiguousarray(images[:, :, *inner])


def _of_weight(images: Array, gradients: Array, geometry: _Geometry) -> Array:
    """The products of all windows with the gradients of what was made of them, added up."""
    groups, count = geometry.groups, gradients.shape[2:]
    channels, inner = gradients.shape[1], images.shape[1] // groups
    out = np.zeros((groups, channels // groups, inner * math.prod(geometry.kernel)), gradients.dtype)
    whole = padded(images, geometry.padding, geometry.padding)
    for part in _parts(len(images), out.shape[2] * groups * math.prod(count)):
        out += np.matmul(_flat(gradients[part], groups), _columns(whole[part], geometry, count).swapaxes(1, 2))
    return out.reshape(channels, inner, *geometry.kernel)


# -- what is refused


def _checked(
    input: Array,
    weight: Array,
    bias: Array | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
) -> _Geometry:
    """How the windows lie.

    Raises:
        RuntimeError: sizes or numbers do not fit.
    """
    dims = weight.ndim - 2
    if dims < 1:
        raise RuntimeError("weight should have at least three dimensions")
    geometry = _Geometry(
        weight.shape[2:],
        widths(stride, dims, "stride"),
        widths(padding, dims, "padding"),
        widths(dilation, dims, "dilation"),
        groups,
        transposed,
        widths(output_padding, dims, "output_padding"),
    )
    for name, numbers, least in (
        ("padding", geometry.padding, 0),
        ("output_padding", geometry.output_padding, 0),
        ("stride", geometry.stride, 1),
        ("dilation", geometry.dilation, 1),
        ("groups", (groups,), 1),
    ):
        if any(number < least for number in numbers):
            raise RuntimeError(f"{'non-positive' if least else 'negative'} {name} is not supported")
    if input.dtype != weight.dtype:
        raise RuntimeError(
            f"Input type ({type_name(input.dtype)}) and weight type ({type_name(weight.dtype)}) should be the same"
        )
    _check_channels(input, weight, bias, transposed, groups)
    if not transposed:
        _check_windows(input, geometry)
        return geometry
    each = zip(geometry.output_padding, geometry.stride, geometry.dilation, strict=True)
    if any(extra >= far and extra >= wide for extra, far, wide in each):
        raise RuntimeError(
            f"output padding must be smaller than either stride or dilation, but got output_padding: "
            f"{list(geometry.output_padding)} stride: {list(geometry.stride)} dilation: {list(geometry.dilation)}"
        )
    sizes = geometry.spread_sizes(input.shape[2:])
    if min(sizes) < 1:
        raise RuntimeError(
            f"Given input size per channel: {list(input.shape[2:])}. Calculated output size per channel: "
            f"{list(sizes)}. Output size is too small"
        )
    return geometry


def _check_channels(input: Array, weight: Array, bias: Array | None, transposed: bool, groups: int) -> None:
    shape, sizes = list(weight.shape), list(input.shape)
    if input.ndim != weight.ndim:
        raise RuntimeError(
            f"Expected {weight.ndim}-dimensional input for {weight.ndim}-dimensional weight {shape}, but got "
            f"{input.ndim}-dimensional input of size {sizes} instead"
        )
    if weight.shape[0] < groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be at least {groups} at dimension 0, but got weight of size "
            f"{shape} instead"
        )
    if weight.shape[0] % groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be divisible by {groups} at dimension 0, but got weight of "
            f"size {shape} instead"
        )
    wanted = weight.shape[0] if transposed else weight.shape[1] * groups
    if input.shape[1] != wanted:
        given = "transposed=1" if transposed else f"groups={groups}"
        raise RuntimeError(
            f"Given {given}, weight of size {shape}, expected input{sizes} to have {wanted} channels, but got "
            f"{input.shape[1]} channels instead"
        )
    made = weight.shape[1] * groups if transposed else weight.shape[0]
    if bias is None:
        return
    if bias.shape != (made,):
        raise RuntimeError(
            f"Given weight of size {shape}, expected bias to be 1-dimensional with {made} elements, but got bias of "
            f"size {list(bias.shape)} instead"
        )
    if bias.dtype != input.dtype:
        raise RuntimeError(
            f"Input type ({type_name(input.dtype)}) and bias type ({type_name(bias.dtype)}) should be the same"
        )


def _check_windows(input: Array, geometry: _Geometry) -> None:
    if not all(geometry.kernel):
        raise RuntimeError(f"a window needs at least one element, but got kernel size {list(geometry.kernel)}")
    sizes = [size + 2 * pad for size, pad in zip(input.shape[2:], geometry.padding, strict=True)]
    if any(size < extent for size, extent in zip(sizes, geometry.extents, strict=True)):
        raise RuntimeError(
            f"Calculated padded input size per channel: ({' x '.join(map(str, sizes))}). Kernel size: "
            f"({' x '.join(map(str, geometry.extents))}). Kernel size can't be greater than actual input size"
        )


# -- windows of images as columns


def im2col(
    self: Array, kernel_size: Sequence[int], dilation: Sequence[int], padding: Sequence[int], stride: Sequence[int]
) -> Array:
    """The windows of images of shape (N, C, H, W) or (C, H, W): (N, C * places of a window, windows)."""
    geometry = _blocks(kernel_size, dilation, padding, stride)
    if self.ndim not in (3, 4) or not all(self.shape[-3:]):
        raise RuntimeError(
            "Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for input, "
            f"but got: {list(self.shape)}"
        )
    count = geometry.count(self.shape[-2:])
    if min(count) < 1:
        raise RuntimeError(
            f"Given input with spatial size {self.shape[-2:]}, kernel_size={geometry.kernel}, "
            f"dilation={geometry.dilation}, padding={geometry.padding}, calculated shape of the array of sliding "
            f"blocks as {count}, but its components must be at least one."
        )
    view = windows(
        padded(self, geometry.padding, geometry.padding), geometry.kernel, geometry.stride, geometry.dilation, count
    )
    shape = (*self.shape[:-3], self.shape[-3] * math.prod(geometry.kernel), math.prod(count))
    return np.ascontiguousarray(view).reshape(shape)


def col2im(
    self: Array,
    output_size: Sequence[int],
    kernel_size: Sequence[int],
    dilation: Sequence[int],
    padding: Sequence[int],
    stride: Sequence[int],
) -> Array:
    """The adjoint of `im2col`: windows laid over each other and added up, in images of `output_size`."""
    geometry = _blocks(kernel_size, dilation, padding, stride)
    sizes = widths(output_size, 2, "output_size")
    if self.ndim not in (2, 3) or not all(self.shape[-2:]):
        raise RuntimeError(
            "Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and non-zero dimensions for "
            f"input, but got: {list(self.shape)}"
        )
    places = math.prod(geometry.kernel)
    if self.shape[-2] % places:
        raise RuntimeError(
            "Expected size of input's dimension 1 to be divisible by the product of kernel_size, but got "
            f"input.size(1)={self.shape[-2]} and kernel_size={geometry.kernel}."
        )
    count = geometry.count(sizes)
    if min(count) < 1 or math.prod(count) != self.shape[-1]:
        raise RuntimeError(
            f"Given output_size={sizes}, kernel_size={geometry.kernel}, dilation={geometry.dilation}, "
            f"padding={geometry.padding}, stride={geometry.stride}, expected size of input's dimension 2 to match the "
            f"calculated number of sliding blocks {count[0]} * {count[1]} = {math.prod(count)}, but got "
            f"input.size(2)={self.shape[-1]}."
        )
    outer, channels = self.shape[:-2], self.shape[-2] // places
    images = _canvas(math.prod(outer), channels, sizes, geometry, self.dtype)
    values = self.reshape(math.prod(outer), channels, *geometry.kernel, *count)
    _lay(np.moveaxis(values, 0, 3), images, geometry)
    return _cropped(images, geometry.padding, sizes).reshape(*outer, channels, *sizes)


def _blocks(kernel: Sequence[int], dilation: Sequence[int], padding: Sequence[int], stride: Sequence[int]) -> _Geometry:
    numbers = {"kernel size": kernel, "dilation": dilation, "padding": padding, "stride": stride}
    for name, given in numbers.items():
        if any(number < (name != "padding") for number in given):
            least = "non-negative" if name == "padding" else "greater than zero"
            raise RuntimeError(f"{name} should be {least}, but got {list(given)}")
    return _Geometry(
        widths(kernel, 2, "kernel_size"),
        widths(stride, 2, "stride"),
        widths(padding, 2, "padding"),
        widths(dilation, 2, "dilation"),
        1,
    )
