"""Whole arrays written: copied and filled."""

from __future__ import annotations

import numpy as np

from runtime.base.arrays import Array, Number, converted, element


def copy(self: Array, src: Array) -> Array:
    """`src` in the shape and dtype of `self`, which gives nothing else."""
    out = np.empty(self.shape, self.dtype)
    if src.shape != self.shape:
        both = np.broadcast_shapes(self.shape, src.shape)
        if both != self.shape:
            raise RuntimeError(f"output with shape {list(self.shape)} doesn't match the broadcast shape {list(both)}")
    np.copyto(out, converted(src, self.dtype))
    return out


def fill(self: Array, value: Number) -> Array:
    """One number in the place of all elements."""
    return np.full(self.shape, element(value, self.dtype), self.dtype)


def fill_tensor(self: Array, value: Array) -> Array:
    if value.ndim:
        raise RuntimeError(f"fill_ only supports 0-dimension value tensor but got tensor with {value.ndim} dimensions.")
    return copy(self, value)


def zero(self: Array) -> Array:
    """0 in the place of all elements."""
    return np.zeros(self.shape, self.dtype)
