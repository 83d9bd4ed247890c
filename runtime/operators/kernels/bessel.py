"""Bessel functions of the orders 0 and 1, and Airy's function."""

from __future__ import annotations

import numpy as np

from runtime.base.arrays import Array

_FAR = 1e5  # SciPy's Airy function gives up somewhat above


def special_bessel_j0(self: Array) -> Array:
    """The Bessel function of the first kind, of order 0."""
    from scipy import special

    return np.asarray(special.j0(self))


def special_bessel_j1(self: Array) -> Array:
    """The Bessel function of the first kind, of order 1."""
    from scipy import special

    return np.asarray(special.j1(self))


def special_bessel_y0(self: Array) -> Array:
    """The Bessel function of the second kind, of order 0."""
    from scipy import special

    return np.asarray(special.y0(self))


def special_bessel_y1(self: Array) -> Array:
    """The Bessel function of the second kind, of order 1."""
    from scipy import special

    return np.asarray(special.y1(self))


def special_modified_bessel_i0(self: Array) -> Array:
    """The modified Bessel function of the first kind, of order 0."""
    from scipy import special

    return np.asarray(special.i0(self))


def special_modified_bessel_i1(self: Array) -> Array:
    """The modified Bessel function of the first kind, of order 1."""
    from scipy import special

    return np.asarray(special.i1(self))


def special_modified_bessel_k0(self: Array) -> Array:
    """The modified Bessel function of the second kind, of order 0."""
    from scipy import special

    return np.asarray(special.k0(self))


def special_modified_bessel_k1(self: Array) -> Array:
    """The modified Bessel function of the second kind, of order 1."""
    from scipy import special

    return np.asarray(special.k1(self))


def special_scaled_modified_bessel_k0(x: Array) -> Array:
    """The modified Bessel function of the second kind, of order 0, times exp(x)."""
    from scipy import special

    return np.asarray(special.k0e(x))


def special_scaled_modified_bessel_k1(x: Array) -> Array:
    """The modified Bessel function of the second kind, of order 1, times exp(x)."""
    from scipy import special

    return np.asarray(special.k1e(x))


def special_spherical_bessel_j0(x: Array) -> Array:
    """`sin(x) / x`: 1 at 0, and 0 at infinity."""
    inner = np.where(np.equal(x, 0) | np.isinf(x), 1, x)
    return np.where(np.equal(x, 0), 1, np.where(np.isinf(x), 0, np.sin(inner) / inner)).astype(x.dtype)


def special_airy_ai(x: Array) -> Array:
    """Ai(x).  Far from 0 it is 0, or the wave of Abramowitz and Stegun, 10.4.60; NaN at both infinities."""
    from scipy import special

    far = np.greater(np.absolute(x), _FAR)
    near = np.asarray(special.airy(np.where(far, 1, x))[0])
    if not far.any():
        return near
    left = far & np.less(x, 0)
    root = np.sqrt(np.where(left, np.negative(x), 1).astype(np.float64))
    phase = root**3 * 2 / 3
    angle = phase + np.pi / 4
    wave = (np.sin(angle) - np.cos(angle) * 5 / 72 / phase) / np.sqrt(root * np.pi)
    return np.where(far, np.where(np.isinf(x), np.nan, np.where(left, wave, 0)), near).astype(x.dtype)
