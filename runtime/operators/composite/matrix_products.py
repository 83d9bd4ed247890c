"""Powers and products of several matrices, and matrices made of vectors."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from runtime import ops
from runtime.base import dtypes
from runtime.base.tensor import Tensor
from runtime.base.types import contiguous_format


def linalg_matrix_power(self: Tensor, n: int) -> Tensor:
    """By squaring, as many times as the power has digits."""
    if self.dim() < 2:
        raise RuntimeError("linalg.matrix_power: The input tensor A must have at least 2 dimensions.")
    if self.shape[-1] != self.shape[-2]:
        raise RuntimeError(
            "linalg.matrix_power: A must be batches of square matrices, but they are "
            f"{self.shape[-2]} by {self.shape[-1]} matrices"
        )
    if n == 0:
        zeros = ops.fill(ops.clone(self, memory_format=contiguous_format), 0)  # as far as gradients go, made of `self`
        return zeros + ops.eye(self.shape[-1], dtype=self.dtype, device=self.device)
    base = ops.linalg_inv(self) if n < 0 else self
    n = abs(n)
    if n == 1:
        return base if base is not self else ops.clone(self, memory_format=contiguous_format)
    result: Tensor | None = None
    while n:
        if n & 1:
            result = base if result is None else ops.matmul(result, base)
        n >>= 1
        if n:
            base = ops.matmul(base, base)
    assert result is not None
    return result


def matrix_exp_backward(self: Tensor, grad: Tensor) -> Tensor:
    """The gradient of the exponential: the upper right block of exp([[A^H, dA], [0, A^H]])."""
    matrix, size = self.mH, self.shape[-1]
    blocks = ops.cat([ops.cat([matrix, grad], -1), ops.cat([ops.zeros_like(matrix), matrix], -1)], -2)
    return ops.linalg_matrix_exp(blocks)[..., :size, size:]


def linalg_multi_dot(tensors: Sequence[Tensor]) -> Tensor:
    """The product of a chain, in the order with the fewest multiplications; the ends may be vectors."""
    count = len(tensors)
    if count < 2:
        raise RuntimeError(f"multi_dot(): expected at least 2 tensors but got {count}")
    matrices = list(tensors)
    first, last = matrices[0], matrices[-1]
    for place, matrix in ((0, first), (count - 1, last)):
        if matrix.dim() not in (1, 2):
            which = "first" if place == 0 else "last"
            raise RuntimeError(f"multi_dot(): the {which} tensor must be 1D or 2D but got {matrix.dim()}D")
    if first.dim() == 1:
        matrices[0] = first.unsqueeze(0)
    if last.dim() == 1:
        matrices[-1] = last.unsqueeze(-1)
    for place, matrix in enumerate(matrices):
        if matrix.dim() != 2:
            raise RuntimeError(f"multi_dot(): tensor {place} must be 2D but got {matrix.dim()}D")
        if matrix.dtype != first.dtype:
            raise RuntimeError(f"multi_dot(): all tensors must have be the same dtype but tensor 0 is {first.dtype}")
    for place in range(count - 1):
        if matrices[place].shape[-1] != matrices[place + 1].shape[0]:
            shapes = [list(matrices[i].shape) for i in (place, place + 1)]
            raise RuntimeError(
                f"multi_dot(): tensors {place} and {place + 1} with shapes {shapes[0]} and {shapes[1]} cannot be "
                "multiplied"
            )
    result = _chained(matrices, _best_splits([int(m.shape[0]) for m in matrices] + [int(matrices[-1].shape[1])]))
    if first.dim() == 1:
        result = result.squeeze(0)
    return result.squeeze(-1) if last.dim() == 1 else result


def _best_splits(sizes: Sequence[int]) -> dict[tuple[int, int], int]:
    """For each part of the chain, where its last product stands."""
    count = len(sizes) - 1
    costs = {(i, i): 0 for i in range(count)}
    splits = {}
    for length in range(1, count):
        for start in range(count - length):
            end = start + length
            options = {
                at: costs[start, at] + costs[at + 1, end] + sizes[start] * sizes[at + 1] * sizes[end + 1]
                for at in range(start, end)
            }
            splits[start, end] = best = min(options, key=options.__getitem__)
            costs[start, end] = options[best]
    return splits


def _chained(matrices: Sequence[Tensor], splits: dict[tuple[int, int], int]) -> Tensor:
    def part(start: int, end: int) -> Tensor:
        if start == end:
            return matrices[start]
        at = splits[start, end]
        return part(start, at).mm(part(at + 1, end))

    return part(0, len(matrices) - 1)


def chain_matmul(matrices: Sequence[Tensor]) -> Tensor:
    """The product of several matrices, in the order that takes the fewest operations."""
    for matrix in matrices:
        if matrix.dim() != 2:
            raise RuntimeError(f"Tensor dimension is {matrix.dim()}, expected 2 instead.")
    if not matrices:
        raise RuntimeError("chain_matmul(): Expected one or more matrices")
    return matrices[0].clone() if len(matrices) == 1 else ops.linalg_multi_dot(matrices)


def linalg_vecdot(x: Tensor, y: Tensor, *, dim: int = -1) -> Tensor:
    """The sum of products along a dim, with the conjugate of `x`."""
    if x.dtype != y.dtype:
        names = ["Double" if str(t.dtype).endswith("float64") else str(t.dtype) for t in (x, y)]
        raise RuntimeError(
            f"linalg.vecdot: Expected x and y to have the same dtype, but found x of type {names[0]} and y of type "
            f"{names[1]} instead"
        )
    if x.dim() == 1 and y.dim() == 1 and x.shape == y.shape:
        return ops.vdot(x, y)
    return (x.conj() * y).sum([dim])


def cross(self: Tensor, other: Tensor, dim: int | None = None) -> Tensor:
    """As `linalg_cross`; without a dim along the first of size 3."""
    if dim is not None:
        return ops.linalg_cross(self, other, dim=dim)
    for place, size in enumerate(self.shape):
        if size == 3:
            return ops.linalg_cross(self, other, dim=place)
    raise RuntimeError("no dimension of size 3 in input")


def linalg_vander(x: Tensor, *, N: int | None = None) -> Tensor:
    """The powers 0 to N - 1 of each element, in rows."""
    x = x.unsqueeze(0) if x.dim() == 0 else x
    count = int(x.shape[-1]) if N is None else N
    if count <= 1:
        raise RuntimeError("N must be greater than 1.")
    powers = x.unsqueeze(-1).expand([*x.shape, count - 1]).cumprod(-1)
    return ops.cat([ops.ones_like(powers.narrow(-1, 0, 1)), powers], -1)


def vander(x: Tensor, N: int | None = None, increasing: bool = False) -> Tensor:
    """The powers of the elements of a vector, from the highest down unless `increasing`."""
    if x.dim() != 1:
        raise RuntimeError("x must be a one-dimensional tensor.")
    count = int(x.shape[0]) if N is None else N
    if count < 0:
        raise RuntimeError("N must be non-negative.")
    # Powers of integers are int64.
    dtype = x.dtype if x.is_floating_point() or x.is_complex() else dtypes.int64
    result = x.new_ones([x.shape[0], min(count, 1)], dtype=dtype)
    if count > 1:
        powers = x.unsqueeze(-1).expand([x.shape[0], count - 1]).cumprod(-1)
        result = ops.cat([result, powers], -1)
    return result if increasing else result.flip(-1)


# -- inverses of maps between Tensors


def linalg_tensorinv(self: Tensor, ind: int = 2) -> Tensor:
    """The inverse of the map that `tensordot` with the last dims is."""
    if ind <= 0:
        raise RuntimeError("Expected a strictly positive integer for 'ind'")
    left, right = list(self.shape[:ind]), list(self.shape[ind:])
    if prod(left) != prod(right):
        raise RuntimeError(
            "Expected self to satisfy the requirement prod(self.shape[ind:]) == prod(self.shape[:ind]), but got "
            f"{prod(right)} != {prod(left)}"
        )
    inverse: Tensor = ops.linalg_inv(self.reshape([prod(right), prod(left)]))
    return inverse.reshape([*right, *left])


def linalg_tensorsolve(self: Tensor, other: Tensor, dims: Sequence[int] | None = None) -> Tensor:
    """X with tensordot(self, X) = other."""
    matrix = self
    if dims is not None:
        matrix = self.movedim(list(dims), list(range(self.dim() - len(dims), self.dim())))
    result = list(matrix.shape[other.dim() :])
    if prod(result) != prod(matrix.shape[: other.dim()]):
        raise RuntimeError(
            "Expected self to satisfy the requirement prod(self.shape[other.ndim:]) == prod(self.shape[:other.ndim]), "
            f"but got {prod(result)} != {prod(matrix.shape[: other.dim()])}"
        )
    solution = ops.linalg_solve(matrix.reshape([prod(result), prod(result)]), other.flatten())
    return solution.reshape(result)
