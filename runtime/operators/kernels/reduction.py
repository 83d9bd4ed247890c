"""Reductions and scans: sums, products, moments, extrema, norms, and what is true of all or any elements."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from runtime.base.arrays import (
    Array,
    Number,
    is_half,
    is_integral,
    normalize_dim,
    normalize_dims,
    type_name,
)
from runtime.operators.kernels.exponential import logaddexp

DType = np.dtype[Any]
Dims = Sequence[int] | None

_FLOAT32 = np.dtype(np.float32)
_FLOAT64 = np.dtype(np.float64)
_INT64 = np.dtype(np.int64)


# -- what all reductions share


def _axes(dim: Dims, ndim: int) -> tuple[int, ...] | None:
    """NumPy's `axis`: None stands for all, as no dims and a 0-dim array do."""
    if not dim:
        return None
    axes = normalize_dims(dim, ndim)
    return axes if ndim else None


def _axis(dim: int, ndim: int) -> int | None:
    axis = normalize_dim(dim, ndim)
    return axis if ndim else None


def _cast(self: Array, dtype: DType) -> Array:
    if self.dtype == dtype:
        return self
    if self.dtype.kind == "c" and dtype.kind != "c":
        self = self.real
    return self.astype(dtype)


def _reduce(
    ufunc: np.ufunc, values: Array, axis: tuple[int, ...] | int | None, keepdim: bool, dtype: DType | None = None
) -> Array:
    return np.asarray(ufunc.reduce(values, axis=axis, dtype=dtype, keepdims=keepdim))


def _reduced_count(self: Array, axes: tuple[int, ...] | None) -> int:
    return self.size if axes is None else math.prod(self.shape[axis] for axis in axes)


def _accumulate_in(self: Array, dtype: DType | None) -> tuple[Array, DType]:
    """The array to add or multiply up and the dtype of the result: integers in int64, half precision in float32."""
    result = dtype or (_INT64 if is_integral(self.dtype) else self.dtype)
    return _cast(self, _FLOAT32 if is_half(result) else result), result


def _check_not_empty(self: Array, axes: tuple[int, ...] | None, name: str, error: type[Exception]) -> None:
    """Refuse a reduction without an identity over nothing; `error` is the class where no dim is named."""
    if self.size:
        return
    if axes is None:
        raise error(f"{name}(): Expected reduction dim to be specified for input.numel() == 0.")
    for axis in axes:
        if self.shape[axis] == 0:
            raise IndexError(f"{name}(): Expected reduction dim {axis} to have non-zero size.")


# -- sums and products


# A product with ones is the sum in a third of the time of `np.add.reduce`, which is mostly overhead on small arrays.
_FEW = 512
_ONES32, _ONES64 = (
    [ones[:size] for size in range(_FEW + 1)] for ones in (np.ones(_FEW, _FLOAT32), np.ones(_FEW, _FLOAT64))
)


def _sum_of_floats(self: Array) -> Array:
    size = self.size
    if size <= _FEW and self.flags.c_contiguous:
        ones = _ONES32 if self.dtype is _FLOAT32 else _ONES64
        return self.ravel().dot(ones[size])  # type: ignore[no-any-return]
    return np.add.reduce(self, None)  # type: ignore[no-any-return]


def sum_all(self: Array, dtype: DType | None = None) -> Array:
    """The sum of the elements."""
    if dtype is None and (self.dtype is _FLOAT32 or self.dtype is _FLOAT64):
        return _sum_of_floats(self)
    values, result = _accumulate_in(self, dtype)
    return _cast(_reduce(np.add, values, None, False), result)


def sum_dim(self: Array, dim: Dims, keepdim: bool = False, dtype: DType | None = None) -> Array:
    """The sum along dimensions."""
    values, result = _accumulate_in(self, dtype)
    return _cast(_reduce(np.add, values, _axes(dim, self.ndim), keepdim), result)


def nansum(self: Array, dim: Dims = None, keepdim: bool = False, dtype: DType | None = None) -> Array:
    """The sum of the elements that are not NaN."""
    if not is_integral(self.dtype):
        self = np.where(np.isnan(self), np.zeros((), self.dtype), self)
    return sum_dim(self, dim, keepdim, dtype)


def prod_all(self: Array, dtype: DType | None = None) -> Array:
    """The product of the elements."""
    values, result = _accumulate_in(self, dtype)
    return _cast(_reduce(np.multiply, values, None, False), result)


