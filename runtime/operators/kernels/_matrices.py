"""What the kernels of linear algebra share: checks of matrices, and LAPACK's functions for each matrix of a batch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from runtime.base.arrays import Array
from runtime.native import core


def check_square(name: str, matrix: Array) -> None:
    check_matrix(name, matrix)
    if matrix.shape[-1] != matrix.shape[-2]:
        raise RuntimeError(
            f"{name}: A must be batches of square matrices, but they are {matrix.shape[-2]} by {matrix.shape[-1]} "
            "matrices"
        )


def check_matrix(name: str, matrix: Array) -> None:
    if matrix.ndim < 2:
        raise RuntimeError(f"{name}: The input tensor A must have at least 2 dimensions.")


def places(*arrays: Array) -> Iterator[tuple[int, ...]]:
    """The indices of the matrices in a batch; none where a matrix has no elements."""
    if all(array.size for array in arrays):
        yield from np.ndindex(*arrays[0].shape[:-2])


def lapack(name: str, *arrays: Array) -> Any:
    """LAPACK's function for the dtype of the arrays."""
    from scipy.linalg import get_lapack_funcs

    return get_lapack_funcs((name,), arrays)[0]


def svd(matrix: Array, full_matrices: bool = True) -> tuple[Array, Array, Array]:
    """`np.linalg.svd`, over infinities NaN: LAPACK may go on for ever over them.

    Raises:
        numpy.linalg.LinAlgError: there is NaN in a matrix.
    """
    infinite = _infinite(matrix)
    U, values, Vh = np.linalg.svd(_without(matrix, infinite), full_matrices=full_matrices)
    return _spoiled(U, infinite), _spoiled(values, infinite), _spoiled(Vh, infinite)


def singular_values(matrix: Array) -> Array:
    """The second result of `svd`."""
    infinite = _infinite(matrix)
    return _spoiled(np.linalg.svd(_without(matrix, infinite), compute_uv=False), infinite)


def _infinite(matrix: Array) -> Array:
    """Which matrices have infinities, and no NaN."""
    return np.asarray(np.isinf(matrix).any(axis=(-2, -1)) & ~np.isnan(matrix).any(axis=(-2, -1)))


def _without(matrix: Array, infinite: Array) -> Array:
    return np.where(infinite[..., None, None], np.asarray(0, matrix.dtype), matrix) if infinite.any() else matrix


def _spoiled(result: Array, infinite: Array) -> Array:
    if not infinite.any():
        return result
    places = infinite.reshape(*infinite.shape, *(1,) * (result.ndim - infinite.ndim))
    return np.where(places, np.asarray(np.nan, result.dtype), result)


def conjugate_transpose(matrix: Array) -> Array:
    """The conjugate transpose; a view of a real matrix."""
    swapped = matrix.swapaxes(-1, -2)
    return swapped.conj() if matrix.dtype.kind == "c" else swapped


def broadcast_batches(*arrays: Array) -> tuple[Array, ...]:
    """Matrices with one shape of batch."""
    batch = np.broadcast_shapes(*[array.shape[:-2] for array in arrays])
    return tuple(np.broadcast_to(array, batch + array.shape[-2:]) for array in arrays)


def raise_singular(message: str, info: Array, error: type[Exception] = np.linalg.LinAlgError) -> None:
    """Raise for the first matrix with a number in `info`, which stands for `{}`; a batch is told where that is."""
    if not info.any():
        return
    place = int(np.flatnonzero(info)[0])
    name, _, what = message.partition(": ")
    batch = f"(Batch element {place}): " if info.ndim else ""
    raise error(f"{name}: {batch}{what.format(int(info.flat[place]))}")


# -- factors and triangles


def lu_factors(matrix: Array) -> tuple[Array, Array, Array]:
    """L and U in one array, pivots counted from 1, and for each matrix 0 or the place of a pivot that is zero."""
    rank = min(matrix.shape[-2:])
    pivots = np.empty((*matrix.shape[:-2], rank), np.int32)
    info = np.zeros(matrix.shape[:-2], np.int32)
    if are_small(matrix) and np.isfinite(matrix).all():  # among NaN LAPACK's choice of pivots is its own
        factors = np.array(matrix, order="C")
        core.factor_matrices(_batch(factors), pivots.reshape(-1, rank), info.reshape(-1))
        return factors, pivots, info
    factors = np.empty(matrix.shape, matrix.dtype)
    factor = lapack("getrf", matrix)
    for place in places(matrix):
        factors[place], order, info[place] = factor(matrix[place])
        pivots[place] = order + 1
    return factors, pivots, info


def lu_solved(factors: Array, pivots: Array, sides: Array, transposed: int = 0) -> Array:
    """The solutions of systems, column by column; `transposed` as LAPACK counts: 0 is the matrix, 2 its adjoint."""
    result = np.empty((*sides.shape[:-2], sides.shape[-1], sides.shape[-2]), sides.dtype).swapaxes(-1, -2)
    if are_small(factors, sides):
        found = np.array(sides, order="C")
        swaps = np.require(pivots, requirements=("C", "W")).reshape(-1, pivots.shape[-1])
        core.solve_factors(_batch(np.require(factors, requirements=("C", "W"))), swaps, _batch(found), bool(transposed))
        result[...] = found
        return result
    solve = lapack("getrs", factors, sides)
    for place in places(sides, factors):
        result[place] = solve(factors[place], pivots[place] - 1, sides[place], trans=transposed)[0]
    return result


def triangles_solved(matrices: Array, sides: Array, *, lower: bool, unit: bool = False) -> Array:
    """X with A X = B for each matrix of a batch, of which one triangle is read.

    What is on the diagonal divides: a singular matrix gives infinities, and no error.
    """
    if are_small(matrices, sides):
        result = np.array(sides, order="C")
        core.solve_triangles(_batch(np.require(matrices, requirements=("C", "W"))), _batch(result), lower, unit)
        return result
    from scipy.linalg import blas

    result = np.empty(sides.shape, sides.dtype)
    (solve,) = blas.get_blas_funcs(("trsm",), (matrices, sides))
    for place in places(sides, matrices):
        result[place] = solve(1.0, matrices[place], sides[place], lower=lower, diag=unit)
    return result


_MOST_SMALL = 32


def are_small(*arrays: Array) -> bool:
    """Whether the core does it: real matrices, so small that a call of LAPACK for each costs more than its work."""
    first = arrays[0]
    if core is None or max(first.shape[-2:]) > _MOST_SMALL or first.dtype not in (np.float32, np.float64):
        return False
    return all(array.size and array.dtype == first.dtype for array in arrays)


def _batch(array: Array) -> Array:
    return array.reshape(-1, *array.shape[-2:])


def permutation(pivots: Array, rows: int) -> Array:
    """The order of rows that exchanges one after the other leave: row i comes from row `order[i]`."""
    order = np.broadcast_to(np.arange(rows), (*pivots.shape[:-1], rows)).copy()
    for step in range(pivots.shape[-1]):
        other = pivots[..., step : step + 1].astype(np.int64) - 1
        moved = np.take_along_axis(order, other, -1)
        np.put_along_axis(order, other, order[..., step : step + 1], -1)
        order[..., step : step + 1] = moved
    return order


def swap_sign(pivots: Array) -> Array:
    """1 or -1, by how many rows were exchanged."""
    swaps = (pivots != np.arange(1, pivots.shape[-1] + 1)).sum(-1)
    return np.asarray(1 - 2 * (swaps % 2))
