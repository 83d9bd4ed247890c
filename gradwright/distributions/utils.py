"""What distributions share: parameters of one shape, chances and their logits, values that are computed once."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any, Generic, TypeVar, overload

import numpy as np

from runtime import ops
from runtime.base.creation import tensor
from runtime.base.dtypes import finfo, get_default_dtype
from runtime.base.tensor import Tensor
from runtime.base.types import Size
from runtime.graph.grad_mode import enable_grad

__all__ = [
    "broadcast_all",
    "clamp_probs",
    "lazy_property",
    "logits_to_probs",
    "probs_to_logits",
    "tril_matrix_to_vec",
    "vec_to_tril_matrix",
]

Result = TypeVar("Result")

euler_constant = 0.57721566490153286060  # the limit of the harmonic numbers less their logarithms


def broadcast_all(*values: Tensor | float) -> tuple[Tensor, ...]:
    """The values as Tensors of one shape; numbers take the dtype of the first Tensor among them.

    Raises:
        ValueError: one of them is neither a Tensor nor a number.
    """
    if not all(isinstance(value, (Tensor, int, float, complex)) for value in values):
        raise ValueError("Input arguments must all be instances of Number or Tensor.")
    first = next((value for value in values if isinstance(value, Tensor)), None)
    dtype = get_default_dtype() if first is None else first.dtype
    tensors = [value if isinstance(value, Tensor) else tensor(value, dtype=dtype) for value in values]
    return tuple(ops.broadcast_tensors(tensors))


def is_number(*values: object) -> bool:
    """Whether all values are plain numbers, so that what they describe has no shape."""
    return all(isinstance(value, (int, float)) for value in values)


def sum_rightmost(value: Tensor, dim: int) -> Tensor:
    """The sum over the last `dim` dimensions."""
    return value.sum(tuple(range(-dim, 0))) if dim > 0 else value


def broadcast_shapes(*shapes: Iterable[int]) -> Size:
    """The shape that Tensors of these shapes have together."""
    return Size(np.broadcast_shapes(*map(tuple, shapes)))


def logits_to_probs(logits: Tensor, is_binary: bool = False) -> Tensor:
    """The chances that belong to logits: of one event, or of all along the last dimension."""
    return logits.sigmoid() if is_binary else logits.softmax(-1)


def clamp_probs(probs: Tensor) -> Tensor:
    """Chances that are neither 0 nor 1 by the least that the dtype can tell."""
    eps = finfo(probs.dtype).eps
    return probs.clamp(min=eps, max=1 - eps)


def probs_to_logits(probs: Tensor, is_binary: bool = False) -> Tensor:
    """The logits that belong to chances: of one event, or of all along the last dimension."""
    inside = clamp_probs(probs)
    return inside.log() - (-inside).log1p() if is_binary else inside.log()


class lazy_property(Generic[Result]):
    """A property that is computed with gradients when it is first asked for, and kept in the object's attributes."""

    def __init__(self, wrapped: Callable[[Any], Result]) -> None:
        self.wrapped = wrapped
        self.__doc__ = wrapped.__doc__

    @overload
    def __get__(self, instance: None, owner: Any = None) -> lazy_property[Result]: ...
    @overload
    def __get__(self, instance: object, owner: Any = None) -> Result: ...
    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None:
            return self
        with enable_grad():
            value = self.wrapped(instance)
        instance.__dict__[self.wrapped.__name__] = value
        return value


def tril_matrix_to_vec(mat: Tensor, diag: int = 0) -> Tensor:
    """The entries of square matrices up to the diagonal `diag`, row by row.

    Raises:
        ValueError: `diag` is not among the diagonals of the matrix.
    """
    size = mat.shape[-1]
    if not -size <= diag < size:
        raise ValueError(f"diag ({diag}) provided is outside [{-size}, {size - 1}].")
    rows, columns = ops.tril_indices(size, size, diag).unbind(0)
    return mat[..., rows, columns]


def vec_to_tril_matrix(vec: Tensor, diag: int = 0) -> Tensor:
    """Square matrices with the given entries up to the diagonal `diag`, row by row, and zeros above it.

    Raises:
        ValueError: no size of a matrix has so many entries there.
    """
    count = vec.shape[-1]
    # n rows that end at the diagonal d <= 0 have m (m + 1) / 2 entries, m = n + d; with d > 0 a triangle is missing.
    square = 1 + 8 * (count + max(diag, 0) * (diag + 1))
    root = math.isqrt(square)
    if root * root != square:
        raise ValueError(
            f"The size of last dimension is {count} which cannot be expressed as the lower triangular part."
        )
    whole = (root - 1) // 2 - diag
    matrix = vec.new_zeros((*vec.shape[:-1], whole, whole))
    rows, columns = ops.tril_indices(whole, whole, diag).unbind(0)
    matrix[..., rows, columns] = vec
    return matrix