def prod_dim(self: Array, dim: int, keepdim: bool = False, dtype: DType | None = None) -> Array:
    """The product along a dimension."""
    values, result = _accumulate_in(self, dtype)
    return _cast(_reduce(np.multiply, values, _axis(dim, self.ndim), keepdim), result)


def mean_all(self: Array, dtype: DType | None = None) -> Array:
    """The mean of the elements."""
    if dtype is None and self.size and (self.dtype is _FLOAT32 or self.dtype is _FLOAT64):
        return np.asarray(_sum_of_floats(self) / self.dtype.type(self.size))
    return mean_dim(self, None, False, dtype)


def mean_dim(self: Array, dim: Dims, keepdim: bool = False, dtype: DType | None = None) -> Array:
    """The mean along dimensions."""
    result = dtype or self.dtype
    axes = _axes(dim, self.ndim)
    values, _ = _accumulate_in(self, result)
    total = _reduce(np.add, values, axes, keepdim)
    return _cast(np.asarray(np.true_divide(total, _reduced_count(self, axes))), result)


# -- variance


def _variance(self: Array, dim: Dims, correction: Number | None, keepdim: bool) -> tuple[Array, Array]:
    """Variance and mean in the dtype they are computed in; several passes, so that a large mean costs no digits."""
    axes = _axes(dim, self.ndim)
    count = _reduced_count(self, axes)
    shift = _first(self, axes) if count else np.zeros((), self.dtype)
    moved = self - shift
    mean = np.true_divide(_reduce(np.add, moved, axes, True), count)
    away = moved - mean
    squares = away.real**2 + away.imag**2 if away.dtype.kind == "c" else away * away
    total = _reduce(np.add, squares, axes, keepdim)
    freedom = max(count - (1 if correction is None else float(np.real(correction))), 0.0)
    return np.asarray(np.true_divide(total, freedom)), np.asarray(mean + shift).reshape(total.shape)


def _first(values: Array, axes: tuple[int, ...] | None) -> Array:
    """The first element of each group: subtracted first, so that equal elements have a variance of exactly 0."""
    groups = range(values.ndim) if axes is None else axes
    return values[tuple(slice(1) if axis in groups else slice(None) for axis in range(values.ndim))]


def _real_dtype(dtype: DType) -> DType:
    return np.empty(0, dtype).real.dtype


def var(self: Array, dim: Dims = None, correction: Number | None = None, keepdim: bool = False) -> Array:
    return _cast(_variance(self, dim, correction, keepdim)[0], _real_dtype(self.dtype))


def std(self: Array, dim: Dims = None, correction: Number | None = None, keepdim: bool = False) -> Array:
    return _cast(np.sqrt(_variance(self, dim, correction, keepdim)[0]), _real_dtype(self.dtype))


def var_mean(
    self: Array, dim: Dims = None, correction: Number | None = None, keepdim: bool = False
) -> tuple[Array, Array]:
    variance, mean = _variance(self, dim, correction, keepdim)
    return _cast(variance, _real_dtype(self.dtype)), _cast(mean, self.dtype)


def std_mean(
    self: Array, dim: Dims = None, correction: Number | None = None, keepdim: bool = False
) -> tuple[Array, Array]:
    variance, mean = _variance(self, dim, correction, keepdim)
    return _cast(np.sqrt(variance), _real_dtype(self.dtype)), _cast(mean, self.dtype)


# -- extrema


def amax(self: Array, dim: Dims = (), keepdim: bool = False) -> Array:
    """The largest elements along dimensions."""
    return _extremum(self, dim, keepdim, np.maximum, "amax")


def amin(self: Array, dim: Dims = (), keepdim: bool = False) -> Array:
    """The smallest elements along dimensions."""
    return _extremum(self, dim, keepdim, np.minimum, "amin")


def max_all(self: Array) -> Array:
    return _extremum(self, None, False, np.maximum, "max")


def min_all(self: Array) -> Array:
    return _extremum(self, None, False, np.minimum, "min")


def max_dim(self: Array, dim: int, keepdim: bool = False) -> tuple[Array, Array]:
    _check_not_empty(self, _axes((dim,), self.ndim), "max", RuntimeError)
    return _extremum(self, (dim,), keepdim, np.maximum, "max"), argmax(self, dim, keepdim)


