"""Derivatives of convolutions."""

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


def shifted_in_time(self: Tensor, pad: int) -> Tensor:
    """With zeros at both ends of the first of three dimensions; a negative number takes steps away."""
    return ops.constant_pad_nd(self, [0, 0, 0, 0, pad, pad])


def conv_tbc_gradients(
    grad: Tensor, input: Tensor, weight: Tensor, pad: int, grad_input_mask: Sequence[bool]
) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
    """Those of `convolution`, for arguments with time first and channels last."""
    if grad.shape[0] == 0:  # nothing that `convolution` computes
        return ops.zeros_like(input), ops.zeros_like(weight), grad.new_zeros([weight.shape[2]])
    cut = min(pad, 0)
    if cut:
        input, pad = shifted_in_time(input, cut), 0
    geometry = ([1], [pad], [1], False, [0], 1)
    rows, kernel = input.permute([1, 2, 0]), weight.permute([2, 1, 0])
    of_input, of_weight, of_bias = ops.convolution_backward(
        grad.permute([1, 2, 0]), rows, kernel, [weight.shape[2]], *geometry, grad_input_mask
    )
    if of_input is not None:
        of_input = of_input.permute([2, 0, 1])
        of_input = shifted_in_time(of_input, -cut) if cut else of_input
    return of_input, None if of_weight is None else of_weight.permute([2, 1, 0]), of_bias
