"""Fourier transforms."""

from __future__ import annotations

from collections.abc import Sequence

from runtime.base.tensor import Tensor
from runtime.operators.helpers import fourier


def fft_r2c_backward(
    grad: Tensor, dim: Sequence[int], normalization: int, onesided: bool, last_dim_size: int
) -> Tensor:
    """Of the sizes, that of the last dimension is looked at, and only where the transform has one side."""
    sizes = list(grad.shape)
    sizes[dim[-1]] = last_dim_size
    return fourier.real_transform_backward(grad, sizes, dim, normalization, onesided)


def fft_c2r_backward(grad: Tensor, dim: Sequence[int], normalization: int) -> Tensor:
    """One side of the transform of the gradient."""
    return fourier.real_result_backward(grad, dim, normalization)
