"""Tensors put together from others, and taken apart into others."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

from runtime import ops
from runtime.base import dtypes
from runtime.base.arrays import normalize_dim
from runtime.base.tensor import Tensor

# -- products of sets


def block_diag(tensors: Sequence[Tensor]) -> Tensor:
    """The matrices along the diagonal of a larger one, with zeros elsewhere; a vector is a matrix of one row."""
    rows = []
    for number, tensor in enumerate(tensors):
        if tensor.dim() > 2:
            raise RuntimeError(
                "torch.block_diag: Input tensors must have 2 or fewer dimensions. "
                f"Input {number} has {tensor.dim()} dimensions"
            )
        rows.append(ops.atleast_2d(tensor))
    if not rows:
        return ops.empty([1, 0])
    width, before, padded = sum(row.shape[1] for row in rows), 0, []
    for row in rows:
        padded.append(ops.constant_pad_nd(row, [before, width - before - row.shape[1]]))
        before += row.shape[1]
    return ops.cat(padded, 0)


def cartesian_prod(tensors: Sequence[Tensor]) -> Tensor:
    """All ways to take an element of each vector, the last one changing fastest: a row for each."""
    for tensor in tensors:
        if tensor.dim() != 1:
            raise RuntimeError(f"Expect a 1D vector, but got shape {list(tensor.shape)}")
    if len(tensors) == 1:
        return tensors[0]
    return ops.stack([grid.flatten() for grid in ops.meshgrid(tensors, indexing="ij")], 1)


def combinations(self: Tensor, r: int = 2, with_replacement: bool = False) -> Tensor:
    """The ways to take `r` elements of a vector, in the order of their places: a row for each."""
    if self.dim() != 1:
        raise RuntimeError(f"Expect a 1D vector, but got shape {list(self.shape)}")
    if r < 0:
        raise RuntimeError(f"Expect a non-negative number, but got {r}")
    if r == 0:
        return self.new_empty([0])
    places = ops.arange(self.shape[0], device=self.device)
    grids = ops.meshgrid([places] * r, indexing="ij")
    wanted = ops.ones_like(grids[0], dtype=dtypes.bool)
    for left, right in itertools.pairwise(grids):
        wanted = wanted & (left <= right if with_replacement else left < right)
    chosen = wanted.nonzero()
    return self.index_select(0, chosen.flatten()).reshape(chosen.shape)


def _chunk_cat(tensors: Sequence[Tensor], dim: int, num_chunks: int) -> Tensor:
    """Each Tensor in `num_chunks` equal parts along `dim`, padded by zeros, flat behind `dim`; joined part by part."""
    if num_chunks < 1:
        raise RuntimeError("_chunk_cat expects positive num_chunks")
    if not tensors:
        raise RuntimeError("_chunk_cat expects a non-empty input tensor list")
    if any(tensor.numel() == 0 for tensor in tensors):
        raise RuntimeError("_chunk_cat expects non-empty tensor")
    parts = []
    for tensor in tensors:
        place = normalize_dim(dim, tensor.dim())
        lead, size = list(tensor.shape[:place]), tensor.size(place)
        length = -(-size // num_chunks)
        missing = length * num_chunks - size
        if missing:
            tensor = ops.constant_pad_nd(tensor, [0, 0] * (tensor.dim() - place - 1) + [0, missing])
        rest = tensor.numel() // max(num_chunks * math.prod(lead), 1)
        parts.append(tensor.reshape([*lead, num_chunks, rest]))
    return ops.cat(parts, -1)


# -- parts


def hsplit_int(self: Tensor, sections: int) -> Sequence[Tensor]:
    """Equal parts along the second dim, of a vector along its only one."""
    return _equal_parts(self, "hsplit", sections, _horizontal(self))


def hsplit_array(self: Tensor, indices: Sequence[int]) -> Sequence[Tensor]:
    """Views of parts along the second dimension, or along the only one, which begin at these indices."""
    return self.tensor_split(indices, _horizontal(self))


def vsplit_int(self: Tensor, sections: int) -> Sequence[Tensor]:
    """Equal parts along the first dim."""
    _check_dims(self, "vsplit", 2)
    return _equal_parts(self, "vsplit", sections, 0)


def vsplit_array(self: Tensor, indices: Sequence[int]) -> Sequence[Tensor]:
    """Views of parts along the first dimension, which begin at these indices."""
    _check_dims(self, "vsplit", 2)
    return self.tensor_split(indices, 0)


def dsplit_int(self: Tensor, sections: int) -> Sequence[Tensor]:
    """Equal parts along the third dim."""
    _check_dims(self, "dsplit", 3)
    return _equal_parts(self, "dsplit", sections, 2)


def dsplit_array(self: Tensor, indices: Sequence[int]) -> Sequence[Tensor]:
    """Views of parts along the third dimension, which begin at these indices."""
    _check_dims(self, "dsplit", 3)
    return self.tensor_split(indices, 2)


def _horizontal(self: Tensor) -> int:
    _check_dims(self, "hsplit", 1)
    return 0 if self.dim() == 1 else 1


def _check_dims(self: Tensor, name: str, least: int) -> None:
    if self.dim() < least:
        raise RuntimeError(
            f"torch.{name} requires a tensor with at least {least} dimension, but got a tensor with {self.dim()} "
            "dimensions!"
        )


def _equal_parts(self: Tensor, name: str, sections: int, dim: int) -> Sequence[Tensor]:
    if sections == 0 or self.shape[dim] % sections:
        raise RuntimeError(
            f"torch.{name} attempted to split along dimension {dim}, but the size of the dimension {self.shape[dim]} "
            f"is not divisible by the split_size {sections}!"
        )
    return self.tensor_split(sections, dim)


# Parts that are no views: writing one does not change the others' histories.


def unsafe_chunk(self: Tensor, chunks: int, dim: int = 0) -> Sequence[Tensor]:
    """`chunk`, whose parts may be written one by one."""
    return [part.clone() for part in self.chunk(chunks, dim)]


def unsafe_split_Tensor(self: Tensor, split_size: int, dim: int = 0) -> Sequence[Tensor]:
    """`split`, whose parts may be written one by one."""
    return [part.clone() for part in self.split(split_size, dim)]


def unsafe_split_with_sizes(self: Tensor, split_sizes: Sequence[int], dim: int = 0) -> Sequence[Tensor]:
    """`split_with_sizes`, whose parts may be written one by one."""
    return [part.clone() for part in self.split_with_sizes(split_sizes, dim)]
