"""Products of matrices in groups, of which one matrix may hold several, one after the other."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from runtime.base.arrays import Array, is_half, shaped, type_name


def grouped_mm(
    self: Array, mat2: Array, offs: Array | None, bias: Array | None, out_dtype: np.dtype[Any] | None
) -> Array:
    """The products of groups of matrices: a batch has a matrix for each group, in a matrix they end where `offs` says.

    Two batches have no ends. In two matrices the inner dimension is divided, and the products are a batch; else the
    outer one of the matrix is, as in the result. What no group has is 0. Rows may lie as they like in memory, where
    PyTorch wants multiples of 16 bytes, and float64 is computed, too.
    """
    shape = _checked_shape(self, mat2, offs, bias, out_dtype)
    if offs is None:
        return _product(self, mat2)
    out = np.zeros(shape, self.dtype)
    for group, part in enumerate(_parts(offs)):
        if self.ndim == mat2.ndim:
            out[group] = _product(self[:, part], mat2[part])
        elif self.ndim == 2:
            out[part] = _product(self[part], mat2[group])
        else:
            out[:, part] = _product(self[group], mat2[:, part])
    return out


def grouped_mm_shape(
    self: Array, mat2: Array, offs: Array | None, bias: Array | None, out_dtype: np.dtype[Any] | None
) -> Array:
    """The result of `grouped_mm` without data, for the same arguments."""
    return shaped(_checked_shape(self, mat2, offs, bias, out_dtype), self.dtype)


def _parts(offs: Array) -> Iterator[slice]:
    """Where the groups lie: each starts where the one before it ends."""
    start = 0
    for end in offs.tolist():
        yield slice(start, end)
        start = end


def _product(left: Array, right: Array) -> Array:
    """Half precision is summed in float32, and rounded once."""
    if is_half(left.dtype):
        return np.asarray(np.matmul(left.astype(np.float32), right.astype(np.float32)).astype(left.dtype))
    return np.asarray(np.matmul(left, right))


def _checked_shape(
    self: Array, mat2: Array, offs: Array | None, bias: Array | None, out_dtype: np.dtype[Any] | None
) -> tuple[int, ...]:
    """The shape of the result.

    Raises:
        RuntimeError: the arguments do not fit, or `bias` is given, which nothing computes yet, as in PyTorch.
    """
    for name, array in (("mat_a", self), ("mat_b", mat2)):
        if array.ndim not in (2, 3):
            raise RuntimeError(f"{name} has to be 2 or 3d")
    batches = self.ndim == mat2.ndim == 3
    if (offs is None) != batches:
        raise RuntimeError("Have to provide offsets if there is a 2d matrix, or no offset if both matrices are 3d")
    if self.shape[-1] != mat2.shape[-2]:
        raise RuntimeError("contraction dimension of mat_a and mat_b must match")
    if bias is not None:
        raise RuntimeError("Bias not supported yet")
    if self.dtype != mat2.dtype:
        names = f"{type_name(self.dtype)} and {type_name(mat2.dtype)}"
        raise RuntimeError(f"expected mat_a and mat_b to have the same dtype, but got {names}")
    if out_dtype is not None and out_dtype != self.dtype:
        raise RuntimeError("Grouped gemm output dtype must match `mat_a` dtype")
    if offs is None:
        if self.shape[0] != mat2.shape[0]:
            raise RuntimeError("batched dimension has to match")
        return (self.shape[0], self.shape[1], mat2.shape[2])
    if offs.ndim != 1:
        raise RuntimeError("offs has to be 1D")
    if offs.dtype != np.int32:
        raise RuntimeError("Offsets have to be int32")
    if self.ndim == mat2.ndim:
        return (offs.size, self.shape[0], mat2.shape[1])
    if offs.size != (mat2 if self.ndim == 2 else self).shape[0]:
        raise RuntimeError("matrix batch sizes have to match")
    return (self.shape[-2], mat2.shape[-1])
