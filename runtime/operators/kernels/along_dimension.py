"""Elements picked, written and added up along one dimension, by a vector of indices or an index for each element."""

from __future__ import annotations

from typing import Any

import numpy as np

from runtime.base.arrays import Array, Number, element, normalize_dim, type_name
from runtime.operators.kernels._indices import (
    accumulate_at,
    check_integer,
    check_range,
    contiguous_copy,
    held_as,
    one_dim,
)


def index_select(self: Array, dim: int, index: Array) -> Array:
    """The slices at these indices along a dimension."""
    place = normalize_dim(dim, self.ndim)
    if index.ndim > 1:
        raise IndexError("index_select(): Index is supposed to be a vector")
    check_integer(index, "index_select(): Expected dtype int32 or int64 for index")
    if self.ndim == 0:
        if index.size != 1:
            raise RuntimeError(f"index_select(): Index to scalar can have only 1 value, got {index.size} value(s)")
        check_range(index, 1, "index out of range in self", IndexError)
        return self.copy()
    check_range(index, self.shape[place], "index out of range in self", IndexError)
    return self.take(one_dim(index), axis=place)


def _along(place: int, index: Array) -> tuple[Any, ...]:
    return (*(slice(None),) * place, index)


def index_add(self: Array, dim: int, index: Array, source: Array, alpha: Number = 1) -> Array:
    """`self` with `alpha` times the slices of `source` added to those that `index` names."""
    place = normalize_dim(dim, self.ndim)
    if index.ndim > 1:
        raise IndexError("index_add_(): Index is supposed to be a vector")
    check_integer(index, f"index_add_(): Expected dtype int32/int64 for index but got: {type_name(index.dtype)}")
    if source.dtype != self.dtype:
        raise RuntimeError(
            f"index_add_(): self ({type_name(self.dtype)}) and source ({type_name(source.dtype)}) must have the same "
            "scalar type"
        )
    target, values, index = one_dim(self), one_dim(source), one_dim(index)
    if values.ndim != target.ndim or _without(values.shape, place) != _without(target.shape, place):
        raise RuntimeError(
            "source tensor shape must match self tensor shape, excluding the specified dimension. Got self.shape = "
            f"{list(self.shape)} source.shape = {list(source.shape)}"
        )
    if values.shape[place] != index.size:
        raise RuntimeError(
            f"index_add_(): Number of indices ({index.size}) should be equal to source.size(dim): "
            f"({values.shape[place]}), for dim: {dim}"
        )
    message = "index {index} is out of bounds for dimension " + str(place) + " with size {size}"
    # PyTorch has a way of its own for matrices, with another class of error.
    check_range(index, target.shape[place], message, RuntimeError if self.ndim == 2 else IndexError)
    if alpha != 1:
        values = np.multiply(values, element(alpha, self.dtype))
    out = contiguous_copy(target)
    if index.size:
        along = index.reshape((-1,) + (1,) * (target.ndim - place - 1))
        accumulate_at(out, _positions(target.shape, values.shape, place, along), values)
    return out.reshape(self.shape)


def _without(shape: tuple[int, ...], place: int) -> tuple[int, ...]:
    return shape[:place] + shape[place + 1 :]


def _slice_shape(array: Array, place: int) -> tuple[int, ...]:
    return _without(array.shape, place) if array.ndim else ()


def _positions(shape: tuple[int, ...], part: tuple[int, ...], place: int, along: Array) -> Array:
    """Flat positions in a contiguous array of `shape`: `along` in dimension `place`, counted up in the others."""
    total = np.zeros((), np.int64)
    step = 1
    for dim in range(len(shape) - 1, -1, -1):
        here = along if dim == place else np.arange(part[dim]).reshape((-1,) + (1,) * (len(shape) - dim - 1))
        total = total + here * step
        step *= shape[dim]
    return np.broadcast_to(total, part)


def index_copy(self: Array, dim: int, index: Array, source: Array) -> Array:
    """`self` with the slices that `index` names replaced by those of `source`; of two for one place the last counts."""
    place = normalize_dim(dim, self.ndim)
    if index.ndim > 1:
        raise IndexError(f"index_copy_(): Index should have dimension 1 or 0 (got {index.ndim})")
    check_integer(index, "index_copy_(): Expected a long tensor for index")
    if source.dtype != self.dtype:
        raise RuntimeError(
            "index_copy_(): self and source expected to have the same dtype, but got (self) "
            f"{type_name(self.dtype)} and (source) {type_name(source.dtype)}"
        )
    target, values, index = one_dim(self), one_dim(source), one_dim(index)
    if source.ndim == 0 and index.size != 1:
        raise IndexError(f"index_copy_(): When source is scalar, index should have one element (got {index.size})")
    if source.ndim and self.ndim and source.ndim != self.ndim:
        raise IndexError(
            "index_copy_(): When source and destination are not scalars, their dimensionality must match. Source "
            f"dimensionality ({source.ndim}), destination dimensionality ({self.ndim})"
        )
    if _slice_shape(source, place) != _slice_shape(self, place):
        raise RuntimeError(
            "index_copy_(): Source/destination tensor must have same slice shapes. Destination slice shape: "
            f"{' '.join(map(str, _slice_shape(self, place)))} at dimension {place} and source slice shape: "
            f"{' '.join(map(str, _slice_shape(source, place)))} at dimension 0."
        )
    if source.ndim and values.shape[place] != index.size:
        raise IndexError(
            f"index_copy_(): Number of indices ({index.size}) should be equal to source.size(dim) "
            f"({values.shape[place]})"
        )
    message = "index_copy_(): index {index} is out of bounds for dimension " + str(place) + " with size {size}"
    check_range(index, target.shape[place], message, IndexError)
    out = contiguous_copy(target)
    out[_along(place, index)] = values
    return out.reshape(self.shape)


