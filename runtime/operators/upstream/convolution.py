"""Convolutions with the switches of devices, which change nothing here."""

from __future__ import annotations

from collections.abc import Sequence

from runtime import ops
from runtime.base.tensor import Tensor
from runtime.operators.helpers import convolution


def _convolution_jvp(
    input_p: Tensor,
    input_t: Tensor,
    weight_p: Tensor,
    weight_t: Tensor,
    bias_p: Tensor | None,
    bias_t: Tensor | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
    benchmark: bool,
    deterministic: bool,
    cudnn_enabled: bool,
    allow_tf32: bool,
) -> Tensor:
    """Linear in the input, in the weight, and in the bias."""
    geometry = (stride, padding, dilation, transposed, output_padding, groups)
    return convolution.convolution_jvp(input_p, input_t, weight_p, weight_t, bias_p, bias_t, *geometry)


def _cudnn_convolution_backward(
    self: Tensor,
    grad_output: Tensor | None,
    weight: Tensor,
    padding: Sequence[int],
    output_padding: Sequence[int],
    stride: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    groups: int,
    output_mask: Sequence[bool],
) -> tuple[Tensor | None, Tensor | None]:
    """The gradients of input and weight."""
    if grad_output is None:
        return None, None
    geometry = (stride, padding, dilation, transposed, output_padding, groups)
    wanted = [output_mask[0], output_mask[1], False]
    return ops.convolution_backward(grad_output, self, weight, None, *geometry, wanted)[:2]
