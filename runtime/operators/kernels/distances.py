"""Distances between vectors: of all pairs of two lists, and of all pairs of one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from runtime.base.arrays import Array, Number, element, normalize_dim

_BLOCK = 1 << 15  # elements that a step of a backward pass makes


def cdist_forward(x1: Array, x2: Array, p: float, compute_mode: int | None) -> Array:
    """The norm of order `p` of the difference of each vector of `x1` and each of `x2`."""
    _check_points("cdist", x1, x2)
    batch = np.broadcast_shapes(x1.shape[:-2], x2.shape[:-2])
    rows, columns = x1.shape[-2], x2.shape[-2]
    left = np.broadcast_to(x1, batch + x1.shape[-2:])
    right = np.broadcast_to(x2, batch + x2.shape[-2:])
    result = np.zeros((*batch, rows, columns), x1.dtype)
    if not result.size or not x1.shape[-1]:
        return result
    for place in np.ndindex(*batch):
        result[place] = _distances(left[place], right[place], p)
    return result


def _distances(left: Array, right: Array, p: float) -> Array:
    from scipy.spatial import distance

    if p == 0 and not (np.isfinite(left).all() and np.isfinite(right).all()):
        return _counted(left[:, None] - right)
    if p == 0:
        return np.asarray(np.rint(distance.cdist(left, right, "hamming") * left.shape[-1]))
    metric, options = _metric(p)
    return np.asarray(distance.cdist(left, right, metric, **options))


def _counted(difference: Array) -> Array:
    """How many elements are not zero; NaN where one is."""
    return np.asarray(np.minimum(np.ceil(np.abs(difference)), 1).sum(-1))


def _check_points(name: str, *arrays: Array) -> None:
    for number, array in enumerate(arrays, 1):
        if array.ndim < 2:
            raise RuntimeError(f"{name} only supports at least 2D tensors, X{number} got: {array.ndim}D")


def _metric(p: float) -> tuple[Any, dict[str, float]]:
    """What SciPy calls the norm of order `p`."""
    names = {1.0: "cityblock", 2.0: "euclidean", math.inf: "chebyshev"}
    return (names[p], {}) if p in names else ("minkowski", {"p": p})


def euclidean_dist(x1: Array, x2: Array) -> Array:
    """By the product of all vectors: quicker for many, and less exact for vectors that are close together."""
    _check_points("cdist", x1, x2)
    squares = np.square(x1).sum(-1)[..., :, None] + np.square(x2).sum(-1)[..., None, :]
    return np.asarray(np.sqrt(np.maximum(squares - 2 * (x1 @ x2.swapaxes(-1, -2)), 0)))


def _weighted_slopes(difference: Array, distance: Array, grad: Array, p: float) -> tuple[Array, Array]:
    """The derivatives of a norm by the elements of what it is of, but for a factor of each norm; with it, `grad`.

    Where the norm is zero, the factor is.
    """
    if p == 2:
        return difference, _quotient(grad, distance)
    if p == 1:
        return np.sign(difference), grad  # many times quicker than in place
    if math.isinf(p):
        greatest = np.abs(difference) == distance[..., None]
        return np.where(greatest, np.sign(difference), 0).astype(difference.dtype), np.where(distance == 0, 0, grad)
    sizes = np.abs(difference)
    sizes[sizes == 0] = 1  # where the sign is zero
    raised = np.power(sizes, p - 1, out=sizes)
    return np.multiply(np.sign(difference), raised, out=raised), _quotient(grad, distance, p - 1)


def _quotient(grad: Array, distance: Array, power: float = 1) -> Array:
    """`grad / distance ** power`, 0 where the distance is."""
    none = distance == 0
    return np.where(none, 0, grad / np.power(np.where(none, 1, distance), power))


def cdist_backward(grad: Array, x1: Array, x2: Array, p: float, cdist: Array) -> Array:
    """The gradient of `x1`, in blocks of its rows."""
    _check_points("cdist", x1, x2)
    batch = np.broadcast_shapes(x1.shape[:-2], x2.shape[:-2])
    left = np.broadcast_to(x1, batch + x1.shape[-2:])
    right = np.broadcast_to(x2, batch + x2.shape[-2:])
    result = np.zeros(left.shape, x1.dtype)
    if p == 0:  # a count does not move
        return result
    step = max(1, _BLOCK // max(1, right.shape[-2] * right.shape[-1]))
    for place in np.ndindex(*batch):
        for start in range(0, left.shape[-2], step):
            part = slice(start, start + step)
            difference = left[place][part, None] - right[place]
            slopes, factors = _weighted_slopes(difference, cdist[place][part], grad[place][part], p)
            result[place][part] = np.matmul(factors[:, None], slopes)[:, 0]
    return result


def pdist_forward(self: Array, p: float = 2) -> Array:
    """The norm of order `p` of the difference of each pair of rows, the first row's pairs first."""
    from scipy.spatial import distance

    if self.ndim == 0:
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    _check_points("pdist", self)
    if self.shape[0] <= 1 or not self.shape[1]:
        return np.zeros(self.shape[0] * (self.shape[0] - 1) // 2, self.dtype)
    if p == 0 and np.isfinite(self).all():
        return np.asarray(np.rint(distance.pdist(self, "hamming") * self.shape[1])).astype(self.dtype)
    if p == 0:
        first, second = np.triu_indices(self.shape[0], 1)
        return _counted(self[first] - self[second])
    metric, options = _metric(p)
    return np.asarray(distance.pdist(self, metric, **options)).astype(self.dtype)


def pdist_backward(grad: Array, self: Array, p: float, pdist: Array) -> Array:
    _check_points("pdist", self)
    result = np.zeros_like(self)
    if p == 0:  # a count does not move
        return result
    end = 0
    for first in range(len(self) - 1):
        start, end = end, end + len(self) - 1 - first
        difference = self[first] - self[first + 1 :]
        slopes, factors = _weighted_slopes(difference, pdist[start:end], grad[start:end], p)
        result[first] += factors @ slopes
        slopes *= factors[:, None]
        result[first + 1 :] -= slopes
    return result


# -- products of two vectors with a matrix, or of three Tensors


def trilinear(
    i1: Array,
    i2: Array,
    i3: Array,
    expand1: Sequence[int],
    expand2: Sequence[int],
    expand3: Sequence[int],
    sumdim: Sequence[int],
    unroll_dim: int = 1,
) -> Array:
    """The sum over `sumdim` of the products of all three, each of which has new dims where it says so."""
    rank = i1.ndim + len(expand1)
    expand1, expand2, expand3, sumdim = (
        [normalize_dim(dim, rank) for dim in dims] for dims in (expand1, expand2, expand3, sumdim)
    )
    for array, expanded in ((i1, expand1), (i2, expand2), (i3, expand3)):
        if array.ndim + len(expanded) != rank:
            raise IndexError(
                f"Dimension out of range (expected to be in range of [{-rank}, {rank - 1}], but got {array.ndim})"
            )
    operands: list[Any] = []
    for array, expanded in ((i1, expand1), (i2, expand2), (i3, expand3)):
        operands += [array, [dim for dim in range(rank) if dim not in expanded]]
    known = {dim for labels in operands[1::2] for dim in labels}
    kept = [dim for dim in range(rank) if dim not in sumdim]
    result = np.einsum(*operands, [dim for dim in kept if dim in known], optimize=True)
    for place, dim in enumerate(kept):
        if dim not in known:  # of size 1 in all three
            result = np.expand_dims(result, place)
    return np.asarray(result)


def addr(self: Array, vec1: Array, vec2: Array, beta: Number = 1, alpha: Number = 1) -> Array:
    """`beta * self + alpha * outer(vec1, vec2)`; with beta 0, NaN in `self` does not show."""
    for name, array in (("vec1", vec1), ("vec2", vec2)):
        if array.ndim != 1:
            raise RuntimeError(f"addr: Expected 1-D argument {name}, but got {array.ndim}-D")
    dtype = self.dtype
    if dtype.kind in "iub" and any(isinstance(number, float) for number in (beta, alpha)):
        raise RuntimeError("For integral input tensors, argument alpha must not be a floating point number.")
    product = np.multiply.outer(vec1, vec2)
    if alpha != 1:
        product = product * element(alpha, dtype)
    try:
        added = np.broadcast_to(self, product.shape)
    except ValueError:
        raise RuntimeError(
            f"The expanded size of the tensor {list(product.shape)} must match the existing size {list(self.shape)}"
        ) from None
    if beta == 0:
        return np.asarray(product)
    return np.asarray(product + (added if beta == 1 else added * element(beta, dtype)))
