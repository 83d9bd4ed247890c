"""What PyTorch's formulas call, `log1p_backward` to `unsqueeze_to`: names and parameters are theirs.

A gradient may keep the shape that it was broadcast to: it is summed and cast at the edge.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from runtime import forward, ops
from runtime.helpers import indexing, loss, nn, pointwise, reduction, shape

# The parameter `reduction` of losses and `shape` of mean_backward hide the modules of these names.
from runtime.helpers.loss import each as _each
from runtime.helpers.reduction import count_reduced as _count_reduced
from runtime.helpers.reduction import expand_reduced as _expand_reduced
from runtime.tensor import Tensor
from runtime.types import DType, Scalar


def _real_for(dtype: DType, gradient: Tensor) -> Tensor:
    """The real part, where what the gradient belongs to is real."""
    return ops.real(gradient) if gradient.is_complex() and not dtype.is_complex else gradient


# -- pointwise


def log1p_backward(grad: Tensor, self: Tensor) -> Tensor:
    """D log(1 + x) = dx / (1 + x)."""
    return grad / (self + 1).conj()


def masked_fill_backward(grad: Tensor, mask: Tensor) -> Tensor:
    """One value was written to all places of the mask, so it gets the sum of their gradients."""
    return ops.where(mask, grad, 0).sum()


def maybe_multiply(t: Tensor, s: Scalar) -> Tensor:
    """`t * s`; no work for the factor 1."""
    return pointwise.scaled(t, s)


def mul_tensor_backward(grad: Tensor, other: Tensor, self_st: DType) -> Tensor:
    """The gradient of one factor, given the other."""
    return _real_for(self_st, grad * other.conj())


def mul_tensor_backward_Scalar(grad: Tensor, other: Scalar, self_st: DType) -> Tensor:
    """As `mul_tensor_backward`, where the other factor is a number."""
    return _real_for(self_st, grad * other.conjugate())


def polar_backward(grad: Tensor | None, result: Tensor) -> tuple[Tensor | None, Tensor | None]:
    """Of the length the gradient's part along the result, of the angle the part across it, times the length."""
    if grad is None:
        return None, None
    return ops.real(grad.conj() * result.sgn()), pointwise.polar_backward_angle(grad, result)


def pow_backward_exponent_Scalar(grad: Tensor, base: Scalar, exponent: Tensor, result: Tensor) -> Tensor:
    """The gradient of `base ** exponent` for `exponent`, where `base` is a number."""
    return pointwise.pow_backward_exponent_of_scalar(grad, base, exponent, result)


def rad2deg_backward(grad: Tensor) -> Tensor:
    """A radian has 180 / pi degrees."""
    return grad * (180 / math.pi)


def sinc_backward(grad: Tensor, self: Tensor) -> Tensor:
    """The gradient of sin(pi x) / (pi x)."""
    return grad * pointwise.sinc_slope(self).conj()


# -- losses, softmax and dropout


def mse_loss_double_backward(grad: Tensor, input: Tensor, reduction: int) -> Tensor:
    """The second derivative of the square is 2; `grad` has one value for each element."""
    twice = grad * 2
    return twice / max(input.numel(), 1) if reduction == 1 else twice


def smooth_l1_loss_double_backward(grad: Tensor, input: Tensor, target: Tensor, reduction: int, beta: float) -> Tensor:
    """The loss bends only where input and target are nearer than `beta`."""
    return _each(grad, loss.smooth_l1_bend(input, target, beta), reduction)


def softmax_double_backward(grad: Tensor, grad_output: Tensor, dim: int, output: Tensor) -> Tensor:
    """The gradient that the backward of softmax has in its output."""
    return nn.softmax_backward_of_output(grad, grad_output, output, dim)


def native_dropout_double_backward(ggI: Tensor, grad: Tensor, mask: Tensor, scale: float) -> Tensor:
    """The same mask and factor again: dropout is linear."""
    return ggI.to(grad.dtype) * mask.to(grad.dtype) * scale


# -- matrix products


