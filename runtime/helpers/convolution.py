"""Tangents of convolutions."""

from __future__ import annotations

from collections.abc import Sequence

from runtime import ops
from runtime.base.tensor import Tensor


def convolution_jvp(
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
) -> Tensor:
    """Linear in the input, in the weight, and in the bias."""
    geometry = (stride, padding, dilation, transposed, output_padding, groups)
    of_input = ops.convolution(input_t, weight_p, None, *geometry)
    return of_input + ops.convolution(input_p, weight_t, bias_t, *geometry)


def convolution_backward_jvp_grad_bias(grad_out_t: Tensor, grad_bias: Tensor | None) -> Tensor | None:
    """The tangent of the gradient of a bias, where there is such a gradient: the sums over all but the channels."""
    if grad_bias is None:
        return None
    return grad_out_t.sum([0, *range(2, grad_out_t.dim())])
