"""Fits a gradient to the tensor it belongs to, once and centrally, so that formulas need not."""

from __future__ import annotations

import numpy as np

from runtime.dtypes import from_numpy
from runtime.linear import LinearBackward, apply_linear
from runtime.modes import plain
from runtime.tensor import Tensor


class FitBackward(LinearBackward):
    """The way back through fitting: broadcast again, in the former element type."""

    __slots__ = ()


def fit(grad: Tensor, shape: tuple[int, ...], dtype: np.dtype, node_name: str) -> Tensor:
    """`grad` with the shape and element type of what it is the gradient of.

    Dimensions that were broadcast are summed, a real tensor takes the real part of a complex gradient, and other
    element types are cast.

    Args:
        grad: what a formula returned.
        shape: the shape it must have.
        dtype: the element type it must have.
        node_name: the Node (or operator) that returned it, for the message.

    Raises:
        RuntimeError: no broadcasting leads from `shape` to the shape of `grad`.
    """
    given, source = grad._array.shape, grad._array.dtype
    if given == shape and source == dtype:
        return grad
    lead = len(given) - len(shape)
    if lead < 0 or any(want not in (1, have) for want, have in zip(shape, given[lead:], strict=True)):
        raise RuntimeError(
            f"Function {node_name} returned an invalid gradient - got {list(given)} but expected shape compatible "
            f"with {list(shape)}"
        )
    summed = tuple(range(lead)) + tuple(
        lead + i for i, (want, have) in enumerate(zip(shape, given[lead:], strict=True)) if want != have
    )
    if type(grad) not in plain:
        return _fitted_by_operators(grad, summed, shape, dtype)

    def reduce(array: np.ndarray) -> np.ndarray:
        if summed:
            array = array.sum(axis=summed, dtype=array.dtype).reshape(shape)
        return convert(array, dtype)

    def spread(array: np.ndarray) -> np.ndarray:
        kept = array.reshape(tuple(1 if lead + i in summed else size for i, size in enumerate(shape)))
        return convert(np.broadcast_to(kept, given), source)

    return apply_linear(grad, reduce, spread, FitBackward)


def _fitted_by_operators(grad: Tensor, summed: tuple[int, ...], shape: tuple[int, ...], dtype: np.dtype) -> Tensor:
    """The same for a gradient that is more than an array: a batch of them, or one with a tangent."""
    from runtime import ops

    if summed:
        grad = ops.reshape(ops.sum(grad, summed), shape)
    if grad.is_complex() and dtype.kind != "c":
        grad = ops.real(grad)
    return grad if grad._array.dtype == dtype else ops._to_copy(grad, dtype=from_numpy(dtype))


def convert(array: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """`array` in another element type; complex to real takes the real part."""
    if array.dtype.kind == "c" and dtype.kind != "c":
        array = array.real
    return array.astype(dtype, copy=False)
