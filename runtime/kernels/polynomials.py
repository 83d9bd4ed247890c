"""Orthogonal polynomials of each order, by their recurrences (Abramowitz and Stegun, 22.7).

Orders are rounded towards 0; below 0 the values are 0.  All is computed in double precision.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from runtime.kernels._common import Array, Number

# From p(k) and p(k - 1), for k and x, the value p(k + 1).
_Step: TypeAlias = Callable[[int, Array, Array, Array], Array]
_Closed: TypeAlias = Callable[[Array, Array], Array]

_MOST_RECURRENCES = 6  # of Chebyshev's polynomials, before their formula with an angle is as good
_MOST_HERMITE = 512  # above, each value has overflowed


def special_chebyshev_polynomial_t(x: Array | Number, n: Array | Number) -> Array:
    """The Chebyshev polynomial T of degree `n`."""
    return _chebyshev(x, n, lambda x: x, _cosines)


def special_chebyshev_polynomial_u(x: Array | Number, n: Array | Number) -> Array:
    """The Chebyshev polynomial U of degree `n`."""
    return _chebyshev(x, n, lambda x: 2 * x, _sines)


def special_chebyshev_polynomial_v(x: Array | Number, n: Array | Number) -> Array:
    """The Chebyshev polynomial V of degree `n`."""
    return _chebyshev(x, n, lambda x: 2 * x - 1, _half_cosines)


def special_chebyshev_polynomial_w(x: Array | Number, n: Array | Number) -> Array:
    """The Chebyshev polynomial W of degree `n`."""
    return _chebyshev(x, n, lambda x: 2 * x + 1, _half_sines)


def special_shifted_chebyshev_polynomial_t(x: Array | Number, n: Array | Number) -> Array:
    """The Chebyshev polynomial T of degree `n` at 2 x - 1."""
    return _chebyshev(x, n, lambda x: x, _cosines, shifted=True)


def special_shifted_chebyshev_polynomial_u(x: Array | Number, n: Array | Number) -> Array:
    """The Chebyshev polynomial U of degree `n` at 2 x - 1."""
    return _chebyshev(x, n, lambda x: 2 * x, _sines, shifted=True)


def special_shifted_chebyshev_polynomial_v(x: Array | Number, n: Array | Number) -> Array:
    """The Chebyshev polynomial V of degree `n` at 2 x - 1."""
    return _chebyshev(x, n, lambda x: 2 * x - 1, _half_cosines, shifted=True)


def special_shifted_chebyshev_polynomial_w(x: Array | Number, n: Array | Number) -> Array:
    """The Chebyshev polynomial W of degree `n` at 2 x - 1."""
    return _chebyshev(x, n, lambda x: 2 * x + 1, _half_sines, shifted=True)


def special_hermite_polynomial_h(x: Array | Number, n: Array | Number) -> Array:
    """Those of physicists, with the weight `exp(-x ** 2)`."""
    at, order, dtype = _operands(x, n)
    return _hermite(at, order, 2 * at, lambda k, x, last, before: 2 * (x * last - k * before)).astype(dtype)


def special_hermite_polynomial_he(x: Array | Number, n: Array | Number) -> Array:
    """Those of probability, with the weight `exp(-x ** 2 / 2)`."""
    at, order, dtype = _operands(x, n)
    return _hermite(at, order, at, lambda k, x, last, before: x * last - k * before).astype(dtype)


def special_laguerre_polynomial_l(x: Array | Number, n: Array | Number) -> Array:
    """The Laguerre polynomial of degree `n`."""
    at, order, dtype = _operands(x, n)

    def step(k: int, x: Array, last: Array, before: Array) -> Array:
        return np.asarray(((2 * k + 1 - x) * last - k * before) / (k + 1))

    ends = np.where(order < 0, 0.0, 1.0)
    return _with_ends(at == 0, ends, at, order, 1 - at, step).astype(dtype)


def special_legendre_polynomial_p(x: Array | Number, n: Array | Number) -> Array:
    """The Legendre polynomial of degree `n`."""
    at, order, dtype = _operands(x, n)

    def step(k: int, x: Array, last: Array, before: Array) -> Array:
        return np.asarray(((2 * k + 1) * x * last - k * before) / (k + 1))

    ends = np.where(order < 0, 0.0, np.where(order % 2 == 0, 1.0, at))
    return _with_ends(np.absolute(at) == 1, ends, at, order, at, step).astype(dtype)


def _operands(x: Array | Number, n: Array | Number) -> tuple[Array, Array, np.dtype]:
    """The places in double precision and the orders, of one shape, and the dtype of the result."""
    dtype = next(operand.dtype for operand in (x, n) if isinstance(operand, np.ndarray))
    at, order = np.broadcast_arrays(np.asarray(x, np.float64), np.asarray(n, np.float64))
    countable = np.absolute(order) < 2.0**63
    return at, np.where(countable, np.where(countable, order, -1).astype(np.int64), -1), dtype


def _chebyshev(
    x: Array | Number, n: Array | Number, first: Callable[[Array], Array], closed: _Closed, shifted: bool = False
) -> Array:
    """One of the four kinds, which differ in p(1) and in their formula for the cosine of an angle."""
    at, order, dtype = _operands(x, n)
    if shifted:
        at = 2 * at - 1
    angle = np.arccos(np.clip(at, -1, 1))
    by_angle = (np.absolute(at) == 1) & (order >= 0) | (np.absolute(at) < 1) & (order > _MOST_RECURRENCES)

    def step(k: int, x: Array, last: Array, before: Array) -> Array:
        return 2 * x * last - before

    return _with_ends(by_angle, closed(angle, order), at, order, first(at), step).astype(dtype)


def _cosines(angle: Array, n: Array) -> Array:
    return np.where(angle == np.pi, _sign(n), np.cos(n * angle))


def _sines(angle: Array, n: Array) -> Array:
    """`sin((n + 1) * angle) / sin(angle)`, and its limits at 0 and pi."""
    end = (angle == 0) | (angle == np.pi)
    limit = np.where(angle == 0, 1, _sign(n)) * (n + 1.0)
    return np.where(end, limit, np.sin((n + 1) * angle) / np.sin(np.where(end, 1, angle)))


def _half_cosines(angle: Array, n: Array) -> Array:
    end = angle == np.pi
    return np.where(end, _sign(n) * (2.0 * n + 1), np.cos((n + 0.5) * angle) / np.cos(np.where(end, 0, angle) / 2))


def _half_sines(angle: Array, n: Array) -> Array:
    end = angle == 0
    inner = np.sin((n + 0.5) * angle) / np.sin(np.where(end, 1, angle) / 2)
    return np.where(end, 2.0 * n + 1, np.where(angle == np.pi, _sign(n), inner))


def _sign(n: Array) -> Array:
    """`(-1) ** n`."""
    return 1.0 - 2 * (n % 2)


def _hermite(at: Array, order: Array, first: Array, step: _Step) -> Array:
    high = order > _MOST_HERMITE
    return _with_ends(high, np.full(at.shape, np.nan), at, order, first, step)


def _with_ends(known: Array, values: Array, at: Array, order: Array, first: Array, step: _Step) -> Array:
    """`values` where they are `known`, and elsewhere p(n) from p(0) = 1 and p(1) = `first`."""
    start = np.where(order < 0, 0.0, np.where(order == 0, 1.0, first))
    result = np.array(np.where(known, values, start)).ravel()
    left = np.flatnonzero(np.logical_not(known) & (order > 1))
    x, n, last = at.ravel()[left], order.ravel()[left], np.broadcast_to(first, at.shape).ravel()[left]
    before = np.ones_like(last)
    k = 1
    while left.size:
        before, last = last, step(k, x, last, before)
        result[left] = last
        k += 1
        going = (n > k) & np.logical_not(np.isnan(last))
        if not going.all():
            left, x, n, last, before = (each[going] for each in (left, x, n, last, before))
    return result.reshape(at.shape)
