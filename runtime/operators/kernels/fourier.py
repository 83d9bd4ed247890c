"""Discrete Fourier transforms of real and complex arrays, and the frequencies that belong to them.

The transform of x along a dimension of n elements has the elements sum_j x_j exp(-2 pi i j k / n); the inverse one has
the other sign.  `normalization` says what the sums are divided by: 0 for nothing, 1 for the square root of the number
of elements that are summed, 2 for that number itself.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from runtime.base.arrays import Array, checked_sizes, is_half, is_integral, normalize_dims, type_name
from runtime.base.memory import repeats

# What SciPy calls each factor in a transform, and in an inverse one.
_NORMS: Final = {True: ("backward", "ortho", "forward"), False: ("forward", "ortho", "backward")}


@functools.cache
def _transforms() -> Any:
    """SciPy's transforms themselves, or None where this SciPy has none under the name.

    What its public functions ask of their arguments takes longer than a small transform.
    """
    try:
        from scipy.fft._pocketfft import pypocketfft
    except ImportError:
        return None
    return pypocketfft


def _check_normalization(normalization: int) -> None:
    if normalization not in (0, 1, 2):
        raise RuntimeError(f"normalization of a transform is 0, 1 or 2, not {normalization}")


def _is_usual(self: Array) -> bool:
    """Whether the bare transforms take an array as it is."""
    return self.dtype.char in "fdFD" and self.dtype.isnative and self.flags.aligned


def _transformed(self: Array, axes: tuple[int, ...], normalization: int, forward: bool, onesided: bool) -> Array:
    """The transform of an array, real or complex, along its last dimensions."""
    transforms = _transforms()
    if transforms is not None and _is_usual(self):
        if onesided:
            return np.asarray(transforms.r2c(self, axes, forward, normalization))
        return np.asarray(transforms.c2c(self, axes, forward, normalization))
    from scipy import fft

    transform = fft.rfftn if onesided else fft.fftn if forward else fft.ifftn
    return np.asarray(transform(self, axes=axes, norm=_NORMS[forward][normalization]))


def _real(self: Array, size: int, normalization: int) -> Array:
    """The inverse of a transform of one side along the last dimension, of `size` elements."""
    transforms = _transforms()
    if transforms is not None and _is_usual(self):
        return np.asarray(transforms.c2r(self, (self.ndim - 1,), size, False, normalization))
    from scipy import fft

    return np.asarray(fft.irfft(self, size, norm=_NORMS[False][normalization]))


def _dims(self: Array, dim: Sequence[int]) -> tuple[int, ...]:
    """The dimensions to transform, counted from the front."""
    if dim and not self.ndim:
        raise RuntimeError("a number without dimensions has none to transform")
    return normalize_dims(dim, self.ndim)


def _by_strides(self: Array, dims: Sequence[int]) -> list[int]:
    """Dimensions with the widest steps first."""
    return sorted(dims, key=lambda dim: -self.strides[dim])


def _along(self: Array, dims: Sequence[int], transform: Callable[[Array, tuple[int, ...]], Array]) -> Array:
    """What `transform` makes along its last dimensions, for others, of which the last one becomes the innermost.

    So the elements of a sum lie side by side in the result; the dimensions around them keep the order of their steps.
    """
    last = tuple(range(self.ndim - len(dims), self.ndim))
    if self.flags.c_contiguous and tuple(dims) == last:
        return transform(self, last)
    order = (*_by_strides(self, [dim for dim in range(self.ndim) if dim not in dims]), *dims)
    return transform(self.transpose(order), last).transpose(sorted(range(self.ndim), key=order.__getitem__))


def _complex(self: Array) -> np.dtype[Any]:
    return np.result_type(self.dtype, np.complex64)


def fft_c2c(self: Array, dim: Sequence[int], normalization: int, forward: bool) -> Array:
    """The transform of complex numbers along `dim`, or where `forward` is False the inverse one.

    Without dimensions it is a copy.  Source: the definition above.
    """
    dims = _dims(self, dim)
    _check_normalization(normalization)
    if not dims or not self.size:
        return self.copy(order="C" if repeats(self) else "K")
    inner = _by_strides(self, dims) if len(dims) > 1 else dims
    return _along(self, inner, lambda moved, axes: _transformed(moved, axes, normalization, forward, False))


def fft_r2c(self: Array, dim: Sequence[int], normalization: int, onesided: bool) -> Array:
    """The transform of real numbers along `dim`.

    If `onesided`, it has in the last of them only the first `n // 2 + 1` elements: the others are conjugates of these.
    """
    dims = _dims(self, dim)
    if not dims:
        raise RuntimeError("_fft_r2c: there has to be a dimension to transform")
    _check_normalization(normalization)
    if not self.size:
        sizes = list(self.shape)
        if onesided:
            sizes[dims[-1]] = sizes[dims[-1]] // 2 + 1
        return np.zeros(sizes, _complex(self))
    inner = (*_by_strides(self, dims[:-1]), dims[-1]) if len(dims) > 1 else dims
    return _along(self, inner, lambda moved, axes: _transformed(moved, axes, normalization, True, onesided))


def fft_c2r(self: Array, dim: Sequence[int], normalization: int, last_dim_size: int) -> Array:
    """The inverse of `fft_r2c` of one side: real, with `last_dim_size` elements in the last of `dim`.

    What is no transform of real numbers is taken as the nearest one: the imaginary parts of elements that are their own
    conjugates do not count.
    """
    dims = _dims(self, dim)
    if not dims:
        raise RuntimeError("_fft_c2r: there has to be a dimension to transform")
    _check_normalization(normalization)
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
    return _along(spectrum, (last,), lambda moved, _: _real(moved, last_dim_size, normalization))


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
