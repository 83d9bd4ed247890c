"""Helpers of PyTorch's formulas, from `_to_copy_backward` to `linalg_vector_norm_jvp` in the order of the alphabet."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol, cast

import numpy as np

from runtime import forward, ops
from runtime.helpers import activation, indexing, linalg, loss, nn, pointwise, shape
from runtime.helpers import reduction as reductions  # `reduction` is what the losses call a parameter of theirs
from runtime.tensor import Tensor, wrap
from runtime.types import DType, Scalar


class _Geometry(Protocol):
    """Where the elements of a Tensor lie in its memory."""

    shape: Sequence[int]
    strides: Sequence[int]
    offset: int


def _or_zeros(tangent: Tensor | None, like: Tensor) -> Tensor:
    return ops.zeros_like(like) if tangent is None else tangent


def _as_dims(dim: int | None) -> list[int] | None:
    return None if dim is None else [dim]


# -- dtypes


def handle_r_to_c(self_st: DType, gradient_result: Tensor) -> Tensor:
    """The real part of a complex gradient, where what it belongs to is real."""
    if not self_st.is_complex and gradient_result.is_complex():
        return ops.real(gradient_result)
    return gradient_result


def _to_copy_backward(grad: Tensor, self_options: DType) -> Tensor:
    """The gradient in the dtype that was converted from."""
    return handle_r_to_c(self_options, grad).to(self_options)


# -- arithmetic


def atan2_backward(
    grad: Tensor | None, self: Tensor, other: Tensor, output_mask: Sequence[bool]
) -> tuple[Tensor | None, Tensor | None]:
    """The gradients of both coordinates; zero at the origin."""
    if grad is None:
        return None, None
    return (
        pointwise.atan2_backward_self(grad, self, other) if output_mask[0] else None,
        pointwise.atan2_backward_other(grad, self, other) if output_mask[1] else None,
    )


def clamp_backward_Tensor(grad: Tensor, self: Tensor, min: Tensor | None, max: Tensor | None) -> Tensor:
    """The gradient passes between the bounds, and at them."""
    return pointwise.clamp_tensor_backward(grad, self, min, max)


def clamp_backward_min_max(
    grad: Tensor | None, self: Tensor, min: Tensor | None, max: Tensor | None, grad_input_mask: Sequence[bool]
) -> tuple[Tensor | None, Tensor | None]:
    """The gradients of the bounds: each gets what was set to it."""
    if grad is None:
        return None, None
    of_min, of_max = pointwise.clamp_bounds_backward(grad, self, min, max)
    return of_min if grad_input_mask[0] else None, of_max if grad_input_mask[1] else None


def clamp_jvp(
    self_p: Tensor,
    self_t: Tensor | None,
    min_p: Tensor | None,
    min_t: Tensor | None,
    max_p: Tensor | None,
    max_t: Tensor | None,
) -> Tensor:
    """The tangent of whichever of the three was chosen."""
    return pointwise.clamp_tensor_forward(self_p, _or_zeros(self_t, self_p), min_p, min_t, max_p, max_t)


def copysign_tensor_self_backward(grad: Tensor, self: Tensor, result: Tensor) -> Tensor:
    """The gradient with its sign turned where the sign was turned; zero at zero.

    By signs, not by `result / self`, which is NaN at infinity.
    """
    return grad * (result.sgn() * self.sgn())


def deg2rad_backward(grad: Tensor) -> Tensor:
    """The same conversion again."""
    return grad * (math.pi / 180)


def div_tensor_self_backward(grad: Tensor, other: Tensor, self_st: DType, rounding_mode: str | None = None) -> Tensor:
    """The gradient of the dividend; a rounded quotient is constant almost everywhere."""
    if rounding_mode is not None:
        return ops.zeros_like(grad)
    return handle_r_to_c(self_st, grad / other.conj())


def div_tensor_self_backward_Scalar(
    grad: Tensor, other: Scalar, self_st: DType, rounding_mode: str | None = None
) -> Tensor:
    """As `div_tensor_self_backward`, for a divisor that is a number."""
    if rounding_mode is not None:
        return ops.zeros_like(grad)
    return handle_r_to_c(self_st, grad / other.conjugate())


def div_tensor_other_backward(grad: Tensor, self: Tensor, other: Tensor, rounding_mode: str | None = None) -> Tensor:
    """The gradient of the divisor; a rounded quotient is constant almost everywhere."""
    if rounding_mode is not None:
        return ops.zeros_like(grad)
    # Two divisions: the square of a small divisor underflows before the quotient does.
    return handle_r_to_c(other.dtype, -grad * (self / other / other).conj())


# -- activations and dropout


def gelu_double_backward(ggI: Tensor, gO: Tensor, input: Tensor, approximate: str) -> Tensor:
    """The gradient of `gelu_backward` in its input."""
    return ggI * gO * activation.gelu_bend(input, approximate)


def infinitely_differentiable_logit_backward(grad: Tensor, self: Tensor, eps: float | None) -> Tensor:
    """The gradient of `logit`: NaN outside [0, 1], and with `eps` 0 outside [eps, 1 - eps]."""
    return activation.logit_backward(grad, self, eps)


def infinitely_differentiable_mish_backward(grad_output: Tensor, input: Tensor) -> Tensor:
    """The gradient of `mish`, from operators that have derivatives themselves."""
    return grad_output * activation.mish_slope(input)


def infinitely_differentiable_silu_backward(grad_output: Tensor, input: Tensor) -> Tensor:
    """The gradient of `silu`, from operators that have derivatives themselves."""
    return grad_output * activation.silu_slope(input).conj()


def infinitely_differentiable_native_dropout_backward(grad: Tensor, mask: Tensor, scale: float) -> Tensor:
    """The gradient where an element was kept, scaled as the element was."""
    return grad * (mask.to(grad.dtype) * scale)


# -- losses


def apply_loss_reduction(unreduced: Tensor, reduction: int) -> Tensor:
    """The loss of a batch from that of its elements: 0 none, 1 mean, 2 sum."""
    return loss.reduced(unreduced, reduction)


def binary_cross_entropy_target_backward(
    grad: Tensor, self: Tensor, target: Tensor, weight: Tensor | None, reduction: int
) -> Tensor:
    """The gradient of the target, in which the loss is linear."""
    return loss.each(grad, loss.bce_target_slope(self, weight), reduction)


def binary_cross_entropy_double_backward(
    grad_output: Tensor, grad: Tensor, input: Tensor, target: Tensor, weight: Tensor | None, reduction: int
) -> Tensor:
    """The gradient of `binary_cross_entropy_backward` in its input."""
    return loss.each(grad * grad_output, loss.bce_bend(input, target, weight), reduction)


def binary_cross_entropy_double_backward_grad_output(
    grad: Tensor, input: Tensor, target: Tensor, weight: Tensor | None, reduction: int
) -> Tensor:
    """The gradient of `binary_cross_entropy_backward` in the gradient that it was given, not yet summed.

    The formula for forward mode calls it too, with the tangent of that gradient.
    """
    return ops.binary_cross_entropy_backward(grad, input, target, weight, reduction)


def binary_cross_entropy_double_backward_target(
    grad: Tensor, grad_output: Tensor, self: Tensor, target: Tensor, weight: Tensor | None, reduction: int
) -> Tensor:
    """The gradient of `binary_cross_entropy_backward` in the target."""
    return loss.each(grad * grad_output, loss.bce_mixed_bend(self, weight), reduction)


def binary_cross_entropy_with_logits_backward(
    grad: Tensor,
    input: Tensor,
    target: Tensor,
    weight_opt: Tensor | None,
    pos_weight_opt: Tensor | None,
    reduction: int,
) -> Tensor:
    """The gradient of the logits."""
    return loss.each(grad, loss.bce_logits_slope(input, target, weight_opt, pos_weight_opt), reduction)


def binary_cross_entropy_with_logits_target_backward(
    grad_output: Tensor,
    self: Tensor,
    target: Tensor,
    weight: Tensor | None,
    pos_weight: Tensor | None,
    reduction: int,
) -> Tensor:
    """The gradient of the target, in which the loss is linear."""
    return loss.each(grad_output, loss.bce_logits_target_slope(self, weight, pos_weight), reduction)


def huber_loss_double_backward(grad: Tensor, input: Tensor, target: Tensor, reduction: int, delta: float) -> Tensor:
    """The gradient of `huber_loss_backward` in its input; `grad` holds the gradient of the loss as a factor."""
    return loss.each(grad, loss.huber_bend(input, target, delta), reduction)


def huber_loss_double_backward_grad_output(
    grad: Tensor, grad_output: Tensor, input: Tensor, target: Tensor, reduction: int, delta: float
) -> Tensor:
    """The gradient of `huber_loss_backward` in the gradient that it was given."""
    return loss.reduced(ops.huber_loss_backward(grad, input, target, 0, delta), reduction)


# -- extrema


def amaxamin_jvp(x: Tensor, dx: Tensor, result: Tensor, dim: Sequence[int], keepdim: bool) -> Tensor:
    """The mean tangent of the elements that attain the extremum."""
    return reductions.mean_among_equals(dx, x, result, dim, keepdim)


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
    found = reductions.aminmax_backward(grad_min, grad_max, self, min, max, dim, keepdim)
    return _or_zeros(found, self)


def aminmax_jvp(self_p: Tensor, self_t: Tensor, result: Tensor, dim: int | None, keepdim: bool) -> Tensor:
    """The mean tangent of the elements that attain one of the extrema."""
    return reductions.mean_among_equals(self_t, self_p, result, _as_dims(dim), keepdim)


def evenly_distribute_backward(grad: Tensor, input: Tensor, value: Tensor) -> Tensor:
    """The gradient in equal parts to all elements that have the value, NaN included."""
    return reductions.share_among_all_equals(grad, input, value)


def evenly_read_jvp(fw_grad: Tensor, input: Tensor, value: Tensor) -> Tensor:
    """The mean tangent of all elements that have the value, NaN included."""
    return reductions.share_among_all_equals(fw_grad, input, value).sum()


def gather_with_keepdimed_indices(input: Tensor, dim: int, indices: Tensor, keepdim: bool) -> Tensor:
    """The elements that a reduction along `dim` named by their indices."""
    return reductions.gather_reduced(input, dim, indices, keepdim)


# -- norms and scans


def cumsum_backward(grad: Tensor, dim: int) -> Tensor:
    """Each element went into all sums from its own on: the sums from the other end."""
    return grad if grad.numel() <= 1 else grad.flip([dim]).cumsum(dim).flip([dim])


def linalg_vector_norm_backward(
    grad: Tensor, self: Tensor, ord: Scalar, norm: Tensor, opt_dim: Sequence[int] | None, keepdim: bool
) -> Tensor:
    """The direction of steepest growth; zero at zero, and for the norm of order 0, which counts."""
    return _or_zeros(reductions.vector_norm_backward(grad, self, norm, ord, opt_dim, keepdim), self)


def linalg_vector_norm_jvp(
    self_p: Tensor, self_t: Tensor, scalar_ord: Scalar, norm: Tensor, opt_dim: Sequence[int] | None, keepdim: bool
) -> Tensor:
    """The tangent's part along the direction of steepest growth."""
    return reductions.vector_norm_jvp(self_p, self_t, norm, scalar_ord, opt_dim, keepdim)


