"""Norms of vectors and matrices."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from runtime import ops
from runtime.base.arrays import normalize_dim
from runtime.base.tensor import Tensor
from runtime.base.types import DType, Scalar


def linalg_norm(
    self: Tensor,
    ord: Scalar | None = None,
    dim: Sequence[int] | None = None,
    keepdim: bool = False,
    *,
    dtype: DType | None = None,
) -> Tensor:
    """The norm of a vector or a matrix: with two dims, `ord` is a matrix norm."""
    if ord is None or (dim is not None and len(dim) == 1) or (dim is None and self.dim() == 1):
        return ops.linalg_vector_norm(self, 2 if ord is None else ord, dim, keepdim, dtype=dtype)
    return ops.linalg_matrix_norm(self, ord, _matrix_dims(self, dim), keepdim, dtype=dtype)


def linalg_norm_ord_str(
    self: Tensor, ord: str, dim: Sequence[int] | None = None, keepdim: bool = False, *, dtype: DType | None = None
) -> Tensor:
    return ops.linalg_matrix_norm(self, ord, _matrix_dims(self, dim), keepdim, dtype=dtype)


def _matrix_dims(self: Tensor, dim: Sequence[int] | None) -> Sequence[int]:
    if dim is None and self.dim() > 2:
        raise RuntimeError(
            f"linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got {self.dim()}D."
        )
    return (-2, -1) if dim is None else dim


def linalg_matrix_norm(
    self: Tensor,
    ord: Scalar,
    dim: Sequence[int] = (-2, -1),
    keepdim: bool = False,
    *,
    dtype: DType | None = None,
) -> Tensor:
    """The largest or the least gain of a matrix, in the norm of order 1, 2 or infinity."""
    rows, columns = _checked_dims(self, dim)
    if ord in (2, -2):
        values = _singular_values(self, rows, columns, dtype)
        return _without_matrix(values.amax(-1) if ord == 2 else values.amin(-1), rows, columns, keepdim)
    if ord not in (1, -1, inf, -inf):
        raise RuntimeError(f"linalg.matrix_norm: Order {ord} not supported.")
    summed, compared = (rows, columns) if ord in (1, -1) else (columns, rows)
    sums = ops.linalg_vector_norm(self, 1, [summed], True, dtype=dtype)
    result = sums.amax([compared], True) if ord in (1, inf) else sums.amin([compared], True)
    return result if keepdim else result.squeeze([rows, columns])


def linalg_matrix_norm_str_ord(
    self: Tensor,
    ord: str = "fro",
    dim: Sequence[int] = (-2, -1),
    keepdim: bool = False,
    *,
    dtype: DType | None = None,
) -> Tensor:
    """The square root of the sum of squares, or the sum of the singular values."""
    rows, columns = _checked_dims(self, dim)
    if ord not in ("fro", "nuc"):
        raise RuntimeError(f"linalg.matrix_norm: Order {ord} not supported.")
    if ord == "nuc":
        return _without_matrix(_singular_values(self, rows, columns, dtype).sum(-1), rows, columns, keepdim)
    return ops.linalg_vector_norm(self, 2, [rows, columns], keepdim, dtype=dtype)


def _checked_dims(self: Tensor, dim: Sequence[int]) -> tuple[int, int]:
    """The two dims of a matrix norm, counted from the front."""
    if self.dim() < 2:
        raise RuntimeError("linalg.matrix_norm: The input tensor A must have at least 2 dimensions.")
    if len(dim) != 2:
        raise RuntimeError(f"linalg.matrix_norm: dim must be a 2-tuple. Got {' '.join(map(str, dim))}")
    rows, columns = (normalize_dim(place, self.dim()) for place in dim)
    if rows == columns:
        raise RuntimeError(f"linalg.matrix_norm: dims must be different. Got ({dim[0]}, {dim[1]})")
    return rows, columns


def _singular_values(self: Tensor, rows: int, columns: int, dtype: DType | None) -> Tensor:
    matrices = self.movedim([rows, columns], [-2, -1])
    return ops.linalg_svdvals(matrices if dtype is None else matrices.to(dtype))


def _without_matrix(result: Tensor, rows: int, columns: int, keepdim: bool) -> Tensor:
    """A result for each matrix, with dims of size 1 in the places of its own if they are to be kept."""
    return result.unsqueeze(min(rows, columns)).unsqueeze(max(rows, columns)) if keepdim else result


def nuclear_norm(self: Tensor, keepdim: bool = False) -> Tensor:
    """The sum of the singular values of a matrix."""
    return ops.linalg_matrix_norm(self, "nuc", (-2, -1), keepdim)


def nuclear_norm_dim(self: Tensor, dim: Sequence[int], keepdim: bool = False) -> Tensor:
    """The sum of the singular values of the matrices in two dimensions."""
    return ops.linalg_matrix_norm(self, "nuc", dim, keepdim)


def frobenius_norm_dim(self: Tensor, dim: Sequence[int], keepdim: bool = False) -> Tensor:
    """Over one dim or two, as a vector norm."""
    if len(dim) > 2:
        raise RuntimeError(f"Expected at most 2 dimensions, but got {len(dim)} dimensions instead.")
    return ops.linalg_vector_norm(self, 2, dim, keepdim)


def norm_except_dim(v: Tensor, pow: int = 2, dim: int = 0) -> Tensor:
    """A norm for each index of one dim; of everything where it is -1."""
    if dim == -1:
        return v.norm(pow)
    if v.dim() == 0:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    axis = normalize_dim(dim, v.dim())
    rows = v.transpose(0, axis)
    sizes = [1] * v.dim()
    sizes[axis] = int(v.shape[axis])
    return rows.reshape([rows.shape[0], -1]).norm(pow, [1]).view(sizes)
