"""Functions of one and two numbers that CuPy has, and the array API standard has not."""

from __future__ import annotations

import cupy
from cupyx.scipy import special

from gradwright_cupy.arrays import Array

Number = bool | int | float | complex


def erf(self: Array) -> Array:
    return special.erf(self)


def erfc(self: Array) -> Array:
    return special.erfc(self)


def erfinv(self: Array) -> Array:
    return special.erfinv(self)


def lgamma(self: Array) -> Array:
    return special.gammaln(self)


def digamma(self: Array) -> Array:
    return special.digamma(self)


def polygamma(n: int, self: Array) -> Array:
    return cupy.asarray(special.polygamma(cupy.asarray(n), self), dtype=self.dtype)


def igamma(self: Array, other: Array) -> Array:
    return special.gammainc(self, other)


def igammac(self: Array, other: Array) -> Array:
    return special.gammaincc(self, other)


def special_erfcx(self: Array) -> Array:
    return special.erfcx(self)


def special_log_ndtr(self: Array) -> Array:
    return special.log_ndtr(self)


def special_ndtri(self: Array) -> Array:
    return special.ndtri(self)


def i0(self: Array) -> Array:
    return special.i0(self)


def special_i0e(self: Array) -> Array:
    return special.i0e(self)


def special_i1(self: Array) -> Array:
    return special.i1(self)


def special_i1e(self: Array) -> Array:
    return special.i1e(self)


def special_zeta(self: Array | Number, other: Array) -> Array:
    return special.zeta(cupy.asarray(self, dtype=other.dtype), other)


def special_bessel_j0(self: Array) -> Array:
    return special.j0(self)


def special_bessel_j1(self: Array) -> Array:
    return special.j1(self)


def special_bessel_y0(self: Array) -> Array:
    return special.y0(self)


def special_bessel_y1(self: Array) -> Array:
    return special.y1(self)


def special_modified_bessel_k0(self: Array) -> Array:
    return special.k0(self)


def special_modified_bessel_k1(self: Array) -> Array:
    return special.k1(self)


def special_scaled_modified_bessel_k0(x: Array) -> Array:
    return special.k0e(x)


def special_scaled_modified_bessel_k1(x: Array) -> Array:
    return special.k1e(x)


def angle(self: Array) -> Array:
    return cupy.angle(self)


def fmod(self: Array, other: Array | Number) -> Array:
    return cupy.fmod(self, other)


def nextafter(self: Array, other: Array) -> Array:
    return cupy.nextafter(self, other)


def gcd(self: Array, other: Array) -> Array:
    return cupy.gcd(self, other)


def lcm(self: Array, other: Array) -> Array:
    return cupy.lcm(self, other)


def logaddexp2(self: Array, other: Array) -> Array:
    return cupy.logaddexp2(self, other)


def nan_to_num(
    self: Array, nan: float | None = None, posinf: float | None = None, neginf: float | None = None
) -> Array:
    if self.dtype.kind not in "fc":
        return self
    return cupy.nan_to_num(self, nan=0.0 if nan is None else nan, posinf=posinf, neginf=neginf)
