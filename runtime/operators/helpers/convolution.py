"""Derivatives of convolutions."""

from __future__ import annotations

from collections.abc import Sequence

from runtime import ops
from runtime.base.half import in_float32
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


def seen_steps(place: int, length: int, steps: int, pad: int) -> tuple[int, int, int, int]:
    """Which steps of the input a place of a kernel sees, from and to, and how many steps of the result see none there.

    These are before and after the others: there the padding is, which is nothing to multiply with.
    """
    first = place - pad
    low = min(max(first, 0), length)
    high = max(min(first + steps, length), low)
    before = min(max(low - first, 0), steps)
    return low, high, before, steps - before - (high - low)


@in_float32
def conv_tbc_gradients(
    grad: Tensor, input: Tensor, weight: Tensor, pad: int, grad_input_mask: Sequence[bool]
) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
    """Those of the input, of the weight for each of its places, and of the bias."""
    steps, length = grad.shape[0], input.shape[0]
    of_input: Tensor | None = ops.zeros_like(input) if grad_input_mask[0] else None
    of_places = []
    for place in range(weight.shape[0]):
        low, high, before, _ = seen_steps(place, length, steps, pad)
        part = grad[before : before + high - low]
        if of_input is not None:
            seen = ops.matmul(part, weight[place].mH)
            of_input = of_input + ops.constant_pad_nd(seen, [0, 0, 0, 0, low, length - high])
        if grad_input_mask[1]:
            rows = input[low:high].reshape([-1, input.shape[2]])
            of_places.append(ops.mm(rows.mH, part.reshape([-1, part.shape[2]])))
    of_weight: Tensor | None = None
    if grad_input_mask[1]:
        of_weight = ops.stack(of_places) if weight.shape[0] else ops.zeros_like(weight)
    return of_input, of_weight, grad.sum([0, 1]) if grad_input_mask[2] else None
