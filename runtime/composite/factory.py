"""Factories that have to find out a dtype, or a random generator, before they can begin; conversions."""

from __future__ import annotations

from collections.abc import Sequence

from runtime import dtypes, ops
from runtime.kernels import factory as kernels
from runtime.kernels import random
from runtime.random import Generator, default_generator
from runtime.tensor import Tensor, wrap
from runtime.types import Device, DType, Layout, MemoryFormat, Scalar


def _dtype_of(dtype: DType | None, *numbers: Scalar) -> DType:
    """`dtype`, or the one that the numbers take together."""
    return dtypes.common(numbers) if dtype is None else dtype


def _continuous(dtype: DType | None, *numbers: Scalar) -> DType:
    """As `_dtype_of`, where integers make the default floating dtype."""
    if dtype is not None:
        return dtype
    default = dtypes.get_default_dtype()
    return default.to_complex() if any(isinstance(number, complex) for number in numbers) else default


# One value throughout.


def full(
    size: Sequence[int],
    fill_value: Scalar,
    *,
    dtype: DType | None = None,
    layout: Layout | None = None,
    device: Device | None = None,
    pin_memory: bool | None = None,
) -> Tensor:
    return wrap(kernels.full_of(size, fill_value, _dtype_of(dtype, fill_value).numpy))


def scalar_tensor(
    s: Scalar,
    *,
    dtype: DType | None = None,
    layout: Layout | None = None,
    device: Device | None = None,
    pin_memory: bool | None = None,
) -> Tensor:
    return wrap(kernels.full_of([], s, (dtypes.get_default_dtype() if dtype is None else dtype).numpy))


# Series.


def _range(start: Scalar, end: Scalar, step: Scalar, dtype: DType | None) -> Tensor:
    if dtype is None:
        integers = all(isinstance(number, int) for number in (start, end, step))
        dtype = dtypes.int64 if integers else dtypes.get_default_dtype()
    return wrap(kernels.arange_of(start, end, step, dtype.numpy))


def arange(
    end: Scalar,
    *,
    dtype: DType | None = None,
    layout: Layout | None = None,
    device: Device | None = None,
    pin_memory: bool | None = None,
) -> Tensor:
    return _range(0, end, 1, dtype)


def arange_start(
    start: Scalar,
    end: Scalar,
    *,
    dtype: DType | None = None,
    layout: Layout | None = None,
    device: Device | None = None,
    pin_memory: bool | None = None,
) -> Tensor:
    return _range(start, end, 1, dtype)


def arange_start_step(
    start: Scalar,
    end: Scalar,
    step: Scalar = 1,
    *,
    dtype: DType | None = None,
    layout: Layout | None = None,
    device: Device | None = None,
    pin_memory: bool | None = None,
) -> Tensor:
    return _range(start, end, step, dtype)


def linspace(
    start: Scalar,
    end: Scalar,
    steps: int,
    *,
    dtype: DType | None = None,
    layout: Layout | None = None,
    device: Device | None = None,
    pin_memory: bool | None = None,
) -> Tensor:
    return wrap(kernels.linspace_of(start, end, steps, _continuous(dtype, start, end).numpy))


def logspace(
    start: Scalar,
    end: Scalar,
    steps: int,
    base: float = 10.0,
    *,
    dtype: DType | None = None,
    layout: Layout | None = None,
    device: Device | None = None,
    pin_memory: bool | None = None,
) -> Tensor:
    return wrap(kernels.logspace_of(start, end, steps, base, _continuous(dtype, start, end).numpy))


# Random numbers of the default generator.


def rand(
    size: Sequence[int],
    *,
    dtype: DType | None = None,
    layout: Layout | None = None,
    device: Device | None = None,
    pin_memory: bool | None = None,
) -> Tensor:
    return wrap(random.rand(size, default_generator.numpy, _continuous(dtype).numpy))


def randn(
    size: Sequence[int],
    *,
    dtype: DType | None = None,
    layout: Layout | None = None,
    device: Device | None = None,
    pin_memory: bool | None = None,
) -> Tensor:
    return wrap(random.randn(size, default_generator.numpy, _continuous(dtype).numpy))