def min_dim(self: Array, dim: int, keepdim: bool = False) -> tuple[Array, Array]:
    _check_not_empty(self, _axes((dim,), self.ndim), "min", RuntimeError)
    return _extremum(self, (dim,), keepdim, np.minimum, "min"), argmin(self, dim, keepdim)


def aminmax(self: Array, dim: int | None = None, keepdim: bool = False) -> tuple[Array, Array]:
    """The smallest and the largest element."""
    dims = None if dim is None else (dim,)
    return (
        _extremum(self, dims, keepdim, np.minimum, "aminmax"),
        _extremum(self, dims, keepdim, np.maximum, "aminmax"),
    )


def argmax(self: Array, dim: int | None = None, keepdim: bool = False) -> Array:
    """The index of the largest element."""
    return _arg_extremum(self, dim, keepdim, "argmax")


def argmin(self: Array, dim: int | None = None, keepdim: bool = False) -> Array:
    """The index of the smallest element."""
    return _arg_extremum(self, dim, keepdim, "argmin")


def _extremum(self: Array, dim: Dims, keepdim: bool, ufunc: np.ufunc, name: str) -> Array:
    axes = _axes(dim, self.ndim)
    _check_not_empty(self, axes, name, RuntimeError)
    return _reduce(ufunc, self, axes, keepdim)


def _arg_extremum(self: Array, dim: int | None, keepdim: bool, name: str) -> Array:
    """The place of the first extremum; a NaN counts as one."""
    axis = None if dim is None else _axis(dim, self.ndim)
    _check_not_empty(self, None if axis is None else (axis,), name, IndexError)
    values = self.astype(_FLOAT32) if self.dtype.kind == "V" else self
    place = values.argmax(axis) if name == "argmax" else values.argmin(axis)
    if keepdim:
        shape = [1 if axis is None or place_ == axis else size for place_, size in enumerate(self.shape)]
        return np.asarray(place, dtype=_INT64).reshape(shape)
    return np.asarray(place, dtype=_INT64)


# -- truth


def all_all(self: Array) -> Array:
    """Whether no element is 0."""
    return all_dims(self, None)


def all_dim(self: Array, dim: int, keepdim: bool = False) -> Array:
    return all_dims(self, (dim,), keepdim)


def all_dims(self: Array, dim: Dims = None, keepdim: bool = False) -> Array:
    return _truth(self, dim, keepdim, np.logical_and)


def any_all(self: Array) -> Array:
    """Whether an element is not 0."""
    return any_dims(self, None)


def any_dim(self: Array, dim: int, keepdim: bool = False) -> Array:
    return any_dims(self, (dim,), keepdim)


def any_dims(self: Array, dim: Dims = None, keepdim: bool = False) -> Array:
    return _truth(self, dim, keepdim, np.logical_or)


def _truth(self: Array, dim: Dims, keepdim: bool, ufunc: np.ufunc) -> Array:
    """uint8 answers in uint8, everything else in bool.  An empty list of dims, unlike none, reduces nothing."""
    values = self if self.dtype.kind == "b" else self != 0
    if dim is None or len(dim):
        values = _reduce(ufunc, values, _axes(dim, self.ndim), keepdim)
    elif values is self:
        values = self.copy()
    return values.astype(np.uint8) if self.dtype == np.uint8 else values


def count_nonzero_dims(self: Array, dim: Sequence[int]) -> Array:
    values = self if self.dtype.kind == "b" else self != 0
    return _reduce(np.add, values, _axes(dim, self.ndim), False, _INT64)


def count_nonzero(self: Array, dim: int | None = None) -> Array:
    """How many elements are not 0."""
    return count_nonzero_dims(self, () if dim is None else (dim,))


# -- exponentials and norms


def logsumexp(self: Array, dim: Dims, keepdim: bool = False) -> Array:
    """log(sum(exp(self))) along dimensions, without overflow."""
    axes = _axes(dim, self.ndim)
    if _reduced_count(self, axes):
        top = _reduce(np.maximum, self.real, axes, True)
        top = np.where(np.isfinite(top), top, np.zeros((), top.dtype))
    else:
        top = np.zeros((1,) * self.ndim, self.real.dtype)
    total = _reduce(np.add, np.exp(self - top), axes, keepdim)
    shift = top if _reduced_count(self, axes) else np.zeros((), top.dtype)
    if shift.ndim and not keepdim:
        shift = shift.reshape(total.shape)
    return _cast(np.asarray(np.log(total) + shift), self.dtype)


