"""Derivatives of reductions, scans and sorts."""

from __future__ import annotations

import math
from collections.abc import Sequence

from runtime import ops
from runtime.base.conditions import holds_anywhere
from runtime.base.dtypes import finfo
from runtime.base.tensor import Tensor
from runtime.base.types import Scalar

# -- undoing a reduction


def _kept(value: Tensor, sizes: Sequence[int], dim: Sequence[int] | None, keepdim: bool) -> Tensor:
    """A reduced value with the reduced dims back as dims of size 1; if all are gone, it broadcasts as it is."""
    if keepdim or not dim or not sizes:
        return value
    if len(dim) == 1:
        return value.unsqueeze(dim[0])
    shape = list(sizes)
    for place in dim:
        shape[place] = 1
    return value.reshape(shape)


def expand_reduced(grad: Tensor, sizes: Sequence[int], dim: Sequence[int] | None, keepdim: bool) -> Tensor:
    """The gradient of a sum: every element gets the gradient of the sum it went into."""
    return _kept(grad, sizes, dim, keepdim).expand(sizes)


def count_reduced(sizes: Sequence[int], dim: Sequence[int] | None) -> int:
    """How many elements went into each result."""
    return math.prod(sizes[place] for place in dim) if dim and sizes else math.prod(sizes)


def mean_of(tangent: Tensor, dim: Sequence[int] | None, keepdim: bool) -> Tensor:
    """The mean over `dim`, over everything if there is none."""
    return tangent.mean(dim, keepdim)


# -- products


def _has_zero(x: Tensor) -> bool:
    return holds_anywhere(x == 0)


def _products_before(x: Tensor, dim: int) -> Tensor:
    """For each place along `dim`, the product of all elements before it."""
    ones = ops.ones_like(x.narrow(dim, 0, 1))
    return ops.cat([ones, x.narrow(dim, 0, x.shape[dim] - 1)], dim).cumprod(dim)


def product_of_others(x: Tensor, dim: int) -> Tensor:
    """For each place along `dim`, the product of all other elements: no division, so zeros do no harm."""
    if x.dim() == 0:
        return ops.ones_like(x)
    if x.shape[dim] == 0:
        return x
    return _products_before(x, dim) * _products_before(x.flip(dim), dim).flip(dim)


def prod_backward(grad: Tensor, self: Tensor, result: Tensor) -> Tensor:
    """Each element gets `grad` times the product of the others."""
    if self.dim() == 0:
        return grad
    if _has_zero(self):
        return grad * product_of_others(self.reshape(-1), 0).reshape(self.shape).conj()
    return grad * (result / self).conj()


def prod_jvp(self: Tensor, tangent: Tensor) -> Tensor:
    """The sum over all elements of tangent times the product of the others."""
    return (product_of_others(self.reshape(-1), 0) * tangent.reshape(-1)).sum()


def prod_dim_backward(grad: Tensor, self: Tensor, result: Tensor, dim: int, keepdim: bool) -> Tensor:
    """As `prod_backward`, along one dim."""
    if self.dim() == 0:
        return grad
    grad, result = _kept(grad, self.shape, [dim], keepdim), _kept(result, self.shape, [dim], keepdim)
    if _has_zero(self):
        return grad * product_of_others(self, dim).conj()
    return grad * (result / self).conj()


def prod_dim_jvp(self: Tensor, tangent: Tensor, dim: int, keepdim: bool) -> Tensor:
    """As `prod_jvp`, along one dim."""
    return (product_of_others(self, dim) * tangent).sum([dim], keepdim)


# -- variance


def _twice_over_freedom(self: Tensor, dim: Sequence[int] | None, correction: Scalar | None) -> float:
    freedom = count_reduced(self.shape, dim) - (1 if correction is None else float(correction.real))
    return 2.0 / freedom if freedom else math.inf


def _from_mean(self: Tensor, dim: Sequence[int] | None) -> Tensor:
    return self - self.mean(dim, True)


def var_backward(
    grad: Tensor, self: Tensor, dim: Sequence[int] | None, correction: Scalar | None, keepdim: bool
) -> Tensor:
    """Twice the distance from the mean, over the degrees of freedom."""
    factor = _twice_over_freedom(self, dim, correction)
    return (_kept(grad, self.shape, dim, keepdim) * factor) * _from_mean(self, dim)


