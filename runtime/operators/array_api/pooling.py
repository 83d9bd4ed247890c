"""Maxima and means of windows of the last two or three dimensions."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

from runtime.operators.array_api._common import Array, Namespace, is_integral
from runtime.operators.array_api._windows import flat_places, laid_over, surrounded, windows
from runtime.operators.kernels.pooling import _check_adaptive, _checked_means, _geometry, _means, _parts

Sizes = Sequence[int]


def _around(self: Array, kernel: Sizes, far: Sizes, padding: Sizes, wide: Sizes, count: Sizes) -> list[int]:
    """How many elements windows need behind the input."""
    inner = self.shape[self.ndim - len(kernel) :]
    return [
        max((places - 1) * step + each * (size - 1) + 1 - pad - length, 0)
        for places, step, each, size, pad, length in zip(count, far, wide, kernel, padding, inner, strict=True)
    ]


def _flat_windows(
    xp: Namespace, self: Array, kernel: Sizes, far: Sizes, padding: Sizes, wide: Sizes, count: Sizes, value: Any
) -> Array:
    """(*outer, places of a window, *count)."""
    whole = surrounded(xp, self, padding, _around(self, kernel, far, padding, wide, count), value)
    view = windows(xp, whole, kernel, far, wide, count)
    return xp.reshape(view, (*self.shape[: self.ndim - len(kernel)], math.prod(kernel), *count))


def _along(xp: Namespace, values: Array, dim: int, dims: int) -> Array:
    """A list as what counts along one of several dimensions."""
    return xp.reshape(values, tuple(-1 if each == dim else 1 for each in range(dims)))


# -- maxima


def _max_pool(
    xp: Namespace, self: Array, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, ceil_mode: bool = False
) -> tuple[Array, Array]:
    far, wide, count = _geometry(self, kernel, stride, padding, dilation, ceil_mode)
    dims, whole = len(kernel), is_integral(xp, self)
    axis = self.ndim - dims
    sizes, places = self.shape[axis:], math.prod(kernel)
    low = int(xp.iinfo(self.dtype).min) if whole else -math.inf
    values = _flat_windows(xp, self, kernel, far, padding, wide, count, low)
    inside = _flat_windows(xp, xp.ones(sizes, dtype=xp.int64), kernel, far, padding, wide, count, 0)
    best = xp.max(values, axis=axis, keepdims=True)
    largest = xp.logical_and(values == best, inside > 0)
    chosen = xp.argmax(xp.astype(largest, xp.uint8), axis=axis)
    if not whole:
        wrong = xp.astype(values != values, xp.uint8)
        last = places - 1 - xp.argmax(xp.flip(wrong, axis=axis), axis=axis)
        chosen = xp.where(xp.max(wrong, axis=axis) > 0, last, chosen)
    rows: list[Array] = []
    rest = chosen
    for dim in reversed(range(dims)):
        within, rest = rest % kernel[dim], rest // kernel[dim]
        starts = xp.arange(count[dim], dtype=xp.int64) * far[dim] - padding[dim]
        rows.insert(0, within * wide[dim] + _along(xp, starts, dim, dims))
    index = xp.astype(flat_places(xp, rows, sizes), xp.int64)
    return xp.squeeze(best, axis=axis), index


def max_pool2d_with_indices(xp: Namespace, self: Array, *arguments: Any) -> tuple[Array, Array]:
    return _max_pool(xp, self, *arguments)


def max_pool3d_with_indices(xp: Namespace, self: Array, *arguments: Any) -> tuple[Array, Array]:
    return _max_pool(xp, self, *arguments)


# -- means


def _over(xp: Namespace, sums: Array, divisors: Any) -> Array:
    """The sums divided: by a number, or by an array of NumPy that says how many elements each window has."""
    if not isinstance(divisors, int):
        divisors = xp.asarray(divisors.tolist(), dtype=xp.float64)
        divisors = divisors if is_integral(xp, sums) else xp.astype(divisors, sums.dtype)
    if is_integral(xp, sums):
        return xp.astype(xp.trunc(xp.astype(sums, xp.float64) / divisors), sums.dtype)
    return sums / divisors


def _avg_pool(
    xp: Namespace,
    self: Array,
    kernel: Sizes,
    stride: Sizes,
    padding: Sizes,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Array:
    far, wide, count, divisors = _means(self, kernel, stride, padding, ceil_mode, count_include_pad, divisor_override)
    values = _flat_windows(xp, self, kernel, far, padding, wide, count, 0)
    return _over(xp, xp.sum(values, axis=self.ndim - len(kernel), dtype=self.dtype), divisors)


def _avg_pool_backward(
    xp: Namespace, grad_output: Array, self: Array, kernel: Sizes, stride: Sizes, padding: Sizes, *arguments: Any
) -> Array:
    far, wide, _, divisors = _checked_means(grad_output, self, kernel, stride, padding, *arguments)
    share = _over(xp, grad_output, divisors)
    sizes = self.shape[self.ndim - len(kernel) :]
    return laid_over(xp, itertools.repeat(share), kernel, far, wide, padding, sizes)


def avg_pool2d(xp: Namespace, self: Array, *arguments: Any) -> Array:
    return _avg_pool(xp, self, *arguments)


def avg_pool3d(xp: Namespace, self: Array, *arguments: Any) -> Array:
    return _avg_pool(xp, self, *arguments)


def avg_pool2d_backward(xp: Namespace, grad_output: Array, self: Array, *arguments: Any) -> Array:
    return _avg_pool_backward(xp, grad_output, self, *arguments)


def avg_pool3d_backward(xp: Namespace, grad_output: Array, self: Array, *arguments: Any) -> Array:
    return _avg_pool_backward(xp, grad_output, self, *arguments)


# -- windows that divide an input into as many parts as are asked for: products with matrices of their shares


def _shares(xp: Namespace, size: int, count: int, like: Array) -> Array:
    """(size, count): what of each element goes into the mean of each part."""
    starts, ends = _parts(size, count)
    rows = [[1 / (end - start) if start <= at < end else 0.0 for start, end in zip(starts, ends, strict=True)]
            for at in range(size)]  # fmt: skip
    return xp.asarray(rows, dtype=like.dtype)


def _multiplied(xp: Namespace, self: Array, dim: int, matrix: Array) -> Array:
    """The product of the elements along a dimension with a matrix."""
    return xp.moveaxis(xp.matmul(xp.moveaxis(self, dim, -1), matrix), -1, dim)


def _adaptive_avg_pool(xp: Namespace, self: Array, output_size: Sizes) -> Array:
    _check_adaptive(self, output_size)
    out = self
    if not all(output_size):
        return xp.zeros((*self.shape[: self.ndim - len(output_size)], *output_size), dtype=self.dtype)
    for dim, count in enumerate(output_size, self.ndim - len(output_size)):
        out = _multiplied(xp, out, dim, _shares(xp, self.shape[dim], count, self))
    return out


def _adaptive_avg_pool_backward(xp: Namespace, grad_output: Array, self: Array, dims: int) -> Array:
    first = self.ndim - dims
    _check_adaptive(self, grad_output.shape[first:])
    if grad_output.ndim != self.ndim or grad_output.shape[:first] != self.shape[:first]:
        raise RuntimeError(f"expected a gradient for {list(self.shape)}, but got {list(grad_output.shape)}")
    if not all(grad_output.shape[first:]):
        return xp.zeros(tuple(self.shape), dtype=grad_output.dtype)
    out = grad_output
    for dim in range(first, self.ndim):
        shares = _shares(xp, self.shape[dim], grad_output.shape[dim], grad_output)
        out = _multiplied(xp, out, dim, xp.matrix_transpose(shares))
    return out


def _adaptive_avg_pool2d(xp: Namespace, self: Array, output_size: Sizes) -> Array:
    return _adaptive_avg_pool(xp, self, output_size)


def _adaptive_avg_pool3d(xp: Namespace, self: Array, output_size: Sizes) -> Array:
    return _adaptive_avg_pool(xp, self, output_size)


def _adaptive_avg_pool2d_backward(xp: Namespace, grad_output: Array, self: Array) -> Array:
    return _adaptive_avg_pool_backward(xp, grad_output, self, 2)


def _adaptive_avg_pool3d_backward(xp: Namespace, grad_output: Array, self: Array) -> Array:
    return _adaptive_avg_pool_backward(xp, grad_output, self, 3)
