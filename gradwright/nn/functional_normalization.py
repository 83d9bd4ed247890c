"""Batch, instance and local response normalization of `nn.functional`."""

from __future__ import annotations

import math

from runtime import ops
from runtime.base.tensor import Tensor

__all__ = ["batch_norm", "instance_norm", "local_response_norm"]


def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Each channel with mean 0 and variance 1; in training by its own statistics, which the running ones follow."""
    if training and math.prod((input.shape[0], *input.shape[2:])) == 1:
        raise ValueError(f"Expected more than 1 value per channel when training, got input size {input.shape}")
    return ops.batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps, False)


def instance_norm(
    input: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Each channel of each sample with mean 0 and variance 1."""
    if use_input_stats and math.prod(input.shape[2:]) == 1:
        raise ValueError(f"Expected more than 1 spatial element when training, got input size {input.shape}")
    return ops.instance_norm(input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, False)


def local_response_norm(input: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> Tensor:
    """Each element divided by a power of the mean square of `size` channels around it."""
    if input.dim() < 3:
        raise ValueError(f"Expected 3D or higher dimensionality input (got {input.dim()} dimensions)")
    if input.numel() == 0:
        return input
    around = [0, 0] * (input.dim() - 2) + [size // 2, (size - 1) // 2]
    windows = ops.constant_pad_nd(input * input, around, 0).unfold(1, size, 1)
    if input.is_floating_point() or input.is_complex():
        squares = windows.mean([-1])
    else:
        squares = ops.div(windows.sum([-1]), size, rounding_mode="trunc")
    return input / (squares * alpha + k).pow(beta)
