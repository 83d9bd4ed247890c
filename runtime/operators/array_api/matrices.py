"""Linear algebra, complex numbers of two parts, and Fourier transforms: the extensions of the standard."""

from __future__ import annotations

from collections.abc import Sequence

from runtime.operators.array_api._common import Array, Namespace, one_dim


def linalg_inv_ex(xp: Namespace, A: Array, check_errors: bool = False) -> tuple[Array, Array]:
    return xp.linalg.inv(A), xp.zeros(A.shape[:-2], dtype=xp.int32)


def linalg_solve_triangular(
    xp: Namespace, self: Array, B: Array, upper: bool, left: bool = True, unitriangular: bool = False
) -> Array:
    matrices = xp.triu(self) if upper else xp.tril(self)
    if unitriangular:
        one = xp.eye(self.shape[-1], dtype=self.dtype)
        matrices = xp.where(one == 1, one, matrices)
    if left:
        return _solved(xp, matrices, B)
    return xp.matrix_transpose(_solved(xp, xp.matrix_transpose(matrices), xp.matrix_transpose(B)))


def _solved(xp: Namespace, matrices: Array, sides: Array) -> Array:
    """The solutions, where the matrices and the right sides may be broadcast."""
    batch = xp.broadcast_arrays(matrices[..., 0, 0], sides[..., 0, 0])[0].shape if sides.shape[-1] else sides.shape[:-2]
    matrices = xp.broadcast_to(matrices, (*batch, *matrices.shape[-2:]))
    return xp.linalg.solve(matrices, xp.broadcast_to(sides, (*batch, *sides.shape[-2:])))


def linalg_cross(xp: Namespace, self: Array, other: Array, dim: int = -1) -> Array:
    if self.ndim != other.ndim:
        raise RuntimeError("linalg.cross: inputs must have the same number of dimensions.")
    place = one_dim(dim, self.ndim)
    if self.shape[place] != 3 or other.shape[place] != 3:
        raise RuntimeError(
            f"linalg.cross: inputs dimension {dim} must have length 3. Got {self.shape[place]} and {other.shape[place]}"
        )
    self, other = xp.broadcast_arrays(self, other)
    return xp.linalg.cross(self, other, axis=place - self.ndim)


def complex_default(xp: Namespace, real: Array, imag: Array) -> Array:
    return real + imag * 1j


def view_as_complex(xp: Namespace, self: Array) -> Array:
    return complex_default(xp, self[..., 0], self[..., 1])


def view_as_real(xp: Namespace, self: Array) -> Array:
    return xp.stack([xp.real(self), xp.imag(self)], axis=-1)


def _fft_c2c(xp: Namespace, self: Array, dim: Sequence[int], normalization: int, forward: bool) -> Array:
    if not dim:
        return self
    if forward:
        return xp.fft.fftn(self, axes=tuple(dim), norm=_FORWARD[normalization])
    return xp.fft.ifftn(self, axes=tuple(dim), norm=_BACKWARD[normalization])


def _fft_r2c(xp: Namespace, self: Array, dim: Sequence[int], normalization: int, onesided: bool) -> Array:
    if onesided:
        return xp.fft.rfftn(self, axes=tuple(dim), norm=_FORWARD[normalization])
    return xp.fft.fftn(complex_default(xp, self, xp.zeros_like(self)), axes=tuple(dim), norm=_FORWARD[normalization])


def _fft_c2r(xp: Namespace, self: Array, dim: Sequence[int], normalization: int, last_dim_size: int) -> Array:
    sizes = [*(self.shape[axis] for axis in dim[:-1]), last_dim_size]
    return xp.fft.irfftn(self, s=tuple(sizes), axes=tuple(dim), norm=_BACKWARD[normalization])


# What is divided by: nothing, the root of the number of elements, the number of elements.
_FORWARD = ("backward", "ortho", "forward")
_BACKWARD = ("forward", "ortho", "backward")
