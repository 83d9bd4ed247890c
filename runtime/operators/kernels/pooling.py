"""Pooling over windows of the last two or three dimensions: maxima with their places, and means."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from runtime.base.arrays import Array, shaped
from runtime.operators.kernels._indices import accumulate_at
from runtime.operators.kernels._windows import padded, sums_of_ranges, windows

Sizes = Sequence[int]


def _geometry(
    self: Array, kernel_size: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes | None, ceil_mode: bool
) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """Strides, dilations, and how many windows there are.

    Raises:
        RuntimeError: sizes or numbers do not fit.
    """
    dims = len(kernel_size)
    far = tuple(stride) or tuple(kernel_size)
    wide = tuple(dilation) if dilation is not None else (1,) * dims
    if self.ndim not in (dims + 1, dims + 2) or not all(self.shape[-dims - 1 :]):
        raise RuntimeError(
            f"Expected {dims + 1}D or {dims + 2}D (batch mode) tensor with optional 0 dim batch size for input, but "
            f"got: {list(self.shape)}"
        )
    for name, numbers in (("kernel size", kernel_size), ("stride", far), ("dilation", wide)):
        if min(numbers) < 1:
            raise RuntimeError(f"{name} should be greater than zero, but got {list(numbers)}")
    if min(padding) < 0:
        raise RuntimeError(f"pad must be non-negative, but got pad: {list(padding)}")
    extents = [step * (size - 1) + 1 for size, step in zip(kernel_size, wide, strict=True)]
    if any(pad > extent // 2 for pad, extent in zip(padding, extents, strict=True)):
        raise RuntimeError(
            f"pad should be at most half of effective kernel size, but got pad={list(padding)}, "
            f"kernel_size={list(kernel_size)} and dilation={list(wide)}"
        )
    count = []
    for size, extent, step, pad in zip(self.shape[-dims:], extents, far, padding, strict=True):
        places = (size + 2 * pad - extent + (step - 1 if ceil_mode else 0)) // step + 1
        if ceil_mode and (places - 1) * step >= size + pad:  # a window begins in the input or in its padding before it
            places -= 1
        count.append(places)
    if min(count) < 1:
        raise RuntimeError(
            f"Given input size: {list(self.shape[-dims - 1 :])}. Calculated output size: {count}. "
            "Output size is too small"
        )
    return far, wide, tuple(count)


def _surrounded(
    self: Array, kernel: Sizes, far: Sizes, padding: Sizes, wide: Sizes, count: Sizes, value: Any = 0
) -> Array:
    """The input with `value` around it, as far as windows go."""
    inner = self.shape[-len(kernel) :]
    after = [
        max((places - 1) * step + each * (size - 1) + 1 - pad - length, 0)
        for places, step, each, size, pad, length in zip(count, far, wide, kernel, padding, inner, strict=True)
    ]
    return padded(self, padding, after, value)


def _grid(rows: Sequence[Array], sizes: Sizes) -> Array:
    """Places along each dimension as places in an image of these sizes, counted through."""
    out = np.zeros((1,) * len(rows), np.int64)
    for dim, row in enumerate(rows):
        step = math.prod(sizes[dim + 1 :])
        out = out + row.reshape([-1 if i == dim else 1 for i in range(len(rows))]) * step
    return out


def _lowest(dtype: np.dtype[Any]) -> Any:
    return np.iinfo(dtype).min if dtype.kind in "iu" else -math.inf


# -- maxima


def max_pool_with_indices(
    self: Array, kernel_size: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, ceil_mode: bool = False
) -> tuple[Array, Array]:
    """The largest element of each window and its place in the image: the first of equal ones, or the last NaN."""
    far, wide, count = _geometry(self, kernel_size, stride, padding, dilation, ceil_mode)
    dims = len(kernel_size)
    outer, sizes = self.shape[:-dims], self.shape[-dims:]
    low = _lowest(self.dtype)
    view = windows(_surrounded(self, kernel_size, far, padding, wide, count, low), kernel_size, far, wide, count)
    starts = [np.arange(n) * step - pad for n, step, pad in zip(count, far, padding, strict=True)]
    # Where nothing is larger than the lowest number: the first element that is no padding.
    first = [start + -np.minimum(start, 0) // each * each for start, each in zip(starts, wide, strict=True)]
    first = [np.where(row < 0, row + each, row) for row, each in zip(first, wide, strict=True)]
    best = np.full((*outer, *count), low, self.dtype)
    index = np.broadcast_to(_grid(first, sizes), best.shape).copy()
    for place in itertools.product(*map(range, kernel_size)):
        values = view[(slice(None),) * len(outer) + place]
        larger = values > best
        if self.dtype.kind == "f":
            larger |= values != values
        rows = [start + each * at for start, each, at in zip(starts, wide, place, strict=True)]
        np.copyto(best, values, where=larger)
        np.copyto(index, _grid(rows, sizes), where=larger)
    return best, index


def max_pool_with_indices_shape(self: Array, kernel_size: Sizes, *arguments: Any) -> tuple[Array, Array]:
    """The results of `max_pool_with_indices` without data, for the same arguments."""
    shape = (*self.shape[: -len(kernel_size)], *_geometry(self, kernel_size, *arguments)[2])
    return shaped(shape, self.dtype), shaped(shape, np.dtype(np.int64))


def _scattered(values: Array, indices: Array, shape: Sizes, dims: int) -> Array:
    """Values added up at their places in images of zeros."""
    plane = math.prod(shape[-dims:])
    rows = math.prod(shape[:-dims])
    out = np.zeros(tuple(shape), values.dtype)
    places = indices.reshape(rows, math.prod(indices.shape[-dims:])) + np.arange(rows)[:, None] * plane
    if values.size:
        accumulate_at(out, places, values.reshape(places.shape))
    return out


def _check_indices(grad_output: Array, self: Array, indices: Array, dims: int) -> None:
    """Gradients and their places belong to the planes of `self`.

    Raises:
        RuntimeError: numbers of dimensions or shapes do not fit, or the places are no int64.
    """
    for name, array in (("grad_output", grad_output), ("input", self)):
        if array.ndim not in (dims + 1, dims + 2):
            raise RuntimeError(f"Expected {dims + 1}D or {dims + 2}D {name}, but got: {list(array.shape)}")
    if grad_output.shape != indices.shape or indices.dtype != np.int64:
        raise RuntimeError(
            f"expected a gradient and int64 indices of the same shape, but got {list(grad_output.shape)} and "
            f"{list(indices.shape)}"
        )
    if grad_output.shape[:-dims] != self.shape[:-dims]:
        raise RuntimeError(
            f"expected as many planes in grad_output as in input, but got {list(grad_output.shape)} and "
            f"{list(self.shape)}"
        )


def max_pool_with_indices_backward(
    grad_output: Array,
    self: Array,
    kernel_size: Sizes,
    stride: Sizes,
    padding: Sizes,
    dilation: Sizes,
    ceil_mode: bool,
    indices: Array,
) -> Array:
    """The gradient of each maximum, at its place."""
    _check_indices(grad_output, self, indices, len(kernel_size))
    return _scattered(grad_output, indices, self.shape, len(kernel_size))


def adaptive_max_pool2d_backward(grad_output: Array, self: Array, indices: Array) -> Array:
    _check_indices(grad_output, self, indices, 2)
    return _scattered(grad_output, indices, self.shape, 2)


def adaptive_max_pool3d_backward(grad_output: Array, self: Array, indices: Array) -> Array:
    _check_indices(grad_output, self, indices, 3)
    return _scattered(grad_output, indices, self.shape, 3)


def _unpooled(self: Array, indices: Array, output_size: Sizes) -> Array:
    dims = len(output_size)
    if indices.dtype != np.int64:
        raise RuntimeError("elements in indices should be type int64")
    if self.shape != indices.shape:
        raise RuntimeError(
            f"Expected shape of indices to be same as that of the input tensor ({list(self.shape)}) but got indices "
            f"tensor with shape: {list(indices.shape)}"
        )
    if self.ndim not in (dims + 1, dims + 2):
        raise RuntimeError(f"Input to max_unpooling should be a {dims + 1}d or {dims + 2}d Tensor, but got {self.ndim}")
    plane = math.prod(output_size)
    if indices.size and (indices.min() < 0 or indices.max() >= plane):
        raise RuntimeError(f"Found an invalid max index: {int(indices.max())} (output volumes are of size {plane})")
    out = np.zeros((math.prod(self.shape[:-dims]), plane), self.dtype)
    shape = (len(out), math.prod(self.shape[-dims:]))
    np.put_along_axis(out, indices.reshape(shape), self.reshape(shape), 1)
    return out.reshape(*self.shape[:-dims], *output_size)


def max_unpool2d(self: Array, indices: Array, output_size: Sizes) -> Array:
    """Maxima at their places in images of zeros."""
    return _unpooled(self, indices, output_size)


def max_unpool3d(self: Array, indices: Array, output_size: Sizes, stride: Sizes, padding: Sizes) -> Array:
    """Maxima at their places in images of zeros."""
    if min(stride) < 1:
        raise RuntimeError(f"strides should be greater than zero, but got stride: {list(stride)}")
    return _unpooled(self, indices, output_size)


# -- means


def _divisors(
    sizes: Sizes, kernel: Sizes, far: Sizes, padding: Sizes, count: Sizes, with_padding: bool, fixed: int | None
) -> Any:
    """By what the sums of windows are divided."""
    if fixed is not None:
        if fixed == 0:
            raise RuntimeError("divisor must be not zero")
        return fixed
    out: Any = 1
    for dim, (size, width, step, pad, places) in enumerate(zip(sizes, kernel, far, padding, count, strict=True)):
        start = np.arange(places) * step - pad
        end = np.minimum(start + width, size + pad)
        if not with_padding:
            start, end = np.maximum(start, 0), np.minimum(end, size)
        out = out * (end - start).reshape([-1 if i == dim else 1 for i in range(len(sizes))])
    return out


def _means(
    self: Array,
    kernel_size: Sizes,
    stride: Sizes,
    padding: Sizes,
    ceil_mode: bool,
    with_padding: bool,
    fixed: int | None,
) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...], Any]:
    """What `_geometry` says of means of windows, and what their sums are divided by."""
    far, wide, count = _geometry(self, kernel_size, stride, padding, None, ceil_mode)
    sizes = self.shape[-len(kernel_size) :]
    return far, wide, count, _divisors(sizes, kernel_size, far, padding, count, with_padding, fixed)


def avg_pool(
    self: Array,
    kernel_size: Sizes,
    stride: Sizes,
    padding: Sizes,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Array:
    """The mean of each window; what lies around the input counts as zeros, or not at all."""
    far, wide, count, divisors = _means(
        self, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
    )
    dims = len(kernel_size)
    view = windows(_surrounded(self, kernel_size, far, padding, wide, count), kernel_size, far, wide, count)
    outer = (slice(None),) * (self.ndim - dims)
    out = np.zeros((*self.shape[:-dims], *count), self.dtype)
    for place in itertools.product(*map(range, kernel_size)):
        out += view[outer + place]
    if self.dtype.kind in "iu":
        return np.asarray(np.fix(out / divisors)).astype(self.dtype)
    out /= np.asarray(divisors, out.real.dtype)
    return out


def avg_pool_shape(self: Array, kernel_size: Sizes, *arguments: Any) -> Array:
    """The result of `avg_pool` without data, for the same arguments."""
    return shaped((*self.shape[: -len(kernel_size)], *_means(self, kernel_size, *arguments)[2]), self.dtype)


def avg_pool_backward(
    grad_output: Array, self: Array, kernel_size: Sizes, stride: Sizes, padding: Sizes, *options: Any
) -> Array:
    """The gradient of each mean, shared among its window."""
    far, wide, count, divisors = _checked_means(grad_output, self, kernel_size, stride, padding, *options)
    dims = len(kernel_size)
    sizes = self.shape[-dims:]
    share = grad_output / np.asarray(divisors, grad_output.real.dtype)
    blank = np.zeros(self.shape, grad_output.dtype)
    whole = _surrounded(blank, kernel_size, far, padding, wide, count)
    view: Any = windows(whole, kernel_size, far, wide, count)
    outer = (slice(None),) * (self.ndim - dims)
    for place in itertools.product(*map(range, kernel_size)):
        view[outer + place] += share
    inner: Any = (..., *(slice(pad, pad + size) for pad, size in zip(padding, sizes, strict=True)))
    return np.ascontiguousarray(whole[inner])


def avg_pool_backward_shape(grad_output: Array, self: Array, kernel_size: Sizes, *arguments: Any) -> Array:
    """The result of `avg_pool_backward` without data, for the same arguments."""
    _checked_means(grad_output, self, kernel_size, *arguments)
    return shaped(self.shape, grad_output.dtype)


def _checked_means(
    grad_output: Array, self: Array, kernel_size: Sizes, *arguments: Any
) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...], Any]:
    """`_means`, where the gradient has the shape of the result.

    Raises:
        RuntimeError: it has another.
    """
    means = _means(self, kernel_size, *arguments)
    wanted = (*self.shape[: -len(kernel_size)], *means[2])
    if grad_output.shape != wanted:
        raise RuntimeError(f"expected a gradient of shape {list(wanted)}, but got {list(grad_output.shape)}")
    return means


# -- windows that divide an input into as many parts as are asked for


def _parts(size: int, count: int) -> tuple[Array, Array]:
    """Where the windows begin and end that divide `size` elements into `count` parts, which may overlap."""
    places = np.arange(count)
    return places * size // count, -(-(places + 1) * size // count)


def _check_adaptive(self: Array, output_size: Sizes) -> None:
    dims = len(output_size)
    if self.ndim not in (dims + 1, dims + 2) or not all(self.shape[1:]):
        raise RuntimeError(
            f"adaptive pooling: Expected {dims + 1}D or {dims + 2}D tensor with non-zero size for non-batch "
            f"dimensions, but got {list(self.shape)}"
        )
    if min(output_size) < 0:
        raise RuntimeError(
            f"elements of output_size must be greater than or equal to 0 but received {list(output_size)}"
        )


def adaptive_avg_pool(self: Array, output_size: Sizes) -> Array:
    """The means of windows that divide the input into `output_size` parts."""
    _check_adaptive(self, output_size)
    out = self
    for dim, count in enumerate(output_size, self.ndim - len(output_size)):
        starts, ends = _parts(self.shape[dim], count)
        widths = (ends - starts).astype(self.real.dtype)
        out = sums_of_ranges(out, dim, starts, ends) / widths.reshape([-1 if i == dim else 1 for i in range(self.ndim)])
    return np.ascontiguousarray(out)


def _adaptive_avg_pool_backward(grad_output: Array, self: Array, dims: int) -> Array:
    """The gradient of each mean, shared among its window: each element has a range of windows that it lies in."""
    _check_adaptive(self, grad_output.shape[-dims:])
    if grad_output.ndim != self.ndim or grad_output.shape[:-dims] != self.shape[:-dims]:
        raise RuntimeError(f"expected a gradient for {list(self.shape)}, but got {list(grad_output.shape)}")
    out = grad_output
    for dim in range(self.ndim - dims, self.ndim):
        size, count = self.shape[dim], grad_output.shape[dim]
        if not count:
            return np.zeros(self.shape, grad_output.dtype)
        starts, ends = _parts(size, count)
        share = out / (ends - starts).astype(out.real.dtype).reshape([-1 if i == dim else 1 for i in range(self.ndim)])
        places = np.arange(size)
        first = np.searchsorted(ends, places, side="right")
        out = sums_of_ranges(share, dim, first, np.searchsorted(starts, places, side="right"))
    return np.require(out, requirements=["C_CONTIGUOUS", "WRITEABLE"])


def adaptive_avg_pool2d_backward(grad_output: Array, self: Array) -> Array:
    return _adaptive_avg_pool_backward(grad_output, self, 2)


def adaptive_avg_pool3d_backward(grad_output: Array, self: Array) -> Array:
    return _adaptive_avg_pool_backward(grad_output, self, 3)


def _largest(window: Array, dim: int) -> Array:
    """The place of the first largest element, or of the last NaN, as where elements are compared one by one."""
    chosen: Array = np.argmax(window, axis=dim, keepdims=True)
    wrong = window != window
    if not wrong.any():
        return chosen
    last = window.shape[dim] - 1 - np.argmax(np.flip(wrong, dim), axis=dim, keepdims=True)
    return np.asarray(np.where(wrong.any(axis=dim, keepdims=True), last, chosen))


def adaptive_max_pool2d(self: Array, output_size: Sizes) -> tuple[Array, Array]:
    return _adaptive_max_pool(self, output_size, 2)


def adaptive_max_pool3d(self: Array, output_size: Sizes) -> tuple[Array, Array]:
    return _adaptive_max_pool(self, output_size, 3)


def _adaptive_max_pool(self: Array, output_size: Sizes, dims: int) -> tuple[Array, Array]:
    """The largest element of each window and its place in the image: dimension by dimension, the last one first."""
    if len(output_size) != dims:
        raise RuntimeError(f"adaptive_max_pool{dims}d(): internal error: output_size.size() must be {dims}")
    _check_adaptive(self, output_size)
    best = self
    index = np.broadcast_to(np.arange(math.prod(self.shape[-dims:])).reshape(self.shape[-dims:]), self.shape)
    for dim in range(self.ndim - 1, self.ndim - 1 - dims, -1):
        count = output_size[dim - self.ndim]
        found, places = [], []
        for start, end in zip(*(row.tolist() for row in _parts(self.shape[dim], count)), strict=True):
            before = (slice(None),) * dim
            window, at = best[(*before, slice(start, end))], index[(*before, slice(start, end))]
            chosen = _largest(window, dim)
            found.append(np.take_along_axis(window, chosen, dim))
            places.append(np.take_along_axis(at, chosen, dim))
        if not found:
            shape = (*self.shape[:-dims], *output_size)
            return np.zeros(shape, self.dtype), np.zeros(shape, np.int64)
        best, index = np.concatenate(found, dim), np.concatenate(places, dim)
    return best, np.ascontiguousarray(index, np.int64)


# -- windows at random places


def _intervals(samples: Array, size: int, count: int, kernel: int) -> Array:
    """Where windows begin, for each sample: about equally far apart, the last one at the end."""
    places = np.arange(count, dtype=samples.dtype)
    step = samples.dtype.type((size - kernel) / (count - 1)) if count > 1 else samples.dtype.type(0)
    begin = ((places + samples[..., None]) * step).astype(np.int64) - (samples[..., None] * step).astype(np.int64)
    begin[..., -1] = size - kernel
    return np.asarray(begin)


def fractional_max_pool(
    self: Array, kernel_size: Sizes, output_size: Sizes, random_samples: Array
) -> tuple[Array, Array]:
    """The largest element of each of `output_size` windows, and its place in the image."""
    dims = len(kernel_size)
    sizes, outer = self.shape[-dims:], self.shape[:-dims]
    if self.ndim not in (dims + 1, dims + 2) or not all(self.shape[-dims - 1 :]):
        raise RuntimeError(f"fractional_max_pool{dims}d(): Expected a {dims + 1}D or {dims + 2}D tensor")
    for size, kernel, count in zip(sizes, kernel_size, output_size, strict=True):
        if kernel < 1 or count < 1 or count + kernel - 1 > size:
            raise RuntimeError(
                f"fractional_max_pool{dims}d(): pool size {kernel} too large relative to input size {size}"
            )
    if random_samples.ndim != 3 or random_samples.dtype != self.dtype:
        raise RuntimeError("Expect _random_samples to have 3 dimensions and the dtype of the input")
    samples = random_samples.reshape(*outer, dims) if self.ndim == dims + 2 else random_samples[0]
    order = (1, 0) if dims == 2 else range(dims)  # PyTorch draws the width first, but not in three dimensions
    starts = [
        _intervals(samples[..., at], size, count, kernel)
        for at, size, count, kernel in zip(order, sizes, output_size, kernel_size, strict=True)
    ]
    flat = self.reshape(*outer, math.prod(sizes))
    best = np.full((*outer, math.prod(output_size)), -math.inf, self.dtype)
    index = np.zeros(best.shape, np.int64)
    for number, place in enumerate(itertools.product(*map(range, kernel_size))):
        at = np.zeros((*outer, *(1,) * dims), np.int64)
        for dim, (start, offset) in enumerate(zip(starts, place, strict=True)):
            shape = [*outer, *(output_size[dim] if i == dim else 1 for i in range(dims))]
            at = at + (start + offset).reshape(shape) * math.prod(sizes[dim + 1 :])
        at = at.reshape(best.shape)
        values = np.take_along_axis(flat, at, -1)
        larger = (values > best) | (values != values)
        if not number:
            larger[...] = True
        np.copyto(best, values, where=larger)
        np.copyto(index, at, where=larger)
    return best.reshape(*outer, *output_size), index.reshape(*outer, *output_size)


def fractional_max_pool_backward(
    grad_output: Array, self: Array, kernel_size: Sizes, output_size: Sizes, indices: Array
) -> Array:
    """The gradient of each maximum, at its place."""
    _check_indices(grad_output, self, indices, len(kernel_size))
    return _scattered(grad_output, indices, self.shape, len(kernel_size))
