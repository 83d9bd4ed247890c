"""Functions of whole matrices, and products of vectors that make vectors."""

from __future__ import annotations

import numpy as np

from runtime.kernels._common import Array, normalize_dim, type_name
from runtime.kernels._matrices import check_square


def linalg_matrix_exp(self: Array) -> Array:
    """The exponential, by scaling, Padé approximants and squaring (Al-Mohy and Higham 2009)."""
    from scipy.linalg import expm

    check_square("linalg.matrix_exp", self)
    if self.size == 0:
        return np.empty(self.shape, self.dtype)
    return np.asarray(expm(self)).astype(self.dtype, copy=False)


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
