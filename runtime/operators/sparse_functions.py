"""Functions on sparse Tensors that PyTorch has at its top; the package behind them is loaded with the first call."""

from __future__ import annotations

from typing import Any

from runtime.base.tensor import Tensor
from runtime.operators import sparse

__all__ = [
    "hsmm",
    "hspmm",
    "indices_copy",
    "native_norm",
    "resize_as_sparse_",
    "saddmm",
    "smm",
    "sparse_coo_tensor",
    "sspaddmm",
    "values_copy",
]


def sparse_coo_tensor(*args: Any, **kwargs: Any) -> Tensor:
    """A sparse Tensor of its parts, `sparse_coo_tensor(indices, values, size)`: see `sparse.construct`."""
    return sparse.construct.sparse_coo_tensor(*args, **kwargs)


def sspaddmm(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """`beta input + alpha mat1 mat2` as a sparse Tensor, where only `mat2` is dense."""
    return sparse.methods.sspaddmm(input, mat1, mat2, beta=beta, alpha=alpha)


saddmm = sspaddmm


def smm(input: Tensor, mat: Tensor) -> Tensor:
    """The product of a sparse matrix and a dense one, as a sparse one."""
    return sparse.methods.smm(input, mat)


def hspmm(mat1: Tensor, mat2: Tensor) -> Tensor:
    """The product of a sparse matrix and a dense one, sparse in its rows."""
    return sparse.methods.hspmm(mat1, mat2)


hsmm = hspmm


def native_norm(input: Tensor, p: Any = 2) -> Tensor:
    """The norm of all elements of a sparse Tensor."""
    return sparse.methods.native_norm(input, p)


def indices_copy(input: Tensor) -> Tensor:
    """The places of a coalesced sparse Tensor, in memory of their own."""
    return sparse.methods.indices_copy(input)


def values_copy(input: Tensor) -> Tensor:
    """The parts of a coalesced sparse Tensor, in memory of their own."""
    return sparse.methods.values_copy(input)


def resize_as_sparse_(input: Tensor, the_template: Tensor) -> Tensor:
    """Give a sparse Tensor the sizes and dimensions of another."""
    return input.resize_as_sparse_(the_template)  # type: ignore[attr-defined, no-any-return]


def to_sparse(self: Tensor, sparse_dim: int | None = None, **options: Any) -> Tensor:
    """The Tensor in the layout `sparse_coo`.

    Args:
        sparse_dim: how many dimensions are sparse, the first ones; None: all.
    """
    return sparse.construct.to_sparse(self, sparse_dim, **options)


def to_sparse_coo(self: Tensor) -> Tensor:
    """The Tensor in the layout `sparse_coo`."""
    return sparse.construct.to_sparse(self)


def sparse_mask(self: Tensor, mask: Tensor) -> Tensor:
    """The parts of the Tensor at the places of a sparse one."""
    return sparse.construct.sparse_mask(self, mask)


def methods() -> dict[str, Any]:
    """What `Tensor` has of these, under its name."""
    return {
        **{name: _of_sparse(name) for name in _OF_SPARSE},
        "to_sparse": to_sparse,
        "to_sparse_coo": to_sparse_coo,
        "sparse_mask": sparse_mask,
        "smm": smm,
        "sspaddmm": sspaddmm,
    }


_OF_SPARSE = (
    "_coalesced_", "_dimI", "_dimV", "_indices", "_nnz", "_values", "resize_as_sparse_", "sparse_resize_",
    "sparse_resize_and_clear_",
)  # fmt: skip


def _of_sparse(name: str) -> Any:
    def refuse(self: Tensor, *args: Any) -> Any:
        raise NotImplementedError(
            f"Could not run 'aten::{name}' with arguments from the 'CPU' backend. '{name}' is only available for these "
            "backends: [SparseCPU]."
        )

    refuse.__name__ = name
    refuse.__doc__ = "Of sparse Tensors only."
    return refuse
