"""Pooling of `nn.functional`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from runtime import ops
from runtime.base.tensor import Tensor

__all__ = [
    "adaptive_avg_pool1d",
    "adaptive_avg_pool2d",
    "adaptive_avg_pool3d",
    "adaptive_max_pool1d",
    "adaptive_max_pool1d_with_indices",
    "adaptive_max_pool2d",
    "adaptive_max_pool2d_with_indices",
    "adaptive_max_pool3d",
    "adaptive_max_pool3d_with_indices",
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool3d",
    "fractional_max_pool2d",
    "fractional_max_pool2d_with_indices",
    "fractional_max_pool3d",
    "fractional_max_pool3d_with_indices",
    "lp_pool1d",
    "lp_pool2d",
    "lp_pool3d",
    "max_pool1d",
    "max_pool1d_with_indices",
    "max_pool2d",
    "max_pool2d_with_indices",
    "max_pool3d",
    "max_pool3d_with_indices",
    "max_unpool1d",
    "max_unpool2d",
    "max_unpool3d",
]

Sizes = int | Sequence[int]
Found = tuple[Tensor, Tensor]


def _each(sizes: Sizes, dims: int) -> list[int]:
    """A number for each dimension, where one stands for all."""
    given = [sizes] if isinstance(sizes, int) else list(sizes)
    return given * dims if len(given) == 1 else given


def _far(stride: Sizes | None, dims: int) -> list[int]:
    """The stride of windows; none where it is their size."""
    return [] if stride is None else _each(stride, dims)


# -- maxima; with `return_indices` also their places


def _max_pool(dims: int) -> tuple[Callable[..., Any], Callable[..., Found]]:
    def with_indices(
        input: Tensor,
        kernel_size: Sizes,
        stride: Sizes | None = None,
        padding: Sizes = 0,
        dilation: Sizes = 1,
        ceil_mode: bool = False,
        return_indices: bool = False,
    ) -> Found:
        operator = (ops.max_pool1d_with_indices, ops.max_pool2d_with_indices, ops.max_pool3d_with_indices)[dims - 1]
        values, indices = operator(
            input, _each(kernel_size, dims), _far(stride, dims), _each(padding, dims), _each(dilation, dims), ceil_mode
        )
        return values, indices

    def function(
        input: Tensor,
        kernel_size: Sizes,
        stride: Sizes | None = None,
        padding: Sizes = 0,
        dilation: Sizes = 1,
        ceil_mode: bool = False,
        return_indices: bool = False,
    ) -> Any:
        found = with_indices(input, kernel_size, stride, padding, dilation, ceil_mode)
        return found if return_indices else found[0]

    return _named(f"max_pool{dims}d", function), _named(f"max_pool{dims}d_with_indices", with_indices)


def _named(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    function.__name__ = function.__qualname__ = name
    return function


max_pool1d, max_pool1d_with_indices = _max_pool(1)
max_pool2d, max_pool2d_with_indices = _max_pool(2)
max_pool3d, max_pool3d_with_indices = _max_pool(3)


def _sizes(output_size: Any, input: Tensor, dims: int) -> list[int]:
    """A size for each dimension; None leaves it as it is."""
    if isinstance(output_size, int):
        return [output_size] * dims
    given = [None] * dims if output_size is None else list(output_size)
    if len(given) == 1:
        given *= dims
    if input.dim() <= len(given):
        raise ValueError(f"Input dimension should be at least {len(given) + 1}")
    inner = input.shape[input.dim() - len(given) :]
    return [size if wanted is None else wanted for size, wanted in zip(inner, given, strict=True)]


def _adaptive_max_pool(dims: int) -> tuple[Callable[..., Any], Callable[..., Found]]:
    def with_indices(input: Tensor, output_size: Any, return_indices: bool = False) -> Found:
        operator = (ops.adaptive_max_pool1d, ops.adaptive_max_pool2d, ops.adaptive_max_pool3d)[dims - 1]
        values, indices = operator(input, _sizes(output_size, input, dims))
        return values, indices

    def function(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
        found = with_indices(input, output_size)
        return found if return_indices else found[0]

    names = f"adaptive_max_pool{dims}d", f"adaptive_max_pool{dims}d_with_indices"
    return _named(names[0], function), _named(names[1], with_indices)


adaptive_max_pool1d, adaptive_max_pool1d_with_indices = _adaptive_max_pool(1)
adaptive_max_pool2d, adaptive_max_pool2d_with_indices = _adaptive_max_pool(2)
adaptive_max_pool3d, adaptive_max_pool3d_with_indices = _adaptive_max_pool(3)


def _fractional_max_pool(dims: int) -> tuple[Callable[..., Any], Callable[..., Found]]:
    def with_indices(
        input: Tensor,
        kernel_size: Sizes,
        output_size: Sizes | None = None,
        output_ratio: Any = None,
        return_indices: bool = False,
        _random_samples: Tensor | None = None,
    ) -> Found:
        if (output_size is None) == (output_ratio is None):
            raise ValueError("fractional_max_pool requires specifying either an output_size or an output_ratio")
        kernel = (kernel_size,) * dims if isinstance(kernel_size, int) else kernel_size
        if output_size is None:
            ratios = [output_ratio] * dims if isinstance(output_ratio, int | float) else list(output_ratio)
            inner = input.shape[input.dim() - dims :]
            output_size = [int(size * ratio) for size, ratio in zip(inner, ratios, strict=True)]
        elif isinstance(output_size, int):
            output_size = (output_size,) * dims
        if _random_samples is None:
            outer = input.shape[:-dims] if input.dim() == dims + 2 else (1, input.shape[0])
            _random_samples = ops.rand([*outer, dims], dtype=input.dtype)
        operator = ops.fractional_max_pool2d if dims == 2 else ops.fractional_max_pool3d
        values, indices = operator(input, kernel, output_size, _random_samples)
        return values, indices

    def function(
        input: Tensor,
        kernel_size: Sizes,
        output_size: Sizes | None = None,
        output_ratio: Any = None,
        return_indices: bool = False,
        _random_samples: Tensor | None = None,
    ) -> Any:
        found = with_indices(input, kernel_size, output_size, output_ratio, False, _random_samples)
        return found if return_indices else found[0]

    names = f"fractional_max_pool{dims}d", f"fractional_max_pool{dims}d_with_indices"
    return _named(names[0], function), _named(names[1], with_indices)


fractional_max_pool2d, fractional_max_pool2d_with_indices = _fractional_max_pool(2)
fractional_max_pool3d, fractional_max_pool3d_with_indices = _fractional_max_pool(3)


# -- the way back from maxima


def _unpool(
    dims: int,
    input: Tensor,
    indices: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None,
    padding: Sizes,
    output_size: Sequence[int] | None,
) -> Tensor:
    kernel, pad = _each(kernel_size, dims), _each(padding, dims)
    far = kernel if stride is None else _each(stride, dims)
    inner = input.shape[input.dim() - dims :]
    usual = [
        (size - 1) * step + width - 2 * around
        for size, step, width, around in zip(inner, far, kernel, pad, strict=True)
    ]
    if output_size is None:
        sizes = usual
    else:
        sizes = list(output_size)[-dims:] if len(output_size) == dims + 2 else list(output_size)
        if len(sizes) != dims:
            raise ValueError(
                f"output_size should be a sequence containing {dims} or {dims + 2} elements, but it has a length of "
                f"'{len(output_size)}'"
            )
        if any(not size - step < wanted < size + step for size, step, wanted in zip(usual, far, sizes, strict=True)):
            raise ValueError(f"invalid output_size {sizes}: it has to be near {usual}")
    if dims == 1:
        return ops.max_unpool2d(input.unsqueeze(-1), indices.unsqueeze(-1), [*sizes, 1]).squeeze(-1)
    if dims == 2:
        return ops.max_unpool2d(input, indices, sizes)
    return ops.max_unpool3d(input, indices, sizes, far, pad)


def max_unpool1d(
    input: Tensor,
    indices: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    output_size: Sequence[int] | None = None,
) -> Tensor:
    """Maxima at their places in signals of zeros."""
    return _unpool(1, input, indices, kernel_size, stride, padding, output_size)


def max_unpool2d(
    input: Tensor,
    indices: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    output_size: Sequence[int] | None = None,
) -> Tensor:
    """Maxima at their places in images of zeros."""
    return _unpool(2, input, indices, kernel_size, stride, padding, output_size)


def max_unpool3d(
    input: Tensor,
    indices: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    output_size: Sequence[int] | None = None,
) -> Tensor:
    """Maxima at their places in volumes of zeros."""
    return _unpool(3, input, indices, kernel_size, stride, padding, output_size)


# -- means


def avg_pool1d(
    input: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Tensor:
    sizes = _each(kernel_size, 1), _far(stride, 1), _each(padding, 1)
    return ops.avg_pool1d(input, *sizes, ceil_mode, count_include_pad)


def avg_pool2d(
    input: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    sizes = _each(kernel_size, 2), _far(stride, 2), _each(padding, 2)
    return ops.avg_pool2d(input, *sizes, ceil_mode, count_include_pad, divisor_override)


def avg_pool3d(
    input: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    sizes = _each(kernel_size, 3), _far(stride, 3), _each(padding, 3)
    return ops.avg_pool3d(input, *sizes, ceil_mode, count_include_pad, divisor_override)


def adaptive_avg_pool1d(input: Tensor, output_size: Sizes) -> Tensor:
    return ops.adaptive_avg_pool1d(input, output_size)


def adaptive_avg_pool2d(input: Tensor, output_size: Any) -> Tensor:
    return ops.adaptive_avg_pool2d(input, _sizes(output_size, input, 2))


def adaptive_avg_pool3d(input: Tensor, output_size: Any) -> Tensor:
    return ops.adaptive_avg_pool3d(input, _sizes(output_size, input, 3))


# -- p-norms


def _lp_pool(
    dims: int, input: Tensor, norm_type: float, kernel_size: Sizes, stride: Sizes | None, ceil_mode: bool
) -> Tensor:
    mean = (avg_pool1d, avg_pool2d, avg_pool3d)[dims - 1]
    count = 1
    for size in _each(kernel_size, dims):
        count *= size
    means = mean(input.pow(norm_type), kernel_size, stride, 0, ceil_mode)
    # As it stands where a sum is zero, so that the gradient is NaN there, as PyTorch's.
    return (ops.sign(means) * ops.relu(ops.abs(means)) * count).pow(1.0 / norm_type)


def lp_pool1d(
    input: Tensor, norm_type: float, kernel_size: int, stride: Sizes | None = None, ceil_mode: bool = False
) -> Tensor:
    """The p-norm of each window."""
    return _lp_pool(1, input, norm_type, kernel_size, stride, ceil_mode)


def lp_pool2d(
    input: Tensor, norm_type: float, kernel_size: Sizes, stride: Sizes | None = None, ceil_mode: bool = False
) -> Tensor:
    """The p-norm of each window."""
    return _lp_pool(2, input, norm_type, kernel_size, stride, ceil_mode)


def lp_pool3d(
    input: Tensor, norm_type: float, kernel_size: Sizes, stride: Sizes | None = None, ceil_mode: bool = False
) -> Tensor:
    """The p-norm of each window."""
    return _lp_pool(3, input, norm_type, kernel_size, stride, ceil_mode)
