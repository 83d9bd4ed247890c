"""Products of matrices and sums, whose gradients of sparse Tensors are sparse."""

from __future__ import annotations

from typing import Any

from runtime import ops
from runtime.base.tensor import Tensor
from runtime.base.types import DType
from runtime.operators.sparse import kernels
from runtime.operators.sparse.coordinates import Coordinates
from runtime.operators.sparse.differentiable import (
    SparseNode,
    at_places,
    coalesce,
    from_parts,
    recorded,
    recorded_of,
    sparse_mask,
    values,
)
from runtime.operators.sparse.tensor import SparseTensor, backend, parts_of


class Kept:
    """A Tensor that a way back needs as it was.

    Raises:
        RuntimeError: when it is asked for, and was written since.
    """

    __slots__ = ("_tensor", "_version")

    def __init__(self, tensor: Tensor) -> None:
        self._tensor = tensor
        self._version = 0 if tensor.is_inference() else tensor._version

    def __call__(self) -> Tensor:
        if not self._tensor.is_inference() and self._tensor._version != self._version:
            raise RuntimeError(
                "one of the variables needed for gradient computation has been modified by an inplace operation: "
                f"[{list(self._tensor.shape)}] is at version {self._tensor._version}; expected version "
                f"{self._version} instead."
            )
        return self._tensor


class SparseAddmmBackward0(SparseNode):
    """Of a sum with the product of a sparse matrix and a dense one."""

    __slots__ = ()


class SparseSparseMatmulBackward0(SparseNode):
    """Of the product of two sparse matrices."""

    __slots__ = ()


class SparseSumBackward0(SparseNode):
    """Of the sum of a sparse Tensor over some dimensions."""

    __slots__ = ()


def mm(mat1: Tensor, mat2: Tensor, reduce: str | None = None) -> Tensor:
    """The product of matrices, of which one or both are sparse; gradients of sparse ones have parts where they have.

    Args:
        mat1: a matrix.
        mat2: a matrix.
        reduce: for the layout `sparse_csr` only.

    Raises:
        NotImplementedError: `reduce` is given.
    """
    if reduce is not None:
        raise NotImplementedError("sparse.mm: reduce is for matrices of the layout sparse_csr")
    if isinstance(mat1, SparseTensor) and isinstance(mat2, SparseTensor):
        out = _without_history(ops.mm, mat1, mat2)
        first, second = Kept(mat1), Kept(mat2)
        return recorded_of(
            SparseSparseMatmulBackward0,
            (mat1, mat2),
            out,
            lambda grad: _masked(mm(grad, second().t().conj()), parts_of(first())),
            lambda grad: _masked(mm(first().t().conj(), grad), parts_of(second())),
        )
    if not isinstance(mat1, SparseTensor) and not isinstance(mat2, SparseTensor):
        return ops.mm(mat1, mat2)
    if isinstance(mat1, SparseTensor):
        return addmm(ops.zeros([], dtype=mat1.dtype), mat1, mat2, beta=0)
    return addmm(ops.zeros([], dtype=mat1.dtype), mat2.t(), mat1.t(), beta=0).t()


def _masked(grad: Tensor, parts: Any) -> Tensor:
    """A gradient at the places of some parts; where it is dense as well."""
    return sparse_mask(grad, parts.summed())


def _without_history(operator: Any, *args: Any, **options: Any) -> Tensor:
    out: Tensor = operator(*[each.detach() for each in args], **options)
    return out


def addmm(mat: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """`beta mat + alpha mat1 mat2`, with `mat1` sparse; its gradient has parts where it has.

    Args:
        mat: dense.
        mat1: a sparse matrix.
        mat2: a dense matrix.
        beta: times `mat`; with 0 that is not looked at.
        alpha: times the product.
    """
    if not isinstance(mat1, SparseTensor):
        return ops.addmm(mat, mat1, mat2, beta=beta, alpha=alpha)
    out = _without_history(ops.addmm, mat, mat1, mat2, beta=beta, alpha=alpha)
    sparse, dense = Kept(mat1), Kept(mat2)

    def scaled(grad: Tensor, factor: Any) -> Tensor:
        factor = factor.conjugate() if isinstance(factor, complex) else factor
        return grad if factor == 1 else grad * factor

    return recorded_of(
        SparseAddmmBackward0,
        (mat, mat1, mat2),
        out,
        lambda grad: scaled(grad, beta),
        lambda grad: _masked(scaled(grad.mm(dense().t().conj()), alpha), parts_of(sparse())),
        lambda grad: scaled(sparse().t().conj().mm(grad), alpha),
    )


def sum(input: Tensor, dim: int | list[int] | tuple[int, ...] | None = None, dtype: DType | None = None) -> Tensor:
    """The sum of a sparse Tensor: of all elements, or over some dimensions; its gradient has parts where it has.

    Args:
        input: a sparse Tensor.
        dim: the dimensions.
        dtype: of the result.
    """
    if not isinstance(input, SparseTensor):
        raise NotImplementedError("Could not run 'aten::_sparse_sum' with arguments from the 'CPU' backend.")
    if dtype is not None:
        input = input.to(dtype)
    whole = coalesce(input)  # a gradient has one part for each place
    parts = parts_of(whole)
    ndim = len(parts.shape)
    if dim is None:
        return ops.sum(values(whole))
    taken = sorted({kernels.dimension(each, ndim) for each in ([dim] if isinstance(dim, int) else dim)})
    sparse_left = [each for each in range(parts.sparse_dim) if each not in taken]
    if not sparse_left:
        return ops.sum(values(whole), [0, *[each - parts.sparse_dim + 1 for each in taken if each >= parts.sparse_dim]])
    made = kernels.sum_dims(parts, taken)
    assert isinstance(made, Coordinates)
    wide = [1 if each in taken else size for each, size in enumerate(parts.shape)][parts.sparse_dim :]

    def way_back(grad: Tensor) -> Tensor:
        found = at_places(grad, parts.indices[sparse_left], made.shape)
        found = found.reshape([parts.count, *wide]).expand([parts.count, *parts.values.shape[1:]])
        return from_parts(found, parts.indices, parts.shape, True)

    return recorded(SparseSumBackward0, whole, backend.wrap(made), way_back)
