"""Derivatives of distances.  Where two vectors are equal, all of them are zero."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from runtime import ops
from runtime.base.modes import grad_mode
from runtime.base.tensor import Tensor
from runtime.graph import forward


def _power(sizes: Tensor, exponent: float) -> Tensor:
    """A power of numbers that are not negative, 0 at 0."""
    return sizes.masked_fill(sizes == 0, 1).pow(exponent).masked_fill(sizes == 0, 0)


def _slopes(difference: Tensor, distance: Tensor, p: float) -> Tensor:
    """The derivatives of a norm by the elements of what it is of."""
    if p == 0:
        return ops.zeros_like(difference)
    if p == 1:
        return difference.sgn()
    if math.isinf(p):
        return difference.sgn() * (difference.abs() == distance)
    if p == 2:
        return difference * _power(distance, -1.0)
    return difference.sgn() * _power(difference.abs(), p - 1) * _power(distance, 1 - p)


def _differences(x1: Tensor, x2: Tensor) -> Tensor:
    return x1.unsqueeze(-2) - x2.unsqueeze(-3)


def cdist_jvp(x1: Tensor, x2: Tensor, x1_t: Tensor, x2_t: Tensor, p: float, result: Tensor) -> Tensor:
    """The part of each difference's tangent along the slopes."""
    slopes = _slopes(_differences(x1, x2), result.unsqueeze(-1), p)
    return (slopes * _differences(x1_t, x2_t)).sum([-1])


def cdist_gradient(grad: Tensor, x1: Tensor, x2: Tensor, p: float, result: Tensor) -> Tensor:
    """The gradient of `x1`: along the slopes, in blocks where nothing is differentiated again."""
    if not (grad_mode.enabled or forward.active()):
        return ops._cdist_backward(grad, x1, x2, p, result)
    return (grad.unsqueeze(-1) * _slopes(_differences(x1, x2), result.unsqueeze(-1), p)).sum([-2])


def cdist_slopes_of(grad: Tensor, x1: Tensor, x2: Tensor, p: float, cdist: Tensor) -> Tensor:
    """The gradient of what `_cdist_backward` was given: the part of its gradient along the slopes."""
    return (grad.unsqueeze(-2) * _slopes(_differences(x1, x2), cdist.unsqueeze(-1), p)).sum([-1])


def _pairs(x: Tensor) -> tuple[Tensor, Tensor]:
    first, second = ops.triu_indices(x.shape[0], x.shape[0], 1, device=x.device).unbind(0)
    return first, second


def pdist_jvp(self: Tensor, self_t: Tensor, p: float, result: Tensor) -> Tensor:
    """As `cdist_jvp`, for the pairs of one list."""
    first, second = _pairs(self)
    slopes = _slopes(self[first] - self[second], result.unsqueeze(-1), p)
    return (slopes * (self_t[first] - self_t[second])).sum([-1])


def pdist_gradient(grad: Tensor, self: Tensor, p: float, result: Tensor) -> Tensor:
    """As `cdist_gradient`, for the pairs of one list."""
    if not (grad_mode.enabled or forward.active()):
        return ops._pdist_backward(grad, self, p, result)
    first, second = _pairs(self)
    moved = grad.unsqueeze(-1) * _slopes(self[first] - self[second], result.unsqueeze(-1), p)
    return ops.zeros_like(self).index_add(0, first, moved).index_add(0, second, -moved)


def _euclidean_dist_backward(grad: Tensor, x1: Tensor, x2: Tensor, res: Tensor) -> tuple[Tensor, Tensor]:
    """The differences over the distance, as products with all vectors."""
    ratio = grad * _power(res, -1.0)
    other = ratio.mT
    of_x1 = x1 * ratio.sum([-1], True) - ops.matmul(ratio, x2)
    return of_x1, x2 * other.sum([-1], True) - ops.matmul(other, x1)


def _trilinear_backward(
    grad_out: Tensor,
    i1: Tensor | None,
    i2: Tensor | None,
    i3: Tensor | None,
    expand1: Sequence[int],
    expand2: Sequence[int],
    expand3: Sequence[int],
    sumdim: Sequence[int],
    grad_mask: Sequence[bool],
) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
    """Each factor gets the sum of the products of the gradient and the two others."""
    of_first = of_second = of_third = None
    first, second, third = (_conjugate(factor) for factor in (i1, i2, i3))
    if grad_mask[0]:
        of_first = ops._trilinear(grad_out, second, third, sumdim, expand2, expand3, expand1)
    if grad_mask[1]:
        of_second = ops._trilinear(first, grad_out, third, expand1, sumdim, expand3, expand2)
    if grad_mask[2]:
        of_third = ops._trilinear(first, second, grad_out, expand1, expand2, sumdim, expand3)
    return of_first, of_second, of_third


def _conjugate(factor: Tensor | None) -> Any:
    """What is not kept is not asked for either."""
    return None if factor is None else factor.conj()
