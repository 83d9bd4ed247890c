"""Reductions, scans and sorts."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeAlias

from runtime.operators.array_api._common import (
    Array,
    Dims,
    DType,
    Namespace,
    Number,
    axes_of,
    count_along,
    index_along,
    is_complex,
    is_integral,
    number,
    one_dim,
    ordered,
    unsupported,
)

Function: TypeAlias = Callable[..., Any]


def sum_default(xp: Namespace, self: Array, dtype: DType | None = None) -> Array:
    return _sum(xp, self, None, False, dtype)


def sum_dim_IntList(xp: Namespace, self: Array, dim: Dims, keepdim: bool = False, dtype: DType | None = None) -> Array:
    return _sum(xp, self, axes_of(dim, self.ndim), keepdim, dtype)


def mean_default(xp: Namespace, self: Array, dtype: DType | None = None) -> Array:
    return mean_dim(xp, self, None, False, dtype)


def mean_dim(xp: Namespace, self: Array, dim: Dims, keepdim: bool = False, dtype: DType | None = None) -> Array:
    axes = axes_of(dim, self.ndim)
    count = count_along(self, axes)
    return _sum(xp, self, axes, keepdim, dtype) / (count or math.nan)


def prod_default(xp: Namespace, self: Array, dtype: DType | None = None) -> Array:
    return xp.prod(ordered(xp, self), dtype=_total_dtype(xp, self, dtype))


def prod_dim_int(xp: Namespace, self: Array, dim: int, keepdim: bool = False, dtype: DType | None = None) -> Array:
    axes = axes_of([dim], self.ndim)
    return xp.prod(ordered(xp, self), axis=axes, dtype=_total_dtype(xp, self, dtype), keepdims=keepdim)


def var_correction(
    xp: Namespace, self: Array, dim: Dims = None, correction: Number | None = None, keepdim: bool = False
) -> Array:
    return var_mean_correction(xp, self, dim, correction, keepdim)[0]


def std_correction(
    xp: Namespace, self: Array, dim: Dims = None, correction: Number | None = None, keepdim: bool = False
) -> Array:
    return xp.sqrt(var_correction(xp, self, dim, correction, keepdim))


def var_mean_correction(
    xp: Namespace, self: Array, dim: Dims = None, correction: Number | None = None, keepdim: bool = False
) -> tuple[Array, Array]:
    axes = axes_of(dim, self.ndim)
    count = count_along(self, axes)
    freedom = count - (1 if correction is None else float(correction.real))
    mean = _sum(xp, self, axes, True) / (count or math.nan)
    away = self - mean
    squares = xp.real(away * xp.conj(away)) if is_complex(xp, self) else away * away
    total = _sum(xp, squares, axes, keepdim)
    if freedom > 0:
        total = total / freedom
    else:
        total = total * math.nan if freedom == 0 and count <= 1 else total / number(xp, 0.0, total)
    return total, mean if keepdim else _sum(xp, self, axes, False) / (count or math.nan)


def std_mean_correction(
    xp: Namespace, self: Array, dim: Dims = None, correction: Number | None = None, keepdim: bool = False
) -> tuple[Array, Array]:
    variance, mean = var_mean_correction(xp, self, dim, correction, keepdim)
    return xp.sqrt(variance), mean


# -- extrema


def amax(xp: Namespace, self: Array, dim: Dims = (), keepdim: bool = False) -> Array:
    return _extremum(xp, xp.max, self, dim, keepdim)


def amin(xp: Namespace, self: Array, dim: Dims = (), keepdim: bool = False) -> Array:
    return _extremum(xp, xp.min, self, dim, keepdim)


def aminmax(xp: Namespace, self: Array, dim: int | None = None, keepdim: bool = False) -> tuple[Array, Array]:
    dims = None if dim is None else [dim]
    return amin(xp, self, dims, keepdim), amax(xp, self, dims, keepdim)


def max_default(xp: Namespace, self: Array) -> Array:
    return _extremum(xp, xp.max, self, None, False)


def min_default(xp: Namespace, self: Array) -> Array:
    return _extremum(xp, xp.min, self, None, False)


def max_dim(xp: Namespace, self: Array, dim: int, keepdim: bool = False) -> tuple[Array, Array]:
    return amax(xp, self, [dim], keepdim), argmax(xp, self, dim, keepdim)


def min_dim(xp: Namespace, self: Array, dim: int, keepdim: bool = False) -> tuple[Array, Array]:
    return amin(xp, self, [dim], keepdim), argmin(xp, self, dim, keepdim)


def argmax(xp: Namespace, self: Array, dim: int | None = None, keepdim: bool = False) -> Array:
    return _place_of_extremum(xp, xp.argmax, self, dim, keepdim)


def argmin(xp: Namespace, self: Array, dim: int | None = None, keepdim: bool = False) -> Array:
    return _place_of_extremum(xp, xp.argmin, self, dim, keepdim)


# -- truth


def all_default(xp: Namespace, self: Array) -> Array:
    return xp.all(self)


def all_dim(xp: Namespace, self: Array, dim: int, keepdim: bool = False) -> Array:
    return xp.all(self, axis=axes_of([dim], self.ndim), keepdims=keepdim)


def all_dims(xp: Namespace, self: Array, dim: Dims = None, keepdim: bool = False) -> Array:
    return xp.all(self, axis=axes_of(dim, self.ndim), keepdims=keepdim) if dim != () else ordered(xp, self) != 0


def any_default(xp: Namespace, self: Array) -> Array:
    return xp.any(self)


def any_dim(xp: Namespace, self: Array, dim: int, keepdim: bool = False) -> Array:
    return xp.any(self, axis=axes_of([dim], self.ndim), keepdims=keepdim)


def any_dims(xp: Namespace, self: Array, dim: Dims = None, keepdim: bool = False) -> Array:
    return xp.any(self, axis=axes_of(dim, self.ndim), keepdims=keepdim) if dim != () else ordered(xp, self) != 0


def count_nonzero_dim_IntList(xp: Namespace, self: Array, dim: Dims) -> Array:
    return xp.sum(xp.astype(ordered(xp, self) != 0, xp.int64), axis=axes_of(dim, self.ndim), dtype=xp.int64)


def count_nonzero_default(xp: Namespace, self: Array, dim: int | None = None) -> Array:
    return count_nonzero_dim_IntList(xp, self, None if dim is None else [dim])


# -- norms


def logsumexp(xp: Namespace, self: Array, dim: Dims, keepdim: bool = False) -> Array:
    axes = axes_of(dim, self.ndim)
    if not count_along(self, axes):
        return xp.log(xp.sum(xp.exp(self), axis=axes, keepdims=keepdim))
    highest = xp.max(xp.real(self) if is_complex(xp, self) else self, axis=axes, keepdims=True)
    highest = xp.where(xp.isfinite(highest), highest, number(xp, 0, highest))
    total = xp.log(xp.sum(xp.exp(self - highest), axis=axes, keepdims=True)) + highest
    return total if keepdim else xp.squeeze(total, axis=tuple(range(self.ndim)) if axes is None else axes)


def linalg_vector_norm(
    xp: Namespace, self: Array, ord: Number = 2, dim: Dims = None, keepdim: bool = False, dtype: DType | None = None
) -> Array:
    axes = axes_of(dim, self.ndim)
    sizes = xp.abs(self if dtype is None else xp.astype(self, dtype))
    if ord == 2:
        return xp.sqrt(_sum(xp, sizes * sizes, axes, keepdim))
    if ord == 1:
        return _sum(xp, sizes, axes, keepdim)
    if ord == 0:
        return _sum(xp, xp.astype(sizes != 0, sizes.dtype), axes, keepdim)
    if ord in (math.inf, -math.inf):
        if not count_along(self, axes):
            raise RuntimeError("linalg.vector_norm cannot compute the infinity norm of nothing")
        return (xp.max if ord == math.inf else xp.min)(sizes, axis=axes, keepdims=keepdim)
    return _sum(xp, sizes**ord, axes, keepdim) ** (1 / ord)


# -- scans and sorts


def cumsum(xp: Namespace, self: Array, dim: int, dtype: DType | None = None) -> Array:
    if not self.ndim:
        one_dim(dim, 0)
        return xp.astype(self, _total_dtype(xp, self, dtype))
    return xp.cumulative_sum(ordered(xp, self), axis=one_dim(dim, self.ndim), dtype=_total_dtype(xp, self, dtype))


def cumprod(xp: Namespace, self: Array, dim: int, dtype: DType | None = None) -> Array:
    if not self.ndim:
        one_dim(dim, 0)
        return xp.astype(self, _total_dtype(xp, self, dtype))
    return xp.cumulative_prod(ordered(xp, self), axis=one_dim(dim, self.ndim), dtype=_total_dtype(xp, self, dtype))


def sort_default(xp: Namespace, self: Array, dim: int = -1, descending: bool = False) -> tuple[Array, Array]:
    return sort_stable(xp, self, True, dim, descending)


def sort_stable(
    xp: Namespace, self: Array, stable: bool | None, dim: int = -1, descending: bool = False
) -> tuple[Array, Array]:
    axis = one_dim(dim, self.ndim)
    if not self.ndim:
        return self, xp.zeros((), dtype=xp.int64)
    numbers = ordered(xp, self)
    order = xp.argsort(numbers, axis=axis, descending=descending, stable=True)
    values = xp.sort(numbers, axis=axis, descending=descending, stable=True)
    return xp.astype(values, self.dtype), xp.astype(order, xp.int64)


def topk(
    xp: Namespace, self: Array, k: int, dim: int = -1, largest: bool = True, sorted: bool = True
) -> tuple[Array, Array]:
    axis = one_dim(dim, self.ndim)
    if not 0 <= k <= (self.shape[axis] if self.ndim else 1):
        raise RuntimeError("selected index k out of range")
    values, order = sort_stable(xp, self, True, dim, largest)
    if not self.ndim:
        if k:
            return values, order
        raise unsupported("array of no elements without dimensions")
    first = index_along(self.ndim, axis, slice(0, k))
    return values[first], order[first]


# -- what several of these need


def _total_dtype(xp: Namespace, self: Array, dtype: DType | None) -> DType:
    return dtype if dtype is not None else xp.int64 if is_integral(xp, self) else self.dtype


def _sum(xp: Namespace, self: Array, axes: tuple[int, ...] | None, keepdim: bool, dtype: DType | None = None) -> Array:
    wanted = _total_dtype(xp, self, dtype)
    if self.dtype != wanted:
        self = xp.astype(xp.real(self) if is_complex(xp, self) else self, wanted)
    return xp.sum(self, axis=axes, dtype=wanted, keepdims=keepdim)


def _extremum(xp: Namespace, function: Function, self: Array, dim: Dims, keepdim: bool) -> Array:
    axes = axes_of(dim, self.ndim)
    _check_not_empty(self, axes)
    found = function(ordered(xp, self), axis=axes, keepdims=keepdim)
    return xp.astype(found, self.dtype) if found.dtype != self.dtype else found


def _check_not_empty(self: Array, axes: tuple[int, ...] | None) -> None:
    if not count_along(self, axes):
        raise IndexError("Expected reduction dim to have non-zero size.")


def _place_of_extremum(xp: Namespace, function: Function, self: Array, dim: int | None, keepdim: bool) -> Array:
    axis = None if dim is None else one_dim(dim, self.ndim)
    _check_not_empty(self, None if axis is None or not self.ndim else (axis,))
    if not self.ndim:
        return xp.zeros((), dtype=xp.int64)
    return xp.astype(function(ordered(xp, self), axis=axis, keepdims=keepdim), xp.int64)