def index_fill(self: Array, dim: int, index: Array, value: Number) -> Array:
    """A copy with a number in the slices at these indices."""
    place = normalize_dim(dim, self.ndim)
    _check_real(isinstance(value, complex), self)
    return _index_fill(self, place, index, element(value, self.dtype))


def index_fill_tensor(self: Array, dim: int, index: Array, value: Array) -> Array:
    if value.ndim:
        raise RuntimeError(
            f"index_fill_ only supports a 0-dimensional value tensor, but got tensor with {value.ndim} dimension(s)."
        )
    _check_real(value.dtype.kind == "c", self)
    return _index_fill(self, normalize_dim(dim, self.ndim), index, held_as(value, self.dtype))


def _check_real(is_complex: bool, self: Array) -> None:
    if is_complex and self.dtype.kind != "c":
        raise RuntimeError("index_fill_(): Converting complex Scalar to non-complex type is not supported")


def _index_fill(self: Array, place: int, index: Array, value: Any) -> Array:
    check_integer(index, "index_fill_(): Expected dtype int64 for index.", IndexError)
    if index.ndim > 1:
        raise RuntimeError("Index has to be a vector/scalar")
    out = one_dim(contiguous_copy(self))
    size = out.shape[place]
    message = "index {index} is out of bounds for dimension " + str(place) + " with size {size}"
    check_range(index, size, message, IndexError, low=-size)
    out[_along(place, one_dim(index))] = value
    return out.reshape(self.shape)


def gather(self: Array, dim: int, index: Array, sparse_grad: bool = False) -> Array:
    """`out[i][j] = self[index[i][j]][j]` for the dimension 0, and so on."""
    place = normalize_dim(dim, self.ndim)
    if index.size == 0:  # of any dtype
        return np.empty(index.shape, self.dtype)
    check_integer(index, "gather(): Expected dtype int32/int64 for index")
    source, places = one_dim(self), one_dim(index)
    if source.ndim != places.ndim:
        raise RuntimeError("Index tensor must have the same number of dimensions as input tensor")
    for other in range(source.ndim):
        if other != place and places.shape[other] > source.shape[other]:
            raise RuntimeError(
                f"Size does not match at dimension {other} expected index {list(index.shape)} to be no larger than "
                f"self {list(self.shape)} apart from dimension {place}"
            )
    _check_along(places, source.shape[place], place)
    parts = _part_of(places.shape, place)
    return np.ascontiguousarray(np.take_along_axis(source[parts], places, place)).reshape(index.shape)


def _part_of(sizes: tuple[int, ...], place: int) -> tuple[slice, ...]:
    return tuple(slice(None) if dim == place else slice(0, size) for dim, size in enumerate(sizes))


def _check_along(index: Array, size: int, place: int) -> None:
    message = "index {index} is out of bounds for dimension " + str(place) + " with size {size}"
    check_range(index, size, message, RuntimeError)


def _scatter_parts(
    name: str, self: Array, place: int, index: Array, src: Array | None
) -> tuple[Array, Array, Array | None]:
    """Checked: a copy of `self`, the index and the part of `src` that it covers, none of them 0-dim."""
    check_integer(index, f"{name}(): Expected dtype int32/int64 for index")
    if src is not None and src.dtype != self.dtype:
        raise RuntimeError(f"{name}(): Expected self.dtype to be equal to src.dtype")
    out, places = one_dim(contiguous_copy(self)), one_dim(index)
    if out.ndim != places.ndim:
        raise RuntimeError("Index tensor must have the same number of dimensions as self tensor")
    values = None if src is None else one_dim(src)
    if values is not None and values.ndim != places.ndim:
        raise RuntimeError("Index tensor must have the same number of dimensions as src tensor")
    too_large = any(places.shape[d] > out.shape[d] for d in range(out.ndim) if d != place)
    too_large = too_large or (values is not None and any(places.shape[d] > values.shape[d] for d in range(out.ndim)))
    if too_large:
        than_src = "" if src is None else f" and to be no larger size than src {list(src.shape)}"
        raise RuntimeError(
            f"Expected index {list(index.shape)} to be no larger than self {list(self.shape)} apart from dimension "
            f"{place}{than_src}"
        )
    _check_along(places, out.shape[place], place)
    return out, places, None if values is None else values[tuple(slice(0, size) for size in places.shape)]


def scatter(self: Array, dim: int, index: Array, src: Array) -> Array:
    """`self` with `src` written along `dim` where `index` says; of two for one place the last counts."""
    place = normalize_dim(dim, self.ndim)
    if index.size == 0:
        return contiguous_copy(self)
    out, places, values = _scatter_parts("scatter", self, place, index, src)
    assert values is not None
    np.put_along_axis(out[_part_of(places.shape, place)], places, values, place)
    return out.reshape(self.shape)


def scatter_value(self: Array, dim: int, index: Array, value: Number) -> Array:
    place = normalize_dim(dim, self.ndim)
    if index.size == 0:
        return contiguous_copy(self)
    out, places, _ = _scatter_parts("scatter", self, place, index, None)
    np.put_along_axis(out[_part_of(places.shape, place)], places, element(value, self.dtype), place)
    return out.reshape(self.shape)


def scatter_add(self: Array, dim: int, index: Array, src: Array) -> Array:
    """A copy to which the elements of `src` are added at the places that `index` gives."""
    place = normalize_dim(dim, self.ndim)
    if index.size == 0:
        return contiguous_copy(self)
    out, places, values = _scatter_parts("scatter_add", self, place, index, src)
    assert values is not None
    accumulate_at(out, _positions(out.shape, places.shape, place, places), values)
    return out.reshape(self.shape)
