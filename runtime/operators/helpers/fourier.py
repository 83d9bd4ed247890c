"""Derivatives of Fourier transforms: adjoints, as transforms are linear.

The adjoint of a transform is the inverse one with the same factor, for its matrix is symmetric.
"""

from __future__ import annotations

from collections.abc import Sequence

from runtime import ops
from runtime.base.tensor import Tensor


def real_transform_backward(
    grad: Tensor, sizes: Sequence[int], dim: Sequence[int], normalization: int, onesided: bool
) -> Tensor:
    """The real part of the adjoint; the side that is not there has no gradient, so that it counts as zeros.

    Args:
        grad: complex, of the shape of the transform.
        sizes: of the real numbers that were transformed.
        dim: along which.
        normalization: the factor, as the kernels count them.
        onesided: whether the last of `dim` has one side only.
    """
    if onesided:
        last = dim[-1]
        pads = [0, 0] * grad.dim()
        place = last % grad.dim()
        pads[2 * (grad.dim() - 1 - place) + 1] = sizes[last] - grad.shape[last]
        grad = ops.constant_pad_nd(grad, pads)
    return ops.real(ops._fft_c2c(grad, dim, normalization, False))


def real_result_backward(grad: Tensor, dim: Sequence[int], normalization: int) -> Tensor:
    """One side of the transform of the gradient, twice where an element stands for itself and its conjugate as well.

    These are all but the first one, and the last one of an even number, which are their own conjugates.
    """
    last = dim[-1]
    spectrum = ops._fft_r2c(grad, dim, normalization, True)
    size, half = grad.shape[last], spectrum.shape[last]
    inner = size - half
    weights = ops.cat([grad.new_ones([1]), grad.new_full([inner], 2), grad.new_ones([half - 1 - inner])])
    shape = [1] * grad.dim()
    shape[last] = half
    return spectrum * weights.reshape(shape)
