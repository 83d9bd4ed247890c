"""Products of any rank, made of those of matrices and vectors."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from runtime import ops
from runtime.base.arrays import normalize_dims
from runtime.base.tensor import Tensor
from runtime.operators.kernels.shape import broadcast_sizes


def matmul(self: Tensor, other: Tensor) -> Tensor:
    """The product of the last two dims, broadcast over the others; a vector stands for a row or a column."""
    left, right = self._array.ndim, other._array.ndim
    if left == 2 and right == 2:
        return self.mm(other)
    if left == 0 or right == 0:
        raise RuntimeError(f"both arguments to matmul need to be at least 1D, but they are {left}D and {right}D")
    if left == 1 and right == 1:
        return self.dot(other)
    if left == 2 and right == 1:
        return self.mv(other)
    if left == 1 and right == 2:
        return self.unsqueeze(0).mm(other).squeeze(0)
    if right <= 2:  # all rows of all matrices times one matrix
        rows = self.reshape([-1 if self.shape[-1] and prod(self.shape[:-1]) else prod(self.shape[:-1]), self.shape[-1]])
        result = rows.mm(other) if right == 2 else rows.mv(other)
        return ops._unsafe_view(result, [*self.shape[:-1], *other.shape[1:]])
    if left == 1:
        return _batched(self.unsqueeze(0), other).squeeze(-2)
    return _batched(self, other)


def _batched(left: Tensor, right: Tensor) -> Tensor:
    batch = broadcast_sizes(left.shape[:-2], right.shape[:-2])
    if len(batch) == 1 and left.shape[0] == right.shape[0] and left.dim() == right.dim() == 3:
        return left.bmm(right)
    count = prod(batch)
    rows, inner = left.shape[-2:]
    depth, columns = right.shape[-2:]
    result = (
        left.expand([*batch, rows, inner])
        .reshape([count, rows, inner])
        .bmm(right.expand([*batch, depth, columns]).reshape([count, depth, columns]))
    )
    return ops._unsafe_view(result, [*batch, rows, columns])


def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """`input @ weight.T + bias`, with the addition inside the product where there is one matrix product."""
    if bias is None:
        return input.matmul(weight.t())
    if weight.dim() != 2 or bias.dim() != 1 or input.dim() < 2:
        return input.matmul(weight.t()) + bias
    if input.dim() == 2:
        return ops.addmm(bias, input, weight.t())
    result = ops.addmm(bias, input.reshape([prod(input.shape[:-1]), input.shape[-1]]), weight.t())
    return result.view([*input.shape[:-1], weight.shape[0]])


def outer(self: Tensor, vec2: Tensor) -> Tensor:
    """The matrix of the products of each element of one vector with each of the other."""
    for name, tensor in (("self", self), ("vec2", vec2)):
        if tensor.dim() != 1:
            raise RuntimeError(f"outer: Expected 1-D argument {name}, but got {tensor.dim()}-D")
    return self.unsqueeze(1) * vec2


def inner(self: Tensor, other: Tensor) -> Tensor:
    """The sums of products over the last dimensions of both."""
    if self.dim() == 0 or other.dim() == 0:
        return self * other
    if self.shape[-1] != other.shape[-1]:
        raise RuntimeError(
            "inner() the last dimension must match on both input tensors but got shapes "
            f"{list(self.shape)} and {list(other.shape)}"
        )
    return ops.tensordot(self, other, [-1], [-1])


def kron(self: Tensor, other: Tensor) -> Tensor:
    """Every element of `self` times the whole of `other`."""
    ndim = max(self.dim(), other.dim())
    left = [1] * (ndim - self.dim()) + list(self.shape)
    right = [1] * (ndim - other.dim()) + list(other.shape)
    spread_left = self.reshape([size for length in left for size in (length, 1)])
    spread_right = other.reshape([size for length in right for size in (1, length)])
    return (spread_left * spread_right).reshape([a * b for a, b in zip(left, right, strict=True)])


def tensordot(self: Tensor, other: Tensor, dims_self: Sequence[int], dims_other: Sequence[int]) -> Tensor:
    """The sum of products over pairs of dims, as one matrix product."""
    if len(dims_self) != len(dims_other):
        raise RuntimeError(
            f"both dimension lists should have same length, got {list(dims_self)} and {list(dims_other)}"
        )
    first, second = normalize_dims(dims_self, self.dim()), normalize_dims(dims_other, other.dim())
    left, right = self, other
    for mine, its in zip(first, second, strict=True):
        a, b = self.shape[mine], other.shape[its]
        if a == b:
            continue
        if b == 1:  # a dim of size 1 repeats: the sum can be taken on the other side alone
            left = left.sum([mine], True)
        elif a == 1:
            right = right.sum([its], True)
        else:
            raise RuntimeError(
                f"contracted dimensions need to match, but first has size {a} in dim {mine} and second has size {b} "
                f"in dim {its}"
            )
    free_left = [dim for dim in range(left.dim()) if dim not in first]
    free_right = [dim for dim in range(right.dim()) if dim not in second]
    sizes_left, sizes_right = [left.shape[dim] for dim in free_left], [right.shape[dim] for dim in free_right]
    summed = prod(left.shape[dim] for dim in first)
    rows = left.permute([*free_left, *first]).reshape([prod(sizes_left), summed])
    columns = right.permute([*second, *free_right]).reshape([summed, prod(sizes_right)])
    return rows.mm(columns).reshape([*sizes_left, *sizes_right])


# -- diagonals


def diag(self: Tensor, diagonal: int = 0) -> Tensor:
    """The matrix with these elements on a diagonal, or the diagonal of a matrix."""
    if self.dim() == 1:
        return ops.diag_embed(self, diagonal)
    if self.dim() == 2:
        return self.diagonal(diagonal).clone()
    raise RuntimeError(f"diag(): Supports 1D or 2D tensors. Got {self.dim()}D")


# -- inverses and solutions


def linalg_svdvals(A: Tensor, *, driver: str | None = None) -> Tensor:
    """The singular values of a matrix, in descending order."""
    result: Tensor = ops._linalg_svd(A, driver=driver)[1]
    return result


def linalg_inv(A: Tensor) -> Tensor:
    """The inverse of a square matrix."""
    result: Tensor = ops.linalg_inv_ex(A, check_errors=True)[0]
    return result


def inverse(self: Tensor) -> Tensor:
    """The inverse of a square matrix."""
    result: Tensor = ops.linalg_inv_ex(self, check_errors=True)[0]
    return result


def linalg_solve(A: Tensor, B: Tensor, *, left: bool = True) -> Tensor:
    """The X with A X = B, or with X A = B where `left` is False."""
    result: Tensor = ops._linalg_solve_ex(A, B, left=left, check_errors=True)[0]
    return result
