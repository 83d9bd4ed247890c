"""Functions that make sparse Tensors: of places and parts, and of dense ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from runtime.base import creation
from runtime.base.dtypes import get_default_dtype
from runtime.base.leaves import leaf
from runtime.base.tensor import Tensor
from runtime.base.types import DType, Layout, check_device, sparse_coo
from runtime.operators.sparse import differentiable
from runtime.operators.sparse.coordinates import empty
from runtime.operators.sparse.tensor import SparseTensor, backend, parts_of


def sparse_coo_tensor(
    indices: Any = None,
    values: Any = None,
    size: Sequence[int] | None = None,
    *,
    dtype: DType | None = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
    is_coalesced: bool | None = None,
) -> Tensor:
    """A sparse Tensor of its parts; with a size alone, one of zeros.

    Args:
        indices: a column for each part: its place along the sparse dimensions.
        values: the parts, one behind the other. Their history goes on.
        size: of the whole; None: as small as the places allow.
        dtype: of the values; None: their own.
        device: accepted, if it is the CPU.
        pin_memory: accepted, if it is false.
        requires_grad: whether the Tensor is a leaf that gets a gradient.
        check_invariants: accepted: places are always compared with the size.
        is_coalesced: whether the places are in order, and each occurs once; it is believed.

    Raises:
        RuntimeError: indices, values and size do not fit together.
    """
    if device is not None:
        check_device(device)
    if values is None:
        size = indices if size is None else size
        if size is None:
            raise TypeError("sparse_coo_tensor(): indices and values, or a size, are needed")
        shape = tuple(int(each) for each in size)
        made = backend.wrap(empty(shape, (dtype or get_default_dtype()).numpy, len(shape)))
        return leaf(made, requires_grad)
    places = _places(indices)
    parts = values if isinstance(values, Tensor) else creation.tensor(values)
    if dtype is not None:
        parts = parts.to(dtype)
    shape = _shape(places, parts, None if size is None else tuple(int(each) for each in size))
    made = differentiable.from_parts(parts, places, shape, bool(is_coalesced) or places.shape[1] < 2)
    return made if made._edge is not None else leaf(made, requires_grad)


def _places(indices: Any) -> np.ndarray[Any, Any]:
    array = differentiable.dense_array(indices if isinstance(indices, Tensor) else creation.tensor(indices))
    if array.ndim != 2:
        raise RuntimeError(f"indices must be sparse_dim x nnz, but got: {list(array.shape)}")
    return array.astype(np.int64, copy=False)


def _shape(places: np.ndarray[Any, Any], parts: Tensor, size: tuple[int, ...] | None) -> tuple[int, ...]:
    """The size, which fits to places and parts."""
    sparse_dim, count = places.shape
    shape = parts._array.shape
    if not shape:
        raise RuntimeError("values must have at least one dimension, that of the parts")
    if shape[0] != count:
        raise RuntimeError(
            f"indices and values must have same nnz, but got nnz from indices: {count}, nnz from values: {shape[0]}"
        )
    if count and sparse_dim and places.min() < 0:
        raise RuntimeError(f"found negative index {places.min()} for dim {int(places.min(axis=1).argmin())}")
    largest = [int(row.max()) + 1 if count else 0 for row in places]
    if size is None:
        return (*largest, *shape[1:])
    if len(size) != sparse_dim + len(shape) - 1:
        raise RuntimeError(
            f"'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = {len(size)}, sparse_dim = "
            f"{sparse_dim}, dense_dim = {len(shape) - 1}"
        )
    for dim, (needed, given) in enumerate(zip(largest, size, strict=False)):
        if needed > given:
            raise RuntimeError(
                f"size is inconsistent with indices: for dim {dim}, size is {given} but found index {needed - 1}"
            )
    if size[sparse_dim:] != shape[1:]:
        raise RuntimeError(f"values has incorrect size, expected {[count, *size[sparse_dim:]]}, got {list(shape)}")
    return size


def to_sparse(self: Tensor, sparse_dim: int | None = None, *, layout: Layout | None = None, **options: Any) -> Tensor:
    """The Tensor in the layout `sparse_coo`: what is not zero.

    Args:
        sparse_dim: how many dimensions are sparse, the first ones; None: all.
        layout: `sparse_coo`.

    Raises:
        RuntimeError: there are not so many dimensions.
        NotImplementedError: another layout is asked for.
    """
    if layout not in (None, sparse_coo) or options:
        raise NotImplementedError(f"there are sparse Tensors of the layout {sparse_coo} only")
    if isinstance(self, SparseTensor):
        if sparse_dim is not None and sparse_dim != self.sparse_dim():
            raise RuntimeError("to_sparse: conversion from sparse to sparse with other dimensions is not supported")
        return self
    if sparse_dim is not None:
        if not 0 <= sparse_dim <= self.dim():
            raise RuntimeError(
                f"dense_to_sparse: sparse_dim argument must be in [0,{self.dim()}] range, but {sparse_dim} is given"
            )
        if sparse_dim == 0 and self.dim():
            raise RuntimeError("dense_to_sparse: sparse_dim argument must be in >0 when self.dim()>0")
    return differentiable.to_sparse(self, sparse_dim)


def sparse_mask(self: Tensor, mask: Tensor) -> Tensor:
    """The parts of the Tensor at the places of a sparse one.

    Raises:
        NotImplementedError: the mask is dense.
        RuntimeError: they are of different sizes.
    """
    if not isinstance(mask, SparseTensor):
        raise NotImplementedError("Could not run 'aten::sparse_mask' with a mask that is dense")
    if self.shape != mask.shape:
        raise RuntimeError(
            f"sparse_mask(): operands have incompatible sizes; self has size {list(self.shape)} but mask has size "
            f"{list(mask.shape)}"
        )
    return differentiable.sparse_mask(self, parts_of(mask))


def of_rows(rows: Tensor, indices: Tensor, count: int, padding_idx: int) -> Tensor:
    """A table of `count` rows that has these added to the rows that `indices` names, but for `padding_idx`."""
    flat = indices.reshape([-1])
    rows = rows.reshape([flat.size(0), rows.size(-1)])
    if padding_idx >= 0:
        kept = flat != padding_idx
        flat, rows = flat[kept], rows[kept]
    places = differentiable.dense_array(flat).astype(np.int64).reshape((1, -1))
    return differentiable.from_parts(rows, places, (count, rows.size(-1)), places.shape[1] < 2)


def spdiags(diagonals: Tensor, offsets: Tensor, shape: Sequence[int], layout: Layout | None = None) -> Tensor:
    """A sparse matrix with these rows as its diagonals.

    Args:
        diagonals: a row for each; what does not fit is left out.
        offsets: how far above the main diagonal each lies.
        shape: of the matrix.
        layout: `sparse_coo`.

    Raises:
        RuntimeError: the arguments do not fit together.
    """
    if layout not in (None, sparse_coo):
        raise NotImplementedError(f"there are sparse Tensors of the layout {sparse_coo} only")
    values = diagonals.unsqueeze(0) if diagonals.dim() == 1 else diagonals
    where = (offsets.unsqueeze(0) if offsets.dim() == 0 else offsets)._array
    if len(shape) != 2:
        raise RuntimeError("Output shape must be 2d")
    if values.dim() != 2:
        raise RuntimeError("Diagonals must be vector or matrix")
    if where.ndim != 1:
        raise RuntimeError("Offsets must be scalar or vector")
    if where.dtype != np.int64:
        raise RuntimeError("Offset Tensor must have dtype Long but got a different dtype")
    if len(where) != values.size(0):
        raise RuntimeError(
            f"Number of diagonals ({values.size(0)}) does not match the number of offsets ({len(where)})"
        )
    if len(np.unique(where)) != len(where):
        raise RuntimeError("Offset tensor contains duplicate values")
    rows, columns = shape
    taken = []
    for number, offset in enumerate(where.tolist()):
        found = np.arange(max(offset, 0), min(columns, rows + offset, values.size(1)))
        taken.append((np.full(len(found), number), found - offset, found))
    lines, first, second = (np.concatenate(each).astype(np.int64) for each in zip(*taken, strict=True))
    flat = values.reshape([-1]).index_select(0, creation.from_numpy(lines * values.size(1) + second))
    return differentiable.from_parts(flat, np.stack([first, second]), (rows, columns), False)