def var_jvp(
    self: Tensor, tangent: Tensor, dim: Sequence[int] | None, correction: Scalar | None, keepdim: bool
) -> Tensor:
    """The mean moves too, but distances from it sum to zero: only the direct part is left."""
    away = _from_mean(self, dim)
    product = ops.real(away.conj() * tangent) if self.is_complex() else away * tangent
    return product.sum(dim, keepdim) * _twice_over_freedom(self, dim, correction)


def std_backward(
    grad: Tensor, self: Tensor, result: Tensor, dim: Sequence[int] | None, correction: Scalar | None, keepdim: bool
) -> Tensor:
    """Through the square root of the variance; zero where the deviation is zero."""
    through_root = (grad / (result * 2)).masked_fill(result == 0, 0)
    return var_backward(through_root, self, dim, correction, keepdim)


def std_jvp(
    self: Tensor, tangent: Tensor, result: Tensor, dim: Sequence[int] | None, correction: Scalar | None, keepdim: bool
) -> Tensor:
    """The variance's tangent through the square root; zero where the deviation is zero."""
    moved = var_jvp(self, tangent, dim, correction, keepdim)
    return (moved / (result * 2)).masked_fill(result == 0, 0)


def var_mean_backward(
    grad_var: Tensor | None,
    grad_mean: Tensor | None,
    self: Tensor,
    dim: Sequence[int] | None,
    correction: Scalar | None,
    keepdim: bool,
) -> Tensor | None:
    """The sum of both gradients, of those that there are."""
    result = None if grad_var is None else var_backward(grad_var, self, dim, correction, keepdim)
    return _with_mean(result, grad_mean, self, dim, keepdim)


def std_mean_backward(
    grad_std: Tensor | None,
    grad_mean: Tensor | None,
    self: Tensor,
    std: Tensor,
    dim: Sequence[int] | None,
    correction: Scalar | None,
    keepdim: bool,
) -> Tensor | None:
    """The sum of both gradients, of those that there are."""
    result = None if grad_std is None else std_backward(grad_std, self, std, dim, correction, keepdim)
    return _with_mean(result, grad_mean, self, dim, keepdim)


def _with_mean(
    result: Tensor | None, grad_mean: Tensor | None, self: Tensor, dim: Sequence[int] | None, keepdim: bool
) -> Tensor | None:
    if grad_mean is None:
        return result
    part = expand_reduced(grad_mean, self.shape, dim, keepdim) / count_reduced(self.shape, dim)
    return part if result is None else result + part


# -- extrema


def share_among_equals(grad: Tensor, self: Tensor, result: Tensor, dim: Sequence[int] | None, keepdim: bool) -> Tensor:
    """The gradient of an extremum goes in equal parts to all elements that attain it."""
    mask = self == _kept(result, self.shape, dim, keepdim)
    return _kept(grad, self.shape, dim, keepdim) * mask / mask.sum(dim, True)


def share_among_all_equals(grad: Tensor, self: Tensor, result: Tensor) -> Tensor:
    """As `share_among_equals`, over all elements; where the result is NaN, it goes to all that are."""
    mask = self == result
    if not mask.is_meta and not holds_anywhere(mask):
        mask = self.isnan()
    return grad * mask / mask.sum()


def mean_among_equals(
    tangent: Tensor, self: Tensor, result: Tensor, dim: Sequence[int] | None, keepdim: bool
) -> Tensor:
    """The mean tangent of the elements that attain the extremum."""
    mask = self == _kept(result, self.shape, dim, keepdim)
    return (tangent * mask).sum(dim, keepdim) / mask.sum(dim, keepdim)


def mean_among_equals_dim(tangent: Tensor, self: Tensor, result: Tensor, dim: int | None, keepdim: bool) -> Tensor:
    """As `mean_among_equals`, for an operator that reduces one dim or all."""
    return mean_among_equals(tangent, self, result, None if dim is None else [dim], keepdim)