# -- joins, padding, strides


def cat_jvp(tensors: Sequence[Tensor], dim: int) -> Tensor:
    """The tangents joined as the tensors were."""
    return ops.cat(_tangents(tensors), dim)


def _tangents(tensors: Sequence[Tensor]) -> list[Tensor]:
    """What the tensors carry.  PyTorch's formulas for joins name the tensors, where others name tangents.

    If none carries a tangent they are tangents themselves: forward formulas are not asked about constants.
    """
    found = [forward.tangent_of(tensor) for tensor in tensors]
    if all(tangent is None for tangent in found):
        return list(tensors)
    return [_or_zeros(tangent, tensor) for tangent, tensor in zip(found, tensors, strict=True)]


def cat_tensors_backward(
    grad: Tensor | None, sizes: Sequence[Sequence[int]], dtypes: Sequence[DType], dim: int
) -> list[Tensor]:
    """To each Tensor its part.  Empty vectors were left out of the join, whatever its other dims."""
    if grad is None:
        return [ops.zeros(size, dtype=dtype) for size, dtype in zip(sizes, dtypes, strict=True)]
    parts, start = [], 0
    for size, dtype in zip(sizes, dtypes, strict=True):
        if tuple(size) == (0,):
            parts.append(ops.zeros([0], dtype=dtype))
            continue
        parts.append(handle_r_to_c(dtype, grad.narrow(dim, start, size[dim])))
        start += size[dim]
    return parts