def linalg_vector_norm(
    self: Array, ord: Number = 2, dim: Dims = None, keepdim: bool = False, dtype: DType | None = None
) -> Array:
    """The p-norm of vectors: the p-th root of the sum of |x|^p."""
    if isinstance(ord, complex):
        raise RuntimeError(f"linalg.vector_norm: Expected a non-complex scalar as the order of norm, but got {ord}")
    if is_integral(self.dtype):
        raise RuntimeError(
            f"linalg.vector_norm: Expected a floating point or complex tensor as input. Got {type_name(self.dtype)}"
        )
    if dtype is not None:
        kind = "complex" if self.dtype.kind == "c" else "real"
        if (dtype.kind == "c") != (kind == "complex") or is_integral(dtype):
            raise RuntimeError(
                f"linalg.vector_norm: dtype should be {kind} for {kind} inputs, but got {type_name(dtype)}"
            )
        self = _cast(self, dtype)
    axes = _axes(dim, self.ndim)
    _check_norm_of_nothing(self, ord, axes)
    result = _real_dtype(self.dtype)
    values = self.astype(_FLOAT32) if is_half(self.dtype) else self
    return _cast(np.asarray(_norm(values, ord, axes, keepdim)), result)


def _norm(values: Array, order: float, axes: tuple[int, ...] | None, keepdim: bool) -> Array:
    if order == 0:
        return _reduce(np.add, values != 0, axes, keepdim, values.real.dtype)
    if order == 2:
        squares = values.real**2 + values.imag**2 if values.dtype.kind == "c" else values * values
        return np.asarray(np.sqrt(_reduce(np.add, squares, axes, keepdim)))
    sizes = np.abs(values)
    if order == 1:
        return _reduce(np.add, sizes, axes, keepdim)
    if math.isinf(order) and values.size:
        extremum = np.maximum if order > 0 else np.minimum
        return _reduce(extremum, sizes, axes, keepdim)
    if math.isinf(order):  # nothing to compare: the result is empty too
        return _reduce(np.add, sizes, axes, keepdim)
    total = _reduce(np.add, np.power(sizes, order), axes, keepdim)
    return np.asarray(np.power(total, 1.0 / order))


def _check_norm_of_nothing(self: Array, order: float, axes: tuple[int, ...] | None) -> None:
    """Norms of order below 0 and of order infinity have no value for an empty vector."""
    if self.size or 0 <= order < math.inf:
        return
    shown = "inf" if order == math.inf else "-inf" if order == -math.inf else f"{order:g}"
    if axes is None:
        raise RuntimeError(
            f"linalg.vector_norm cannot compute the {shown} norm on an empty tensor because the operation does not "
            "have an identity"
        )
    for axis in axes:
        if self.shape[axis] == 0:
            raise RuntimeError(
                f"linalg.vector_norm cannot compute the {shown} norm on the dimension {axis} because this dimension "
                "is empty and the operation does not have an identity"
            )


# -- scans


def cumsum(self: Array, dim: int, dtype: DType | None = None) -> Array:
    """The sum of the elements so far along a dimension."""
    return _scan(self, dim, dtype, np.add)


def cumprod(self: Array, dim: int, dtype: DType | None = None) -> Array:
    """The product of the elements so far along a dimension."""
    return _scan(self, dim, dtype, np.multiply)


def _scan(self: Array, dim: int, dtype: DType | None, ufunc: np.ufunc) -> Array:
    axis = _axis(dim, self.ndim)
    values, result = _accumulate_in(self, dtype)
    if axis is None:
        return values.astype(result)
    return _cast(np.asarray(ufunc.accumulate(values, axis=axis)), result)


def logcumsumexp(self: Array, dim: int) -> Array:
    """log(cumsum(exp(self))) along a dimension, without overflow."""
    axis = _axis(dim, self.ndim)
    if axis is None:
        return self.copy()
    if self.dtype.kind == "c":
        result = self.copy()
        for place in range(1, self.shape[axis]):
            last, here = (slice(None),) * axis + (place - 1,), (slice(None),) * axis + (place,)
            result[here] = logaddexp(result[last], result[here])
        return result
    return np.asarray(np.logaddexp.accumulate(self, axis=axis))
