"""Windows for spectra: `window_length` numbers that rise to 1 and fall again.

A symmetric window has its largest element in the middle; a periodic one is a symmetric one with one element more, and
without the last. Sources: F. J. Harris, On the use of windows for harmonic analysis with the discrete Fourier
transform, 1978; J. F. Kaiser and R. W. Schafer, On the use of the I0-sinh window for spectrum analysis, 1980.
They are computed in float64, and rounded once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from runtime.base.arrays import Array, is_integral, is_stored, type_name

DType = np.dtype[Any]


def _window(name: str, window_length: int, periodic: bool, dtype: DType, shape: Callable[[Array], Array]) -> Array:
    """`shape` of places from -1 to 1.

    Raises:
        RuntimeError: the length is negative, or the dtype has no fractions.
        NotImplementedError: the dtype is complex.
    """
    if window_length < 0:
        raise RuntimeError(f"{name} requires non-negative window_length, got window_length={window_length}")
    if is_integral(dtype):
        raise RuntimeError(f"{name} expects floating point dtypes, got: {type_name(dtype)}")
    if dtype.kind == "c" or is_stored(dtype):
        raise NotImplementedError(f"\"{name}\" not implemented for '{type_name(dtype)}'")
    if window_length < 2:
        return np.ones(window_length, dtype)
    whole = window_length if periodic else window_length - 1
    places = 2 * np.arange(window_length, dtype=np.float64) / whole - 1
    return shape(places).astype(dtype)


def _cosines(name: str, window_length: int, periodic: bool, dtype: DType, *factors: float) -> Array:
    """A sum of cosines of 0, 1, 2 ... times the angle from the middle, which is half a turn at the ends."""

    def shape(places: Array) -> Array:
        angle = np.pi * places
        result = np.zeros_like(places)
        for number, factor in enumerate(factors):
            result += factor * np.cos(number * angle)
        return result

    return _window(name, window_length, periodic, dtype, shape)


def bartlett_window(window_length: int, dtype: DType) -> Array:
    """A triangle, periodic."""
    return bartlett_window_periodic(window_length, True, dtype)


def bartlett_window_periodic(window_length: int, periodic: bool, dtype: DType) -> Array:
    """A triangle."""
    return _window("bartlett_window", window_length, periodic, dtype, lambda places: 1 - np.abs(places))


def blackman_window(window_length: int, dtype: DType) -> Array:
    """Three terms of cosines, periodic."""
    return blackman_window_periodic(window_length, True, dtype)


def blackman_window_periodic(window_length: int, periodic: bool, dtype: DType) -> Array:
    """Three terms of cosines."""
    return _cosines("blackman_window", window_length, periodic, dtype, 0.42, 0.5, 0.08)


def hamming_window(window_length: int, dtype: DType) -> Array:
    """`alpha + beta cos`, with 0.54 and 0.46, periodic."""
    return hamming_window_periodic_alpha_beta(window_length, True, 0.54, 0.46, dtype)


def hamming_window_periodic(window_length: int, periodic: bool, dtype: DType) -> Array:
    """`alpha + beta cos`, with 0.54 and 0.46."""
    return hamming_window_periodic_alpha_beta(window_length, periodic, 0.54, 0.46, dtype)


def hamming_window_periodic_alpha(window_length: int, periodic: bool, alpha: float, dtype: DType) -> Array:
    """`alpha + beta cos`, with 0.46 as beta."""
    return hamming_window_periodic_alpha_beta(window_length, periodic, alpha, 0.46, dtype)


def hamming_window_periodic_alpha_beta(
    window_length: int, periodic: bool, alpha: float, beta: float, dtype: DType
) -> Array:
    """`alpha + beta cos` of the angle from the middle."""
    return _cosines("hamming_window", window_length, periodic, dtype, alpha, beta)


def hann_window(window_length: int, dtype: DType) -> Array:
    """A whole period of a cosine, raised to begin at 0; periodic."""
    return hann_window_periodic(window_length, True, dtype)


def hann_window_periodic(window_length: int, periodic: bool, dtype: DType) -> Array:
    """A whole period of a cosine, raised to begin at 0."""
    return _cosines("hann_window", window_length, periodic, dtype, 0.5, 0.5)


def kaiser_window(window_length: int, dtype: DType) -> Array:
    """Bessel's function of order zero over a half circle, with 12 as `beta`, periodic."""
    return kaiser_window_beta(window_length, True, 12.0, dtype)


def kaiser_window_periodic(window_length: int, periodic: bool, dtype: DType) -> Array:
    """Bessel's function of order zero over a half circle, with 12 as `beta`."""
    return kaiser_window_beta(window_length, periodic, 12.0, dtype)


def kaiser_window_beta(window_length: int, periodic: bool, beta: float, dtype: DType) -> Array:
    """`I0(beta sqrt(1 - x^2)) / I0(beta)` of places x from -1 to 1, by scaled functions that do not overflow."""
    from scipy import special

    width = abs(beta)

    def shape(places: Array) -> Array:
        heights = width * np.sqrt(np.maximum(1 - np.square(places), 0))
        result: Array = special.i0e(heights) / special.i0e(width) * np.exp(heights - width)
        return result

    return _window("kaiser_window", window_length, periodic, dtype, shape)
