"""Gradients of convolutions by their input and their weight, of which only the shapes have to be known."""

from __future__ import annotations

from collections.abc import Sequence

from gradwright.nn.repeated import _ntuple
from runtime import ops
from runtime.base.tensor import Tensor

__all__ = ["conv1d_input", "conv1d_weight", "conv2d_input", "conv2d_weight", "conv3d_input", "conv3d_weight"]

Sizes = int | Sequence[int]
_Options = tuple[Sizes, Sizes, Sizes, int]


def conv1d_input(
    input_size: Sequence[int],
    weight: Tensor,
    grad_output: Tensor,
    stride: Sizes = 1,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    groups: int = 1,
) -> Tensor:
    """The gradient of `conv1d` by an input of shape `input_size`, (N, C, L), from that of the result."""
    return _of_input(1, input_size, weight, grad_output, (stride, padding, dilation, groups))


def conv1d_weight(
    input: Tensor,
    weight_size: Sequence[int],
    grad_output: Tensor,
    stride: Sizes = 1,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    groups: int = 1,
) -> Tensor:
    """The gradient of `conv1d` by a weight of shape `weight_size`, (C_out, C / groups, K), from that of the result."""
    return _of_weight(1, input, weight_size, grad_output, (stride, padding, dilation, groups))


def conv2d_input(
    input_size: Sequence[int],
    weight: Tensor,
    grad_output: Tensor,
    stride: Sizes = 1,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    groups: int = 1,
) -> Tensor:
    """The gradient of `conv2d` by an input of shape `input_size`, (N, C, H, W), from that of the result."""
    return _of_input(2, input_size, weight, grad_output, (stride, padding, dilation, groups))


def conv2d_weight(
    input: Tensor,
    weight_size: Sequence[int],
    grad_output: Tensor,
    stride: Sizes = 1,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    groups: int = 1,
) -> Tensor:
    """As `conv1d_weight`, of `conv2d`: `weight_size` is (C_out, C / groups, K_h, K_w)."""
    return _of_weight(2, input, weight_size, grad_output, (stride, padding, dilation, groups))


def conv3d_input(
    input_size: Sequence[int],
    weight: Tensor,
    grad_output: Tensor,
    stride: Sizes = 1,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    groups: int = 1,
) -> Tensor:
    """The gradient of `conv3d` by an input of shape `input_size`, (N, C, D, H, W), from that of the result."""
    return _of_input(3, input_size, weight, grad_output, (stride, padding, dilation, groups))


def conv3d_weight(
    input: Tensor,
    weight_size: Sequence[int],
    grad_output: Tensor,
    stride: Sizes = 1,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    groups: int = 1,
) -> Tensor:
    """As `conv1d_weight`, of `conv3d`: `weight_size` is (C_out, C / groups, K_d, K_h, K_w)."""
    return _of_weight(3, input, weight_size, grad_output, (stride, padding, dilation, groups))


def _of_input(dims: int, sizes: Sequence[int], weight: Tensor, grad_output: Tensor, options: _Options) -> Tensor:
    return _gradients(dims, grad_output, _sized(grad_output, sizes), weight, options, (True, False, False))[0]


def _of_weight(dims: int, input: Tensor, sizes: Sequence[int], grad_output: Tensor, options: _Options) -> Tensor:
    return _gradients(dims, grad_output, input, _sized(grad_output, sizes), options, (False, True, False))[1]


def _sized(like: Tensor, sizes: Sequence[int]) -> Tensor:
    """A Tensor of this shape that takes no memory, for an argument whose values do not count."""
    return like.new_empty(1).expand(sizes)


def _gradients(
    dims: int, grad_output: Tensor, input: Tensor, weight: Tensor, options: _Options, wanted: tuple[bool, bool, bool]
) -> tuple[Tensor, ...]:
    *windows, groups = options
    stride, padding, dilation = (_ntuple(dims)(each) for each in windows)
    return ops.convolution_backward(
        grad_output, input, weight, None, stride, padding, dilation, False, [0], groups, wanted
    )
