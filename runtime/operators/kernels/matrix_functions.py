"""Functions of whole matrices, and products of vectors that make vectors."""

from __future__ import annotations

from math import factorial

import numpy as np

from runtime.base.arrays import Array, normalize_dim, type_name
from runtime.operators.kernels._matrices import check_square

_MOST_SMALL = 8  # rows of a matrix of which many are computed side by side
_SIDE_BY_SIDE = 1 << 14  # elements of them that stay in the cache
# By the precision: the degree of the Taylor polynomial, and the norm up to which what it leaves out does not show.
_TAYLOR = {"f": (12, 1.5), "d": (18, 1.0)}


def linalg_matrix_exp(self: Array) -> Array:
    """The exponential, by scaling, approximants and squaring (Moler and Van Loan 2003, method 3).

    Those of large matrices are of Padé (Al-Mohy and Higham 2009).
    """
    check_square("linalg.matrix_exp", self)
    if self.size == 0:
        return np.empty(self.shape, self.dtype)
    size = self.shape[-1]
    if size == 1:
        return np.exp(self)
    if size > _MOST_SMALL or self.real.dtype.char not in _TAYLOR:
        from scipy.linalg import expm

        return np.asarray(expm(self)).astype(self.dtype, copy=False)
    matrices = self.reshape(-1, size, size)
    result = np.empty_like(matrices)
    count = max(1, _SIDE_BY_SIDE // (size * size))
    for start in range(0, len(matrices), count):
        part = slice(start, start + count)
        result[part] = np.moveaxis(_small_exp(np.ascontiguousarray(np.moveaxis(matrices[part], 0, -1))), -1, 0)
    return result.reshape(self.shape)


def _small_exp(A: Array) -> Array:
    """The exponential of matrices that lie along the last dimension, so that each step is one of long rows."""
    degree, bound = _TAYLOR[A.real.dtype.char]
    norm = np.absolute(A).sum(0).max(0)
    halvings = np.where(np.isfinite(norm) & (norm > bound), np.frexp(norm / bound)[1], 0)
    A = A * np.ldexp(np.ones_like(norm), -halvings)
    powers = [A, _products(A, A)]
    cube = _products(powers[1], A)
    diagonal = np.arange(len(A))

    def three_terms(start: int) -> Array:
        """Of the series, without the power of A in the first of them."""
        terms = powers[0] / factorial(start + 1) + powers[1] / factorial(start + 2)
        terms[diagonal, diagonal] += 1 / factorial(start)
        return terms

    result = three_terms(degree - 3) + cube / factorial(degree)
    for start in range(degree - 6, -1, -3):
        result = _products(result, cube) + three_terms(start)
    for done in range(int(halvings.max())):
        left = halvings > done
        if left.all():
            result = _products(result, result)
        else:
            some = result[..., left]
            result[..., left] = _products(some, some)
    return result


def _products(left: Array, right: Array) -> Array:
    """The product of matrices that lie along the last dimension."""
    result = left[:, :1] * right[:1]
    for k in range(1, len(left)):
        result += left[:, k : k + 1] * right[k : k + 1]
    return result


def linalg_cross(self: Array, other: Array, dim: int = -1) -> Array:
    """The product of vectors of length 3 that is orthogonal to both."""
    if self.ndim != other.ndim:
        raise RuntimeError(
            f"linalg.cross: inputs must have the same number of dimensions. Got {self.ndim} and {other.ndim}"
        )
    if self.ndim == 0:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    axis = normalize_dim(dim, self.ndim)
    if self.shape[axis] != 3 or other.shape[axis] != 3:
        raise RuntimeError(
            f"linalg.cross: inputs dimension {dim} must have length 3. Got {self.shape[axis]} and {other.shape[axis]}"
        )
    if self.dtype.kind == "b":
        raise NotImplementedError(f"\"cross\" not implemented for '{type_name(self.dtype)}'")
    a = np.moveaxis(self, axis, 0)
    b = np.moveaxis(other, axis, 0)
    parts = [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
    return np.stack(parts, axis)