def aminmax_backward(
    grad_min: Tensor | None,
    grad_max: Tensor | None,
    self: Tensor,
    low: Tensor,
    high: Tensor,
    dim: int | None,
    keepdim: bool,
) -> Tensor | None:
    """The sum of both gradients, of those that there are."""
    dims = None if dim is None else [dim]
    result = None if grad_min is None else share_among_equals(grad_min, self, low, dims, keepdim)
    if grad_max is None:
        return result
    part = share_among_equals(grad_max, self, high, dims, keepdim)
    return part if result is None else result + part


def scatter_along(grad: Tensor, sizes: Sequence[int], dim: int, indices: Tensor) -> Tensor:
    """Each gradient added where the element of its index came from."""
    if not sizes:
        return grad
    return grad.new_zeros(sizes).scatter_add(dim, indices, grad)


def gather_along(tangent: Tensor, dim: int, indices: Tensor) -> Tensor:
    """The tangents of the elements that `indices` name."""
    return tangent.gather(dim, indices) if tangent.dim() else tangent


def scatter_reduced(grad: Tensor, sizes: Sequence[int], dim: int, indices: Tensor, keepdim: bool) -> Tensor:
    """As `scatter_along`, for an operator that takes one element of each row."""
    if not sizes or keepdim:
        return scatter_along(grad, sizes, dim, indices)
    return scatter_along(grad.unsqueeze(dim), sizes, dim, indices.unsqueeze(dim))


def gather_reduced(tangent: Tensor, dim: int, indices: Tensor, keepdim: bool) -> Tensor:
    """As `gather_along`, for an operator that takes one element of each row."""
    if tangent.dim() == 0 or keepdim:
        return gather_along(tangent, dim, indices)
    return tangent.gather(dim, indices.unsqueeze(dim)).squeeze(dim)


# -- logsumexp and norms


def _softmax_of(self: Tensor, result: Tensor, dim: Sequence[int] | None, keepdim: bool) -> Tensor:
    """exp(self - result); where the result is -inf all elements are, and have weight 0."""
    kept = _kept(result, self.shape, dim, keepdim)
    return (self - kept.masked_fill(kept == -math.inf, 0)).exp()


def logsumexp_backward(grad: Tensor, self: Tensor, result: Tensor, dim: Sequence[int] | None, keepdim: bool) -> Tensor:
    """The softmax, as weights of the gradient."""
    return _kept(grad, self.shape, dim, keepdim) * _softmax_of(self, result, dim, keepdim).conj()


def logsumexp_jvp(self: Tensor, tangent: Tensor, result: Tensor, dim: Sequence[int] | None, keepdim: bool) -> Tensor:
    """The mean of the tangents with the softmax as weights."""
    return (_softmax_of(self, result, dim, keepdim) * tangent).sum(dim, keepdim)


def vector_norm_backward(
    grad: Tensor, self: Tensor, result: Tensor, ord: Scalar, dim: Sequence[int] | None, keepdim: bool
) -> Tensor | None:
    """The direction of steepest growth of each norm; zero at zero, the least of all choices there.

    The norm of order 0 counts: it has no gradient.
    """
    order = float(ord.real)
    if order == 0:
        return None
    grad, norm = _kept(grad, self.shape, dim, keepdim), _kept(result, self.shape, dim, keepdim)
    if order == 1:
        return grad * self.sgn()
    if order == 2:
        return self * (grad / norm.masked_fill(norm == 0, 1)).masked_fill(norm == 0, 0)
    if math.isinf(order):
        mask = self.abs() == norm
        return self.sgn() * (grad * mask / mask.sum(dim, True))
    scale = (grad / norm.pow(order - 1)).masked_fill(norm == 0, 0)
    if order < 1:
        return self.sgn() * self.abs().pow(order - 1).masked_fill(self == 0, 0) * scale
    if order < 2:
        return self.sgn() * self.abs().pow(order - 1) * scale
    return self * self.abs().pow(order - 2) * scale


def vector_norm_jvp(
    self: Tensor, tangent: Tensor, result: Tensor, ord: Scalar, dim: Sequence[int] | None, keepdim: bool
) -> Tensor:
    """The tangent's part along the direction of steepest growth."""
    direction = vector_norm_backward(ops.ones_like(result), self, result, ord, dim, keepdim)
    if direction is None:
        return ops.zeros_like(result)
    product = ops.real(direction.conj() * tangent) if self.is_complex() else direction * tangent
    return product.sum(dim, keepdim)


