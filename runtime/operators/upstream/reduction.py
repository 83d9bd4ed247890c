"""Reductions and scans."""

from __future__ import annotations

import math
from collections.abc import Sequence

from runtime import ops
from runtime.base.tensor import Tensor
from runtime.base.types import Scalar
from runtime.operators.helpers import reduction
from runtime.operators.upstream._common import or_zeros

# -- sums and means


def sum_backward(grad: Tensor, sizes: Sequence[int], opt_dims: Sequence[int] | None, keepdim: bool) -> Tensor:
    """Every element gets the gradient of the sum that it went into."""
    return reduction.expand_reduced(grad, sizes, opt_dims, keepdim)


def mean_backward(
    grad: Tensor, shape: Sequence[int], opt_dim: Sequence[int] | None, numel: int, keepdim: bool
) -> Tensor:
    """As `sum_backward`, over the number of elements that went into each mean."""
    count = reduction.count_reduced(shape, opt_dim) if opt_dim else numel
    spread = reduction.expand_reduced(grad, shape, opt_dim, keepdim)
    return spread / count if count else spread


def nansum_backward(grad: Tensor, self: Tensor, dims: Sequence[int] | None, keepdim: bool) -> Tensor:
    """As `sum_backward`; what was left out of the sum gets zero."""
    return ops.where(self.isnan(), 0, reduction.expand_reduced(grad, self.shape, dims, keepdim))


def restore_reduced_dims(output: Tensor, dims: Sequence[int], keepdim: bool) -> Tensor:
    """A reduced value with the reduced dims back as dims of size 1; if all are gone, it broadcasts as it is."""
    if keepdim or not dims:
        return output
    rank = output.dim() + len(dims)
    sizes = list(output.shape)
    for dim in sorted(dim % rank for dim in dims):
        sizes.insert(dim, 1)
    return output.reshape(sizes)


def scale_grad_by_count(grad: Tensor, mask: Tensor, dims: Sequence[int]) -> Tensor:
    """The gradient in equal parts to all elements under the mask."""
    return grad * mask / mask.sum(dims or None, True)


def std_backward(
    result: Tensor, grad: Tensor, self: Tensor, dim: Sequence[int] | None, correction: Scalar | None, keepdim: bool
) -> Tensor:
    return reduction.std_backward(grad, self, result, dim, correction, keepdim)


def std_mean_backward(
    gstd: Tensor | None,
    gmean: Tensor | None,
    self: Tensor,
    std: Tensor,
    dim_opt: Sequence[int] | None,
    correction: Scalar | None,
    keepdim: bool,
) -> Tensor | None:
    return reduction.std_mean_backward(gstd, gmean, self, std, dim_opt, correction, keepdim)


def var_mean_backward(
    gvar: Tensor | None,
    gmean: Tensor | None,
    self: Tensor,
    dim_opt: Sequence[int] | None,
    correction: Scalar | None,
    keepdim: bool,
) -> Tensor | None:
    return reduction.var_mean_backward(gvar, gmean, self, dim_opt, correction, keepdim)


# -- extrema


def amaxamin_jvp(x: Tensor, dx: Tensor, result: Tensor, dim: Sequence[int], keepdim: bool) -> Tensor:
    """The mean tangent of the elements that attain the extremum."""
    return reduction.mean_among_equals(dx, x, result, dim, keepdim)


def aminmax_backward(
    self: Tensor,
    dim: int | None,
    keepdim: bool,
    grad_min: Tensor | None,
    grad_max: Tensor | None,
    min: Tensor,
    max: Tensor,
) -> Tensor:
    """Both gradients, each in equal parts to all elements that attain the extremum."""
    gradient = reduction.aminmax_backward(grad_min, grad_max, self, min, max, dim, keepdim)
    return or_zeros(gradient, self)


def aminmax_jvp(self_p: Tensor, self_t: Tensor, result: Tensor, dim: int | None, keepdim: bool) -> Tensor:
    """The mean tangent of the elements that attain one of the extrema."""
    return reduction.mean_among_equals(self_t, self_p, result, _as_dims(dim), keepdim)


def _as_dims(dim: int | None) -> list[int] | None:
    return None if dim is None else [dim]


def evenly_distribute_backward(grad: Tensor, input: Tensor, value: Tensor) -> Tensor:
    """The gradient in equal parts to all elements that have the value, NaN included."""
    return reduction.share_among_all_equals(grad, input, value)


