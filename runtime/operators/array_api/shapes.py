"""Other shapes of the same elements, parts of them, and arrays put together."""

from __future__ import annotations

from collections.abc import Sequence

from runtime.operators.array_api._common import Array, DType, Namespace, Number, index_along, one_dim, size_of
from runtime.operators.kernels.shape import inferred_size

# -- views


def view_default(xp: Namespace, self: Array, size: Sequence[int]) -> Array:
    return xp.reshape(self, inferred_size(size, size_of(self)))


def alias(xp: Namespace, self: Array) -> Array:
    return self


def transpose_int(xp: Namespace, self: Array, dim0: int, dim1: int) -> Array:
    axes = list(range(self.ndim))
    first, second = one_dim(dim0, self.ndim), one_dim(dim1, self.ndim)
    if axes:
        axes[first], axes[second] = second, first
    return xp.permute_dims(self, tuple(axes))


def t(xp: Namespace, self: Array) -> Array:
    if self.ndim > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {self.ndim}D")
    return xp.permute_dims(self, (1, 0)) if self.ndim == 2 else self


def permute(xp: Namespace, self: Array, dims: Sequence[int]) -> Array:
    axes = tuple(one_dim(dim, self.ndim) for dim in dims)
    if sorted(axes) != list(range(self.ndim)):
        raise RuntimeError(f"permute(): {list(dims)} names not each of {self.ndim} dimensions once")
    return xp.permute_dims(self, axes)


def unsqueeze(xp: Namespace, self: Array, dim: int) -> Array:
    return xp.expand_dims(self, axis=one_dim(dim, self.ndim + 1))


def squeeze_default(xp: Namespace, self: Array) -> Array:
    return squeeze_dims(xp, self, range(self.ndim))


def squeeze_dim(xp: Namespace, self: Array, dim: int) -> Array:
    return squeeze_dims(xp, self, (dim,))


def squeeze_dims(xp: Namespace, self: Array, dim: Sequence[int]) -> Array:
    places = [one_dim(each, self.ndim) for each in dim]
    axes = tuple(place for place in places if self.ndim and self.shape[place] == 1)
    return xp.squeeze(self, axis=axes) if axes else self


def expand(xp: Namespace, self: Array, size: Sequence[int], implicit: bool = False) -> Array:
    new = len(size) - self.ndim
    if new < 0:
        raise RuntimeError(
            f"expand: the number of sizes provided ({len(size)}) must be greater or equal to the number of dimensions "
            f"in the tensor ({self.ndim})"
        )
    own = (1,) * new + tuple(self.shape)
    wanted = tuple(own[dim] if each == -1 and dim >= new else each for dim, each in enumerate(size))
    for dim, (have, want) in enumerate(zip(own, wanted, strict=True)):
        if have not in (1, want) or want < 0:
            raise RuntimeError(
                f"The expanded size of the tensor ({want}) must match the existing size ({have}) at non-singleton "
                f"dimension {dim}.  Target sizes: {list(size)}.  Tensor sizes: {list(self.shape)}"
            )
    return xp.broadcast_to(self, wanted)


def select_int(xp: Namespace, self: Array, dim: int, index: int) -> Array:
    if not self.ndim:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    place = one_dim(dim, self.ndim)
    size = self.shape[place]
    if not -size <= index < size:
        raise IndexError(
            f"select(): index {index} out of range for tensor of size {list(self.shape)} at dimension {place}"
        )
    return self[index_along(self.ndim, place, index % size)]


