"""Reductions made of other reductions."""

from __future__ import annotations

from collections.abc import Sequence

from runtime import ops
from runtime.base.tensor import Tensor

# -- variance with the argument `unbiased` of old


def var(self: Tensor, unbiased: bool = True) -> Tensor:
    return ops.var(self, None, correction=int(unbiased))


def std(self: Tensor, unbiased: bool = True) -> Tensor:
    return ops.std(self, None, correction=int(unbiased))


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


# -- sums and differences


def sum_to_size(self: Tensor, size: Sequence[int]) -> Tensor:
    """Undo a broadcast from `size`: sum what it repeated."""
    if not len(size):
        return self.sum()
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
