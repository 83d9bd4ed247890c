"""Joining, repeating and reordering of elements into new memory, and the adjoints of views."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from runtime.base.arrays import (
    COMPLEX32,
    Array,
    Number,
    converted,
    element,
    is_complex32,
    is_float8,
    is_integral,
    is_stored,
    normalize_dim,
    normalize_dims,
    type_name,
)
from runtime.operators.kernels.shape import diagonal, inferred_size, select_int, slice_dim
from runtime.operators.kernels.shape import unfold as _unfold


def clone(self: Array) -> Array:
    """A copy that keeps the order of the strides, if the elements fill their memory."""
    return self.copy("K")


def reshape_copy(self: Array, size: Sequence[int]) -> Array:
    """A contiguous copy in another shape."""
    return self.copy("C").reshape(inferred_size(size, self.size))


def unsafe_view(self: Array, size: Sequence[int]) -> Array:
    return self.reshape(inferred_size(size, self.size))


def _joint_dtype(tensors: Sequence[Array]) -> np.dtype[Any]:
    """The dtype that all the arrays go into: integers give way to floats of any width."""
    dtypes = {array.dtype for array in tensors}
    if len(dtypes) == 1:
        return dtypes.pop()
    if any(is_stored(dtype) and not is_complex32(dtype) for dtype in dtypes):
        first = tensors[0].dtype
        other = next(array.dtype for array in tensors if array.dtype != first)
        pair = f"{type_name(first)} and {type_name(other)}"
        if is_float8(first) or is_float8(other):
            raise RuntimeError(f"Promotion for Float8 Types is not supported, attempted to promote {pair}")
        raise RuntimeError(f"Promotion from {pair} is unsupported.")
    inexact = {dtype for dtype in dtypes if not is_integral(dtype)}
    if COMPLEX32 in inexact:
        wider = inexact - {COMPLEX32, np.dtype(np.float16)}
        return np.result_type(np.complex64, *wider) if wider else COMPLEX32
    return np.result_type(*(inexact or dtypes))


def cat(tensors: Sequence[Array], dim: int = 0) -> Array:
    """The Tensors one behind the other along a dimension."""
    if not tensors:
        raise ValueError("torch.cat(): expected a non-empty list of Tensors")
    first = tensors[0]
    if -first.ndim <= dim < first.ndim and all(a.dtype is first.dtype and a.ndim == first.ndim for a in tensors):
        with contextlib.suppress(ValueError):  # sizes differ: the way below says where
            return np.concatenate(tensors, dim)
    for place, array in enumerate(tensors):
        if array.ndim == 0:
            raise RuntimeError(f"zero-dimensional tensor (at position {place}) cannot be concatenated")
    dtype = _joint_dtype(tensors)
    joined = [array for array in tensors if array.shape != (0,)]  # an empty vector fits to everything
    if not joined:
        normalize_dim(dim, 1)
        return np.empty(0, dtype)
    axis = normalize_dim(dim, joined[0].ndim)
    first = joined[0]
    for place, array in enumerate(joined):
        if array.ndim != first.ndim:
            raise RuntimeError(f"Tensors must have same number of dimensions: got {first.ndim} and {array.ndim}")
        for other, (size, expected) in enumerate(zip(array.shape, first.shape, strict=True)):
            if other != axis and size != expected:
                raise RuntimeError(
                    f"Sizes of tensors must match except in dimension {axis}. Expected size {expected} but got size "
                    f"{size} for tensor number {place} in the list."
                )
    if any(is_complex32(array.dtype) for array in joined):
        joined = [converted(array, dtype) for array in joined]
    return np.concatenate(joined, axis, dtype=dtype)


def stack(tensors: Sequence[Array], dim: int = 0) -> Array:
    """The Tensors one behind the other along a new dimension."""
    if not tensors:
        raise RuntimeError("stack expects a non-empty TensorList")
    axis = normalize_dim(dim, tensors[0].ndim + 1)
    shape = tensors[0].shape
    for place, array in enumerate(tensors):
        if array.shape != shape:
            raise RuntimeError(
                f"stack expects each tensor to be equal size, but got {list(shape)} at entry 0 and {list(array.shape)} "
                f"at entry {place}"
            )
    dtype = _joint_dtype(tensors)
    if any(is_complex32(array.dtype) for array in tensors):
        tensors = [converted(array, dtype) for array in tensors]
    result = np.empty((*shape[:axis], len(tensors), *shape[axis:]), dtype)
    for place, array in enumerate(tensors):
        select_int(result, axis, place)[...] = array
    return result


def flip(self: Array, dims: Sequence[int]) -> Array:
    """The Tensor with these dimensions reversed."""
    axes = normalize_dims(dims, self.ndim)
    return (np.flip(self, axes) if self.ndim else self).copy()


def roll(self: Array, shifts: Sequence[int], dims: Sequence[int] = ()) -> Array:
    """The Tensor moved along dimensions; what leaves at one end comes in at the other."""
    if not shifts:
        raise RuntimeError("`shifts` required")
    if not all(-(2**63) <= shift < 2**63 for shift in shifts):  # NumPy takes any
        raise OverflowError("a shift is counted by an int64")
    if not dims:
        if len(shifts) != 1:
            raise RuntimeError(f"shifts and dimensions must align. shifts: {len(shifts)}, dims:{len(dims)}")
        return np.roll(self, shifts[0])
    if len(shifts) != len(dims):
        raise RuntimeError(f"shifts and dimensions must align. shifts: {len(shifts)}, dims:{len(dims)}")
    if self.ndim == 0:
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    axes = tuple(normalize_dim(dim, self.ndim) for dim in dims)  # one dim may be named twice: its shifts add up
    return np.roll(self, tuple(shifts), axes)


def repeat(self: Array, repeats: Sequence[int]) -> Array:
    """The Tensor repeated along its dimensions, which may be more than it has."""
    if len(repeats) < self.ndim:
        raise RuntimeError("Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor")
    if any(count < 0 for count in repeats):
        raise RuntimeError(f"Trying to create tensor with negative dimension: {list(repeats)}")
    return np.tile(self, tuple(repeats))


def constant_pad_nd(self: Array, pad: Sequence[int], value: Number = 0) -> Array:
    """`pad` holds (before, after) pairs from the last dimension forward; negative numbers cut off."""
    if len(pad) % 2:
        raise RuntimeError(f"Length of pad must be even but instead it equals {len(pad)}")
    if len(pad) // 2 > self.ndim:
        raise RuntimeError(
            "Length of pad should be no more than twice the number of dimensions of the input. Pad length is "
            f"{len(pad)} while the input has {self.ndim} dimensions."
        )
    sizes, inside, source = list(self.shape), [slice(None)] * self.ndim, [slice(None)] * self.ndim
    for place in range(len(pad) // 2):
        dim, before, after = self.ndim - 1 - place, pad[2 * place], pad[2 * place + 1]
        length = self.shape[dim]
        sizes[dim] = length + before + after
        if sizes[dim] < 0:
            raise RuntimeError(
                f"The input size {length}, plus negative padding {before} and {after} resulted in a negative output "
                "size, which is invalid."
            )
        inside[dim] = slice(max(before, 0), sizes[dim] - max(after, 0))
        source[dim] = slice(max(-before, 0), length - max(-after, 0))
    result = np.full(sizes, element(value, self.dtype), self.dtype)
    result[tuple(inside)] = self[tuple(source)]
    return result


def repeat_interleave_counts(repeats: Array, output_size: int | None = None) -> Array:
    """Index i as often as `repeats[i]` says."""
    if repeats.ndim != 1:
        raise RuntimeError("repeat_interleave only accept 1D vector as repeat")
    if repeats.dtype not in (np.int32, np.int64):
        raise RuntimeError("repeats has to be Long or Int tensor")
    if (repeats < 0).any():
        raise RuntimeError("repeats can not be negative")
    result = np.repeat(np.arange(repeats.size, dtype=repeats.dtype), repeats)
    if output_size is not None and result.size != output_size:
        raise RuntimeError(f"allocated size does not match required size: {output_size} and {result.size}")
    return result


# -- adjoints of views: zeros, with the gradient written where the view looked


def select_backward(grad_output: Array, input_sizes: Sequence[int], dim: int, index: int) -> Array:
    result = np.zeros(input_sizes, grad_output.dtype)
    select_int(result, dim, index)[...] = grad_output
    return result


def slice_backward(grad_output: Array, input_sizes: Sequence[int], dim: int, start: int, end: int, step: int) -> Array:
    result = np.zeros(input_sizes, grad_output.dtype)
    slice_dim(result, dim, start, end, step)[...] = grad_output
    return result


def diagonal_backward(grad_output: Array, input_sizes: Sequence[int], offset: int, dim1: int, dim2: int) -> Array:
    result = np.zeros(input_sizes, grad_output.dtype)
    diagonal(result, offset, dim1, dim2)[...] = grad_output
    return result


def unfold_backward(grad_in: Array, input_sizes: Sequence[int], dim: int, size: int, step: int) -> Array:
    """Windows may overlap, so each position inside the window is added on its own: those never do."""
    result = np.zeros(input_sizes, grad_in.dtype)
    if not input_sizes:
        result[...] = grad_in.sum()
        return result
    windows = _unfold(result, dim, size, step)
    if grad_in.shape != windows.shape:
        raise RuntimeError(f"unfold_backward: expected a gradient of shape {windows.shape}, but got {grad_in.shape}")
    for place in range(size):
        windows[..., place] += grad_in[..., place]
    return result


# -- writes into a copy


def select_scatter(self: Array, src: Array, dim: int, index: int) -> Array:
    """A copy with `src` in the place of one slice along a dimension."""
    result = self.copy()
    _write(select_int(result, dim, index), src)
    return result


def slice_scatter(
    self: Array, src: Array, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> Array:
    """A copy with `src` in the place of a slice of a dimension."""
    result = self.copy()
    _write(slice_dim(result, dim, start, end, step), src)
    return result


def diagonal_scatter(self: Array, src: Array, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Array:
    """A copy with `src` in the place of a diagonal."""
    result = self.copy()
    _write(diagonal(result, offset, dim1, dim2), src)
    return result


def _write(part: Array, src: Array) -> None:
    if part.shape != src.shape:
        raise RuntimeError(
            f"expected src to have a size equal to the slice of self. src size = {list(src.shape)}, "
            f"slice size = {list(part.shape)}"
        )
    part[...] = converted(src, part.dtype)
