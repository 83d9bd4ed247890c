"""Kernels: functions on NumPy arrays, named as `dispatch` in native_functions.yaml names them.

They import NumPy alone, because the operators of other frameworks call them as well.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

# -- harmonics of the sphere


def solid_harmonics(xyz: Array, degree: int) -> Array:
    if xyz.shape[-1:] != (3,) or degree < 0:
        raise RuntimeError(f"solid_harmonics: expected points (..., 3) and a degree, got {xyz.shape} and {degree}")
    x, y, z = xyz[..., 0], xyz[..., 1], xyz[..., 2]
    square = x * x + y * y + z * z
    out = np.empty((*xyz.shape[:-1], (degree + 1) ** 2), xyz.dtype)
    cosine, sine = np.ones_like(x), np.zeros_like(x)  # the parts of (x + iy)^m
    first = math.sqrt(0.25 / math.pi)
    for m in range(degree + 1):
        if m:
            cosine, sine = x * cosine - y * sine, x * sine + y * cosine
            first *= math.sqrt((2 * m + 1) / (2 * m)) * (math.sqrt(2) if m == 1 else 1)
        below, here = np.zeros_like(x), np.full_like(x, first)
        for n in range(m, degree + 1):
            if n > m:
                rise = math.sqrt((4 * n * n - 1) / (n * n - m * m))
                fall = math.sqrt(((n - 1) ** 2 - m * m) / (4 * (n - 1) ** 2 - 1)) * rise
                below, here = here, rise * z * here - fall * square * below
            out[..., n * n + n + m] = here * cosine
            if m:
                out[..., n * n + n - m] = here * sine
    return out


@cache
def _steps(count: int) -> Array:
    """For x, y and z the matrix of a derivative: of solid harmonics it makes combinations of those a degree lower."""
    degree = math.isqrt(count) - 1
    if (degree + 1) ** 2 != count:
        raise RuntimeError(f"harmonics up to a degree are 1, 4, 9, ... numbers, not {count}")
    steps = np.zeros((3, count, count))

    def norm(n: int, m: int) -> float:
        ratio = math.factorial(n - abs(m)) / math.factorial(n + abs(m))
        return math.sqrt((2 if m else 1) * (2 * n + 1) * ratio)

    def put(axis: int, m: int, to: int, factor: float) -> None:
        if abs(to) < n:
            steps[axis, n * n + n + m, n * n - n + to] = factor * norm(n, m) / norm(n - 1, to)

    for n in range(1, degree + 1):
        for m in range(-n, n + 1):
            put(2, m, m, n + abs(m))
        put(0, 0, 1, -1)
        put(1, 0, -1, -1)
        for m in range(1, n + 1):
            down = (n + m) * (n + m - 1) / 2
            put(0, m, m - 1, down)
            put(0, m, m + 1, -0.5)
            put(0, -m, -m - 1, -0.5)
            put(1, m, -m - 1, -0.5)
            put(1, -m, m + 1, 0.5)
            put(1, -m, m - 1, down)
            if m > 1:
                put(0, -m, 1 - m, down)
                put(1, m, 1 - m, -down)
    return steps


def _slopes(harmonics: Array) -> Array:
    """The derivatives of harmonics (..., n) along x, y and z: (..., 3, n)."""
    count = harmonics.shape[-1]
    steps = _steps(count).astype(harmonics.dtype).reshape(3 * count, count)
    return (harmonics @ steps.T).reshape(*harmonics.shape[:-1], 3, count)


def solid_harmonics_backward(grad_output: Array, harmonics: Array) -> Array:
    return np.sum(_slopes(harmonics) * grad_output[..., None, :], axis=-1)


def solid_harmonics_tangent(direction: Array, harmonics: Array) -> Array:
    return np.sum(_slopes(harmonics) * direction[..., None], axis=-2)


def solid_harmonics_adjoint(direction: Array, weights: Array) -> Array:
    count = weights.shape[-1]
    steps = _steps(count).astype(weights.dtype).transpose(1, 0, 2).reshape(count, 3 * count)
    raised = (weights @ steps).reshape(*weights.shape[:-1], 3, count)
    return np.sum(raised * direction[..., None], axis=-2)


# -- Fourier sums at points that lie anywhere


def _waves(points: Array, count: int, sign: int) -> tuple[Array, Array]:
    """The waves exp(sign ikx) at points (..., n), for the frequencies of modes: (..., n, m), and i k."""
    real = points.real.dtype
    frequencies = np.arange(count, dtype=real) - count // 2
    return np.exp(sign * 1j * (points[..., None] * frequencies)), 1j * frequencies


def _power(base: Array, exponent: int) -> Array:
    return math.prod([base] * exponent, start=np.ones_like(base))


def fourier_modes(points: Array, weights: Array, modes: int, order: int) -> Array:
    waves, slopes = _waves(points, modes, -1)
    return (weights[..., None, :] @ waves)[..., 0, :] * _power(-slopes, order)


def fourier_series(points: Array, coefficients: Array, order: int) -> Array:
    waves, slopes = _waves(points, coefficients.shape[-1], 1)
    return (waves @ (coefficients * _power(slopes, order))[..., None])[..., 0]


# -- geometry


def hypot3(x: Array, y: Array, z: Array) -> Array:
    return np.hypot(np.hypot(x, y), z)


def to_spherical(x: Array, y: Array, z: Array) -> tuple[Array, Array, Array]:
    around = np.hypot(x, y)
    return np.hypot(around, z), np.arctan2(around, z), np.arctan2(y, x) + np.zeros_like(z)


def unit_vector(self: Array, dim: int) -> Array:
    return self / _length(self, dim)


def _length(vectors: Array, dim: int) -> Array:
    """Of vectors along a dimension, which stays; 1 for those of zeros."""
    largest = np.max(np.abs(vectors), axis=dim, keepdims=True, initial=0)
    scale = np.where((largest == 0) | np.isinf(largest), 1, largest).astype(vectors.dtype)
    return scale * np.sqrt(np.sum(np.square(vectors / scale), axis=dim, keepdims=True)) + (largest == 0)


def unit_vector_backward(grad_output: Array, self: Array, dim: int) -> Array:
    length = _length(self, dim)
    unit = self / length
    across = grad_output - unit * np.sum(unit * grad_output, axis=dim, keepdims=True)
    return np.where(np.any(self != 0, axis=dim, keepdims=True), across / length, 0).astype(self.dtype)


def quaternion_product(p: Array, q: Array) -> Array:
    a, b, c, d = np.moveaxis(p, -1, 0)
    e, f, g, h = np.moveaxis(q, -1, 0)
    parts = (
        a * e - b * f - c * g - d * h,
        a * f + b * e + c * h - d * g,
        a * g - b * h + c * e + d * f,
        a * h + b * g - c * f + d * e,
    )
    return np.stack(parts, axis=-1)


def quaternion_conjugate(q: Array) -> Array:
    return q * np.array([1, -1, -1, -1], q.dtype)


def minimum_image(displacement: Array, box: Array) -> Array:
    return displacement - box * np.round(displacement / box)


def nearest_site(points: Array, sites: Array) -> tuple[Array, Array]:
    if not len(sites):
        raise RuntimeError("nearest_site: there is no site")
    squares = np.sum(np.square(points[:, None] - sites), axis=-1)
    index = np.argmin(squares, axis=1)
    return np.take_along_axis(squares, index[:, None], axis=1)[:, 0], index


# -- sums


def log_mean_exp(self: Array, dim: Sequence[int] | None, keepdim: bool) -> Array:
    axes = tuple(dim) if dim and self.ndim else None
    largest = np.max(self, axis=axes, keepdims=True, initial=-np.inf)
    shift = np.where(np.isinf(largest), 0, largest).astype(self.dtype)
    with np.errstate(divide="ignore", invalid="ignore"):
        total = np.sum(np.exp(self - shift), axis=axes, keepdims=True)
        out = np.log(total / (self.size / max(total.size, 1))) + shift
    return out if keepdim else np.squeeze(out, axis=axes)


def compensated_sum(self: Array, dim: int, keepdim: bool) -> Array:
    if np.iscomplexobj(self):
        out = np.empty(np.sum(self, axis=dim, keepdims=keepdim).shape, self.dtype)
        out.real = compensated_sum(self.real, dim, keepdim)
        out.imag = compensated_sum(self.imag, dim, keepdim)
        return out
    rows = np.moveaxis(self, dim, 0)
    total = np.zeros(rows.shape[1:], self.dtype)
    lost = np.zeros(rows.shape[1:], self.dtype)
    with np.errstate(invalid="ignore"):
        for row in rows:
            after = total + row
            lost = lost + np.where(np.abs(total) >= np.abs(row), (total - after) + row, (row - after) + total)
            total = after
    out = np.where(np.isfinite(total), total + lost, total)
    return np.expand_dims(out, dim) if keepdim else out


def weighted_sum(tensors: Sequence[Array], weights: Array | None) -> Array:
    if not tensors or (weights is not None and weights.shape != (len(tensors),)):
        raise RuntimeError("weighted_sum: expected one Tensor or more, and a weight for each")
    parts = list(tensors) if weights is None else [w * each for w, each in zip(weights, tensors, strict=True)]
    return sum(parts[1:], start=parts[0].copy())


def gaussian_kernel(x: Array, y: Array, scales: Array | None) -> Array:
    differences = x[..., :, None, :] - y[..., None, :, :]
    if scales is not None:
        differences = differences / scales
    return np.exp(-np.sum(np.square(differences), axis=-1) / 2)


# -- splines

# A row for each of the four pieces over a cell, from the right: what multiplies 1, t, t^2 and t^3.
_PIECES = np.array([[1, -3, 3, -1], [4, 0, -6, 3], [1, 3, 3, -3], [0, 0, 0, 1]]) / 6


def _spline_weights(points: Array, count: int, order: int) -> tuple[Array, Array]:
    """The four coefficients that a point needs, and the weight of each: two arrays (..., 4)."""
    cells = np.floor(points)
    t = (points - cells)[..., None]
    pieces = _PIECES
    for _ in range(order):
        pieces = np.pad(pieces[:, 1:] * [1, 2, 3], ((0, 0), (0, 1)))
    a, b, c, d = (pieces[:, power].astype(points.dtype) for power in range(4))
    weights = ((d * t + c) * t + b) * t + a
    first = np.clip(np.nan_to_num(cells), -4, count + 4).astype(np.int64)
    places = first[..., None] + np.arange(-1, 3)
    outside = (places < 0) | (places >= count)
    return np.clip(places, 0, max(count - 1, 0)), np.where(outside, weights * 0, weights)


def cubic_spline(points: Array, coefficients: Array, order: int) -> Array:
    if coefficients.ndim != 1:
        raise RuntimeError(f"cubic_spline: expected a vector of coefficients, got {coefficients.shape}")
    if not coefficients.size:
        return points * 0
    places, weights = _spline_weights(points, coefficients.size, order)
    return np.sum(weights * coefficients[places], axis=-1)


def cubic_spline_adjoint(points: Array, weights: Array, count: int, order: int) -> Array:
    out = np.zeros(count, np.result_type(points, weights))
    if count:
        places, shares = _spline_weights(points, count, order)
        np.add.at(out, places, shares * weights[..., None])
    return out


# -- lines, eigenvalues, equations


def lorentzian(frequency: Array, center: Array, width: Array) -> Array:
    return 1 / (width + 1j * (frequency - center))


def blaschke(z: Array, a: Array) -> Array:
    return (z - a) / (1 - np.conj(a) * z)


def symmetric_eigenvalues(a: Array, b: Array, c: Array) -> tuple[Array, Array]:
    middle, radius = (a + c) / 2, np.hypot((a - c) / 2, b)
    return middle - radius, middle + radius


def sylvester(A: Array, B: Array, C: Array) -> Array:
    rows, columns = C.shape[-2:]
    if A.shape[-2:] != (rows, rows) or B.shape[-2:] != (columns, columns):
        raise RuntimeError(f"sylvester: {A.shape}, {B.shape} and {C.shape} do not fit")
    left = A[..., :, None, :, None] * np.eye(columns, dtype=A.dtype)[:, None, :]
    right = np.swapaxes(B, -2, -1)[..., None, :, None, :] * np.eye(rows, dtype=B.dtype)[:, None, :, None]
    system = left + right
    system = system.reshape(*system.shape[:-4], rows * columns, rows * columns)
    shape = np.broadcast_shapes(system.shape[:-2], C.shape[:-2])
    sides = np.broadcast_to(C, (*shape, rows, columns)).reshape(*shape, rows * columns, 1)
    return np.linalg.solve(system, sides).reshape(*shape, rows, columns)
