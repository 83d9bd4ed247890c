"""Orthogonal polynomials of each order, by their recurrences (Abramowitz and Stegun, 22.7).

Orders are rounded towards 0; below 0 the values are 0.  All is computed in double precision.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from runtime.base.arrays import Array, Number
from runtime.operators.kernels._blocks import blocked

# From p(k) and p(k - 1), for k and x, the value p(k + 1), which is put into the last array; p(k - 1) is not kept.
_Step: TypeAlias = Callable[[int, Array, Array, Array, Array], None]
_Closed: TypeAlias = Callable[[Array, Array], Array]

# Of Chebyshev's polynomials, before their formula with an angle is better: where the result is of double precision, and
# where what the recurrence loses does not show.
_MOST_RECURRENCES, _MOST_SHORT_RECURRENCES = 6, 64
_MOST_HERMITE = 512  # above, each value has overflowed
_MOST_TOGETHER = 8  # the highest order up to which it takes longer to sort orders than to take all steps for all
_NAN_AFTER = 64  # steps, after which it is looked whether anything but NaN is left


@blocked
def special_chebyshev_polynomial_t(x: Array | Number, n: Array | Number) -> Array:
    """The Chebyshev polynomial T of degree `n`."""
    return _chebyshev(x, n, lambda x: x, _cosines)


@blocked
def special_chebyshev_polynomial_u(x: Array | Number, n: Array | Number) -> Array:
    """The Chebyshev polynomial U of degree `n`."""
    return _chebyshev(x, n, lambda x: 2 * x, _sines)


@blocked
def special_chebyshev_polynomial_v(x: Array | Number, n: Array | Number) -> Array:
    """The Chebyshev polynomial V of degree `n`."""
    return _chebyshev(x, n, lambda x: 2 * x - 1, _half_cosines)


@blocked
def special_chebyshev_polynomial_w(x: Array | Number, n: Array | Number) -> Array:
    """The Chebyshev polynomial W of degree `n`."""
    return _chebyshev(x, n, lambda x: 2 * x + 1, _half_sines)


@blocked
def special_shifted_chebyshev_polynomial_t(x: Array | Number, n: Array | Number) -> Array:
    """The Chebyshev polynomial T of degree `n` at 2 x - 1."""
    return _chebyshev(x, n, lambda x: x, _cosines, shifted=True)


@blocked
def special_shifted_chebyshev_polynomial_u(x: Array | Number, n: Array | Number) -> Array:
    """The Chebyshev polynomial U of degree `n` at 2 x - 1."""
    return _chebyshev(x, n, lambda x: 2 * x, _sines, shifted=True)


@blocked
def special_shifted_chebyshev_polynomial_v(x: Array | Number, n: Array | Number) -> Array:
    """The Chebyshev polynomial V of degree `n` at 2 x - 1."""
    return _chebyshev(x, n, lambda x: 2 * x - 1, _half_cosines, shifted=True)


@blocked
def special_shifted_chebyshev_polynomial_w(x: Array | Number, n: Array | Number) -> Array:
    """The Chebyshev polynomial W of degree `n` at 2 x - 1."""
    return _chebyshev(x, n, lambda x: 2 * x + 1, _half_sines, shifted=True)


@blocked
def special_hermite_polynomial_h(x: Array | Number, n: Array | Number) -> Array:
    """Those of physicists, with the weight `exp(-x ** 2)`."""
    at, order, dtype = _operands(x, n)
    return _hermite(2 * at, order, 2).astype(dtype)


@blocked
def special_hermite_polynomial_he(x: Array | Number, n: Array | Number) -> Array:
    """Those of probability, with the weight `exp(-x ** 2 / 2)`."""
    at, order, dtype = _operands(x, n)
    return _hermite(at, order, 1).astype(dtype)


@blocked
def special_laguerre_polynomial_l(x: Array | Number, n: Array | Number) -> Array:
    """The Laguerre polynomial of degree `n`."""
    at, order, dtype = _operands(x, n)

    def step(k: int, x: Array, last: Array, before: Array, out: Array) -> None:
        np.subtract(2 * k + 1, x, out=out)
        _next_quotient(k, last, before, out)

    return _by_recurrence(at, order, 1 - at, step).astype(dtype)


@blocked
def special_legendre_polynomial_p(x: Array | Number, n: Array | Number) -> Array:
    """The Legendre polynomial of degree `n`."""
    at, order, dtype = _operands(x, n)

    def step(k: int, x: Array, last: Array, before: Array, out: Array) -> None:
        np.multiply(2 * k + 1, x, out=out)
        _next_quotient(k, last, before, out)

    return _by_recurrence(at, order, at, step).astype(dtype)


def _next_quotient(k: int, last: Array, before: Array, out: Array) -> None:
    """`(out * last - k * before) / (k + 1)`."""
    out *= last
    before *= k
    out -= before
    out /= k + 1


def _operands(x: Array | Number, n: Array | Number) -> tuple[Array, Array, np.dtype]:
    """The places in double precision and the orders, and the dtype of the result."""
    dtype = next(operand.dtype for operand in (x, n) if isinstance(operand, np.ndarray))
    at, order = np.asarray(x, np.float64), np.asarray(n, np.float64)
    countable = np.absolute(order) < 2.0**63
    return at, np.where(countable, np.where(countable, order, -1).astype(np.int64), -1), dtype


def _chebyshev(
    x: Array | Number, n: Array | Number, first: Callable[[Array], Array], closed: _Closed, shifted: bool = False
) -> Array:
    """One of the four kinds, which differ in p(1) and in their formula for the cosine of an angle."""
    at, order, dtype = _operands(x, n)
    if shifted:
        at = 2 * at - 1

    def step(k: int, twice: Array, last: Array, before: Array, out: Array) -> None:
        np.multiply(twice, last, out=out)
        out -= before

    high = order > (_MOST_RECURRENCES if dtype.itemsize == 8 else _MOST_SHORT_RECURRENCES)
    if not high.any():
        return _by_recurrence(2 * at, order, first(at), step).astype(dtype)
    at, order = np.broadcast_arrays(at, order)
    by_angle = high & (np.absolute(at) <= 1)
    others = np.logical_not(by_angle)
    result = np.empty(at.shape)
    result[by_angle] = closed(np.arccos(at[by_angle]), order[by_angle])
    result[others] = _by_recurrence(2 * at[others], order[others], first(at[others]), step)
    return result.astype(dtype)


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


def _hermite(first: Array, order: Array, factor: int) -> Array:
    """From p(k + 1) = p(1) p(k) - `factor` k p(k - 1)."""

    def step(k: int, first: Array, last: Array, before: Array, out: Array) -> None:
        np.multiply(first, last, out=out)
        before *= factor * k
        out -= before

    high = order > _MOST_HERMITE
    if not high.any():
        return _by_recurrence(first, order, first, step)
    return np.where(high, np.nan, _by_recurrence(first, np.where(high, 0, order), first, step))


def _by_recurrence(x: Array, order: Array, first: Array, step: _Step) -> Array:
    """p(n) from p(0) = 1 and p(1) = `first`; the steps get `x`.

    Where orders are high the highest stand first, so that what is not done yet is always a beginning.
    """
    if order.ndim == 0:
        return _of_order(int(order), x, first, step)
    x, order, first = np.broadcast_arrays(x, order, first)
    most = int(order.max(initial=0))
    if most <= _MOST_TOGETHER:
        return _of_low_orders(order, most, x, first, step)
    sequence = np.argsort(order, axis=None)[::-1]
    n, at, last = order.ravel()[sequence], x.ravel()[sequence], first.ravel()[sequence]
    found = np.where(n < 0, 0.0, np.where(n == 0, 1.0, last))
    before, out = np.ones_like(last), np.empty_like(last)
    k, left = 1, int(np.count_nonzero(n > 1))
    while left:
        step(k, at[:left], last[:left], before[:left], out[:left])
        before, last, out = last, out, before
        k += 1
        still = left if n[left - 1] > k else int(np.count_nonzero(n[:left] > k))
        if k % _NAN_AFTER == 0 and np.isnan(last[:left]).all():
            still = 0
        found[still:left] = last[still:left]
        left = still
    result = np.empty_like(found)
    result[sequence] = found
    return result.reshape(order.shape)


def _of_low_orders(order: Array, most: int, x: Array, first: Array, step: _Step) -> Array:
    """As `_by_recurrence`, with every step for all elements."""
    before, last, out = np.ones(order.shape), np.array(first, order="C"), np.empty(order.shape)
    result = np.where(order < 1, np.where(order < 0, 0.0, 1.0), last)
    for k in range(1, most):
        step(k, x, last, before, out)
        before, last, out = last, out, before
        np.copyto(result, last, where=order > k)
    return result


def _of_order(n: int, x: Array, first: Array, step: _Step) -> Array:
    """As `_by_recurrence`, where all are of one order."""
    if n <= 0:
        return np.full(x.shape, float(n == 0))
    before, last, out = np.ones_like(x), np.array(first), np.empty_like(x)
    for k in range(1, n):
        step(k, x, last, before, out)
        before, last, out = last, out, before
        if k % _NAN_AFTER == 0 and np.isnan(last).all():
            break
    return last
