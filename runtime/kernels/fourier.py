"""Discrete Fourier transforms of real and complex arrays, and the frequencies that belong to them.

The transform of x along a dimension of n elements has the elements sum_j x_j exp(-2 pi i j k / n); the inverse one has
the other sign.  `normalization` says what the sums are divided by: 0 for nothing, 1 for the square root of the number
of elements that are summed, 2 for that number itself.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from runtime.base.memory import repeats
from runtime.kernels._common import Array, checked_sizes, is_half, is_integral, normalize_dims, type_name

# What SciPy calls each factor in a transform, and in an inverse one.
_NORMS: Final = {True: ("backward", "ortho", "forward"), False: ("forward", "ortho", "backward")}


def _norm(normalization: int, forward: bool) -> str:
    if normalization not in (0, 1, 2):
        raise RuntimeError(f"normalization of a transform is 0, 1 or 2, not {normalization}")
    return _NORMS[forward][normalization]


def _dims(self: Array, dim: Sequence[int]) -> tuple[int, ...]:
    """The dimensions to transform, counted from the front."""
    if dim and not self.ndim:
        raise RuntimeError("a number without dimensions has none to transform")
    return normalize_dims(dim, self.ndim)


def _by_strides(self: Array, dims: Sequence[int]) -> list[int]:
    """Dimensions with the widest steps first."""
    return sorted(dims, key=lambda dim: -self.strides[dim])


def _order(self: Array, dims: Sequence[int]) -> tuple[int, ...]:
    """All dimensions, those that are transformed innermost: so the elements of a sum lie side by side in the result."""
    rest = [dim for dim in range(self.ndim) if dim not in dims]
    return (*_by_strides(self, rest), *dims)


def _laid_out(result: Array, order: Sequence[int]) -> Array:
    """`result`, whose dimensions are in this order, with them in their own."""
    return result.transpose(np.argsort(order))


def _last_places(self: Array, count: int) -> tuple[int, ...]:
    return tuple(range(self.ndim - count, self.ndim))


def _complex(self: Array) -> np.dtype[Any]:
    return np.result_type(self.dtype, np.complex64)


def fft_c2c(self: Array, dim: Sequence[int], normalization: int, forward: bool) -> Array:
    """The transform of complex numbers along `dim`, or where `forward` is False the inverse one.

    Without dimensions it is a copy.  Source: the definition above.
    """
    from scipy import fft

    dims = _dims(self, dim)
    norm = _norm(normalization, forward)
    if not dims or not self.size:
        return self.copy(order="C" if repeats(self) else "K")
    order = _order(self, _by_strides(self, dims))
    moved = self.transpose(order)
    transform = fft.fftn if forward else fft.ifftn
    return _laid_out(transform(moved, axes=_last_places(self, len(dims)), norm=norm), order)


def fft_r2c(self: Array, dim: Sequence[int], normalization: int, onesided: bool) -> Array:
    """The transform of real numbers along `dim`.

    If `onesided`, it has in the last of them only the first `n // 2 + 1` elements: the others are conjugates of these.
    """
    from scipy import fft

    dims = _dims(self, dim)
    if not dims:
        raise RuntimeError("_fft_r2c: there has to be a dimension to transform")
    norm = _norm(normalization, True)
    if not self.size:
        sizes = list(self.shape)
        if onesided:
            sizes[dims[-1]] = sizes[dims[-1]] // 2 + 1
        return np.zeros(sizes, _complex(self))
    order = _order(self, [*_by_strides(self, dims[:-1]), dims[-1]])
    moved = self.transpose(order)
    transform = fft.rfftn if onesided else fft.fftn
    return _laid_out(transform(moved, axes=_last_places(self, len(dims)), norm=norm), order)


def fft_c2r(self: Array, dim: Sequence[int], normalization: int, last_dim_size: int) -> Array:
    """The inverse of `fft_r2c` of one side: real, with `last_dim_size` elements in the last of `dim`.

    What is no transform of real numbers is taken as the nearest one: the imaginary parts of elements that are their own
    conjugates do not count.
    """
    from scipy import fft

    dims = _dims(self, dim)
    if not dims:
        raise RuntimeError("_fft_c2r: there has to be a dimension to transform")
    norm = _norm(normalization, False)
    last = dims[-1]
    if last_dim_size < 1 or self.shape[last] != last_dim_size // 2 + 1:
        raise RuntimeError(
            f"_fft_c2r: a half of a transform with {self.shape[last]} elements is not one of {last_dim_size} numbers"
        )
    spectrum = fft_c2c(self, dims[:-1], normalization, False) if len(dims) > 1 else self
    if not self.size:
        sizes = list(self.shape)
        sizes[last] = last_dim_size
        return np.zeros(sizes, spectrum.real.dtype)
    order = _order(spectrum, [last])
    return _laid_out(fft.irfft(spectrum.transpose(order), last_dim_size, norm=norm), order)


# -- frequencies


def _frequencies(name: str, places: Array, n: int, d: float, dtype: np.dtype[Any]) -> Array:
    """`places / (n d)`."""
    if is_integral(dtype):
        raise RuntimeError(f"{name} requires a floating point or complex dtype")
    if dtype.kind == "c":
        raise NotImplementedError(f"\"{name}\" not implemented for '{type_name(dtype)}'")
    width = n * d
    step = 1 / width if width else math.copysign(math.inf, width)
    computed = np.dtype(np.float32) if is_half(dtype) else dtype
    return np.multiply(places.astype(dtype).astype(computed), computed.type(step)).astype(dtype, copy=False)


def fft_fftfreq(n: int, d: float, dtype: np.dtype[Any]) -> Array:
    """The frequencies of a transform of `n` numbers, `d` apart: from 0 up, then the negative ones up to -1 step."""
    (count,) = checked_sizes([n])
    places = np.arange(count)
    return _frequencies("fftfreq", np.where(places < (count + 1) // 2, places, places - count), n, d, dtype)


def fft_rfftfreq(n: int, d: float, dtype: np.dtype[Any]) -> Array:
    """The frequencies of one side of a transform of `n` real numbers, `d` apart."""
    (count,) = checked_sizes([int(n / 2) + 1])
    return _frequencies("rfftfreq", np.arange(count), n, d, dtype)
