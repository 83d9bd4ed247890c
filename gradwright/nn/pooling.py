"""Pooling, as Modules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from gradwright.nn import functional as F
from gradwright.nn.module import Module
from gradwright.nn.options import FunctionModule, options
from runtime.base.tensor import Tensor

Sizes = int | Sequence[int]


def _each(sizes: Sizes, dims: int) -> tuple[int, ...]:
    return (sizes,) * dims if isinstance(sizes, int) else tuple(sizes)


class _MaxPoolNd(Module):
    """The largest element of each window.

    Args:
        kernel_size: of a window.
        stride: how far windows lie apart; their size if left out.
        padding: how far they reach beyond the input.
        dilation: how far the elements of a window lie apart.
        return_indices: whether the places of the maxima are returned, too.
        ceil_mode: whether there are windows that reach further beyond the end.
    """

    dims: ClassVar[int]

    def __init__(
        self,
        kernel_size: Sizes,
        stride: Sizes | None = None,
        padding: Sizes = 0,
        dilation: Sizes = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding = padding
        self.dilation = dilation
        self.return_indices = return_indices
        self.ceil_mode = ceil_mode

    def forward(self, input: Tensor) -> Any:
        """The maxima, of an input with or without a batch."""
        function = (F.max_pool1d, F.max_pool2d, F.max_pool3d)[self.dims - 1]
        return function(
            input, self.kernel_size, self.stride, self.padding, self.dilation, self.ceil_mode, self.return_indices
        )

    def extra_repr(self) -> str:
        """The numbers by name."""
        names = ("kernel_size", "stride", "padding", "dilation", "ceil_mode")
        return ", ".join(f"{name}={getattr(self, name)}" for name in names)


class MaxPool1d(_MaxPoolNd):
    __doc__ = _MaxPoolNd.__doc__
    dims = 1


class MaxPool2d(_MaxPoolNd):
    __doc__ = _MaxPoolNd.__doc__
    dims = 2


class MaxPool3d(_MaxPoolNd):
    __doc__ = _MaxPoolNd.__doc__
    dims = 3


class _MaxUnpoolNd(Module):
    """Maxima at the places they were found, with zeros elsewhere.

    Args:
        kernel_size: of the windows that the maxima are of.
        stride: how far these lay apart; their size if left out.
        padding: how far they reached beyond the input.
    """

    dims: ClassVar[int]

    def __init__(self, kernel_size: Sizes, stride: Sizes | None = None, padding: Sizes = 0) -> None:
        super().__init__()
        self.kernel_size = _each(kernel_size, self.dims)
        self.stride = self.kernel_size if stride is None else _each(stride, self.dims)
        self.padding = _each(padding, self.dims)

    def forward(self, input: Tensor, indices: Tensor, output_size: Sequence[int] | None = None) -> Tensor:
        """The input of the pooling, as far as it is known; of `output_size`, where that is given."""
        function = (F.max_unpool1d, F.max_unpool2d, F.max_unpool3d)[self.dims - 1]
        return function(input, indices, self.kernel_size, self.stride, self.padding, output_size)

    def extra_repr(self) -> str:
        """The numbers by name."""
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class MaxUnpool1d(_MaxUnpoolNd):
    __doc__ = _MaxUnpoolNd.__doc__
    dims = 1


class MaxUnpool2d(_MaxUnpoolNd):
    __doc__ = _MaxUnpoolNd.__doc__
    dims = 2


class MaxUnpool3d(_MaxUnpoolNd):
    __doc__ = _MaxUnpoolNd.__doc__
    dims = 3


class _AvgPoolNd(Module):
    """The mean of each window.

    Args:
        kernel_size: of a window.
        stride: how far windows lie apart; their size if left out.
        padding: how far they reach beyond the input.
        ceil_mode: whether there are windows that reach further beyond the end.
        count_include_pad: whether what lies beyond the input counts as zeros.
    """

    kernel_size: Any
    stride: Any
    padding: Any

    def extra_repr(self) -> str:
        """The numbers by name."""
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class AvgPool1d(_AvgPoolNd):
    __doc__ = _AvgPoolNd.__doc__

    def __init__(
        self,
        kernel_size: Sizes,
        stride: Sizes | None = None,
        padding: Sizes = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:
        super().__init__()
        self.kernel_size = _each(kernel_size, 1)
        self.stride = self.kernel_size if stride is None else _each(stride, 1)
        self.padding = _each(padding, 1)
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad

    def forward(self, input: Tensor) -> Tensor:
        """The means, of an input with or without a batch."""
        return F.avg_pool1d(input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad)


class _AvgPoolOfImages(_AvgPoolNd):
    dims: ClassVar[int]

    def __init__(
        self,
        kernel_size: Sizes,
        stride: Sizes | None = None,
        padding: Sizes = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding = padding
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad
        self.divisor_override = divisor_override

    def forward(self, input: Tensor) -> Tensor:
        """The means, of an input with or without a batch."""
        function = F.avg_pool2d if self.dims == 2 else F.avg_pool3d
        return function(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.ceil_mode,
            self.count_include_pad,
            self.divisor_override,
        )


class AvgPool2d(_AvgPoolOfImages):
    __doc__ = _AvgPoolNd.__doc__
    dims = 2


class AvgPool3d(_AvgPoolOfImages):
    __doc__ = _AvgPoolNd.__doc__
    dims = 3


class _Adaptive(Module):
    """One number for each of the parts into which the input is divided.

    Args:
        output_size: how many parts there are in each dimension; None leaves it as it is.
    """

    dims: ClassVar[int]

    def __init__(self, output_size: Any) -> None:
        super().__init__()
        self.output_size = output_size

    def extra_repr(self) -> str:
        """The numbers of parts."""
        return f"output_size={self.output_size}"


class _AdaptiveAvgPoolNd(_Adaptive):
    def forward(self, input: Tensor) -> Tensor:
        """The means, of an input with or without a batch."""
        function = (F.adaptive_avg_pool1d, F.adaptive_avg_pool2d, F.adaptive_avg_pool3d)[self.dims - 1]
        return function(input, self.output_size)


class _AdaptiveMaxPoolNd(_Adaptive):
    def __init__(self, output_size: Any, return_indices: bool = False) -> None:
        super().__init__(output_size)
        self.return_indices = return_indices

    def forward(self, input: Tensor) -> Any:
        """The maxima, of an input with or without a batch."""
        function = (F.adaptive_max_pool1d, F.adaptive_max_pool2d, F.adaptive_max_pool3d)[self.dims - 1]
        return function(input, self.output_size, self.return_indices)


class AdaptiveAvgPool1d(_AdaptiveAvgPoolNd):
    """The means of parts of a signal."""

    dims = 1


class AdaptiveAvgPool2d(_AdaptiveAvgPoolNd):
    """The means of parts of images."""

    dims = 2


class AdaptiveAvgPool3d(_AdaptiveAvgPoolNd):
    """The means of parts of volumes."""

    dims = 3


class AdaptiveMaxPool1d(_AdaptiveMaxPoolNd):
    """The largest elements of parts of a signal."""

    dims = 1


class AdaptiveMaxPool2d(_AdaptiveMaxPoolNd):
    """The largest elements of parts of images."""

    dims = 2


class AdaptiveMaxPool3d(_AdaptiveMaxPoolNd):
    """The largest elements of parts of volumes."""

    dims = 3


class _FractionalMaxPool(Module):
    """The largest element of each window, where the windows lie at random places about equally far apart.

    Args:
        kernel_size: of a window.
        output_size: how many windows there are.
        output_ratio: how many there are for each element of the input, in the place of that.
        return_indices: whether the places of the maxima are returned, too.

    Raises:
        ValueError: there is neither a size nor a ratio, or both, or a ratio is not between 0 and 1.
    """

    dims: ClassVar[int]

    def __init__(
        self,
        kernel_size: Sizes,
        output_size: Sizes | None = None,
        output_ratio: Any = None,
        return_indices: bool = False,
        _random_samples: Tensor | None = None,
    ) -> None:
        super().__init__()
        name = type(self).__name__
        if (output_size is None) == (output_ratio is None):
            raise ValueError(f"{name} requires specifying either an output size or a pooling ratio")
        self.kernel_size = _each(kernel_size, self.dims)
        self.return_indices = return_indices
        self.register_buffer("_random_samples", _random_samples)
        self.output_size = None if output_size is None else _each(output_size, self.dims)
        self.output_ratio = output_ratio
        if output_ratio is not None:
            self.output_ratio = (
                _each(output_ratio, self.dims) if isinstance(output_ratio, Sequence) else (output_ratio,) * self.dims
            )
            if not all(0 < ratio < 1 for ratio in self.output_ratio):
                raise ValueError(f"output_ratio must be between 0 and 1 (got {output_ratio})")

    def forward(self, input: Tensor) -> Any:
        """The maxima, of an input with or without a batch."""
        function = F.fractional_max_pool2d if self.dims == 2 else F.fractional_max_pool3d
        return function(
            input,
            self.kernel_size,
            self.output_size,
            self.output_ratio,
            self.return_indices,
            _random_samples=self._random_samples,
        )


class FractionalMaxPool2d(_FractionalMaxPool):
    __doc__ = _FractionalMaxPool.__doc__
    dims = 2


class FractionalMaxPool3d(_FractionalMaxPool):
    __doc__ = _FractionalMaxPool.__doc__
    dims = 3


@options
class LPPool1d(FunctionModule):
    """The p-norm of each window of a signal."""

    function = staticmethod(F.lp_pool1d)
    norm_type: float
    kernel_size: int
    stride: Sizes | None = None
    ceil_mode: bool = False


@options
class LPPool2d(FunctionModule):
    """The p-norm of each window of images."""

    function = staticmethod(F.lp_pool2d)
    norm_type: float
    kernel_size: Sizes
    stride: Sizes | None = None
    ceil_mode: bool = False


@options
class LPPool3d(FunctionModule):
    """The p-norm of each window of volumes."""

    function = staticmethod(F.lp_pool3d)
    norm_type: float
    kernel_size: Sizes
    stride: Sizes | None = None
    ceil_mode: bool = False
