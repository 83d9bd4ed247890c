"""Elements picked, written and added up by index tensors and masks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from runtime.kernels._common import Array, Number, element, normalize_dim, type_name

Indices = Sequence[Array | None]


# -- what the kernels share


def _accumulate(out: Array, positions: Array, values: Array) -> None:
    """Add `values` at the flat `positions` of the contiguous array `out`, also where a position occurs more than once.

    NumPy's `add.at` is fast for one flat index of real numbers, and only then; a complex number is a pair of those.
    """
    flat, values = out.reshape(-1), np.ascontiguousarray(values, out.dtype).reshape(-1)
    positions = positions.reshape(-1)
    if out.dtype.kind == "c":
        real = flat.view(flat.real.dtype)
        parts = values.view(real.dtype)
        np.add.at(real, positions * 2, parts[::2])
        np.add.at(real, positions * 2 + 1, parts[1::2])
    elif out.dtype.kind == "b":
        np.logical_or.at(flat, positions, values)
    else:
        np.add.at(flat, positions, values)


def _copy(self: Array) -> Array:
    return np.array(self, order="C")


def _check_integer(index: Array, message: str, error: type[Exception] = RuntimeError) -> None:
    if index.dtype.kind not in "iu" or index.dtype.itemsize < 4:
        raise error(message)


def _check_range(index: Array, size: int, message: str, error: type[Exception], low: int = 0) -> None:
    """Refuse an index outside [low, size); `message` has places for `index` (the first such), and `size`."""
    if index.size == 0:
        return
    wrong = (index < low) | (index >= size)
    if wrong.any():
        raise error(message.format(index=index[wrong].flat[0], size=size))


def _one_dim(array: Array) -> Array:
    """A 0-dim array counts as one of one element, where a dimension is needed."""
    return array.reshape(1) if array.ndim == 0 else array


# -- one index for each of several dimensions


def _key(self: Array, indices: Indices) -> tuple[Any, ...]:
    """`indices` as NumPy takes them, checked: a mask becomes one index for each of its dimensions."""
    key: list[Any] = []
    for place, given in enumerate(indices):
        if given is None:
            key.append(slice(None))
        elif given.dtype.kind == "b" or given.dtype == np.uint8:
            start = len(key)
            if start + given.ndim > self.ndim:
                raise IndexError(f"too many indices for tensor of dimension {self.ndim}")
            if self.shape[start : start + given.ndim] != given.shape:
                raise IndexError(
                    f"The shape of the mask {list(given.shape)} at index {place} does not match the shape of the "
                    f"indexed tensor {list(self.shape)} at index {start}"
                )
            key += np.nonzero(given) if given.ndim else [np.zeros(int(bool(given)), np.int64)]
        else:
            _check_integer(given, "tensors used as indices must be long, int, byte or bool tensors", IndexError)
            key.append(given)
    if len(key) > self.ndim:
        raise IndexError(f"too many indices for tensor of dimension {self.ndim}")
    for dim, index in enumerate(key):
        if not isinstance(index, slice):
            size = self.shape[dim]
            message = "index {index} is out of bounds for dimension " + str(dim) + " with size {size}"
            _check_range(index, size, message, IndexError, low=-size)
    return tuple(key)


def _shape_mismatch(key: Sequence[Any]) -> IndexError:
    shapes = ", ".join(str(list(part.shape)) for part in key if not isinstance(part, slice))
    return IndexError(f"shape mismatch: indexing tensors could not be broadcast together with shapes {shapes}")


def index(self: Array, indices: Indices) -> Array:
    """`self[indices]`; None takes a whole dimension."""
    key = _key(self, indices)
    places = [place for place, part in enumerate(key) if not isinstance(part, slice)]
    if not places:
        return self.copy()
    if len(places) == 1:
        picked: Array = self.take(key[places[0]], axis=places[0])
        return picked
    try:
        found: Array = self[key]
    except IndexError:
        raise _shape_mismatch(key) from None
    if all(key[place].ndim == 0 for place in places):  # NumPy gives a view
        return np.array(found, order="C")
    return np.asarray(found, order="C")


def index_put(self: Array, indices: Indices, values: Array, accumulate: bool = False) -> Array:
    """`self` with `values` written, or added, where `indices` point.  One value under one mask may be of any dtype."""
    if values.size == 1 and not accumulate and _is_one_mask(indices):
        values = copy(np.empty((), self.dtype), values.reshape(()))
    if values.dtype != self.dtype:
        raise RuntimeError(
            "Index put requires the source and destination dtypes match, got "
            f"{type_name(self.dtype)} for the destination and {type_name(values.dtype)} for the source."
        )
    key = _key(self, indices)
    out = _copy(self)
    try:
        if not accumulate:
            out[key] = values
            return out
        positions = np.arange(out.size).reshape(out.shape)[key]
    except IndexError:
        raise _shape_mismatch(key) from None
    except ValueError:
        raise _not_assignable(values, np.empty(self.shape, np.bool_)[key]) from None
    try:
        given = np.broadcast_to(values, positions.shape)
    except ValueError:
        raise _not_assignable(values, positions) from None
    _accumulate(out, positions, given)
    return out


def _is_one_mask(indices: Indices) -> bool:
    given = [index for index in indices if index is not None]
    return len(given) == 1 and given[0].dtype.kind == "b"


def _not_assignable(values: Array, target: Array) -> RuntimeError:
    return RuntimeError(
        f"shape mismatch: value tensor of shape {list(values.shape)} cannot be broadcast to indexing result of shape "
        f"{list(target.shape)}"
    )


# -- one vector of indices along one dimension


def index_select(self: Array, dim: int, index: Array) -> Array:
    place = normalize_dim(dim, self.ndim)
    if index.ndim > 1:
        raise IndexError("index_select(): Index is supposed to be a vector")
    _check_integer(index, "index_select(): Expected dtype int32 or int64 for index")
    if self.ndim == 0:
        if index.size != 1:
            raise RuntimeError(f"index_select(): Index to scalar can have only 1 value, got {index.size} value(s)")
        _check_range(index, 1, "index out of range in self", IndexError)
        return self.copy()
    _check_range(index, self.shape[place], "index out of range in self", IndexError)
    return self.take(_one_dim(index), axis=place)


def _along(place: int, index: Array) -> tuple[Any, ...]:
    return (*(slice(None),) * place, index)


def index_add(self: Array, dim: int, index: Array, source: Array, alpha: Number = 1) -> Array:
    """`self` with `alpha` times the slices of `source` added to those that `index` names."""
    place = normalize_dim(dim, self.ndim)
    if index.ndim > 1:
        raise IndexError("index_add_(): Index is supposed to be a vector")
    _check_integer(index, f"index_add_(): Expected dtype int32/int64 for index but got: {type_name(index.dtype)}")
    if source.dtype != self.dtype:
        raise RuntimeError(
            f"index_add_(): self ({type_name(self.dtype)}) and source ({type_name(source.dtype)}) must have the same "
            "scalar type"
        )
    target, given, index = _one_dim(self), _one_dim(source), _one_dim(index)
    if given.ndim != target.ndim or _without(given.shape, place) != _without(target.shape, place):
        raise RuntimeError(
            "source tensor shape must match self tensor shape, excluding the specified dimension. Got self.shape = "
            f"{list(self.shape)} source.shape = {list(source.shape)}"
        )
    if given.shape[place] != index.size:
        raise RuntimeError(
            f"index_add_(): Number of indices ({index.size}) should be equal to source.size(dim): "
            f"({given.shape[place]}), for dim: {dim}"
        )
    message = "index {index} is out of bounds for dimension " + str(place) + " with size {size}"
    # PyTorch has a way of its own for matrices, with another class of error.
    _check_range(index, target.shape[place], message, RuntimeError if self.ndim == 2 else IndexError)
    if alpha != 1:
        given = np.multiply(given, element(alpha, self.dtype))
    out = _copy(target)
    if index.size:
        along = index.reshape((-1,) + (1,) * (target.ndim - place - 1))
        _accumulate(out, _positions(target.shape, given.shape, place, along), given)
    return out.reshape(self.shape)


def _without(shape: tuple[int, ...], place: int) -> tuple[int, ...]:
    return shape[:place] + shape[place + 1 :]


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
    _check_integer(index, "index_copy_(): Expected a long tensor for index")
    if source.dtype != self.dtype:
        raise RuntimeError(
            "index_copy_(): self and source expected to have the same dtype, but got (self) "
            f"{type_name(self.dtype)} and (source) {type_name(source.dtype)}"
        )
    target, given, index = _one_dim(self), _one_dim(source), _one_dim(index)
    if source.ndim == 0 and index.size != 1:
        raise IndexError(f"index_copy_(): When source is scalar, index should have one element (got {index.size})")
    if source.ndim and (given.ndim != target.ndim or _without(given.shape, place) != _without(target.shape, place)):
        raise RuntimeError(
            "index_copy_(): Source/destination tensor must have same slice shapes. Destination slice shape: "
            f"{list(_without(target.shape, place))} at dimension {place} and source slice shape: "
            f"{list(_without(given.shape, place))} at dimension 0."
        )
    if source.ndim and given.shape[place] != index.size:
        raise IndexError(
            f"index_copy_(): Number of indices ({index.size}) should be equal to source.size(dim) "
            f"({given.shape[place]})"
        )
    message = "index_copy_(): index {index} is out of bounds for dimension " + str(place) + " with size {size}"
    _check_range(index, target.shape[place], message, IndexError)
    out = _copy(target)
    out[_along(place, index)] = given
    return out.reshape(self.shape)


def index_fill(self: Array, dim: int, index: Array, value: Number) -> Array:
    place = normalize_dim(dim, self.ndim)
    _check_real(isinstance(value, complex), self)
    return _index_fill(self, place, index, element(value, self.dtype))


def index_fill_tensor(self: Array, dim: int, index: Array, value: Array) -> Array:
    if value.ndim:
        raise RuntimeError(
            f"index_fill_ only supports a 0-dimensional value tensor, but got tensor with {value.ndim} dimension(s)."
        )
    _check_real(value.dtype.kind == "c", self)
    return _index_fill(self, normalize_dim(dim, self.ndim), index, _held(value, self.dtype))


def _check_real(is_complex: bool, self: Array) -> None:
    if is_complex and self.dtype.kind != "c":
        raise RuntimeError("index_fill_(): Converting complex Scalar to non-complex type is not supported")


def _held(value: Array, dtype: np.dtype[Any]) -> Array:
    """A 0-dim array in another dtype, which has to hold it as if it were a Python number."""
    return np.asarray(element(value.item(), dtype), dtype) if dtype.kind in "iu" else value.astype(dtype)


def _index_fill(self: Array, place: int, index: Array, value: Any) -> Array:
    _check_integer(index, "index_fill_(): Expected dtype int64 for index.", IndexError)
    if index.ndim > 1:
        raise RuntimeError("Index has to be a vector/scalar")
    out = _one_dim(_copy(self))
    size = out.shape[place]
    message = "index {index} is out of bounds for dimension " + str(place) + " with size {size}"
    _check_range(index, size, message, IndexError, low=-size)
    out[_along(place, _one_dim(index))] = value
    return out.reshape(self.shape)


# -- an index for each element along one dimension


def gather(self: Array, dim: int, index: Array, sparse_grad: bool = False) -> Array:
    """`out[i][j] = self[index[i][j]][j]` for the dimension 0, and so on."""
    place = normalize_dim(dim, self.ndim)
    if index.size == 0:  # of any dtype
        return np.empty(index.shape, self.dtype)
    _check_integer(index, "gather(): Expected dtype int32/int64 for index")
    source, places = _one_dim(self), _one_dim(index)
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
    _check_range(index, size, message, RuntimeError)


def _scatter_parts(
    name: str, self: Array, place: int, index: Array, src: Array | None
) -> tuple[Array, Array, Array | None]:
    """Checked: a copy of `self`, the index and the part of `src` that it covers, none of them 0-dim."""
    _check_integer(index, f"{name}(): Expected dtype int32/int64 for index")
    if src is not None and src.dtype != self.dtype:
        raise RuntimeError(f"{name}(): Expected self.dtype to be equal to src.dtype")
    out, places = _one_dim(_copy(self)), _one_dim(index)
    if out.ndim != places.ndim:
        raise RuntimeError("Index tensor must have the same number of dimensions as self tensor")
    given = None if src is None else _one_dim(src)
    if given is not None and given.ndim != places.ndim:
        raise RuntimeError("Index tensor must have the same number of dimensions as src tensor")
    too_large = any(places.shape[d] > out.shape[d] for d in range(out.ndim) if d != place)
    too_large = too_large or (given is not None and any(places.shape[d] > given.shape[d] for d in range(out.ndim)))
    if too_large:
        than_src = "" if src is None else f" and to be no larger size than src {list(src.shape)}"
        raise RuntimeError(
            f"Expected index {list(index.shape)} to be no larger than self {list(self.shape)} apart from dimension "
            f"{place}{than_src}"
        )
    _check_along(places, out.shape[place], place)
    return out, places, None if given is None else given[tuple(slice(0, size) for size in places.shape)]


def scatter(self: Array, dim: int, index: Array, src: Array) -> Array:
    """`self` with `src` written along `dim` where `index` says; of two for one place the last counts."""
    place = normalize_dim(dim, self.ndim)
    if index.size == 0:
        return _copy(self)
    out, places, given = _scatter_parts("scatter", self, place, index, src)
    assert given is not None
    np.put_along_axis(out[_part_of(places.shape, place)], places, given, place)
    return out.reshape(self.shape)


def scatter_value(self: Array, dim: int, index: Array, value: Number) -> Array:
    place = normalize_dim(dim, self.ndim)
    if index.size == 0:
        return _copy(self)
    out, places, _ = _scatter_parts("scatter", self, place, index, None)
    np.put_along_axis(out[_part_of(places.shape, place)], places, element(value, self.dtype), place)
    return out.reshape(self.shape)


def scatter_add(self: Array, dim: int, index: Array, src: Array) -> Array:
    place = normalize_dim(dim, self.ndim)
    if index.size == 0:
        return _copy(self)
    out, places, given = _scatter_parts("scatter_add", self, place, index, src)
    assert given is not None
    _accumulate(out, _positions(out.shape, places.shape, place, places), given)
    return out.reshape(self.shape)


# -- flat indices


def _flat_index(name: str, self: Array, index: Array) -> Array:
    if index.dtype != np.int64:
        raise RuntimeError(f"{name}(): Expected a long tensor for index, but got {type_name(index.dtype)}")
    if self.size == 0 and index.size:
        raise IndexError(f"{name}(): tried to {name} from an empty tensor")
    message = "out of range: tried to access index {index} on a tensor of {size} elements."
    _check_range(index, self.size, message, IndexError, low=-self.size)
    return np.where(index < 0, index + self.size, index)


def take(self: Array, index: Array) -> Array:
    """The elements at `index`, counted as if `self` were flat."""
    places = _flat_index("take", self, index)
    return self.reshape(-1).take(places) if self.size else np.empty(index.shape, self.dtype)


def put(self: Array, index: Array, source: Array, accumulate: bool = False) -> Array:
    """`self` with the elements of `source` written, or added, at `index`, counted as if `self` were flat."""
    if source.dtype != self.dtype:
        raise RuntimeError(
            f"put_(): self and source expected to have the same dtype, but got self.dtype = {type_name(self.dtype)} "
            f"and source.dtype = {type_name(source.dtype)}"
        )
    if source.size != index.size:
        raise IndexError(
            "put_(): Expected source and index to have the same number of elements, but got source.numel() = "
            f"{source.size}, index.numel() = {index.size}"
        )
    out = _copy(self)
    places = _flat_index("put_", self, index)
    if accumulate:
        _accumulate(out, places, source)
    else:
        out.reshape(-1)[places.reshape(-1)] = source.reshape(-1)
    return out


# -- masks


def _check_mask(name: str, mask: Array) -> None:
    if mask.dtype.kind != "b":
        raise RuntimeError(f"{name} only supports boolean masks, but got mask with dtype {mask.dtype.name}")


def masked_fill(self: Array, mask: Array, value: Number) -> Array:
    _check_mask("masked_fill_", mask)
    return np.where(mask, np.asarray(element(value, self.dtype)), self)


def masked_fill_tensor(self: Array, mask: Array, value: Array) -> Array:
    _check_mask("masked_fill_", mask)
    if value.ndim:
        raise RuntimeError(
            f"masked_fill_ only supports a 0-dimensional value tensor, but got tensor with {value.ndim} dimension(s)."
        )
    return np.where(mask, _held(value, self.dtype), self)


def masked_select(self: Array, mask: Array) -> Array:
    """The elements under the mask, in order, as a vector."""
    if mask.dtype.kind != "b":
        raise RuntimeError("masked_select: expected BoolTensor for mask")
    array, mask = np.broadcast_arrays(self, mask)
    found: Array = array[mask]
    return found


def masked_scatter(self: Array, mask: Array, source: Array) -> Array:
    """`self` with its elements under the mask replaced by the first ones of `source`."""
    if source.dtype != self.dtype:
        raise RuntimeError(
            f"masked_scatter: expected self and source to have same dtypes but got {type_name(self.dtype)} and "
            f"{type_name(source.dtype)}"
        )
    target, mask = np.broadcast_arrays(self, mask)
    if mask.dtype.kind != "b":
        raise RuntimeError(
            f"masked_scatter_ only supports boolean masks, but got mask with dtype {type_name(mask.dtype)}"
        )
    count = int(np.count_nonzero(mask))
    if source.size < count:
        raise RuntimeError("Number of elements of source < number of ones in mask")
    out = _copy(target)
    out[mask] = source.reshape(-1)[:count]
    return out


def nonzero(self: Array) -> Array:
    return np.argwhere(self).astype(np.int64, copy=False)


# -- rows of a table


def embedding(
    weight: Array, indices: Array, padding_idx: int = -1, scale_grad_by_freq: bool = False, sparse: bool = False
) -> Array:
    """The rows of `weight` that `indices` name.  The flags only speak of the gradient."""
    if weight.ndim != 2:
        raise RuntimeError("'weight' must be 2-D")
    if sparse:
        raise RuntimeError("embedding(): sparse gradients are not supported, use sparse=False")
    _check_table_index(indices)
    _check_range(indices, weight.shape[0], "index out of range in self", IndexError)
    return weight.take(indices, axis=0)


def _check_table_index(indices: Array) -> None:
    _check_integer(
        indices,
        "Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; but got "
        f"{type_name(indices.dtype)}Tensor instead (while checking arguments for embedding)",
    )


def embedding_dense_backward(
    grad_output: Array, indices: Array, num_weights: int, padding_idx: int, scale_grad_by_freq: bool
) -> Array:
    """The gradient of the table: the rows of `grad_output` added up by their index; none arrives at `padding_idx`."""
    _check_table_index(indices)
    flat = indices.reshape(-1)
    if grad_output.ndim == 0:
        raise IndexError("Dimension specified as -1 but tensor has no dimensions")
    if grad_output.shape[:-1] != indices.shape:
        raise RuntimeError(
            f"embedding_dense_backward: expected a gradient of shape {[*indices.shape, '*']}, but got "
            f"{list(grad_output.shape)}"
        )
    width = grad_output.shape[-1]
    rows = grad_output.reshape(flat.size, width)
    if padding_idx >= 0:
        kept = flat != padding_idx
        if not kept.all():
            flat, rows = flat[kept], rows[kept]
    if scale_grad_by_freq:
        rows = rows / np.bincount(flat, minlength=num_weights)[flat][:, None].astype(rows.dtype)
    out = np.zeros((num_weights, width), grad_output.dtype)
    if rows.size:
        _accumulate(out, flat[:, None] * np.int64(width) + np.arange(width), rows)
    return out


# -- whole tensors written


def copy(self: Array, src: Array) -> Array:
    """`src` in the shape and dtype of `self`, which gives nothing else."""
    out = np.empty(self.shape, self.dtype)
    if src.shape != self.shape:
        both = np.broadcast_shapes(self.shape, src.shape)
        if both != self.shape:
            raise RuntimeError(f"output with shape {list(self.shape)} doesn't match the broadcast shape {list(both)}")
    if src.dtype.kind == "c" and self.dtype.kind not in "cb":
        src = src.real
    np.copyto(out, src, casting="unsafe")
    return out


def fill(self: Array, value: Number) -> Array:
    return np.full(self.shape, element(value, self.dtype), self.dtype)


def fill_tensor(self: Array, value: Array) -> Array:
    if value.ndim:
        raise RuntimeError(f"fill_ only supports 0-dimension value tensor but got tensor with {value.ndim} dimensions.")
    return copy(self, value)


def zero(self: Array) -> Array:
    return np.zeros(self.shape, self.dtype)


# -- counting


def bincount(self: Array, weights: Array | None = None, minlength: int = 0) -> Array:
    """How often each number occurs, or the sum of the weights of its places."""
    if minlength < 0:
        raise RuntimeError("minlength should be >= 0")
    if self.ndim != 1 or self.dtype.kind not in "iu" or (self.size and self.min() < 0):
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    if weights is None:
        return np.bincount(self, minlength=minlength).astype(np.int64)
    if weights.shape != self.shape:
        raise RuntimeError("weights should be 1-d and have the same length as input")
    counts = np.bincount(self, weights, minlength)
    return counts.astype(weights.dtype if weights.dtype == np.float32 else np.float64)