# -- scans


def cumprod_backward(grad: Tensor, self: Tensor, result: Tensor, dim: int) -> Tensor:
    """Element k gets the sum over i >= k of grad[i] times the product of x[j], j <= i, j != k.

    That is a division where there is something to divide.  Else it is the product before k times h[k], where
    h[k] = grad[k] + x[k + 1] * h[k + 1].
    """
    if self.dim() == 0 or self.numel() == 0:
        return grad
    if _divides(result):
        return (grad * result.conj()).flip(dim).cumsum(dim).flip(dim) / self.conj()
    x = self.conj()
    return _products_before(x, dim) * _sums_of_products(grad, x.narrow(dim, 1, x.shape[dim] - 1), dim)


def cumprod_jvp(self: Tensor, tangent: Tensor, result: Tensor, dim: int) -> Tensor:
    """The product rule along the scan: t[i] = t[i - 1] * x[i] + (product before i) * tangent[i]."""
    if self.dim() == 0 or self.numel() == 0:
        return tangent
    if _divides(result):
        return result * (tangent / self).cumsum(dim)
    factors = self.narrow(dim, 1, self.shape[dim] - 1).flip(dim)
    return _sums_of_products((_products_before(self, dim) * tangent).flip(dim), factors, dim).flip(dim)


def _divides(result: Tensor) -> bool:
    """Whether products may be divided by their factors: none of them is 0, subnormal, infinite or NaN."""
    sizes, limits = result.abs(), finfo(result.dtype)
    return not holds_anywhere((sizes >= limits.tiny).logical_and(sizes <= limits.max).logical_not())


def _sums_of_products(values: Tensor, factors: Tensor, dim: int) -> Tensor:
    """As `_running_sums`, where a product of factors may overflow although one further on is 0."""
    return _running_sums(values, factors, dim, None if factors.is_complex() else finfo(factors.dtype).max)


def _running_sums(values: Tensor, weights: Tensor, dim: int, most: float | None = None) -> Tensor:
    """h[k] = values[k] + weights[k] * h[k + 1] along a dimension; of the last element there is no weight.

    After each step an element holds what twice as many give, so that there are few steps of long operators.
    `most` is the bound of products of weights.
    """
    size, step = values.shape[dim], 1
    while step < size:
        more = weights * values.narrow(dim, step, size - step)
        values = ops.cat([values.narrow(dim, 0, size - step) + more, values.narrow(dim, size - step, step)], dim)
        far = size - 2 * step
        if far > 0:
            weights = weights.narrow(dim, 0, far) * weights.narrow(dim, step, far)
            weights = weights if most is None else weights.clamp(-most, most)
        step *= 2
    return values


def _running_shares(result: Tensor, dim: int) -> Tensor:
    """exp(y[k] - y[k + 1]), which is how much of a share is left one element later; at most 1 of real numbers."""
    size = result.shape[dim] - 1
    before, after = result.narrow(dim, 0, size), result.narrow(dim, 1, size)
    return (before - after).masked_fill(before.isinf().logical_and(before == after), 0).exp()


def _own_shares(self: Tensor, result: Tensor) -> Tensor:
    """exp(x[k] - y[k]): the share of each element in the sum that ends with it."""
    return (self - result.masked_fill(result == -math.inf, 0)).exp()


def logcumsumexp_backward(grad: Tensor, self: Tensor, result: Tensor, dim: int) -> Tensor:
    """Element k gets grad[i] weighted by its share in the sum, for all i >= k."""
    if self.dim() == 0 or self.numel() == 0:
        return grad
    return _running_sums(grad, _running_shares(result, dim).conj(), dim) * _own_shares(self, result).conj()


def logcumsumexp_jvp(self: Tensor, tangent: Tensor, result: Tensor, dim: int) -> Tensor:
    """The tangents weighted by their share in the sum."""
    if self.dim() == 0 or self.numel() == 0:
        return tangent
    shares = _running_shares(result, dim).flip(dim)
    return _running_sums((tangent * _own_shares(self, result)).flip(dim), shares, dim).flip(dim)
