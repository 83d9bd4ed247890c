"""Fits a gradient to the tensor it belongs to, once and centrally, so that formulas need not."""

from __future__ import annotations

import numpy as np

from runtime import ops
from runtime.base.arrays import converted, is_complex32, is_half
from runtime.base.dtypes import from_numpy
from runtime.base.half import FLOAT32
from runtime.base.modes import grad_mode, plain
from runtime.base.tensor import Tensor, wrap
from runtime.graph.linear import LinearBackward, apply_linear


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
    wider, source = grad._array.shape, grad._array.dtype
    if wider == shape and source == dtype:
        return grad
    summed = _broadcast_dims(shape, wider)
    if summed is None:
        raise RuntimeError(
            f"Function {node_name} returned an invalid gradient - got {list(wider)} but expected shape compatible "
            f"with {list(shape)}"
        )
    if summed and is_complex32(source):  # which `sum` refuses
        return _fitted_by_operators(grad, summed, shape, dtype)
    if (grad._edge is None or not grad_mode.enabled) and type(grad) in plain:
        # Nothing to record and no tangents, as mostly; this is asked for often.
        return wrap(_reduced(grad._array, summed, shape, dtype))
    if grad._opaque:
        return _fitted_by_operators(grad, summed, shape, dtype)

    def reduce(array: np.ndarray) -> np.ndarray:
        return _reduced(array, summed, shape, dtype)

    def spread(array: np.ndarray) -> np.ndarray:
        lead = len(wider) - len(shape)
        kept = array.reshape(tuple(1 if lead + i in summed else size for i, size in enumerate(shape)))
        return convert(np.broadcast_to(kept, wider), source)

    return apply_linear(grad, reduce, spread, FitBackward)


def fit_leaf(grad: Tensor, leaf: Tensor, node_name: str) -> Tensor:
    """`grad` with the shape of a leaf, and the element type that its gradients have: `leaf.grad_dtype`.

    Raises:
        RuntimeError: it does not fit, or no gradient can be of that type.
    """
    chosen = None if leaf._extra is None else leaf._extra.grad_dtype
    if chosen is None:
        return fit(grad, leaf._array.shape, leaf._array.dtype, node_name)
    wanted = chosen[0]
    if wanted is None:
        return fit(grad, leaf._array.shape, grad._array.dtype, node_name)
    if not wanted.is_floating_point and not wanted.is_complex:
        raise RuntimeError(f"grad_dtype of a leaf is {wanted}, of which no gradient can be")
    return fit(grad, leaf._array.shape, wanted.numpy, node_name)


def _broadcast_dims(shape: tuple[int, ...], wider: tuple[int, ...]) -> tuple[int, ...] | None:
    """The dimensions of `given` that broadcasting from `shape` makes; None where it does not lead there."""
    lead = len(wider) - len(shape)
    if lead < 0:
        return None
    dims = [*range(lead)]
    for dim, want in enumerate(shape, lead):
        if want != wider[dim]:
            if want != 1:
                return None
            dims.append(dim)
    return tuple(dims)


def _reduced(array: np.ndarray, summed: tuple[int, ...], shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    if summed:
        array = _summed(array, summed).reshape(shape)
    return array if array.dtype is dtype else convert(array, dtype)


@np.errstate(all="ignore")  # of infinities, as kernels do
def _summed(array: np.ndarray, dims: tuple[int, ...]) -> np.ndarray:
    return np.asarray(np.add.reduce(array, dims, FLOAT32 if is_half(array.dtype) else array.dtype))


def _fitted_by_operators(grad: Tensor, summed: tuple[int, ...], shape: tuple[int, ...], dtype: np.dtype) -> Tensor:
    """The same for a gradient that is more than an array: a batch of them."""
    if summed:
        grad = ops.sum(grad, summed)
        if grad._array.shape != shape:  # it has lost dimensions of size 1, too
            grad = ops.reshape(grad, shape)
    if grad.is_complex() and not from_numpy(dtype).is_complex:
        grad = ops.real(grad)
    return grad if grad._array.dtype == dtype else ops._to_copy(grad, dtype=from_numpy(dtype))


def convert(array: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """`array` in another element type; complex to real takes the real part."""
    return converted(array, dtype)
