"""Convolutions, their adjoints, and windows of images as columns, as Modules."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from gradwright.nn import functional as F
from gradwright.nn import init
from gradwright.nn.module import Module
from gradwright.nn.options import FunctionModule, options
from gradwright.nn.parameter import Parameter
from runtime import ops
from runtime.base.tensor import Tensor
from runtime.base.types import Device, DType

Sizes = int | Sequence[int]

_PADDING_MODES = ("zeros", "reflect", "replicate", "circular")


def _each(sizes: Sizes, dims: int) -> tuple[int, ...]:
    return (sizes,) * dims if isinstance(sizes, int) else tuple(sizes)


class _Convolution(Module):
    """What convolutions and their adjoints share: numbers for each dimension, a weight and a bias."""

    dims: ClassVar[int]
    transposed: ClassVar[bool] = False

    weight: Tensor
    bias: Tensor | None

    def _make(
        self,
        channels: tuple[int, int],
        sizes: Sequence[Any],
        groups: int,
        bias: bool,
        padding_mode: str,
        device: Device | str | None,
        dtype: DType | None,
    ) -> None:
        """Keep the numbers, and make the parameters; `sizes` are kernel, stride, padding, dilation, output padding."""
        kernel, stride, padding, dilation, output_padding = sizes
        self.in_channels, self.out_channels = channels
        self.groups = groups
        self.kernel_size = _each(kernel, self.dims)
        self.stride = _each(stride, self.dims)
        self.padding = padding if isinstance(padding, str) else _each(padding, self.dims)
        self.dilation = _each(dilation, self.dims)
        self.output_padding = _each(output_padding, self.dims)
        self.padding_mode = padding_mode
        self._check()
        first, second = reversed(channels) if not self.transposed else channels
        shape = [first, second // groups, *self.kernel_size]
        self.weight = Parameter(ops.empty(shape, dtype=dtype, device=device))
        values = Parameter(ops.empty([self.out_channels], dtype=dtype, device=device)) if bias else None
        self.register_parameter("bias", values)
        self.reset_parameters()

    def _check(self) -> None:
        if self.groups <= 0:
            raise ValueError("groups must be a positive integer")
        for name in ("in_channels", "out_channels"):
            if getattr(self, name) % self.groups:
                raise ValueError(f"{name} must be divisible by groups")
        if isinstance(self.padding, str):
            if self.padding not in ("same", "valid"):
                raise ValueError(f"Invalid padding string {self.padding!r}, should be one of same, valid")
            if self.padding == "same" and any(far != 1 for far in self.stride):
                raise ValueError("padding='same' is not supported for strided convolutions")
        if self.padding_mode not in _PADDING_MODES:
            raise ValueError(
                f"padding_mode must be one of {', '.join(_PADDING_MODES)}, but got padding_mode='{self.padding_mode}'"
            )

    def reset_parameters(self) -> None:
        """Draw the parameters anew, uniformly between plus and minus 1 / sqrt(elements of the weight for a channel)."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            count = math.prod(self.weight.shape[1:])
            if count:
                limit = 1 / math.sqrt(count)
                init.uniform_(self.bias, -limit, limit)

    def extra_repr(self) -> str:
        """The sizes, and options that are not the usual ones."""
        parts = [str(self.in_channels), str(self.out_channels)]
        parts += [f"kernel_size={self.kernel_size}", f"stride={self.stride}"]
        for name, usual in (("padding", 0), ("dilation", 1), ("output_padding", 0)):
            if getattr(self, name) != (usual,) * self.dims:
                parts.append(f"{name}={getattr(self, name)}")
        if self.groups != 1:
            parts.append(f"groups={self.groups}")
        if self.bias is None:
            parts.append("bias=False")
        if self.padding_mode != "zeros":
            parts.append(f"padding_mode={self.padding_mode}")
        return ", ".join(parts)