def evenly_read_jvp(fw_grad: Tensor, input: Tensor, value: Tensor) -> Tensor:
    """The mean tangent of all elements that have the value, NaN included."""
    return reduction.share_among_all_equals(fw_grad, input, value).sum()


def gather_with_keepdimed_indices(input: Tensor, dim: int, indices: Tensor, keepdim: bool) -> Tensor:
    """The elements that a reduction along `dim` named by their indices."""
    return reduction.gather_reduced(input, dim, indices, keepdim)


# -- norms


def linalg_vector_norm_backward(
    grad: Tensor, self: Tensor, ord: Scalar, norm: Tensor, opt_dim: Sequence[int] | None, keepdim: bool
) -> Tensor:
    """The direction of steepest growth; zero at zero, and for the norm of order 0, which counts."""
    return or_zeros(reduction.vector_norm_backward(grad, self, norm, ord, opt_dim, keepdim), self)


def linalg_vector_norm_jvp(
    self_p: Tensor, self_t: Tensor, scalar_ord: Scalar, norm: Tensor, opt_dim: Sequence[int] | None, keepdim: bool
) -> Tensor:
    """The tangent's part along the direction of steepest growth."""
    return reduction.vector_norm_jvp(self_p, self_t, norm, scalar_ord, opt_dim, keepdim)


def norm_backward(grad: Tensor, self: Tensor, p: Scalar | None, norm: Tensor) -> Tensor:
    """The gradient of the norm of all elements."""
    return norm_backward_dim(grad, self, p, norm, [], True)


def norm_backward_dim(
    grad: Tensor, self: Tensor, p: Scalar | None, norm: Tensor, dim: Sequence[int], keepdim: bool
) -> Tensor:
    """The direction of steepest growth of the norm; without `p` that is the Euclidean one."""
    gradient = reduction.vector_norm_backward(grad, self, norm, 2 if p is None else p, dim or None, keepdim)
    return ops.zeros_like(self) if gradient is None else gradient


def norm_jvp(grad: Tensor, self: Tensor, p: Scalar | None, norm: Tensor) -> Tensor:
    """The tangent of the norm of all elements.  By these names come the value, `grad`, and its tangent, `self`."""
    return norm_jvp_dim(grad, self, p, norm, [], False)


def norm_jvp_dim(
    self_p: Tensor, self_t: Tensor, p: Scalar | None, norm: Tensor, dim: Sequence[int], keepdim: bool
) -> Tensor:
    """The tangent's part along the direction of steepest growth."""
    return reduction.vector_norm_jvp(self_p, self_t, norm, 2 if p is None else p, dim or None, keepdim)


# -- products, exponentials, scans


def prod_backward(grad: Tensor, input: Tensor, result: Tensor) -> Tensor:
    return reduction.prod_backward(grad, input, result)


def prod_backward_dim(grad: Tensor, input: Tensor, result: Tensor, dim: int, keepdim: bool) -> Tensor:
    """Each element gets the gradient times the product of the others along `dim`."""
    return reduction.prod_dim_backward(grad, input, result, dim, keepdim)


def logsumexp_jvp(self_p: Tensor, self_t: Tensor, dim: Sequence[int], keepdim: bool) -> Tensor:
    """The mean of the tangents with the softmax as weights."""
    result = self_p.logsumexp(dim, keepdim)
    return reduction.logsumexp_jvp(self_p, self_t, result, dim, keepdim)


def safe_logsumexp_jvp(self_p: Tensor, self_t: Tensor, dim: Sequence[int], keepdim: bool) -> Tensor:
    """As `logsumexp_jvp`, and 0 where all elements are minus infinity."""
    none = (self_p == -math.inf).all(next(iter(dim)), keepdim)
    return logsumexp_jvp(self_p, self_t, dim, keepdim).masked_fill(none, 0)


def logcumsumexp_jvp(self_p: Tensor, self_t: Tensor, dim: int) -> Tensor:
    """The tangents weighted by their share in each of the sums."""
    return reduction.logcumsumexp_jvp(self_p, self_t, self_p.logcumsumexp(dim), dim)


def cumsum_backward(grad: Tensor, dim: int) -> Tensor:
    """Each element went into all sums from its own on: the sums from the other end."""
    return grad if grad.numel() <= 1 else grad.flip([dim]).cumsum(dim).flip([dim])


def cumprod_jvp(self_t: Tensor, self_p: Tensor, result: Tensor, dim: int) -> Tensor:
    return reduction.cumprod_jvp(self_p, self_t, result, dim)