def mm_mat1_backward(
    grad: Tensor,
    mat2: Tensor,
    mat1_sizes: Sequence[int],
    mat1_strides: Sequence[int],
    mat1_layout: object,
    alpha: Scalar,
) -> Tensor:
    """C = alpha A B: dA = conj(alpha) dC B^H.  Strides and layout choose an order of memory only; there is one here."""
    return pointwise.scaled(ops.mm(grad, mat2.mH), alpha.conjugate())


def mm_mat2_backward(
    grad: Tensor,
    mat1: Tensor,
    sizes: Sequence[int],
    strides: Sequence[int],
    layout: object,
    alpha: Scalar,
) -> Tensor:
    """C = alpha A B: dB = conj(alpha) A^H dC."""
    return pointwise.scaled(ops.mm(mat1.mH, grad), alpha.conjugate())


# -- reductions and scans


def sum_backward(grad: Tensor, sizes: Sequence[int], opt_dims: Sequence[int] | None, keepdim: bool) -> Tensor:
    """Every element gets the gradient of the sum that it went into."""
    return _expand_reduced(grad, sizes, opt_dims, keepdim)


def mean_backward(
    grad: Tensor, shape: Sequence[int], opt_dim: Sequence[int] | None, numel: int, keepdim: bool
) -> Tensor:
    """As `sum_backward`, over the number of elements that went into each mean."""
    count = _count_reduced(shape, opt_dim) if opt_dim else numel
    # Divided before it is spread: that is less work, but dividing by a count of 0 is left to numbers that are there.
    return _expand_reduced(grad / count if count else grad, shape, opt_dim, keepdim)


def nansum_backward(grad: Tensor, self: Tensor, dims: Sequence[int] | None, keepdim: bool) -> Tensor:
    """As `sum_backward`; what was left out of the sum gets zero."""
    return ops.where(self.isnan(), 0, _expand_reduced(grad, self.shape, dims, keepdim))


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


def prod_backward_dim(grad: Tensor, input: Tensor, result: Tensor, dim: int, keepdim: bool) -> Tensor:
    """Each element gets the gradient times the product of the others along `dim`."""
    return reduction.prod_dim_backward(grad, input, result, dim, keepdim)


def logsumexp_jvp(self_p: Tensor, self_t: Tensor, dim: Sequence[int], keepdim: bool) -> Tensor:
    """The mean of the tangents with the softmax as weights."""
    result = self_p.logsumexp(dim, keepdim)
    return reduction.logsumexp_jvp(self_p, self_t, result, dim, keepdim)


def logcumsumexp_jvp(self_p: Tensor, self_t: Tensor, dim: int) -> Tensor:
    """The tangents weighted by their share in each of the sums."""
    return reduction.logcumsumexp_jvp(self_p, self_t, self_p.logcumsumexp(dim), dim)


def norm_backward(grad: Tensor, self: Tensor, p: Scalar | None, norm: Tensor) -> Tensor:
    """The gradient of the norm of all elements."""
    return norm_backward_dim(grad, self, p, norm, [], True)


def norm_backward_dim(
    grad: Tensor, self: Tensor, p: Scalar | None, norm: Tensor, dim: Sequence[int], keepdim: bool
) -> Tensor:
    """The direction of steepest growth of the norm; without `p` that is the Euclidean one."""
    found = reduction.vector_norm_backward(grad, self, norm, 2 if p is None else p, dim or None, keepdim)
    return ops.zeros_like(self) if found is None else found


def norm_jvp(grad: Tensor, self: Tensor, p: Scalar | None, norm: Tensor) -> Tensor:
    """The tangent of the norm of all elements.  By these names come the value, `grad`, and its tangent, `self`."""
    return norm_jvp_dim(grad, self, p, norm, [], False)


def norm_jvp_dim(
    self_p: Tensor, self_t: Tensor, p: Scalar | None, norm: Tensor, dim: Sequence[int], keepdim: bool
) -> Tensor:
    """The tangent's part along the direction of steepest growth."""
    return reduction.vector_norm_jvp(self_p, self_t, norm, 2 if p is None else p, dim or None, keepdim)