def constant_pad_nd_backward(grad: Tensor, pad: Sequence[int]) -> Tensor:
    """What was added is cut off, and what was cut off gets zeros."""
    return shape.pad_backward(grad, pad)


def as_strided_backward(
    grad: Tensor, input_geometry: object, sizes: Sequence[int], strides: Sequence[int], storage_offset: int | None
) -> Tensor:
    """The gradient through an image of the memory; elements of the input at one place share evenly."""
    own = cast(_Geometry, input_geometry)
    return shape.as_strided_backward(grad, own.shape, own.strides, own.offset, sizes, strides, storage_offset)


# -- indices


def index_backward(zeros_like_self: Tensor, indices: Sequence[Tensor | None], grad: Tensor) -> Tensor:
    """The gradient added up where the elements came from."""
    return indexing.index_backward(grad, zeros_like_self.shape, indices)


def embedding_dense_double_backward_symint(grad: Tensor, indices: Tensor, padding_idx: int) -> Tensor:
    """The rows again, with zeros for the index that pads."""
    return indexing.embedding_double_backward(grad, indices, padding_idx, False)


# -- layer normalization


def _moments(input: Tensor, mean: Tensor, rstd: Tensor, normalized_shape: Sequence[int]) -> tuple[Tensor, Tensor]:
    """Mean and 1 / deviation as functions of the input, so that derivatives of what is made of them are whole.

    The Node that made the saved ones passes no gradient on from them.  The eps under the root is what lacks from
    1 / rstd^2 to the variance.
    """
    if not input.requires_grad:
        return mean, rstd
    dims = list(range(-len(normalized_shape), 0))
    own_mean = input.mean(dims, True)
    away = input - own_mean
    variance = (away * away).mean(dims, True)
    saved = rstd.detach()
    eps = (saved * saved).reciprocal() - variance.detach()
    return own_mean, (variance + eps).rsqrt()


