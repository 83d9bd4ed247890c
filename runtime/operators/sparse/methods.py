"""Methods of sparse Tensors that are made of operators, and functions that PyTorch has outside of its module."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from runtime import ops
from runtime.base.leaves import leaf
from runtime.base.modes import grad_mode
from runtime.base.tensor import Tensor
from runtime.base.types import DType
from runtime.call.general import NotDifferentiable
from runtime.operators.sparse import differentiable
from runtime.operators.sparse.coordinates import Coordinates
from runtime.operators.sparse.kernels import mm
from runtime.operators.sparse.tensor import SparseTensor, backend, parts_of


def values(self: SparseTensor) -> Tensor:
    """The parts of a coalesced Tensor, differentiably.

    Raises:
        RuntimeError: it is not coalesced.
    """
    self._check_coalesced("values")
    return differentiable.values(self)


def coalesce(self: SparseTensor) -> Tensor:
    """The Tensor with one part for each place, in order; itself where it is so."""
    return differentiable.coalesce(self)


def to_dense(self: SparseTensor, dtype: DType | None = None, *, masked_grad: bool | None = None) -> Tensor:
    """The Tensor with all of its elements.

    Args:
        dtype: None.
        masked_grad: whether a gradient arrives only where there are parts; False: everywhere.

    Raises:
        RuntimeError: there is a dtype.
    """
    if dtype is not None:
        raise RuntimeError("dtype argument is not supported by sparse_to_dense")
    return differentiable.to_dense(self, masked_grad is not False)


def norm(self: Tensor, p: Any = "fro", dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Tensor:
    """The norm of all elements, as of a vector.

    Args:
        p: which norm; the word is 2.
        dim: None.
        keepdim: False.
        dtype: in which it is computed.

    Raises:
        NotImplementedError: it is asked for along dimensions.
    """
    if dim is not None or keepdim:
        raise NotImplementedError("norm of a sparse Tensor: there is that of all elements only")
    return ops.linalg_vector_norm(
        differentiable.values(differentiable.coalesce(self)), 2 if p in ("fro", None) else p, dtype=dtype
    )


def contiguous(self: SparseTensor, memory_format: Any = None) -> NoReturn:
    """Raise.

    Raises:
        RuntimeError: always.
    """
    raise RuntimeError("unsupported memory format option Contiguous")


def new_zeros(self: SparseTensor, *size: Any, dtype: DType | None = None, requires_grad: bool = False) -> Tensor:
    """A sparse Tensor of zeros, of the same dtype unless another is given."""
    shape = tuple(size[0]) if len(size) == 1 and not isinstance(size[0], int) else size
    made = backend.zeros(shape, self._array.dtype if dtype is None else dtype.numpy)
    return leaf(made, requires_grad)


def reshape(self: SparseTensor, *shape: Any) -> NoReturn:
    """Raise.

    Raises:
        RuntimeError: always.
    """
    raise RuntimeError("reshape is not implemented for sparse tensors")


def install() -> None:
    """Put the methods on the class."""
    for method in (values, coalesce, to_dense, norm, reshape, new_zeros, contiguous):
        setattr(SparseTensor, method.__name__, method)


def sspaddmm(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """`beta input + alpha mat1 mat2`, of sparse Tensors but for `mat2`; it has no derivative.

    Args:
        input: sparse.
        mat1: a sparse matrix.
        mat2: a dense matrix.
        beta: times `input`.
        alpha: times the product.

    Raises:
        RuntimeError: a Tensor has another layout, or the sizes do not fit.
    """
    if not isinstance(input, SparseTensor) or not isinstance(mat1, SparseTensor):
        raise RuntimeError("sspaddmm: expected 'self' and 'mat1' to be sparse")
    product = _rows_of_product(mat1, mat2, "sspaddmm")
    known = parts_of(input)
    rows, columns = product.indices[0], mat2.size(1)
    if known.shape != (mat1.size(0), columns):
        raise RuntimeError(f"sspaddmm: Argument #1: Expected size {[mat1.size(0), columns]}, got {list(known.shape)}")
    places = np.stack([np.repeat(rows, columns), np.tile(np.arange(columns), len(rows))])
    scaled = product.values.reshape(-1)
    parts = Coordinates(
        np.concatenate([known.indices, places], axis=1),
        np.concatenate([known.values * known.dtype.type(beta), scaled * scaled.dtype.type(alpha)]),
        known.shape,
    )
    return _underived("sspaddmm", backend.wrap(parts), input, mat1, mat2)


def smm(input: Tensor, mat: Tensor) -> Tensor:
    """The product of a sparse matrix and a dense one, as a sparse one; it has no derivative."""
    if not isinstance(input, SparseTensor):
        raise RuntimeError("smm: expected the first matrix to be sparse")
    zeros = backend.zeros((input.size(0), mat.size(1)), input._array.dtype)
    return sspaddmm(zeros, input, mat)


def hspmm(mat1: Tensor, mat2: Tensor) -> Tensor:
    """The product of a sparse matrix and a dense one: sparse in its rows, which are dense; it has no derivative."""
    if not isinstance(mat1, SparseTensor):
        raise RuntimeError("hspmm: expected the first matrix to be sparse")
    return _underived("hspmm", backend.wrap(_rows_of_product(mat1, mat2, "hspmm")), mat1, mat2)


def _rows_of_product(mat1: SparseTensor, mat2: Tensor, name: str) -> Coordinates:
    """The rows of a product that are not zero for want of parts."""
    if mat2._opaque:
        raise RuntimeError(f"{name}: expected 'mat2' to have strided layout, got 'mat2' with layout Sparse")
    if mat1.dim() != 2 or mat2.dim() != 2 or mat1.size(1) != mat2.size(0):
        raise RuntimeError(f"{name}: Argument #3: Expected dim 0 size {mat1.size(-1)}, got {mat2.size(0)}")
    parts = parts_of(mat1)
    rows = np.unique(parts.indices[0])
    product = mm(parts, mat2._array)
    assert not isinstance(product, Coordinates)
    return Coordinates(rows[None], product[rows], product.shape, True)


def _underived(name: str, out: Tensor, *inputs: Tensor) -> Tensor:
    if grad_mode.enabled and any(each._edge is not None for each in inputs):
        out._edge = NotDifferentiable(name, out)
    return out


def native_norm(input: Tensor, p: Any = 2) -> Tensor:
    """The norm of all elements of a sparse Tensor.

    Raises:
        NotImplementedError: it is dense.
    """
    if not isinstance(input, SparseTensor):
        raise NotImplementedError("Could not run 'aten::native_norm' with arguments from the 'CPU' backend.")
    return norm(input, p)


def indices_copy(input: Tensor) -> Tensor:
    """The places of a coalesced Tensor, in memory of their own."""
    return input.indices().clone()


def values_copy(input: Tensor) -> Tensor:
    """The parts of a coalesced Tensor, in memory of their own."""
    return input.values().clone()
