"""Tensors made from sizes and numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from runtime.base.arrays import (
    Array,
    Number,
    check_computed,
    checked_sizes,
    converted,
    element,
    is_complex32,
    is_half,
    is_stored,
    type_name,
)

DType = np.dtype[Any]


# -- one value throughout


def zeros(size: Sequence[int], dtype: DType) -> Array:
    """A Tensor of zeros."""
    return np.zeros(checked_sizes(size), dtype)


def ones(size: Sequence[int], dtype: DType) -> Array:
    """A Tensor of ones."""
    if dtype.names is not None:
        return full(size, 1, dtype)
    return np.ones(checked_sizes(size), dtype)


def empty(size: Sequence[int], dtype: DType) -> Array:
    """A Tensor of this shape with arbitrary elements."""
    return np.empty(checked_sizes(size), dtype)


def full(size: Sequence[int], fill_value: Number, dtype: DType) -> Array:
    """A Tensor of this shape that holds one number everywhere."""
    return np.full(checked_sizes(size), element(fill_value, dtype), dtype)


def scalar_tensor(s: Number, dtype: DType) -> Array:
    """A Tensor without dimensions that holds a number."""
    return np.asarray(element(s, dtype, wraps=is_half(dtype)), dtype)


# In the shape, and unless told otherwise in the dtype, of another tensor.


def zeros_like(self: Array, dtype: DType | None = None) -> Array:
    """Zeros in the shape and dtype of another Tensor."""
    return np.zeros(self.shape, dtype or self.dtype)


def ones_like(self: Array, dtype: DType | None = None) -> Array:
    """Ones in the shape and dtype of another Tensor."""
    return ones(self.shape, dtype or self.dtype)


def empty_like(self: Array, dtype: DType | None = None) -> Array:
    """Arbitrary elements in the shape and dtype of another Tensor."""
    return np.empty(self.shape, dtype or self.dtype)


def full_like(self: Array, fill_value: Number, dtype: DType | None = None) -> Array:
    """One number in the shape and dtype of another Tensor."""
    return full(self.shape, fill_value, dtype or self.dtype)


def new_zeros(self: Array, size: Sequence[int], dtype: DType | None = None) -> Array:
    """Zeros of another shape, in the dtype of the Tensor."""
    return zeros(size, dtype or self.dtype)


def new_ones(self: Array, size: Sequence[int], dtype: DType | None = None) -> Array:
    """Ones of another shape, in the dtype of the Tensor."""
    return ones(size, dtype or self.dtype)


def new_empty(self: Array, size: Sequence[int], dtype: DType | None = None) -> Array:
    """Arbitrary elements of another shape, in the dtype of the Tensor."""
    return empty(size, dtype or self.dtype)


def new_full(self: Array, size: Sequence[int], fill_value: Number, dtype: DType | None = None) -> Array:
    """One number in another shape, in the dtype of the Tensor."""
    return full(size, fill_value, dtype or self.dtype)


# -- series


def _real(value: Number) -> int | float:
    if isinstance(value, complex):
        if value.imag:
            raise RuntimeError("value cannot be converted to type double without overflow")
        return value.real
    return value


def arange_start_step(start: Number, end: Number, step: Number, dtype: DType) -> Array:
    """`start`, `start + step` and so on, while below `end` (above it, for a negative step)."""
    start, end, step = _real(start), _real(end), _real(step)
    if dtype.kind in "bc" or is_stored(dtype):
        raise NotImplementedError(f"\"arange_cpu\" not implemented for '{type_name(dtype)}'")
    if not (math.isfinite(start) and math.isfinite(end)):
        raise RuntimeError(f"unsupported range: {start:g} -> {end:g}")
    if step == 0:
        raise RuntimeError("step must be nonzero")
    if (end - start) * (1 if step > 0 else -1) < 0:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    if dtype == np.int64:
        start, end, step = int(start), int(end), int(step)
        if step == 0:
            raise ValueError("step must be nonzero, also as an integer")
    exact = all(isinstance(value, int) for value in (start, end, step))
    count = -((start - end) // step) if exact else math.ceil((end - start) / step)
    if dtype.kind in "iu":  # the number of the others follows from what was given, their values from integers
        exact, start, step = True, int(start), int(step)
    (count,) = checked_sizes([max(int(count), 0)])
    places: Array = np.arange(count, dtype=np.int64 if exact else np.float64)
    return np.add(np.multiply(places, step), start).astype(dtype, copy=False)


def arange_start(start: Number, end: Number, dtype: DType) -> Array:
    return arange_start_step(start, end, 1, dtype)


def arange(end: Number, dtype: DType) -> Array:
    """The numbers 0, 1, 2, ... below `end`."""
    return arange_start_step(0, end, 1, dtype)


def range_step(start: Number, end: Number, step: Number, dtype: DType) -> Array:
    """`start`, `start + step` and so on, up to `end` and with it (down to it, for a negative step)."""
    start, end, step = _real(start), _real(end), _real(step)
    if dtype.kind in "bc" or is_stored(dtype):
        raise NotImplementedError(f"\"range_cpu\" not implemented for '{type_name(dtype)}'")
    if step == 0:
        raise RuntimeError("step must be nonzero")
    if not (math.isfinite(start) and math.isfinite(end)):
        raise RuntimeError(f"unsupported range: {start:g} -> {end:g}")
    if (end - start) * (1 if step > 0 else -1) < 0:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    if dtype.kind in "iu":
        start, end, step = int(start), int(end), int(step)
        if step == 0:
            raise RuntimeError("step must be nonzero, also as an integer")
    (count,) = checked_sizes([math.floor((end - start) / step) + 1])
    return np.add(np.multiply(np.arange(count, dtype=np.float64), step), start).astype(dtype, copy=False)


def inclusive_range(start: Number, end: Number, dtype: DType) -> Array:
    return range_step(start, end, 1, dtype)


def linspace(start: Number, end: Number, steps: int, dtype: DType) -> Array:
    """`steps` numbers from `start` to `end`, both included.  Counted from both ends, so that both are hit exactly."""
    if steps < 0:
        raise RuntimeError("number of steps must be non-negative")
    check_computed("linspace_cpu", dtype)
    if dtype.kind == "b" and steps > 1:
        raise NotImplementedError("\"linspace_cpu\" not implemented for 'Bool'")
    exact = np.dtype(np.complex128 if dtype.kind == "c" else np.float64)
    if dtype.kind in "iu":
        start, end = int(element(start, dtype)), int(element(end, dtype))
    elif dtype.kind != "c":
        start, end = _real(start), _real(end)
    if steps == 1:
        return np.full(1, start, exact).astype(dtype)
    away = np.arange(*checked_sizes([steps])) * ((end - start) / max(steps - 1, 1))
    values, half = np.empty(steps, exact), steps // 2
    np.add(start, away[:half], out=values[:half])
    np.subtract(end, away[: steps - half][::-1], out=values[half:])
    return values.astype(dtype, copy=False)


def logspace(start: Number, end: Number, steps: int, base: float, dtype: DType) -> Array:
    """`base` raised to `linspace`."""
    exact = np.dtype(np.complex128 if dtype.kind == "c" else np.float64)
    check_computed("logspace_cpu", dtype)
    if dtype.kind == "b" and steps > 1:
        raise NotImplementedError("\"logspace_cpu\" not implemented for 'Bool'")
    if dtype.kind in "iu":  # as in linspace, the ends are integers, and what lies between them is not
        start, end = int(_real(start)), int(_real(end))
    return np.power(exact.type(base), linspace(start, end, steps, exact)).astype(dtype)


# -- matrices


def eye(n: int, dtype: DType) -> Array:
    """The identity matrix."""
    return eye_m(n, n, dtype)


def eye_m(n: int, m: int, dtype: DType) -> Array:
    for name, size in (("n", n), ("m", m)):
        if size < 0:
            raise RuntimeError(f"{name} must be greater or equal to 0, got {size}")
    element(1, dtype)
    if is_complex32(dtype):
        raise NotImplementedError("\"eye\" not implemented for 'ComplexHalf'")
    return np.eye(n, m, dtype=dtype)


def _check_index_type(name: str, dtype: DType | None) -> None:
    if dtype is not None and dtype not in (np.int32, np.int64):
        raise NotImplementedError(f"\"{name}\" not implemented for '{type_name(dtype)}'")


def tril_indices(row: int, col: int, offset: int = 0, dtype: DType | None = None) -> Array:
    """The rows and columns of the elements on and below a diagonal."""
    _check_index_type("tril_indices", dtype)
    checked_sizes([row, col])
    return np.stack(np.tril_indices(row, offset, col)).astype(dtype or np.int64)


def triu_indices(row: int, col: int, offset: int = 0, dtype: DType | None = None) -> Array:
    """The rows and columns of the elements on and above a diagonal."""
    _check_index_type("triu_indices", dtype)
    checked_sizes([row, col])
    return np.stack(np.triu_indices(row, offset, col)).astype(dtype or np.int64)


# -- conversion


def to_copy(self: Array, dtype: DType | None = None) -> Array:
    """A copy in another dtype; of a complex number that becomes real, the real part."""
    if dtype is None or dtype == self.dtype:
        return self.copy()
    return converted(self, dtype)