def layer_norm_double_backward(
    input: Tensor,
    gamma: Tensor | None,
    ggI: Tensor | None,
    ggG: Tensor | None,
    ggB: Tensor | None,
    gO: Tensor,
    save_mean: Tensor,
    save_invstd: Tensor,
    normalized_shape: Sequence[int],
    output_mask: Sequence[bool],
) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
    """The gradients of input, weight and `gO`; mean and deviation are functions of the input here."""
    mean, rstd = _moments(input, save_mean, save_invstd, normalized_shape)
    wanted = (output_mask[2], output_mask[0], output_mask[0], output_mask[0], output_mask[1])
    given = (True, True, True)
    of_grad, of_input, of_mean, of_rstd, of_gamma = nn.layer_norm_double_backward(
        ggI, ggG, ggB, gO, input, normalized_shape, mean, rstd, gamma, given, wanted
    )
    if of_rstd is not None:
        count = max(math.prod(normalized_shape), 1)
        through = -of_rstd * rstd.pow(3) * (input - mean)
        through = (through if of_mean is None else through + of_mean) / count
        of_input = through if of_input is None else of_input + through
    return of_input, of_gamma, of_grad


def layer_norm_jvp(
    input_p: Tensor,
    input_t: Tensor | None,
    weight_p: Tensor | None,
    weight_t: Tensor | None,
    bias_p: Tensor | None,
    bias_t: Tensor | None,
    saved_mean: Tensor,
    saved_invstd: Tensor,
    normalized_shape: Sequence[int],
) -> Tensor:
    """The tangent of the normalized, weighted and shifted input."""
    mean, rstd = _moments(input_p, saved_mean, saved_invstd, normalized_shape)
    tangent = _or_zeros(input_t, input_p)
    return nn.layer_norm_jvp(tangent, weight_t, bias_t, input_p, normalized_shape, weight_p, mean, rstd)[0]


