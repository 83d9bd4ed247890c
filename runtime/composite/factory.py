"""Random numbers in place of others; conversions."""

from __future__ import annotations

from runtime import ops
from runtime.base.tensor import Tensor
from runtime.base.types import Device, DType, Layout, MemoryFormat, lies_in
from runtime.random import Generator

# In-place operators whose functional form has another name.


def bernoulli_inplace(self: Tensor, p: float = 0.5, *, generator: Generator | None = None) -> Tensor:
    return self.copy_(ops.bernoulli(self.detach(), p, generator=generator))


def normal_inplace(self: Tensor, mean: float = 0, std: float = 1, *, generator: Generator | None = None) -> Tensor:
    return self.copy_(ops.normal_functional(self.detach(), mean, std, generator=generator))


# Conversion.  The Tensor itself comes back where nothing has to change.


def _converted(
    self: Tensor,
    dtype: DType | None,
    copy: bool,
    memory_format: MemoryFormat | None = None,
    device: Device | None = None,
) -> Tensor:
    stays = device is None or Device(device).type == self.device.type
    if stays and not copy and (dtype is None or dtype is self.dtype) and lies_in(self, memory_format):
        return self
    if stays:
        return ops._to_copy(self, dtype=dtype, memory_format=memory_format)
    return ops._to_copy(self, dtype=dtype, device=device, memory_format=memory_format)


def to_dtype(
    self: Tensor,
    dtype: DType,
    non_blocking: bool = False,
    copy: bool = False,
    memory_format: MemoryFormat | None = None,
) -> Tensor:
    return _converted(self, dtype, copy, memory_format)


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
    return _converted(self, dtype, copy, memory_format, device)


def to_device(
    self: Tensor,
    device: Device,
    dtype: DType,
    non_blocking: bool = False,
    copy: bool = False,
    memory_format: MemoryFormat | None = None,
) -> Tensor:
    return _converted(self, dtype, copy, memory_format, device)


def to_other(
    self: Tensor,
    other: Tensor,
    non_blocking: bool = False,
    copy: bool = False,
    memory_format: MemoryFormat | None = None,
) -> Tensor:
    return _converted(self, other.dtype, copy, memory_format, other.device)


def type_as(self: Tensor, other: Tensor) -> Tensor:
    return _converted(self, other.dtype, False, None, other.device)