def randint(
    high: int,
    size: Sequence[int],
    *,
    dtype: DType | None = None,
    layout: Layout | None = None,
    device: Device | None = None,
    pin_memory: bool | None = None,
) -> Tensor:
    return wrap(random.randint(high, size, default_generator.numpy, (dtype or dtypes.int64).numpy))


def randint_low(
    low: int,
    high: int,
    size: Sequence[int],
    *,
    dtype: DType | None = None,
    layout: Layout | None = None,
    device: Device | None = None,
    pin_memory: bool | None = None,
) -> Tensor:
    return wrap(random.randint_low(low, high, size, default_generator.numpy, (dtype or dtypes.int64).numpy))


def randperm(
    n: int,
    *,
    dtype: DType | None = None,
    layout: Layout | None = None,
    device: Device | None = None,
    pin_memory: bool | None = None,
) -> Tensor:
    return wrap(random.randperm(n, default_generator.numpy, (dtype or dtypes.int64).numpy))


def rand_like(
    self: Tensor,
    *,
    dtype: DType | None = None,
    layout: Layout | None = None,
    device: Device | None = None,
    pin_memory: bool | None = None,
    memory_format: MemoryFormat | None = None,
) -> Tensor:
    return wrap(random.rand(self.shape, default_generator.numpy, (dtype or self.dtype).numpy))


def randn_like(
    self: Tensor,
    *,
    dtype: DType | None = None,
    layout: Layout | None = None,
    device: Device | None = None,
    pin_memory: bool | None = None,
    memory_format: MemoryFormat | None = None,
) -> Tensor:
    return wrap(random.randn(self.shape, default_generator.numpy, (dtype or self.dtype).numpy))


def randint_like(
    self: Tensor,
    high: int,
    *,
    dtype: DType | None = None,
    layout: Layout | None = None,
    device: Device | None = None,
    pin_memory: bool | None = None,
    memory_format: MemoryFormat | None = None,
) -> Tensor:
    return wrap(random.randint(high, self.shape, default_generator.numpy, (dtype or self.dtype).numpy))


def randint_like_low(
    self: Tensor,
    low: int,
    high: int,
    *,
    dtype: DType | None = None,
    layout: Layout | None = None,
    device: Device | None = None,
    pin_memory: bool | None = None,
    memory_format: MemoryFormat | None = None,
) -> Tensor:
    return wrap(random.randint_low(low, high, self.shape, default_generator.numpy, (dtype or self.dtype).numpy))


# In-place operators whose functional form has another name.


def bernoulli_inplace(self: Tensor, p: float = 0.5, *, generator: Generator | None = None) -> Tensor:
    return self.copy_(ops.bernoulli(self.detach(), p, generator=generator))


def normal_inplace(self: Tensor, mean: float = 0, std: float = 1, *, generator: Generator | None = None) -> Tensor:
    return self.copy_(ops.normal_functional(self.detach(), mean, std, generator=generator))


# Conversion.  The Tensor itself comes back where nothing has to change.


def _converted(self: Tensor, dtype: DType | None, copy: bool) -> Tensor:
    if not copy and (dtype is None or dtype is self.dtype):
        return self
    return ops._to_copy(self, dtype=dtype)


def to_dtype(
    self: Tensor,
    dtype: DType,
    non_blocking: bool = False,
    copy: bool = False,
    memory_format: MemoryFormat | None = None,
) -> Tensor:
    return _converted(self, dtype, copy)


def to_dtype_layout(
    self: Tensor,
    *,
    dtype: DType | None = None,
    layout: Layout | None = None,
    device: Device | None = None,
    pin_memory: bool | None = None,
    non_blocking: bool = False,
    copy: bool = False,
    memory_format: MemoryFormat | None = None,
) -> Tensor:
    return _converted(self, dtype, copy)


def to_device(
    self: Tensor,
    device: Device,
    dtype: DType,
    non_blocking: bool = False,
    copy: bool = False,
    memory_format: MemoryFormat | None = None,
) -> Tensor:
    return _converted(self, dtype, copy)


def to_other(
    self: Tensor,
    other: Tensor,
    non_blocking: bool = False,
    copy: bool = False,
    memory_format: MemoryFormat | None = None,
) -> Tensor:
    return _converted(self, other.dtype, copy)


def type_as(self: Tensor, other: Tensor) -> Tensor:
    return _converted(self, other.dtype, False)