def slice_Tensor(
    xp: Namespace, self: Array, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> Array:
    if not self.ndim:
        raise IndexError("slice() cannot be applied to a 0-dim tensor.")
    if step <= 0:
        raise RuntimeError("slice step must be positive")
    place = one_dim(dim, self.ndim)
    first, last, step = slice(start, end, step).indices(self.shape[place])
    return self[index_along(self.ndim, place, slice(first, max(first, last), step))]


def split_Tensor(xp: Namespace, self: Array, split_size: int, dim: int = 0) -> list[Array]:
    place = one_dim(dim, self.ndim)
    length = self.shape[place]
    if split_size < 0 or (split_size == 0 and length):
        raise RuntimeError(f"split expects split_size be non-negative, but got split_size={split_size}")
    starts = range(0, max(length, 1), split_size) if split_size else [0]
    return [_part(self, place, start, min(start + split_size, length)) for start in starts]


def split_with_sizes(xp: Namespace, self: Array, split_sizes: Sequence[int], dim: int = 0) -> list[Array]:
    place = one_dim(dim, self.ndim)
    if any(size < 0 for size in split_sizes) or sum(split_sizes) != self.shape[place]:
        raise RuntimeError(
            f"split_with_sizes expects split_sizes to sum exactly to {self.shape[place]} (input tensor's size at "
            f"dimension {place}), but got split_sizes={list(split_sizes)}"
        )
    ends = [sum(split_sizes[: count + 1]) for count in range(len(split_sizes))]
    return [_part(self, place, end - size, end) for end, size in zip(ends, split_sizes, strict=True)]


def unbind_int(xp: Namespace, self: Array, dim: int = 0) -> list[Array]:
    if not self.ndim:
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    place = one_dim(dim, self.ndim)
    return [self[index_along(self.ndim, place, index)] for index in range(self.shape[place])]


# -- copies


def clone(xp: Namespace, self: Array) -> Array:
    return self  # nobody writes to arrays


def _unsafe_view(xp: Namespace, self: Array, size: Sequence[int]) -> Array:
    return view_default(xp, self, size)


def _reshape_copy(xp: Namespace, self: Array, size: Sequence[int]) -> Array:
    return view_default(xp, self, size)


def _to_copy(xp: Namespace, self: Array, dtype: DType | None = None) -> Array:
    if dtype is None or self.dtype == dtype:
        return self
    if xp.isdtype(self.dtype, "complex floating"):
        if xp.isdtype(dtype, "bool"):
            return self != 0
        self = self if xp.isdtype(dtype, "complex floating") else xp.real(self)
    return xp.astype(self, dtype)


def copy(xp: Namespace, self: Array, src: Array) -> Array:
    return xp.broadcast_to(_to_copy(xp, src, self.dtype), self.shape)


def fill_Scalar(xp: Namespace, self: Array, value: Number) -> Array:
    return xp.full(self.shape, value, dtype=self.dtype)


def fill_Tensor(xp: Namespace, self: Array, value: Array) -> Array:
    if value.ndim:
        raise RuntimeError(f"fill_ only supports 0-dimension value tensor but got tensor with {value.ndim} dimensions.")
    return copy(xp, self, value)


def zero(xp: Namespace, self: Array) -> Array:
    return xp.zeros(self.shape, dtype=self.dtype)


# -- joining, repeating, reordering


def cat(xp: Namespace, tensors: Sequence[Array], dim: int = 0) -> Array:
    if not tensors:
        raise ValueError("torch.cat(): expected a non-empty list of Tensors")
    joined = [array for array in tensors if tuple(array.shape) != (0,)] or list(tensors[:1])
    dtype = xp.result_type(*tensors)
    axis = one_dim(dim, joined[0].ndim)
    return xp.concat([_to_copy(xp, array, dtype) for array in joined], axis=axis)


def stack(xp: Namespace, tensors: Sequence[Array], dim: int = 0) -> Array:
    if not tensors:
        raise RuntimeError("stack expects a non-empty TensorList")
    shapes = [list(array.shape) for array in tensors]
    for place, shape in enumerate(shapes):
        if shape != shapes[0]:
            raise RuntimeError(
                f"stack expects each tensor to be equal size, but got {shapes[0]} at entry 0 and {shape} at entry "
                f"{place}"
            )
    dtype = xp.result_type(*tensors)
    return xp.stack([_to_copy(xp, array, dtype) for array in tensors], axis=one_dim(dim, tensors[0].ndim + 1))


def flip(xp: Namespace, self: Array, dims: Sequence[int]) -> Array:
    axes = tuple(one_dim(dim, self.ndim) for dim in dims)
    return xp.flip(self, axis=axes) if self.ndim and axes else self


def roll(xp: Namespace, self: Array, shifts: Sequence[int], dims: Sequence[int] = ()) -> Array:
    if not shifts:
        raise RuntimeError("`shifts` required")
    if len(shifts) != (len(dims) or 1):
        raise RuntimeError(f"shifts and dimensions must align. shifts: {len(shifts)}, dims:{len(dims)}")
    if not dims:
        return xp.roll(self, shifts[0])
    return xp.roll(self, tuple(shifts), axis=tuple(one_dim(dim, self.ndim) for dim in dims))


def repeat(xp: Namespace, self: Array, repeats: Sequence[int]) -> Array:
    if len(repeats) < self.ndim:
        raise RuntimeError("Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor")
    return xp.tile(self, tuple(repeats))


def constant_pad_nd(xp: Namespace, self: Array, pad: Sequence[int], value: Number = 0) -> Array:
    if len(pad) % 2 or len(pad) // 2 > self.ndim:
        raise RuntimeError(
            f"pad of {len(pad)} numbers for {self.ndim} dimensions: two for each dimension, from the last"
        )
    for count in range(len(pad) // 2):
        dim, before, after = self.ndim - 1 - count, pad[2 * count], pad[2 * count + 1]
        size = self.shape[dim]
        if size + before + after < 0:
            raise RuntimeError(f"The input size {size}, plus negative padding {before} and {after} is negative")
        self = _part(self, dim, max(-before, 0), size - max(-after, 0))
        self = _joined(xp, self, dim, max(before, 0), max(after, 0), value)
    return self


def select_backward(xp: Namespace, grad_output: Array, input_sizes: Sequence[int], dim: int, index: int) -> Array:
    place = one_dim(dim, len(input_sizes))
    index = index % input_sizes[place]
    grad = xp.expand_dims(grad_output, axis=place)
    return _joined(xp, grad, place, index, input_sizes[place] - index - 1, 0)


def slice_backward(
    xp: Namespace, grad_output: Array, input_sizes: Sequence[int], dim: int, start: int, end: int, step: int
) -> Array:
    place = one_dim(dim, len(input_sizes))
    length = input_sizes[place]
    first, _, step = slice(start, end, step).indices(length)
    count = grad_output.shape[place]
    if not count:
        return xp.zeros(tuple(input_sizes), dtype=grad_output.dtype)
    grad = grad_output
    if step > 1:  # a gap behind each element
        grad = _joined(xp, xp.expand_dims(grad, axis=place + 1), place + 1, 0, step - 1, 0)
        shape = (*input_sizes[:place], count * step, *input_sizes[place + 1 :])
        grad = _part(xp.reshape(grad, shape), place, 0, min(count * step, length - first))
    return _joined(xp, grad, place, first, length - first - grad.shape[place], 0)


def tril(xp: Namespace, self: Array, diagonal: int = 0) -> Array:
    return xp.tril(self, k=diagonal)


def triu(xp: Namespace, self: Array, diagonal: int = 0) -> Array:
    return xp.triu(self, k=diagonal)


# -- what several of these need


def _part(self: Array, dim: int, start: int, end: int) -> Array:
    return self[index_along(self.ndim, dim, slice(start, max(start, end), 1))]


def _joined(xp: Namespace, self: Array, dim: int, before: int, after: int, value: Number) -> Array:
    """The array with `before` and `after` more elements of one value along a dimension."""
    parts = [self]
    for count, place in ((before, 0), (after, 2)):
        if count > 0:
            shape = (*self.shape[:dim], count, *self.shape[dim + 1 :])
            parts.insert(place, xp.full(shape, value, dtype=self.dtype))
    return xp.concat(parts, axis=dim) if len(parts) > 1 else self
