"""Functions whose calls a schema can not say: PyTorch writes them in Python too, over operators."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from runtime import ops
from runtime.tensor import Tensor
from runtime.types import DType, Scalar


def _unpacked(tensors: tuple[Any, ...]) -> Sequence[Tensor]:
    """The tensors of `f(a, b)` or `f([a, b])`."""
    return tensors[0] if len(tensors) == 1 and isinstance(tensors[0], list | tuple) else tensors


def einsum(equation: str, *operands: Any) -> Tensor:
    """Sums of products by Einstein's convention, `einsum("ij,jk->ik", a, b)`; see `numpy.einsum` for the notation."""
    return ops.einsum(equation, list(_unpacked(operands)))


def meshgrid(*tensors: Any, indexing: str = "ij") -> tuple[Tensor, ...]:
    """Coordinates of the grid that 0- or 1-dim `tensors` span; `indexing` is "ij" or "xy"."""
    return ops.meshgrid(list(_unpacked(tensors)), indexing=indexing)


def broadcast_tensors(*tensors: Any) -> tuple[Tensor, ...]:
    """All tensors expanded to the shape that they have in common."""
    return ops.broadcast_tensors(list(_unpacked(tensors)))


def tensordot(a: Tensor, b: Tensor, dims: Any = 2) -> Tensor:
    """Products summed over several dims of both.

    Args:
        a, b: tensors of one dtype.
        dims: how many (the last of `a` with the first of `b`), or two lists of them.

    Raises:
        RuntimeError: a negative number of dims.
    """
    if isinstance(dims, Tensor):
        dims = dims.tolist()
    if isinstance(dims, int):
        if dims < 0:
            raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
        left, right = list(range(a.dim() - dims, a.dim())), list(range(dims))
    else:
        left, right = ([part] if isinstance(part, int) else list(part) for part in dims)
    return ops.tensordot(a, b, left, right)


def nonzero(input: Tensor, *, out: Tensor | None = None, as_tuple: bool = False) -> Any:
    """Where `input` is not zero: int64 of shape (count, ndim), or one index tensor for each dim."""
    if not as_tuple:
        return ops.nonzero(input) if out is None else ops.nonzero(input, out=out)
    found = ops.nonzero(input if input.dim() else input.unsqueeze(0))
    return tuple(found.unbind(1))


def norm(
    input: Tensor,
    p: float | str | None = "fro",
    dim: Any = None,
    keepdim: bool = False,
    out: Tensor | None = None,
    dtype: DType | None = None,
) -> Tensor:
    """The p-norm over `dim` (None: of all elements); "fro" is the 2-norm.

    Raises:
        ValueError: `p` is a name other than "fro".
    """
    if isinstance(p, str) and p != "fro":
        raise ValueError(f"norm(): p must be a number, None or 'fro', got {p!r}")
    order: Scalar = 2.0 if p is None or isinstance(p, str) else p
    dims = [dim] if isinstance(dim, int) else dim
    if out is None:
        return ops.linalg_vector_norm(input, order, dims, keepdim, dtype=dtype)
    return ops.linalg_vector_norm(input, order, dims, keepdim, dtype=dtype, out=out)
