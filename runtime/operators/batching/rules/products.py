"""Rules of matrix products and of what else is done to matrices."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from runtime import ops
from runtime.base.tensor import Tensor
from runtime.operators.batching.batched import batch
from runtime.operators.batching.calls import call, is_batched, refuse, whole_batch, wrapped
from runtime.operators.batching.levels import VmapLevel

if TYPE_CHECKING:
    from runtime.call.dispatch import Operator


def _check_ranks(level: VmapLevel, operator: Operator, values: list[Any], *ranks: int) -> None:
    if any(tensor.dim() != rank for tensor, rank in zip(values, ranks, strict=False)):
        refuse(operator, values, level)


# -- products; of one batch and one matrix all rows go into one product, without copies of the other side


def mm(level: VmapLevel, operator: Operator, values: list[Any]) -> Any:
    """A matrix times a matrix."""
    left, right = values
    _check_ranks(level, operator, values, 2, 2)
    if left._array.shape[1] != right._array.shape[0] or left._array.dtype is not right._array.dtype:
        refuse(operator, values, level)
    return batch(_mm(left, right, level), level)


def _mm(left: Tensor, right: Tensor, level: VmapLevel) -> Tensor:
    if not is_batched(right, level):
        value = left.value  # type: ignore[attr-defined]
        size, rows, inner = value._array.shape
        product = ops.mm(ops.reshape(value, (size * rows, inner)), right)
        return ops.view(product, (size, rows, right._array.shape[1]))
    if not is_batched(left, level):
        shape = (level.size, *left._array.shape)
        return ops.bmm(ops.expand(left, shape), right.value)  # type: ignore[attr-defined]
    return ops.bmm(left.value, right.value)  # type: ignore[attr-defined]


def bmm(level: VmapLevel, operator: Operator, values: list[Any]) -> Any:
    """Matrices times matrices."""
    left, right = values
    _check_ranks(level, operator, values, 3, 3)
    (count, rows, inner), (_, _, columns) = left._array.shape, right._array.shape
    if right._array.shape[:2] != (count, inner) or left._array.dtype is not right._array.dtype:
        refuse(operator, values, level)
    size = level.size
    if not is_batched(right, level):
        moved = ops.reshape(ops.transpose(left.value, 0, 1), (count, size * rows, inner))
        product = ops.view(ops.bmm(moved, right), (count, size, rows, columns))
        return batch(ops.transpose(product, 0, 1), level)
    if not is_batched(left, level):
        moved = ops.reshape(ops.permute(right.value, (1, 2, 0, 3)), (count, inner, size * columns))
        product = ops.view(ops.bmm(left, moved), (count, rows, size, columns))
        return batch(ops.permute(product, (2, 0, 1, 3)), level)
    product = ops.bmm(
        ops.reshape(left.value, (size * count, rows, inner)), ops.reshape(right.value, (size * count, inner, columns))
    )
    return batch(ops.view(product, (size, count, rows, columns)), level)


def mv(level: VmapLevel, operator: Operator, values: list[Any]) -> Any:
    """A matrix times a vector."""
    matrix, vector = values
    _check_ranks(level, operator, values, 2, 1)
    if matrix._array.shape[1] != vector._array.shape[0] or matrix._array.dtype is not vector._array.dtype:
        refuse(operator, values, level)
    if not is_batched(vector, level):
        size, rows, inner = matrix.value._array.shape
        return batch(ops.view(ops.mv(ops.reshape(matrix.value, (size * rows, inner)), vector), (size, rows)), level)
    if not is_batched(matrix, level):
        return batch(ops.mm(vector.value, ops.t(matrix)), level)
    return batch(ops.squeeze(ops.bmm(matrix.value, ops.unsqueeze(vector.value, 2)), 2), level)


def dot(level: VmapLevel, operator: Operator, values: list[Any]) -> Any:
    """The sum of products of two vectors."""
    left, right = values
    _check_ranks(level, operator, values, 1, 1)
    if left._array.shape != right._array.shape or left._array.dtype is not right._array.dtype:
        refuse(operator, values, level)
    if not is_batched(right, level):
        return batch(ops.mv(left.value, right), level)
    if not is_batched(left, level):
        return batch(ops.mv(right.value, left), level)
    product = ops.bmm(ops.unsqueeze(left.value, 1), ops.unsqueeze(right.value, 2))
    return batch(ops.view(product, (level.size,)), level)


def vdot(level: VmapLevel, operator: Operator, values: list[Any]) -> Any:
    """As `dot`, with the conjugate of the first vector."""
    left, right = values
    return ops.dot(left.conj(), right)


def addmm(level: VmapLevel, operator: Operator, values: list[Any]) -> Any:
    """A Tensor plus a product of matrices."""
    return _added_product(level, operator, values, ops.mm, _shape_of_mm)


def addmv(level: VmapLevel, operator: Operator, values: list[Any]) -> Any:
    """A Tensor plus a matrix times a vector."""
    return _added_product(level, operator, values, ops.mv, _shape_of_mv)


def baddbmm(level: VmapLevel, operator: Operator, values: list[Any]) -> Any:
    """A Tensor plus products of matrices."""
    return _added_product(level, operator, values, ops.bmm, _shape_of_bmm)


def addbmm(level: VmapLevel, operator: Operator, values: list[Any]) -> Any:
    """A Tensor plus the sum of products of matrices."""
    return _added_product(level, operator, values, ops.bmm, _shape_of_bmm, summed=True)


def _added_product(
    level: VmapLevel, operator: Operator, values: list[Any],
    multiply: Callable[[Tensor, Tensor], Tensor], shape_of: Callable[[Tensor, Tensor], tuple[int, ...]],
    summed: bool = False,
) -> Any:  # fmt: skip
    """`beta` times a Tensor plus `alpha` times a product, or the sum of its matrices."""
    added, left, right, beta, alpha = values
    shape = shape_of(left, right)
    wide = shape[1:] if summed else shape
    if shape == () or added.dim() > len(wide) or not added._array.dtype is left._array.dtype is right._array.dtype:
        refuse(operator, values, level)
    if any(size not in (1, want) for size, want in zip(added._array.shape[::-1], wide[::-1], strict=False)):
        refuse(operator, values, level)
    product = multiply(left, right)
    if summed:
        product = ops.sum(product, 0)
    if left._array.dtype.kind in "iu":
        beta, alpha = int(beta), int(alpha)
    if alpha != 1:
        product = product * alpha
    if beta == 0:  # what is added does not show, not even NaN
        return product
    return product + (added if beta == 1 else added * beta)


def _shape_of_mm(left: Tensor, right: Tensor) -> tuple[int, ...]:
    a, b = left._array.shape, right._array.shape
    return (a[0], b[1]) if len(a) == len(b) == 2 and a[1] == b[0] else ()


def _shape_of_mv(left: Tensor, right: Tensor) -> tuple[int, ...]:
    a, b = left._array.shape, right._array.shape
    return (a[0],) if len(a) == 2 and len(b) == 1 and a[1] == b[0] else ()


def _shape_of_bmm(left: Tensor, right: Tensor) -> tuple[int, ...]:
    a, b = left._array.shape, right._array.shape
    return (a[0], a[1], b[2]) if len(a) == len(b) == 3 and (a[0], a[2]) == b[:2] else ()


# -- diagonals, triangles, inverses


def trace(level: VmapLevel, operator: Operator, values: list[Any]) -> Any:
    """The sum of the diagonal."""
    _check_ranks(level, operator, values, 2)
    return batch(ops.sum(ops.diagonal(values[0].value, 0, 1, 2), 1), level)


def matrices(level: VmapLevel, operator: Operator, values: list[Any]) -> Any:
    """Operators that take any number of matrices."""
    x, *rest = values
    if x.dim() < 2:
        refuse(operator, values, level)
    return wrapped(call(operator, [x.value, *rest]), level, operator)


def solve(level: VmapLevel, operator: Operator, values: list[Any]) -> Any:
    """Systems of linear equations; the right side may be a vector."""
    A, B, left, *rest = values
    shape = A._array.shape
    vector = B.dim() == 1 or (B.dim() == A.dim() - 1 and B._array.shape == shape[:-1])
    if A.dim() < 2 or B.dim() < 1 or (vector and not left):
        refuse(operator, values, level)
    sides = whole_batch(ops.unsqueeze(B, -1) if vector else B, level)
    matrix = whole_batch(A, level)
    rank = max(matrix.dim(), sides.dim()) - 1
    result, *others = call(operator, [_with_rank(matrix, rank), _with_rank(sides, rank), left, *rest])
    if vector:
        result = ops.squeeze(result, -1)
    for place, other in enumerate(others):
        missing = matrix.dim() - rank - 1
        others[place] = other if not missing else ops.reshape(other, (level.size, *other._array.shape[1 - missing :]))
    return operator.results([batch(tensor, level) for tensor in (result, *others)])


def solve_triangular(level: VmapLevel, operator: Operator, values: list[Any]) -> Any:
    """Systems with a triangular matrix."""
    A, B, *rest = values
    if A.dim() < 2 or B.dim() < 2:
        refuse(operator, values, level)
    matrix, sides = whole_batch(A, level), whole_batch(B, level)
    rank = max(matrix.dim(), sides.dim()) - 1
    return batch(call(operator, [_with_rank(matrix, rank), _with_rank(sides, rank), *rest]), level)


def _with_rank(value: Tensor, rank: int) -> Tensor:
    shape = value._array.shape
    missing = rank + 1 - len(shape)
    return ops.reshape(value, (shape[0], *(1,) * missing, *shape[1:])) if missing else value
