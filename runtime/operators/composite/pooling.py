"""Pooling in one dimension, by two; pooling without the places of maxima."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from runtime import ops
from runtime.base.tensor import Tensor

Sizes = Sequence[int]


def _check(self: Tensor, name: str, dims: int = 1) -> None:
    if self.dim() not in (dims + 1, dims + 2):
        raise RuntimeError(f"{name}: Expected {dims + 1}D or {dims + 2}D input tensor, but got {list(self.shape)}")


def max_pool1d_with_indices(
    self: Tensor, kernel_size: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, ceil_mode: bool
) -> tuple[Tensor, Tensor]:
    """The largest element of each window, and where it was."""
    _check(self, "max_pool1d")
    far = stride or kernel_size
    flat = self.unsqueeze(-2)
    sizes = [1, *kernel_size], [1, *far], [0, *padding], [1, *dilation]
    values, indices = ops.max_pool2d_with_indices(flat, *sizes, ceil_mode)
    return values.squeeze(-2), indices.squeeze(-2)


def max_pool1d(self: Tensor, *arguments: Any) -> Tensor:
    """The largest element of each window."""
    return ops.max_pool1d_with_indices(self, *arguments)[0]


def max_pool2d(self: Tensor, *arguments: Any) -> Tensor:
    """The largest element of each window."""
    return ops.max_pool2d_with_indices(self, *arguments)[0]


def max_pool2d_backward(
    grad_output: Tensor,
    self: Tensor,
    kernel_size: Sizes,
    stride: Sizes,
    padding: Sizes,
    dilation: Sizes,
    ceil_mode: bool,
) -> Tensor:
    """The gradient of each maximum at its place, which is looked for again."""
    indices = ops.max_pool2d_with_indices(self, kernel_size, stride, padding, dilation, ceil_mode)[1]
    return ops.max_pool2d_with_indices_backward(
        grad_output, self, kernel_size, stride, padding, dilation, ceil_mode, indices
    )


def max_pool3d(self: Tensor, *arguments: Any) -> Tensor:
    """The largest element of each window."""
    return ops.max_pool3d_with_indices(self, *arguments)[0]


def avg_pool1d(self: Tensor, kernel_size: Sizes, stride: Sizes, padding: Sizes, *options: Any) -> Tensor:
    """The mean of each window."""
    _check(self, "avg_pool1d")
    far = stride or kernel_size
    sizes = [1, *kernel_size], [1, *far], [0, *padding]
    return ops.avg_pool2d(self.unsqueeze(-2), *sizes, *options).squeeze(-2)


def adaptive_avg_pool1d(self: Tensor, output_size: Sizes) -> Tensor:
    """The means of as many windows as the output has elements."""
    _check(self, "adaptive_avg_pool1d")
    return ops.adaptive_avg_pool2d(self.unsqueeze(-2), [1, *output_size]).squeeze(-2)


def adaptive_avg_pool2d(self: Tensor, output_size: Sizes) -> Tensor:
    """The means of as many windows as the output has elements."""
    return _mean(self, 2) if all(size == 1 for size in output_size) else ops._adaptive_avg_pool2d(self, output_size)


def adaptive_avg_pool3d(self: Tensor, output_size: Sizes) -> Tensor:
    """The means of as many windows as the output has elements."""
    return _mean(self, 3) if all(size == 1 for size in output_size) else ops._adaptive_avg_pool3d(self, output_size)


def _mean(self: Tensor, dims: int) -> Tensor:
    """One window, which is the whole image."""
    _check(self, f"adaptive_avg_pool{dims}d", dims)
    return self.mean(list(range(-dims, 0)), keepdim=True)


def adaptive_max_pool1d(self: Tensor, output_size: Sizes) -> tuple[Tensor, Tensor]:
    """The largest elements of as many windows as the output has, and where they were."""
    _check(self, "adaptive_max_pool1d")
    values, indices = ops.adaptive_max_pool2d(self.unsqueeze(-2), [1, *output_size])
    return values.squeeze(-2), indices.squeeze(-2)