# -- linear systems


def linalg_solve_backward(
    gX: Tensor | None, X: Tensor, A: Tensor, LU: Tensor, pivots: Tensor, left: bool, B_requires_grad: bool
) -> tuple[Tensor | None, Tensor | None]:
    """A X = B: dB solves A^H dB = dX, and dA = -dB X^H.  From A, not from its factors, which have no history."""
    if gX is None:
        return None, None
    # The right side has as many dims as the solution, and that is all that is asked of it.
    return linalg.solve_backward(gX, A, X, X, left, [True, B_requires_grad])


def linalg_solve_jvp(dA: Tensor | None, dB: Tensor | None, X: Tensor, LU: Tensor, pivots: Tensor, left: bool) -> Tensor:
    """A dX = dB - dA X, by the factors of A: there is no A to solve with."""
    vector = left and (X.dim() == 1 or (X.dim() == LU.dim() - 1 and tuple(X.shape) == tuple(LU.shape[:-1])))
    side = _or_zeros(dB, X)
    if vector:
        X, side = X.unsqueeze(-1), side.unsqueeze(-1)
    if dA is not None:
        side = side - (ops.matmul(dA, X) if left else ops.matmul(X, dA))
    found = _solve_by_factors(LU, pivots, side, left)
    return found.squeeze(-1) if vector else found


def _solve_by_factors(LU: Tensor, pivots: Tensor, side: Tensor, left: bool) -> Tensor:
    """The solution for a matrix whose rows, exchanged as the pivots say, are L U."""
    order = _row_order(pivots)
    if left:
        side = _take_rows(side, order)
        lower = ops.linalg_solve_triangular(LU, side, upper=False, unitriangular=True)
        return ops.linalg_solve_triangular(LU, lower, upper=True)
    upper = ops.linalg_solve_triangular(LU, side, upper=True, left=False)
    moved = ops.linalg_solve_triangular(LU, upper, upper=False, left=False, unitriangular=True)
    return _take_rows(moved.transpose(-2, -1), order.argsort(-1)).transpose(-2, -1)


def _row_order(pivots: Tensor) -> Tensor:
    """Where each row of L U is in the matrix; the pivots are the rows, from 1, that were exchanged one by one."""
    swaps = pivots.numpy()
    order = np.broadcast_to(np.arange(swaps.shape[-1]), swaps.shape).copy()
    for place in np.ndindex(*swaps.shape[:-1]):
        rows = order[place]
        for row, other in enumerate(swaps[place]):
            rows[[row, other - 1]] = rows[[other - 1, row]]
    return wrap(order)


def _take_rows(x: Tensor, order: Tensor) -> Tensor:
    """Rows in another order, for each matrix of a batch."""
    if order.dim() == 1:
        return x.index_select(-2, order)
    batch = np.broadcast_shapes(tuple(x.shape[:-2]), tuple(order.shape[:-1]))
    full = [*batch, *x.shape[-2:]]
    return x.expand(full).gather(-2, order.unsqueeze(-1).expand(full))


def linalg_solve_triangular_backward(
    grad: Tensor | None,
    A: Tensor,
    X: Tensor,
    upper: bool,
    left: bool,
    unitriangular: bool,
    output_mask: Sequence[bool],
) -> tuple[Tensor | None, Tensor | None]:
    """As `linalg_solve_backward`, kept to the triangle that was read."""
    if grad is None or not any(output_mask):
        return None, None
    return linalg.solve_triangular_backward(grad, A, X, upper, left, unitriangular, output_mask)


def linalg_solve_triangular_forward_AD(
    A_t: Tensor | None, B_t: Tensor | None, A: Tensor, X: Tensor, upper: bool, left: bool, unitriangular: bool
) -> Tensor:
    """As `linalg_solve_jvp`, with the tangent of the triangle that was read."""
    return linalg.solve_triangular_jvp(A, _or_zeros(A_t, A), _or_zeros(B_t, X), X, upper, left, unitriangular)
