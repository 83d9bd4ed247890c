"""Arrays made from sizes and numbers."""

from __future__ import annotations

from collections.abc import Sequence

from runtime.operators.array_api._common import Array, DType, Namespace, Number


def zeros(xp: Namespace, size: Sequence[int], dtype: DType) -> Array:
    return xp.zeros(tuple(size), dtype=dtype)


def ones(xp: Namespace, size: Sequence[int], dtype: DType) -> Array:
    return xp.ones(tuple(size), dtype=dtype)


def empty_memory_format(xp: Namespace, size: Sequence[int], dtype: DType) -> Array:
    return xp.empty(tuple(size), dtype=dtype)


def full(xp: Namespace, size: Sequence[int], fill_value: Number, dtype: DType) -> Array:
    return xp.full(tuple(size), fill_value, dtype=dtype)


def scalar_tensor(xp: Namespace, s: Number, dtype: DType) -> Array:
    return xp.full((), s, dtype=dtype)


def zeros_like(xp: Namespace, self: Array, dtype: DType | None = None) -> Array:
    return xp.zeros(tuple(self.shape), dtype=dtype or self.dtype)


def ones_like(xp: Namespace, self: Array, dtype: DType | None = None) -> Array:
    return xp.ones(tuple(self.shape), dtype=dtype or self.dtype)


def empty_like(xp: Namespace, self: Array, dtype: DType | None = None) -> Array:
    return xp.empty(tuple(self.shape), dtype=dtype or self.dtype)


def full_like(xp: Namespace, self: Array, fill_value: Number, dtype: DType | None = None) -> Array:
    return xp.full(tuple(self.shape), fill_value, dtype=dtype or self.dtype)


def new_zeros(xp: Namespace, self: Array, size: Sequence[int], dtype: DType | None = None) -> Array:
    return xp.zeros(tuple(size), dtype=dtype or self.dtype)


def new_ones(xp: Namespace, self: Array, size: Sequence[int], dtype: DType | None = None) -> Array:
    return xp.ones(tuple(size), dtype=dtype or self.dtype)


def new_empty(xp: Namespace, self: Array, size: Sequence[int], dtype: DType | None = None) -> Array:
    return xp.empty(tuple(size), dtype=dtype or self.dtype)


def new_full(xp: Namespace, self: Array, size: Sequence[int], fill_value: Number, dtype: DType | None = None) -> Array:
    return xp.full(tuple(size), fill_value, dtype=dtype or self.dtype)


def arange_default(xp: Namespace, end: Number, dtype: DType) -> Array:
    return xp.arange(0, end, 1, dtype=dtype)


def arange_start(xp: Namespace, start: Number, end: Number, dtype: DType) -> Array:
    return xp.arange(start, end, 1, dtype=dtype)


def arange_start_step(xp: Namespace, start: Number, end: Number, step: Number, dtype: DType) -> Array:
    return xp.arange(start, end, step, dtype=dtype)


def linspace(xp: Namespace, start: Number, end: Number, steps: int, dtype: DType) -> Array:
    return xp.linspace(start, end, steps, dtype=dtype)


def eye_default(xp: Namespace, n: int, dtype: DType) -> Array:
    return xp.eye(n, dtype=dtype)


def eye_m(xp: Namespace, n: int, m: int, dtype: DType) -> Array:
    return xp.eye(n, m, dtype=dtype)
