"""Views: other shapes and strides over the same memory.  No function here copies an element."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.lib import stride_tricks

from runtime.base.arrays import (
    COMPLEX32,
    Array,
    is_complex32,
    is_half,
    nearest_diagonal,
    normalize_dim,
    normalize_dims,
    type_name,
)
from runtime.base.memory import owner_of


def _strided(array: Array, shape: Sequence[int], strides: Sequence[int]) -> Array:
    """An array over the memory of another one; of float8_e5m2, whose name NumPy does not understand, as bytes."""
    if array.dtype.kind == "f" and array.itemsize == 1:
        return stride_tricks.as_strided(array.view(np.uint8), shape, strides).view(array.dtype)
    return stride_tricks.as_strided(array, shape, strides)


def inferred_size(sizes: Sequence[int], numel: int) -> tuple[int, ...]:
    """`sizes` with its one -1, if any, replaced by what `numel` elements leave for it."""
    shown = list(sizes)
    unknown = [place for place, size in enumerate(sizes) if size == -1]
    if len(unknown) > 1:
        raise RuntimeError("only one dimension can be inferred")
    bad = next((size for size in sizes if size < -1), None)
    if bad is not None:
        raise RuntimeError(f"invalid shape dimension {bad}")
    known = math.prod(size for size in sizes if size != -1)
    if not unknown:
        if known != numel:
            raise RuntimeError(f"shape '{shown}' is invalid for input of size {numel}")
        return tuple(sizes)
    if known == 0:
        if numel == 0:
            raise RuntimeError(
                f"cannot reshape tensor of 0 elements into shape {shown} because the unspecified dimension size -1 can "
                "be any value and is ambiguous"
            )
        raise RuntimeError(f"shape '{shown}' is invalid for input of size {numel}")
    if numel % known:
        raise RuntimeError(f"shape '{shown}' is invalid for input of size {numel}")
    shown[unknown[0]] = numel // known
    return tuple(shown)


def broadcast_sizes(left: Sequence[int], right: Sequence[int]) -> list[int]:
    """The sizes that two shapes broadcast to."""
    ndim = max(len(left), len(right))
    first = [1] * (ndim - len(left)) + list(left)
    second = [1] * (ndim - len(right)) + list(right)
    for dim in range(ndim - 1, -1, -1):
        a, b = first[dim], second[dim]
        if a != b and 1 not in (a, b):
            raise RuntimeError(
                f"The size of tensor a ({a}) must match the size of tensor b ({b}) at non-singleton dimension {dim}"
            )
    return [b if a == 1 else a for a, b in zip(first, second, strict=True)]


def view(self: Array, size: Sequence[int]) -> Array:
    """A view of another shape with the same elements in order."""
    try:
        # Of an array in order, never a copy, and said so in a third of the time.
        made = self.reshape(size) if self.flags.c_contiguous else self.reshape(size, copy=False)
        if made.shape != size and made.shape != (sizes := inferred_size(size, self.size)):
            raise ValueError(sizes)
        return made
    except ValueError:
        sizes = inferred_size(size, self.size)
        if self.size == 0:
            return _strided(self, sizes, (self.itemsize,) * len(sizes))
        raise RuntimeError(
            "view size is not compatible with input tensor's size and stride (at least one dimension spans across two "
            "contiguous subspaces). Use .reshape(...) instead."
        ) from None


def view_dtype(self: Array, dtype: np.dtype[Any]) -> Array:
    """The same bytes read as another element type; where the sizes differ, the last dimension grows or shrinks."""
    if self.dtype == dtype or self.dtype.itemsize == dtype.itemsize:
        return self.view(dtype)
    if self.ndim == 0:
        raise RuntimeError(f"self.dim() cannot be 0 to view {self.dtype} as {dtype} (different element sizes)")
    try:
        return self.view(dtype)
    except ValueError as error:
        raise RuntimeError(f"can not view a tensor of {self.dtype} as {dtype}: {error}") from None


def alias(self: Array) -> Array:
    """A view of the whole Tensor."""
    return self[...]


# -- the order of dimensions


def transpose(self: Array, dim0: int, dim1: int) -> Array:
    """A view with two dimensions exchanged."""
    try:
        return self.swapaxes(dim0, dim1)
    except (IndexError, OverflowError):
        ndim = self.ndim
        first, second = normalize_dim(dim0, ndim), normalize_dim(dim1, ndim)
        return self.swapaxes(first, second) if ndim else self[...]


def t(self: Array) -> Array:
    """A view of a matrix with its dimensions exchanged."""
    if self.ndim > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {self.ndim}D")
    return self.T if self.ndim == 2 else self[...]


def permute(self: Array, dims: Sequence[int]) -> Array:
    """A view with the dimensions in another order."""
    if len(dims) != self.ndim:
        raise RuntimeError(
            "permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired "
            f"ordering of dimensions i.e. input.dim() = {self.ndim} is not equal to len(dims) = {len(dims)}"
        )
    normal = tuple(normalize_dim(dim, self.ndim) for dim in dims)
    if len(set(normal)) != len(normal):
        raise RuntimeError("permute(): duplicate dims are not allowed.")
    return self.transpose(normal) if normal else self[...]


# -- dimensions of size 1


def unsqueeze(self: Array, dim: int) -> Array:
    """A view with a dimension of size 1 more."""
    place = normalize_dim(dim, self.ndim + 1)
    sizes, strides = self.shape, self.strides
    stride = sizes[place] * strides[place] if place < self.ndim else self.itemsize
    return _restrided(self, (*sizes[:place], 1, *sizes[place:]), (*strides[:place], stride, *strides[place:]))


def squeeze_all(self: Array) -> Array:
    """A view without dimensions of size 1."""
    return self.squeeze() if 1 in self.shape else self[...]


def squeeze_dim(self: Array, dim: int) -> Array:
    place = normalize_dim(dim, self.ndim)
    return self.squeeze(place) if self.ndim and self.shape[place] == 1 else self[...]


def squeeze_dims(self: Array, dim: Sequence[int]) -> Array:
    places = tuple(place for place in normalize_dims(dim, self.ndim) if self.ndim and self.shape[place] == 1)
    return self.squeeze(places) if places else self[...]


def expand(self: Array, size: Sequence[int], implicit: bool = False) -> Array:
    """A view in which dimensions of size 1 are as large as asked for."""
    new = len(size) - self.ndim
    if new < 0:
        raise RuntimeError(
            f"expand: the number of sizes provided ({len(size)}) must be greater or equal to the number of dimensions "
            f"in the tensor ({self.ndim}). Target sizes: {list(size)}.  Tensor sizes: {list(self.shape)}"
        )
    sizes, strides = list(size), [0] * len(size)
    for dim in range(len(size)):
        old = self.shape[dim - new] if dim >= new else 1
        if sizes[dim] == -1 and dim >= new:
            sizes[dim] = old
        if sizes[dim] < 0:
            raise RuntimeError(
                f"The expanded size of the tensor ({sizes[dim]}) isn't allowed in a leading, non-existing dimension "
                f"{dim}"
            )
        if dim >= new and old == sizes[dim]:
            strides[dim] = self.strides[dim - new]
        elif old != 1:
            raise RuntimeError(
                f"The expanded size of the tensor ({sizes[dim]}) must match the existing size ({old}) at non-singleton "
                f"dimension {dim}.  Target sizes: {list(size)}.  Tensor sizes: {list(self.shape)}"
            )
    for dim in range(new - 1, -1, -1):  # a new dimension of size 1 gets the stride it would have in a contiguous array
        if sizes[dim] == 1:
            strides[dim] = sizes[dim + 1] * strides[dim + 1] if dim + 1 < len(sizes) else self.itemsize
    return _restrided(self, tuple(sizes), tuple(strides))


# -- parts


def select_int(self: Array, dim: int, index: int) -> Array:
    """A view of one slice along a dimension."""
    if self.ndim == 0:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    place = normalize_dim(dim, self.ndim)
    size = self.shape[place]
    if not -size <= index < size:
        raise IndexError(
            f"select(): index {index} out of range for tensor of size {list(self.shape)} at dimension {place}"
        )
    return self[(slice(None),) * place + (index, ...)]


def slice_dim(self: Array, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1) -> Array:
    """A view of every `step`-th element along a dimension, from `start` up to `end`."""
    if self.ndim == 0:
        raise IndexError("slice() cannot be applied to a 0-dim tensor.")
    place = normalize_dim(dim, self.ndim)
    if step <= 0:
        raise RuntimeError("slice step must be positive")
    return self[(slice(None),) * place + (slice(start, end, step),)]


def diagonal(self: Array, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Array:
    """A view of a diagonal of two dimensions."""
    first, second = normalize_dim(dim1, self.ndim), normalize_dim(dim2, self.ndim)
    if first == second:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    offset = nearest_diagonal(offset, self.shape[first], self.shape[second])
    along = self.diagonal(offset, first, second)
    if self.flags.writeable:
        along.flags.writeable = True
    return along


def unfold(self: Array, dimension: int, size: int, step: int) -> Array:
    """A view of all windows of a size along a dimension."""
    place = normalize_dim(dimension, self.ndim)
    length = self.shape[place] if self.ndim else 1
    if not 0 <= size <= length:
        raise RuntimeError(f"maximum size for tensor at dimension {place} is {length} but size is {size}")
    if step <= 0:
        raise RuntimeError(f"step is {step} but must be > 0")
    if self.ndim == 0:
        return _restrided(self, (size,), (self.itemsize,))
    windows = (length - size) // step + 1
    stride = self.strides[place]
    return _restrided(
        self,
        (*self.shape[:place], windows, *self.shape[place + 1 :], size),
        (*self.strides[:place], stride * step, *self.strides[place + 1 :], stride),
    )


def split(self: Array, split_size: int, dim: int = 0) -> list[Array]:
    """Views of parts of a size along a dimension, of which the last may be smaller."""
    place, length = _split_dim(self, dim)
    if split_size < 0:
        raise RuntimeError(f"split expects split_size be non-negative, but got split_size={split_size}")
    if split_size == 0:
        if length:
            raise RuntimeError(f"split_size can only be 0 if dimension size is 0, but got dimension size of {length}")
        return [self[...]]
    return [_part(self, place, start, start + split_size) for start in range(0, max(length, 1), split_size)]


def split_with_sizes(self: Array, split_sizes: Sequence[int], dim: int = 0) -> list[Array]:
    """Views of parts of these sizes along a dimension."""
    place, length = _split_dim(self, dim)
    if any(size < 0 for size in split_sizes):
        raise RuntimeError(
            "split_with_sizes expects split_sizes have only non-negative entries, but got "
            f"split_sizes={list(split_sizes)}"
        )
    if sum(split_sizes) != length:
        raise RuntimeError(
            f"split_with_sizes expects split_sizes to sum exactly to {length} (input tensor's size at dimension "
            f"{place}), but got split_sizes={list(split_sizes)}"
        )
    parts, start = [], 0
    for size in split_sizes:
        parts.append(_part(self, place, start, start + size))
        start += size
    return parts


def unbind(self: Array, dim: int = 0) -> list[Array]:
    """Views of all slices along a dimension."""
    if self.ndim == 0:
        normalize_dim(dim, 0)
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    place = normalize_dim(dim, self.ndim)
    return [select_int(self, place, index) for index in range(self.shape[place])]


def _split_dim(self: Array, dim: int) -> tuple[int, int]:
    if self.ndim == 0:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    place = normalize_dim(dim, self.ndim)
    return place, self.shape[place]


def _part(self: Array, dim: int, start: int, end: int) -> Array:
    return self[(slice(None),) * dim + (slice(start, end),)]


# -- any strides


def as_strided(self: Array, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None) -> Array:
    """Sizes and strides, in elements, over the whole memory that `self` is a part of."""
    if len(size) != len(stride):
        raise RuntimeError(f"mismatch in length of strides and shape: {len(size)} sizes, {len(stride)} strides")
    if any(step < 0 for step in stride):
        raise RuntimeError(
            "as_strided: Negative strides are not supported at the moment, got strides: "
            f"[{', '.join(map(str, stride))}]"
        )
    root, offset = memory_of(self)
    if storage_offset is not None:
        offset = storage_offset
    if offset < 0:
        raise RuntimeError(f"Tensor: invalid storage offset {offset}")
    span = 0 if 0 in size else 1 + sum((length - 1) * step for length, step in zip(size, stride, strict=True))
    if offset + span > root.size:
        raise RuntimeError(
            f"setStorage: sizes {list(size)}, strides {list(stride)}, storage offset {offset}, and itemsize "
            f"{self.itemsize} requiring a storage size of {(offset + span) * self.itemsize} are out of bounds for "
            f"storage of size {root.size * self.itemsize}"
        )
    start = root[offset:] if span else root[:0]
    return _strided(start, tuple(size), tuple(step * self.itemsize for step in stride))


def slice_inverse(
    self: Array, src: Array, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> Array:
    """What `self` is a slice of: its memory, with the sizes, the strides and the first place of `src`."""
    strides = [step // src.itemsize for step in src.strides]
    return as_strided(self, src.shape, strides, memory_of(src)[1])


def memory_of(self: Array) -> tuple[Array, int]:
    """All the memory that `self` is a part of, as a 1-dim array of its dtype, and the place of its first element."""
    root = owner_of(self)
    flat = root.transpose(sorted(range(root.ndim), key=lambda dim: -root.strides[dim])).reshape(-1)
    if not np.may_share_memory(flat, root) and root.size:  # gaps: the owner of this memory is not NumPy
        flat, root = self.reshape(-1), self
    if flat.dtype != self.dtype:
        flat = flat.view(self.dtype)
    start: int = self.__array_interface__["data"][0] - flat.__array_interface__["data"][0]
    return flat, start // self.itemsize


def _restrided(self: Array, sizes: tuple[int, ...], strides: tuple[int, ...]) -> Array:
    """`self` with sizes and strides (in bytes) that reach no memory `self` does not reach."""
    if self.flags.c_contiguous:
        return np.ndarray(sizes, self.dtype, self, 0, strides)
    return _strided(self, sizes, strides)


# -- complex as pairs


def view_as_real(self: Array) -> Array:
    """A view of complex numbers as pairs of real ones."""
    half = self.itemsize // 2
    real = self["real"] if is_complex32(self.dtype) else self.real
    return _strided(real, (*self.shape, 2), (*self.strides, half))


def view_as_complex(self: Array) -> Array:
    """A view of pairs of real numbers as complex ones."""
    if self.ndim == 0:
        raise RuntimeError("Input tensor must have one or more dimensions")
    if self.shape[-1] != 2:
        raise RuntimeError("Tensor must have a last dimension of size 2")
    if self.size and self.strides[-1] != self.itemsize:
        raise RuntimeError("Tensor must have a last dimension with stride 1")
    if any(stride % (2 * self.itemsize) for stride in self.strides[:-1]):
        raise RuntimeError("Tensor must have a stride divisible by 2 for all but last dimension")
    if is_half(self.dtype) and self.dtype != np.float16:
        raise RuntimeError(
            "view_as_complex is only supported for half, float and double tensors, but got a tensor of scalar type: "
            f"{type_name(self.dtype)}"
        )
    pairs = self.view(COMPLEX32 if self.dtype == np.float16 else np.result_type(self.dtype, np.complex64))
    return pairs[..., 0]
