"""Convolutions by the number of their dimensions, and the second derivative of all."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from runtime import ops
from runtime.base.tensor import Tensor
from runtime.operators.helpers.convolution import conv_tbc_gradients, seen_steps


def _with_batch(input: Tensor, dims: int, name: str) -> tuple[Tensor, bool]:
    """The input with a batch, and whether it had none."""
    if input.dim() == dims + 2:
        return input, False
    if input.dim() == dims + 1:
        return input.unsqueeze(0), True
    raise RuntimeError(
        f"Expected {dims + 1}D (unbatched) or {dims + 2}D (batched) input to {name}, but got input of size: "
        f"{list(input.shape)}"
    )


def _convolve(
    name: str,
    dims: int,
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Sequence[int],
    padding: Sequence[int] | str,
    dilation: Sequence[int],
    groups: int,
) -> Tensor:
    images, single = _with_batch(input, dims, name)
    if isinstance(padding, str):
        out = ops._convolution_mode(images, weight, bias, stride, padding, dilation, groups)
    else:
        out = ops.convolution(images, weight, bias, stride, padding, dilation, False, [0] * dims, groups)
    return out.squeeze(0) if single else out


def conv1d(input: Tensor, weight: Tensor, *arguments: Any) -> Tensor:
    """Cross-correlation of a batch of signals (N, C, L) with kernels (C_out, C / groups, K)."""
    return _convolve("conv1d", 1, input, weight, *arguments)


def conv2d(input: Tensor, weight: Tensor, *arguments: Any) -> Tensor:
    """Cross-correlation of a batch of images (N, C, H, W) with kernels (C_out, C / groups, K_h, K_w)."""
    return _convolve("conv2d", 2, input, weight, *arguments)


def conv3d(input: Tensor, weight: Tensor, *arguments: Any) -> Tensor:
    """Cross-correlation of a batch of volumes (N, C, D, H, W) with kernels (C_out, C / groups, K_d, K_h, K_w)."""
    return _convolve("conv3d", 3, input, weight, *arguments)


def conv1d_padding(input: Tensor, weight: Tensor, *arguments: Any) -> Tensor:
    """The same, padded by 'valid' (not at all) or 'same' (to the length of the input)."""
    return _convolve("conv1d", 1, input, weight, *arguments)


def conv2d_padding(input: Tensor, weight: Tensor, *arguments: Any) -> Tensor:
    """The same, padded by 'valid' (not at all) or 'same' (to the size of the input)."""
    return _convolve("conv2d", 2, input, weight, *arguments)


def conv3d_padding(input: Tensor, weight: Tensor, *arguments: Any) -> Tensor:
    """The same, padded by 'valid' (not at all) or 'same' (to the size of the input)."""
    return _convolve("conv3d", 3, input, weight, *arguments)


def _convolution_mode(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Sequence[int],
    padding: str,
    dilation: Sequence[int],
    groups: int,
) -> Tensor:
    """A convolution with no padding (`valid`), or with as much as leaves the sizes as they are (`same`)."""
    dims = weight.dim() - 2
    nothing = [0] * dims
    if padding == "valid":
        return ops.convolution(input, weight, bias, stride, nothing, dilation, False, nothing, groups)
    if padding != "same":
        raise RuntimeError(f"Invalid padding string: '{padding}'")
    if any(far != 1 for far in stride):
        raise RuntimeError("padding='same' is not supported for strided convolutions")
    wide = list(dilation) * dims if len(dilation) == 1 else list(dilation)
    if len(wide) != dims:
        raise RuntimeError(
            f"expected dilation to be a single integer value or a list of {dims} values to match the convolution "
            f"dimensions, but got dilation={list(dilation)}"
        )
    total = [far * (size - 1) for far, size in zip(wide, weight.shape[2:], strict=True)]
    if any(length % 2 for length in total):  # what is left over is at the end
        warnings.warn(
            "Using padding='same' with even kernel lengths and odd dilation may require a zero-padded copy of the "
            "input be created",
            stacklevel=2,
        )
        uneven = [end for length in reversed(total) for end in (0, length % 2)]
        input = ops.constant_pad_nd(input, uneven, 0)
    half = [length // 2 for length in total]
    return ops.convolution(input, weight, bias, stride, half, dilation, False, nothing, groups)


def _transpose(
    name: str,
    dims: int,
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Sequence[int],
    padding: Sequence[int],
    output_padding: Sequence[int],
    groups: int,
    dilation: Sequence[int],
) -> Tensor:
    images, single = _with_batch(input, dims, name)
    out = ops.convolution(images, weight, bias, stride, padding, dilation, True, output_padding, groups)
    return out.squeeze(0) if single else out


def conv_transpose1d(input: Tensor, weight: Tensor, *arguments: Any) -> Tensor:
    """The transpose of `conv1d` with these kernels: what the gradient of its input is."""
    return _transpose("conv_transpose1d", 1, input, weight, *arguments)


def conv_transpose2d_input(input: Tensor, weight: Tensor, *arguments: Any) -> Tensor:
    """The transpose of `conv2d` with these kernels: what the gradient of its input is."""
    return _transpose("conv_transpose2d", 2, input, weight, *arguments)


def conv_transpose3d_input(input: Tensor, weight: Tensor, *arguments: Any) -> Tensor:
    """The transpose of `conv3d` with these kernels: what the gradient of its input is."""
    return _transpose("conv_transpose3d", 3, input, weight, *arguments)


# -- with time first, and channels last


def _steps(self: Tensor, weight: Tensor, bias: Tensor, pad: int) -> int:
    """How many places of the result there are, of a convolution over time whose arguments fit."""
    if self.dim() != 3:
        raise RuntimeError("Input must have 3 dims: time, batch, in_channel")
    if weight.dim() != 3:
        raise RuntimeError("Weight tensor must have 3 dims: kernel_width, in_channels, out_channels.")
    if bias.dim() != 1:
        raise RuntimeError("Bias must be 1-D")
    if self.shape[2] != weight.shape[1]:
        raise RuntimeError("Input dim 2 (input channels) is not == dim 1 in the weight tensor (input channels)")
    if weight.shape[2] != bias.shape[0]:
        raise RuntimeError("Bias size must equal dim 2 in the weight tensor (output channels).")
    steps = self.shape[0] + 2 * pad - weight.shape[0] + 1
    if steps < 0:
        raise RuntimeError(
            f"conv_tbc: a kernel of {weight.shape[0]} steps is too long for {self.shape[0]} steps, padded by {pad}"
        )
    return steps


def conv_tbc(self: Tensor, weight: Tensor, bias: Tensor, pad: int = 0) -> Tensor:
    """A convolution over (time, batch, channels), with weights that are (kernel, channels, channels of the result)."""
    steps = _steps(self, weight, bias, pad)
    if bias.is_floating_point() and not (self.is_floating_point() or self.is_complex()):
        raise RuntimeError(f"conv_tbc: the bias is {bias.dtype}, and would be cut off to {self.dtype}")
    out = bias.to(self.dtype).expand([steps, self.shape[1], weight.shape[2]])
    for place in range(weight.shape[0]):
        low, high, before, after = seen_steps(place, self.shape[0], steps, pad)
        part = ops.matmul(self[low:high], weight[place])
        out = out + ops.constant_pad_nd(part, [0, 0, 0, 0, before, after])
    return out.contiguous()


def conv_tbc_backward(
    self: Tensor, input: Tensor, weight: Tensor, bias: Tensor, pad: int
) -> tuple[Tensor, Tensor, Tensor]:
    """The gradients of input, weight and bias, from `self`, the one of the result."""
    _steps(input, weight, bias, pad)
    return conv_tbc_gradients(self, input, weight, pad, [True, True, True])  # type: ignore[return-value]


# -- second derivatives


def _plus(left: Tensor | None, right: Tensor | None) -> Tensor | None:
    if left is None or right is None:
        return right if left is None else left
    return left + right


def _convolution_double_backward(
    ggI: Tensor | None,
    ggW: Tensor | None,
    ggb: Tensor | None,
    gO: Tensor,
    weight: Tensor,
    self: Tensor,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
    output_mask: Sequence[bool],
) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
    """The gradients of the gradient of a result, of the input and of the weight.

    A convolution C(x, w) is linear in either of its arguments, and its gradients are the adjoints Cx(g, w) and
    Cw(x, g) of both maps.  So <ggI, Cx(g, w)> + <ggW, Cw(x, g)> + <ggb, sum(g)> is
    <g, C(ggI, w) + C(x, ggW) + ggb>, and in x it has the gradient Cx(g, ggW), in w the gradient Cw(ggI, g).
    """
    geometry = (stride, padding, dilation, transposed, output_padding, groups)
    of_gradient = of_input = of_weight = None
    if output_mask[0]:
        if ggI is not None:
            of_gradient = ops.convolution(ggI, weight, None, *geometry)
        if ggW is not None:
            of_gradient = _plus(of_gradient, ops.convolution(self, ggW, None, *geometry))
        if ggb is not None:
            each = ggb.reshape([-1] + [1] * (gO.dim() - 2))
            of_gradient = _plus(of_gradient, each.expand_as(gO))
    if output_mask[1] and ggW is not None:
        of_input = ops.convolution_backward(gO, self, ggW, None, *geometry, [True, False, False])[0]
    if output_mask[2] and ggI is not None:
        of_weight = ops.convolution_backward(gO, ggI, weight, None, *geometry, [False, True, False])[1]
    return of_gradient, of_input, of_weight