# -- views, joins and indices


def permute_backwards(grad: Tensor, fwd_dims: Sequence[int]) -> Tensor:
    """The inverse permutation."""
    return shape.permute_back(grad, fwd_dims)


def reverse_list(list: Sequence[int]) -> Sequence[int]:
    """The numbers from last to first."""
    return list[::-1]


def reverse_list_symint(list: Sequence[int]) -> Sequence[int]:
    """The numbers from last to first."""
    return list[::-1]


def slice_backward_wrapper(
    grad: Tensor, input_sizes: Sequence[int], dim: int, start: int | None, end: int | None, step: int
) -> Tensor:
    """Zeros with the gradient written where the slice looked."""
    return shape.slice_gradient(grad, input_sizes, dim, start, end, step)


def split_backward(
    grads: Sequence[Tensor | None], split_size: int, dim: int, sizes: Sequence[int], options: DType
) -> Tensor:
    """The parts joined again, with zeros for those that got no gradient."""
    return shape.split_backward(grads, sizes, split_size, dim, options)


def split_with_sizes_backward(
    grads: Sequence[Tensor | None], split_sizes: Sequence[int], dim: int, sizes: Sequence[int], options: DType
) -> Tensor:
    """The parts joined again, with zeros for those that got no gradient."""
    return shape.split_with_sizes_backward(grads, sizes, split_sizes, dim, options)


def unbind_backward(grads: Sequence[Tensor | None], dim: int) -> Tensor | None:
    """The slices stacked again, with zeros for those that got no gradient; shape and type come from one that did."""
    known = next((grad for grad in grads if grad is not None), None)
    if known is None:
        return None
    return ops.stack([ops.zeros_like(known) if grad is None else grad for grad in grads], dim)


def stack_tensors_backward(grad: Tensor | None, dim: int, dtypes: Sequence[DType]) -> Sequence[Tensor | None]:
    """To each Tensor its slice, real to those that are real."""
    if grad is None:
        return [None] * len(dtypes)
    return [_real_for(dtype, part) for dtype, part in zip(dtypes, grad.unbind(dim), strict=True)]


def stack_jvp(tensors: Sequence[Tensor | None], dim: int) -> Tensor:
    """The stack of the tangents that the Tensors carry, zeros for those that carry none."""
    values = [tensor for tensor in tensors if tensor is not None]
    tangents = [forward.tangent_of(tensor) for tensor in values]
    return ops.stack(
        [ops.zeros_like(value) if t is None else t for value, t in zip(values, tangents, strict=True)], dim
    )


def sum_to(tensor: Tensor, shape: Sequence[int]) -> Tensor:
    """Summed over the dims that broadcasting from `shape` added or stretched."""
    return tensor.sum_to_size(shape)


def take_backward(grad: Tensor, self: Tensor, indices: Tensor) -> Tensor:
    """The gradient added up where the elements came from."""
    return indexing.take_backward(grad, self.shape, indices)


def unsqueeze_multiple(t: Tensor, opt_dim: Sequence[int] | None, n_dims: int) -> Tensor:
    """Dims of size 1 at the places `opt_dim` of the result, which has `n_dims`; at all of them if there is none."""
    places = range(n_dims) if opt_dim is None else sorted(dim % n_dims for dim in opt_dim) if n_dims else ()
    for place in places:
        t = t.unsqueeze(place)
    return t


def unsqueeze_to(self: Tensor, sym_sizes: Sequence[int]) -> Tensor:
    """The dims of size 1 that squeezing took away."""
    return self.reshape(sym_sizes)


def unsqueeze_to_dim(self: Tensor, dim: int, sym_sizes: Sequence[int]) -> Tensor:
    """The dim that squeezing took away, if its size was 1."""
    return self.reshape(sym_sizes)


def unsqueeze_to_dims(self: Tensor, dim: Sequence[int], sym_sizes: Sequence[int]) -> Tensor:
    """Those of the dims that squeezing took away: the ones of size 1."""
    return self.reshape(sym_sizes)