class _ConvNd(_Convolution):
    """Sums of windows of the input, weighted.

    Args:
        in_channels: the channels of the input.
        out_channels: the channels of the result.
        kernel_size: of a window.
        stride: how far windows lie apart.
        padding: how much is put around the input; `same` is what keeps its size, `valid` nothing.
        dilation: how far the elements of a window lie apart.
        groups: into how many parts the channels are divided, each of which only sees its own.
        bias: whether a number is added for each channel.
        padding_mode: what is put around the input: `zeros`, or its elements by `reflect`, `replicate`, `circular`.
        device: where the parameters live.
        dtype: of the parameters.

    Raises:
        ValueError: the channels cannot be divided into that many groups, or an option is none.
    """

    convolve: ClassVar[Callable[..., Tensor]]

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Sizes,
        stride: Sizes = 1,
        padding: Sizes | str = 0,
        dilation: Sizes = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Device | str | None = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        sizes = (kernel_size, stride, padding, dilation, 0)
        self._make((in_channels, out_channels), sizes, groups, bias, padding_mode, device, dtype)

    def _ends(self) -> list[int]:
        """How much is put at both ends of each dimension, the last one first."""
        if self.padding == "valid":
            return [0, 0] * self.dims
        if self.padding == "same":
            total = [far * (size - 1) for far, size in zip(self.dilation, self.kernel_size, strict=True)]
            return [end for length in reversed(total) for end in (length // 2, length - length // 2)]
        return [length for length in reversed(self.padding) for _ in range(2)]  # type: ignore[misc]

    def forward(self, input: Tensor) -> Tensor:
        """The convolution of an input of shape (N, in_channels, *), or without N."""
        padding = self.padding
        if self.padding_mode != "zeros":
            input, padding = F.pad(input, self._ends(), self.padding_mode), (0,) * self.dims
        function = type(self).convolve
        return function(input, self.weight, self.bias, self.stride, padding, self.dilation, self.groups)


class Conv1d(_ConvNd):
    __doc__ = _ConvNd.__doc__
    dims, convolve = 1, staticmethod(F.conv1d)


class Conv2d(_ConvNd):
    __doc__ = _ConvNd.__doc__
    dims, convolve = 2, staticmethod(F.conv2d)


class Conv3d(_ConvNd):
    __doc__ = _ConvNd.__doc__
    dims, convolve = 3, staticmethod(F.conv3d)


class _ConvTransposeNd(_Convolution):
    """The adjoint of a convolution: each element of the input times the weight, laid as windows over the result.

    Args:
        in_channels: the channels of the input.
        out_channels: the channels of the result.
        kernel_size: of a window.
        stride: how far windows lie apart.
        padding: how much is cut off around the result.
        output_padding: how much larger the result is at its ends.
        groups: into how many parts the channels are divided, each of which only sees its own.
        bias: whether a number is added for each channel.
        dilation: how far the elements of a window lie apart.
        padding_mode: `zeros` alone.
        device: where the parameters live.
        dtype: of the parameters.

    Raises:
        ValueError: the channels cannot be divided into that many groups, or an option is none.
    """

    transposed = True
    convolve: ClassVar[Callable[..., Tensor]]

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Sizes,
        stride: Sizes = 1,
        padding: Sizes = 0,
        output_padding: Sizes = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Sizes = 1,
        padding_mode: str = "zeros",
        device: Device | str | None = None,
        dtype: DType | None = None,
    ) -> None:
        if padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {type(self).__name__}')
        super().__init__()
        sizes = (kernel_size, stride, padding, dilation, output_padding)
        self._make((in_channels, out_channels), sizes, groups, bias, padding_mode, device, dtype)

    def forward(self, input: Tensor, output_size: Sequence[int] | None = None) -> Tensor:
        """The adjoint for an input of shape (N, in_channels, *), or without N; of `output_size`, where that is given.

        Raises:
            ValueError: no padding of the result makes it as large as that.
        """
        more = self.output_padding if output_size is None else self._padding_for(input, list(output_size))
        function = type(self).convolve
        return function(input, self.weight, self.bias, self.stride, self.padding, more, self.groups, self.dilation)

    def _padding_for(self, input: Tensor, output_size: list[int]) -> list[int]:
        """The output padding that makes the result as large as `output_size` says."""
        outer = input.dim() - self.dims
        if len(output_size) == input.dim():
            output_size = output_size[outer:]
        if len(output_size) != self.dims:
            raise ValueError(
                f"ConvTranspose{self.dims}D: for {input.dim()}D input, output_size must have {self.dims} or "
                f"{input.dim()} elements (got {len(output_size)})"
            )
        geometry = zip(input.shape[outer:], self.stride, self.padding, self.dilation, self.kernel_size, strict=True)
        least = [(size - 1) * far - 2 * pad + wide * (kernel - 1) + 1 for size, far, pad, wide, kernel in geometry]  # type: ignore[operator]
        most = [size + far - 1 for size, far in zip(least, self.stride, strict=True)]
        if any(not low <= size <= high for size, low, high in zip(output_size, least, most, strict=True)):
            raise ValueError(
                f"requested an output size of {output_size}, but valid sizes range from {least} to {most} (for an "
                f"input of {list(input.shape[outer:])})"
            )
        return [size - low for size, low in zip(output_size, least, strict=True)]


class ConvTranspose1d(_ConvTransposeNd):
    __doc__ = _ConvTransposeNd.__doc__
    dims, convolve = 1, staticmethod(F.conv_transpose1d)


class ConvTranspose2d(_ConvTransposeNd):
    __doc__ = _ConvTransposeNd.__doc__
    dims, convolve = 2, staticmethod(F.conv_transpose2d)


class ConvTranspose3d(_ConvTransposeNd):
    __doc__ = _ConvTransposeNd.__doc__
    dims, convolve = 3, staticmethod(F.conv_transpose3d)


@options
class Unfold(FunctionModule):
    """The windows of images as columns."""

    function = staticmethod(F.unfold)
    kernel_size: Sizes
    dilation: Sizes = 1
    padding: Sizes = 0
    stride: Sizes = 1


@options
class Fold(FunctionModule):
    """Columns laid as windows over images of `output_size`, added up where they overlap."""

    function = staticmethod(F.fold)
    output_size: Sizes
    kernel_size: Sizes
    dilation: Sizes = 1
    padding: Sizes = 0
    stride: Sizes = 1
