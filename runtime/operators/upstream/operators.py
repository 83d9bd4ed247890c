"""Operators that PyTorch's formulas call and that are functions of other operators here.

Names and parameters are those of PyTorch's native_functions.yaml.  All are differentiable, so none needs a formula.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from runtime import ops
from runtime.base.tensor import Tensor, wrap
from runtime.operators.helpers import indexing, linalg, nn, reduction
from runtime.operators.upstream.nn import infinitely_differentiable_native_rms_norm_backward

# -- reductions and scans


def cummaxmin_backward(grad: Tensor, input: Tensor, indices: Tensor, dim: int) -> Tensor:
    """Each gradient added to the element that was the extremum so far."""
    return reduction.scatter_along(grad, input.shape, dim, indices)


def cumprod_backward(grad: Tensor, input: Tensor, dim: int, output: Tensor) -> Tensor:
    """Each element gets, for every product that it is in, the gradient times the other factors."""
    return reduction.cumprod_backward(grad, input, output, dim)


def value_selecting_reduction_backward(
    grad: Tensor, dim: int, indices: Tensor, sizes: Sequence[int], keepdim: bool
) -> Tensor:
    """Zeros with each gradient at the element that was selected."""
    return reduction.scatter_reduced(grad, sizes, dim, indices, keepdim)


# -- indices


def embedding_backward(
    grad: Tensor, indices: Tensor, num_weights: int, padding_idx: int, scale_grad_by_freq: bool, sparse: bool
) -> Tensor:
    """The gradients of equal rows added up; those of all rows as a sparse Tensor where that is asked for."""
    if sparse:
        return indexing.embedding_sparse_backward(grad, indices, num_weights, padding_idx, scale_grad_by_freq)
    return ops.embedding_dense_backward(grad, indices, num_weights, padding_idx, scale_grad_by_freq)


def index_select_backward(grad: Tensor, self_sizes: Sequence[int], dim: int, index: Tensor) -> Tensor:
    """The gradient added up in the slices that were selected."""
    return indexing.index_select_backward(grad, self_sizes, dim, index)


def gather_backward(grad: Tensor, self: Tensor, dim: int, index: Tensor, sparse_grad: bool) -> Tensor:
    """The gradient added up where the elements came from; always dense."""
    return indexing.gather_backward(grad, self.shape, dim, index)


def masked_select_backward(grad: Tensor, input: Tensor, mask: Tensor) -> Tensor:
    """The gradient put back under the mask."""
    return indexing.masked_select_backward(grad, input.shape, mask)


def masked_scatter_backward(grad_output: Tensor, mask: Tensor, sizes: Sequence[int]) -> Tensor:
    """The gradient of the source: zeros for what was not used up."""
    return indexing.masked_source(grad_output, mask, sizes)


# -- matrices


def mH(self: Tensor) -> Tensor:
    """The conjugate transpose of each matrix."""
    return self.mH


def mT(self: Tensor) -> Tensor:
    """The transpose of each matrix."""
    return self.mT


def trace_backward(grad: Tensor, sizes: Sequence[int]) -> Tensor:
    """The gradient on the diagonal of zeros."""
    return linalg.trace_gradient(grad, sizes)


def linear_backward(
    self: Tensor, grad_output: Tensor | None, weight: Tensor, output_mask: Sequence[bool]
) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
    """Y = X W^T + b: dX = dY conj(W), dW = dY^T conj(X), and db is the sum of the rows of dY.

    A weight that is a vector is a matrix of one row whose dim is gone from Y.
    """
    of_self = of_weight = of_bias = None
    if grad_output is None:
        return None, None, None
    matrix, rows = weight, grad_output
    if weight.dim() == 1:
        matrix, rows = weight.unsqueeze(0), grad_output.unsqueeze(-1)
    if output_mask[0]:
        of_self = ops.matmul(rows, matrix.conj())
    flat = _rows(rows)
    if output_mask[1]:
        of_weight = ops.mm(flat.transpose(0, 1), _rows(self).conj()).reshape(weight.shape)
    if output_mask[2]:
        of_bias = flat.sum([0])
        if weight.dim() == 1:
            of_bias = of_bias.reshape([])
    return of_self, of_weight, of_bias


def _prelu_kernel_backward(grad_output: Tensor, self: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
    """The slope of prelu is 1 above zero and its weight elsewhere, where that has the input as its own slope."""
    above = self > 0
    return ops.where(above, grad_output, weight * grad_output), ops.where(above, 0, self * grad_output)


def _rows(x: Tensor) -> Tensor:
    """All leading dims as one.  It is counted, because -1 is not defined where another dim is 0."""
    if x.dim() == 2:
        return x
    count = 1
    for size in x.shape[:-1]:
        count *= size
    return x.reshape([count, x.shape[-1]])


def matmul_backward(
    grad: Tensor | None, self: Tensor, other: Tensor, mask: Sequence[bool]
) -> tuple[Tensor | None, Tensor | None]:
    """C = A B: dA = dC B^H and dB = A^H dC, for each matrix of a batch; a vector is a matrix of one row or column."""
    if grad is None:
        return None, None
    left, right = self, other
    if other.dim() == 1:
        right, grad = other.unsqueeze(-1), grad.unsqueeze(-1)
    if self.dim() == 1:
        left, grad = self.unsqueeze(0), grad.unsqueeze(-2)
    of_self = of_other = None
    if mask[0]:
        of_self = ops.matmul(grad, right.mH).sum_to_size(left.shape).reshape(self.shape)
    if mask[1]:
        if right.dim() == 2:
            # One product over all rows of the batch, instead of many that are then summed.
            of_other = ops.mm(_rows(left.expand([*grad.shape[:-2], *left.shape[-2:]])).mH, _rows(grad))
        else:
            of_other = ops.matmul(left.mH, grad).sum_to_size(right.shape)
        of_other = of_other.reshape(other.shape)
    return of_self, of_other


# -- activations


def glu_backward(grad_output: Tensor, self: Tensor, dim: int) -> Tensor:
    """The gradients of both halves, of the value and of its gate."""
    return nn.glu_backward(grad_output, self, dim)


def glu_jvp(glu: Tensor, x: Tensor, dx: Tensor, dim: int) -> Tensor:
    """The tangent of value times gate, by the product rule; `glu` is the result."""
    value_t, second_t = ops.chunk(dx, 2, dim)
    gate = ops.chunk(x, 2, dim)[1].sigmoid()
    return gate * value_t + glu * (1 - gate) * second_t


def glu_backward_jvp(grad_x: Tensor, grad_glu: Tensor, x: Tensor, dgrad_glu: Tensor, dx: Tensor, dim: int) -> Tensor:
    """The tangent of `glu_backward`, `[g s, g a s (1 - s)]` with `s = sigmoid(b)`, for both halves `a` and `b`.

    `grad_x`, the result, is not needed.
    """
    (value, second), (value_t, second_t) = ops.chunk(x, 2, dim), ops.chunk(dx, 2, dim)
    gate = second.sigmoid()
    slope = gate * (1 - gate)
    of_value = dgrad_glu * gate + grad_glu * slope * second_t
    curve = value_t + value * (1 - 2 * gate) * second_t
    return ops.cat([of_value, (dgrad_glu * value + grad_glu * curve) * slope], dim)


# -- images, of a size or scaled by factors


def _size_and_scales(
    input: Tensor, output_size: Sequence[int] | None, scale_factors: Sequence[float] | None
) -> tuple[list[int], dict[str, Any]]:
    """The size of the result, and a factor for each dimension, or None, under the names of the other overload.

    Raises:
        RuntimeError: both are given, or neither.
    """
    if (output_size is None) == (scale_factors is None):
        raise RuntimeError("Must specify exactly one of output_size and scale_factors")
    names = (["scales"], ["scales_h", "scales_w"], ["scales_d", "scales_h", "scales_w"])[input.dim() - 3]
    if output_size is not None:
        return list(output_size), dict.fromkeys(names)
    assert scale_factors is not None
    sizes = [int(size * factor) for size, factor in zip(input.shape[2:], scale_factors, strict=True)]
    return sizes, dict(zip(names, scale_factors, strict=True))


def upsample_nearest1d_vec(
    input: Tensor, output_size: Sequence[int] | None, scale_factors: Sequence[float] | None
) -> Tensor:
    size, scales = _size_and_scales(input, output_size, scale_factors)
    return ops.upsample_nearest1d(input, size, **scales)


def upsample_nearest2d_vec(
    input: Tensor, output_size: Sequence[int] | None, scale_factors: Sequence[float] | None
) -> Tensor:
    size, scales = _size_and_scales(input, output_size, scale_factors)
    return ops.upsample_nearest2d(input, size, **scales)


def upsample_nearest3d_vec(
    input: Tensor, output_size: Sequence[int] | None, scale_factors: Sequence[float] | None
) -> Tensor:
    size, scales = _size_and_scales(input, output_size, scale_factors)
    return ops.upsample_nearest3d(input, size, **scales)


def _upsample_nearest_exact1d_vec(
    input: Tensor, output_size: Sequence[int] | None, scale_factors: Sequence[float] | None
) -> Tensor:
    size, scales = _size_and_scales(input, output_size, scale_factors)
    return ops._upsample_nearest_exact1d(input, size, **scales)


def _upsample_nearest_exact2d_vec(
    input: Tensor, output_size: Sequence[int] | None, scale_factors: Sequence[float] | None
) -> Tensor:
    size, scales = _size_and_scales(input, output_size, scale_factors)
    return ops._upsample_nearest_exact2d(input, size, **scales)


def _upsample_nearest_exact3d_vec(
    input: Tensor, output_size: Sequence[int] | None, scale_factors: Sequence[float] | None
) -> Tensor:
    size, scales = _size_and_scales(input, output_size, scale_factors)
    return ops._upsample_nearest_exact3d(input, size, **scales)


def upsample_linear1d_vec(
    input: Tensor, output_size: Sequence[int] | None, align_corners: bool, scale_factors: Sequence[float] | None
) -> Tensor:
    size, scales = _size_and_scales(input, output_size, scale_factors)
    return ops.upsample_linear1d(input, size, align_corners, **scales)


def upsample_bilinear2d_vec(
    input: Tensor, output_size: Sequence[int] | None, align_corners: bool, scale_factors: Sequence[float] | None
) -> Tensor:
    size, scales = _size_and_scales(input, output_size, scale_factors)
    return ops.upsample_bilinear2d(input, size, align_corners, **scales)


def upsample_trilinear3d_vec(
    input: Tensor, output_size: Sequence[int] | None, align_corners: bool, scale_factors: Sequence[float] | None
) -> Tensor:
    size, scales = _size_and_scales(input, output_size, scale_factors)
    return ops.upsample_trilinear3d(input, size, align_corners, **scales)


def upsample_bicubic2d_vec(
    input: Tensor, output_size: Sequence[int] | None, align_corners: bool, scale_factors: Sequence[float] | None
) -> Tensor:
    size, scales = _size_and_scales(input, output_size, scale_factors)
    return ops.upsample_bicubic2d(input, size, align_corners, **scales)


# -- other


def _unique(self: Tensor, sorted: bool = True, return_inverse: bool = False) -> tuple[Tensor, Tensor]:
    """The distinct values in rising order, and for each element the place of its value; neither has a gradient."""
    values, inverse = np.unique(self._array, return_inverse=True)
    places = inverse.reshape(self._array.shape) if return_inverse else np.zeros(0, np.int64)
    return wrap(values), wrap(places)


def batch_norm_backward(
    grad_out: Tensor,
    input: Tensor,
    weight: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    save_mean: Tensor | None,
    save_var: Tensor | None,
    update: bool,
    eps: float,
    output_mask: Sequence[bool],
    reserve: Tensor,
) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
    """As `native_batch_norm_backward`: `save_var` is what that has saved, and `reserve` is memory of other devices."""
    made: tuple[Tensor | None, Tensor | None, Tensor | None] = ops.native_batch_norm_backward(
        grad_out, input, weight, running_mean, running_var, save_mean, save_var, update, eps, output_mask
    )
    return made


def _fused_rms_norm_backward(
    grad_out: Tensor,
    input: Tensor,
    normalized_shape: Sequence[int],
    rstd: Tensor,
    weight: Tensor | None,
    output_mask: Sequence[bool],
) -> tuple[Tensor | None, Tensor | None]:
    """The gradients of input and weight where nothing comes in at 1 / the root."""
    return infinitely_differentiable_native_rms_norm_backward(
        grad_out, None, input, normalized_shape, rstd, weight, output_mask
    )
