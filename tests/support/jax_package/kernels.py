"""Functions on arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
_LOG_2 = np.log(2.0)


def hypot3(x: Array, y: Array, z: Array) -> Array:
    return np.hypot(np.hypot(x, y), z)


def to_polar(x: Array, y: Array) -> tuple[Array, Array]:
    return np.hypot(x, y), np.arctan2(y, x)


def logcosh(self: Array, scale: float) -> Array:
    """The logarithm of the hyperbolic cosine, over its scale."""
    return _logcosh(self * scale) / scale


def _logcosh(x: Array) -> Array:
    size = np.abs(x)
    return size + np.log1p(np.exp(-2 * size)) - _LOG_2.astype(size.dtype)


turned = np.multiply


def power_of(self: Array) -> Array:
    return np.square(self.real) + np.square(self.imag)


def rms(self: Array, dim: Sequence[int] | None, keepdim: bool) -> Array:
    axis = None if dim is None else tuple(dim)
    return np.sqrt(np.mean(np.square(self), axis=axis, keepdims=keepdim))


def blur(self: Array, weights: Sequence[int]) -> Array:
    count = self.shape[-1] - len(weights) + 1
    return sum((self[..., at : at + count] * weight for at, weight in enumerate(weights)), np.zeros((), self.dtype))


def blur_backward(grad_output: Array, weights: Sequence[int], size: int) -> Array:
    full = np.zeros((*grad_output.shape[:-1], size), grad_output.dtype)
    for at, weight in enumerate(weights):
        full[..., at : at + grad_output.shape[-1]] += grad_output * weight
    return full


def affine(input: Array, weight: Array, bias: Array | None) -> Array:
    result = input @ weight.T
    return result if bias is None else result + bias


def weighted_sum(tensors: Sequence[Array], weights: Sequence[float]) -> Array:
    return np.sum([tensor * weight for tensor, weight in zip(tensors, weights, strict=True)], axis=0)


def halves(self: Array) -> list[Array]:
    middle = self.shape[0] // 2
    return [self[:middle].copy(), self[middle:].copy()]


def largest(self: Array, dim: int) -> tuple[Array, Array]:
    places = np.argmax(self, axis=dim)
    return np.take_along_axis(self, np.expand_dims(places, dim), dim).squeeze(dim), places


def picked(self: Array, places: Array) -> Array:
    return self[places]


def rounded_up(self: Array) -> Array:
    return np.ceil(self)


def is_larger(self: Array, other: Array) -> Array:
    return self > other


def partly(self: Array, other: Array) -> Array:
    return self * other


def ramp(size: int, step: float) -> Array:
    return np.arange(size) * np.float32(step)
