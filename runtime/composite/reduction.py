"""Reductions made of other reductions."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from runtime import ops
from runtime.base.tensor import Tensor
from runtime.base.types import DType, Scalar
from runtime.kernels._common import normalize_dims

# -- variance with the argument `unbiased` of old


def var(self: Tensor, unbiased: bool = True) -> Tensor:
    return ops.var(self, None, correction=int(unbiased))


def var_dim(self: Tensor, dim: Sequence[int] | None, unbiased: bool = True, keepdim: bool = False) -> Tensor:
    return ops.var(self, dim, correction=int(unbiased), keepdim=keepdim)


def std(self: Tensor, unbiased: bool = True) -> Tensor:
    return ops.std(self, None, correction=int(unbiased))


def std_dim(self: Tensor, dim: Sequence[int] | None, unbiased: bool = True, keepdim: bool = False) -> Tensor:
    return ops.std(self, dim, correction=int(unbiased), keepdim=keepdim)


def var_mean(self: Tensor, unbiased: bool = True) -> tuple[Tensor, Tensor]:
    return ops.var_mean(self, None, correction=int(unbiased))


def var_mean_dim(
    self: Tensor, dim: Sequence[int] | None, unbiased: bool = True, keepdim: bool = False
) -> tuple[Tensor, Tensor]:
    return ops.var_mean(self, dim, correction=int(unbiased), keepdim=keepdim)


def std_mean(self: Tensor, unbiased: bool = True) -> tuple[Tensor, Tensor]:
    return ops.std_mean(self, None, correction=int(unbiased))


def std_mean_dim(
    self: Tensor, dim: Sequence[int] | None, unbiased: bool = True, keepdim: bool = False
) -> tuple[Tensor, Tensor]:
    return ops.std_mean(self, dim, correction=int(unbiased), keepdim=keepdim)


# -- extrema and order


def argsort(self: Tensor, dim: int = -1, descending: bool = False) -> Tensor:
    result: Tensor = ops.sort(self, dim, descending)[1]
    return result


def argsort_stable(self: Tensor, *, stable: bool, dim: int = -1, descending: bool = False) -> Tensor:
    result: Tensor = ops.sort(self, stable=stable, dim=dim, descending=descending)[1]
    return result


# -- norms


def norm_ScalarOpt_dim(self: Tensor, p: Scalar | None, dim: Sequence[int], keepdim: bool = False) -> Tensor:
    return ops.linalg_vector_norm(self, 2 if p is None else p, dim, keepdim)


def norm_ScalarOpt_dtype(self: Tensor, p: Scalar | None, *, dtype: DType) -> Tensor:
    return ops.linalg_vector_norm(self, 2 if p is None else p, None, False, dtype=dtype)


def norm_ScalarOpt_dim_dtype(
    self: Tensor, p: Scalar | None, dim: Sequence[int], keepdim: bool, *, dtype: DType
) -> Tensor:
    return ops.linalg_vector_norm(self, 2 if p is None else p, dim, keepdim, dtype=dtype)


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
    rows, columns = _matrix_dims(self, dim)
    if ord in (2, -2):
        values = _singular_values(self, rows, columns, dtype)
        return _without_matrix(values.amax(-1) if ord == 2 else values.amin(-1), rows, columns, keepdim)
    if ord not in (1, -1, inf, -inf):
        raise RuntimeError(f"linalg.matrix_norm: Order {ord} not supported.")
    summed, compared = (rows, columns) if ord in (1, -1) else (columns, rows)
    sums = ops.linalg_vector_norm(self, 1, [summed], True, dtype=dtype)
    result = sums.amax([compared], True) if ord in (1, inf) else sums.amin([compared], True)
    return result if keepdim else result.squeeze([rows, columns])


def linalg_norm_ord_str(
    self: Tensor, ord: str, dim: Sequence[int] | None = None, keepdim: bool = False, *, dtype: DType | None = None
) -> Tensor:
    if ord not in ("fro", "nuc"):
        raise RuntimeError(f"linalg.matrix_norm: Order {ord} not supported.")
    rows, columns = _matrix_dims(self, dim)
    if ord == "nuc":
        return _without_matrix(_singular_values(self, rows, columns, dtype).sum(-1), rows, columns, keepdim)
    return ops.linalg_vector_norm(self, 2, [rows, columns], keepdim, dtype=dtype)


def _matrix_dims(self: Tensor, dim: Sequence[int] | None) -> tuple[int, int]:
    """The two dims of a matrix norm, counted from the front."""
    if self.dim() < 2:
        raise RuntimeError("linalg.matrix_norm: The input tensor A must have at least 2 dimensions.")
    if dim is None and self.dim() != 2:
        raise RuntimeError(
            f"linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got {self.dim()}D."
        )
    if dim is not None and len(dim) != 2:
        raise RuntimeError(f"linalg.matrix_norm: dim must be a 2-tuple. Got {' '.join(map(str, dim))}")
    rows, columns = normalize_dims((-2, -1) if dim is None else dim, self.dim())
    return rows, columns


def _singular_values(self: Tensor, rows: int, columns: int, dtype: DType | None) -> Tensor:
    matrices = self.movedim([rows, columns], [-2, -1])
    return ops.linalg_svdvals(matrices if dtype is None else matrices.to(dtype))


def _without_matrix(result: Tensor, rows: int, columns: int, keepdim: bool) -> Tensor:
    """A result for each matrix, with dims of size 1 in the places of its own if they are to be kept."""
    return result.unsqueeze(min(rows, columns)).unsqueeze(max(rows, columns)) if keepdim else result


# -- sums and differences


def sum_to_size(self: Tensor, size: Sequence[int]) -> Tensor:
    """Undo a broadcast from `size`: sum what it repeated."""
    sizes = tuple(self.shape)
    new = len(sizes) - len(size)
    if new < 0 or any(want not in (have, 1) for want, have in zip(size, sizes[new:], strict=True)):
        raise RuntimeError(f"size {{{list(size)}}} is not expandable to size {{{list(sizes)}}}.")
    stretched = [dim for dim in range(new, len(sizes)) if size[dim - new] == 1 and sizes[dim] != 1]
    if not new and not stretched:
        return self
    return self.sum([*range(new), *stretched], True).reshape(size)


def diff(
    self: Tensor, n: int = 1, dim: int = -1, prepend: Tensor | None = None, append: Tensor | None = None
) -> Tensor:
    """The `n`-th difference of neighbours along `dim`."""
    if self.dim() == 0:
        raise RuntimeError("diff expects input to be at least one-dimensional")
    if n < 0:
        raise RuntimeError(f"order must be non-negative but got {n}")
    if n == 0:  # and then nothing is put before or after it, as in PyTorch
        return self.clone()
    parts = [part for part in (prepend, self, append) if part is not None]
    result = ops.cat(parts, dim) if len(parts) > 1 else self
    for _ in range(n):
        length = max(result.shape[dim] - 1, 0)
        start = min(1, result.shape[dim])
        later, earlier = result.narrow(dim, start, length), result.narrow(dim, 0, length)
        result = later != earlier if result.dtype.name == "bool" else later - earlier
    return result
