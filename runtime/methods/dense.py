"""What Tensors are asked for that are of another layout in PyTorch: a dense one answers some, and refuses the rest."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Never

from runtime.base import dtypes
from runtime.base.dtypes import dtype as DType
from runtime.base.tensor import Tensor

# By name: which layout it is of.
_OF_LAYOUTS = {
    "coalesce": "sparse coordinate",
    "is_coalesced": "sparse coordinate",
    "indices": "sparse coordinate",
    "values": "sparse",
    "crow_indices": "sparse row compressed",
    "col_indices": "sparse row compressed",
    "ccol_indices": "sparse column compressed",
    "row_indices": "sparse column compressed",
}


def to_dense(self: Tensor, dtype: DType | None = None, *, masked_grad: bool | None = None) -> Tensor:
    """The Tensor itself, which is dense; of another dtype, where one is given.

    Args:
        dtype: of the result.
        masked_grad: accepted; it is for gradients of sparse Tensors.
    """
    return self if dtype is None else self.to(dtype)


def dense_dim(self: Tensor) -> int:
    """The number of dense dimensions: all of them."""
    return self.dim()


def sparse_dim(self: Tensor) -> int:
    """The number of sparse dimensions: none."""
    return 0


def dequantize(self: Tensor) -> Tensor:
    """The numbers that are stood for, in float32: the elements themselves."""
    return self.to(dtypes.float32)


def _refusing(name: str, layout: str) -> Callable[..., Never]:
    def refuse(self: Tensor) -> Never:
        raise RuntimeError(f"{name} expected {layout} tensor layout but got Strided")

    refuse.__name__ = name
    refuse.__doc__ = f"""Of a Tensor with {layout} layout, which no Tensor has.

    Raises:
        RuntimeError: always.
    """
    return refuse


def methods() -> dict[str, Any]:
    """Each under its name."""
    return {
        **{name: _refusing(name, layout) for name, layout in _OF_LAYOUTS.items()},
        "to_dense": to_dense,
        "dense_dim": dense_dim,
        "sparse_dim": sparse_dim,
        "dequantize": dequantize,
    }
