"""Least squares and pseudoinverses."""

from __future__ import annotations

from typing import Any

import numpy as np

from runtime.base.arrays import Array, type_name
from runtime.operators.kernels._matrices import check_square, conjugate_transpose, lapack, places, singular_values, svd


def linalg_lstsq(
    self: Array, b: Array, rcond: float | None = None, driver: str | None = None
) -> tuple[Array, Array, Array, Array]:
    """The solutions of least length, the sums of squares that are left, the ranks and the singular values.

    What a driver does not compute is empty.
    """
    name = driver or "gelsy"
    vector = _check_sides(self, b, name)
    sides = b[..., None] if vector else b
    rows, columns = self.shape[-2:]
    batch = np.broadcast_shapes(self.shape[:-2], sides.shape[:-2])
    matrices = np.broadcast_to(self, batch + self.shape[-2:])
    sides = np.broadcast_to(sides, batch + sides.shape[-2:])
    cut = np.finfo(self.dtype).eps * max(rows, columns) if rcond is None else rcond
    room = np.zeros((*batch, sides.shape[-1], max(rows, columns)), self.dtype)
    result = room.swapaxes(-1, -2)[..., :columns, :]  # LAPACK writes solutions over the right sides
    ranks = np.zeros(batch, np.int64)
    sizes = np.zeros((*batch, min(rows, columns)), self.real.dtype)
    solve = _driver(name, self, sides, cut)
    for place in places(matrices, sides):
        result[place], sizes[place], ranks[place] = solve(matrices[place], sides[place])
    residuals = np.empty(0, sizes.dtype)
    if rows > columns and (name == "gels" or (name != "gelsy" and bool((ranks == columns).all()))):
        away = matrices @ result - sides
        residuals = np.asarray((away * away.conj()).real.sum(-2))
    return (
        result[..., 0] if vector else result,
        residuals,
        np.empty(0, np.int64) if name == "gels" else ranks,
        sizes if name in ("gelsd", "gelss") else np.empty(0, sizes.dtype),
    )


def _check_sides(self: Array, b: Array, driver: str) -> bool:
    """Whether the right side is a vector for each matrix."""
    name = "torch.linalg.lstsq"
    if self.ndim < 2:
        raise RuntimeError(f"{name}: input must have at least 2 dimensions.")
    if b.ndim < 1:
        raise RuntimeError(f"{name}: other must have at least 1 dimension.")
    if self.dtype != b.dtype:
        raise RuntimeError(
            f"{name}: Expected input and other to have the same dtype, but got input's dtype {type_name(self.dtype)} "
            f"and other's dtype {type_name(b.dtype)}"
        )
    if driver not in ("gels", "gelsy", "gelsd", "gelss"):
        raise RuntimeError(f"{name}: parameter `driver` should be one of (gels, gelsy, gelsd, gelss)")
    vector = b.ndim == 1 or (self.ndim - 1 == b.ndim and b.shape == self.shape[:-1])
    if vector and self.shape[-2] != b.shape[-1]:
        raise RuntimeError(f"{name}: input.size(-2) should match other.size(-1)")
    if not vector and self.shape[-2] != b.shape[-2]:
        raise RuntimeError(f"{name}: input.size(-2) should match other.size(-2)")
    return vector


def _driver(name: str, matrices: Array, sides: Array, cut: float) -> Any:
    """A function of one system: its solution, singular values (zeros where there are none) and rank."""
    rows, columns = matrices.shape[-2:]
    least = min(rows, columns)
    function = lapack(name, matrices, sides)
    none = np.zeros(least)

    def padded(side: Array) -> Array:
        """The side with room for a solution that is longer."""
        room = np.zeros((max(rows, columns), side.shape[-1]), side.dtype)
        room[:rows] = side
        return room

    def gels(matrix: Array, side: Array) -> tuple[Array, Array, int]:
        _, solution, _ = function(matrix, padded(side))
        return solution[:columns], none, least

    def gelsy(matrix: Array, side: Array) -> tuple[Array, Array, int]:
        work = lapack("gelsy_lwork", matrix, side)(rows, columns, side.shape[-1], cut)[0]
        order = np.zeros((columns, 1), np.int32)
        _, solution, _, rank, _ = function(matrix, padded(side), order, cut, int(work.real), False, False)
        return solution[:columns], none, rank

    def gelss(matrix: Array, side: Array) -> tuple[Array, Array, int]:
        work = lapack("gelss_lwork", matrix, side)(rows, columns, side.shape[-1], cut)[0]
        _, solution, values, rank, _, _ = function(matrix, padded(side), cut, int(work.real), False, False)
        return solution[:columns], values, rank

    def gelsd(matrix: Array, side: Array) -> tuple[Array, Array, int]:
        sizes = lapack("gelsd_lwork", matrix, side)(rows, columns, side.shape[-1], cut)
        sizes = [max(int(np.real(size)), 1) for size in sizes[:-1]]
        solution, values, rank, _ = function(matrix, padded(side), *sizes, cut, False, False)
        return solution[:columns], values, rank

    return {"gels": gels, "gelsy": gelsy, "gelss": gelss, "gelsd": gelsd}[name]


def linalg_pinv(self: Array, atol: Array | None = None, rtol: Array | None = None, hermitian: bool = False) -> Array:
    """The inverse on the span of the singular vectors whose values are larger than max(atol, rtol * the largest)."""
    if self.ndim < 2:
        raise RuntimeError(
            f"linalg.pinv({type_name(self.dtype)}{{{list(self.shape)}}}): expected a tensor with 2 or more dimensions "
            "of float, double, cfloat or cdouble types"
        )
    if hermitian:
        check_square("linalg.eigh", self)
    rows, columns = self.shape[-2:]
    if self.size == 0:
        return np.empty((*self.shape[:-2], columns, rows), self.dtype)
    if hermitian:
        values, U = np.linalg.eigh(self)
        Vh = conjugate_transpose(U)
    else:
        U, values, Vh = svd(self, full_matrices=False)
    sizes = np.abs(values)
    limit = tolerance(self, sizes, atol, rtol)
    kept = sizes > limit[..., None]
    inverse = np.where(kept, 1 / np.where(kept, values, 1), 0).astype(self.dtype)
    return np.asarray((conjugate_transpose(Vh) * inverse[..., None, :]) @ conjugate_transpose(U))


def tolerance(matrix: Array, sizes: Array, atol: Array | None, rtol: Array | None) -> Array:
    """Up to where a singular value counts as zero: by default eps times the longer side times the largest."""
    absolute = np.zeros(()) if atol is None else atol
    if rtol is None:
        relative = np.asarray(np.finfo(matrix.dtype).eps * max(matrix.shape[-2:]))
        if atol is not None:
            relative = np.where(absolute > 0, 0.0, relative)
    else:
        relative = rtol
    return np.asarray(np.maximum(absolute, relative * sizes.max(-1)))


def linalg_matrix_rank(
    input: Array, atol: Array | None = None, rtol: Array | None = None, hermitian: bool = False
) -> Array:
    """How many singular values count, up to the limit of `tolerance`."""
    if input.ndim < 2:
        raise RuntimeError("torch.linalg.matrix_rank: The input tensor input must have at least 2 dimensions.")
    if input.size == 0:
        return np.zeros(input.shape[:-2], np.int64)
    if hermitian:
        check_square("linalg.eigh", input)
        sizes = np.abs(np.linalg.eigvalsh(input))
    else:
        sizes = singular_values(input)
    return np.asarray((sizes > tolerance(input, sizes, atol, rtol)[..., None]).sum(-1))
