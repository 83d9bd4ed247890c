"""Random numbers in place of others; conversions; series; memory without values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from runtime import ops
from runtime.base import dtypes
from runtime.base.tensor import Tensor
from runtime.base.types import Device, DType, Layout, MemoryFormat, Scalar, lies_in
from runtime.random import Generator

# In-place operators whose functional form has another name.


def bernoulli_inplace(self: Tensor, p: float = 0.5, *, generator: Generator | None = None) -> Tensor:
    return self.copy_(drawn_in_order(self.detach(), p, generator))


def drawn_in_order(like: Tensor, p: float, generator: Generator | None = None) -> Tensor:
    """1 with probability `p`, else 0, in the shape of `like` and in the order in which its elements lie in memory."""
    if like.is_contiguous():
        return ops.bernoulli(like, p, generator=generator)
    strides = like.stride()
    order = sorted(range(like.dim()), key=lambda dim: -strides[dim])
    back = [order.index(dim) for dim in range(like.dim())]
    return ops.bernoulli(like.permute(order), p, generator=generator).permute(back)


def normal_inplace(self: Tensor, mean: float = 0, std: float = 1, *, generator: Generator | None = None) -> Tensor:
    """Writes random numbers of a normal distribution into `self`."""
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
    """The Tensor in another dtype or memory format, or itself where it has these."""
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
    """The elements in the dtype of another Tensor."""
    return _converted(self, other.dtype, False, None, other.device)


# One operator for each dtype, from before `to`.


def _cast_Byte(self: Tensor, non_blocking: bool = False) -> Tensor:
    return _converted(self, dtypes.uint8, False)


def _cast_Char(self: Tensor, non_blocking: bool = False) -> Tensor:
    return _converted(self, dtypes.int8, False)


def _cast_Short(self: Tensor, non_blocking: bool = False) -> Tensor:
    return _converted(self, dtypes.int16, False)


def _cast_Int(self: Tensor, non_blocking: bool = False) -> Tensor:
    return _converted(self, dtypes.int32, False)


def _cast_Long(self: Tensor, non_blocking: bool = False) -> Tensor:
    return _converted(self, dtypes.int64, False)


def _cast_Half(self: Tensor, non_blocking: bool = False) -> Tensor:
    return _converted(self, dtypes.float16, False)


def _cast_Float(self: Tensor, non_blocking: bool = False) -> Tensor:
    return _converted(self, dtypes.float32, False)


def _cast_Double(self: Tensor, non_blocking: bool = False) -> Tensor:
    return _converted(self, dtypes.float64, False)


# Series between what 0-dim Tensors hold.


def linspace_Tensor_Tensor(start: Tensor, end: Tensor, steps: int, **options: Any) -> Tensor:
    return _series(ops.linspace, start, end, steps, **options)


def linspace_Tensor_Scalar(start: Tensor, end: Scalar, steps: int, **options: Any) -> Tensor:
    return _series(ops.linspace, start, end, steps, **options)


def linspace_Scalar_Tensor(start: Scalar, end: Tensor, steps: int, **options: Any) -> Tensor:
    return _series(ops.linspace, start, end, steps, **options)


def logspace_Tensor_Tensor(start: Tensor, end: Tensor, steps: int, base: float, **options: Any) -> Tensor:
    return _series(ops.logspace, start, end, steps, base, **options)


def logspace_Tensor_Scalar(start: Tensor, end: Scalar, steps: int, base: float, **options: Any) -> Tensor:
    return _series(ops.logspace, start, end, steps, base, **options)


def logspace_Scalar_Tensor(start: Scalar, end: Tensor, steps: int, base: float, **options: Any) -> Tensor:
    return _series(ops.logspace, start, end, steps, base, **options)


def _series(
    series: Callable[..., Tensor],
    start: Tensor | Scalar,
    end: Tensor | Scalar,
    *arguments: float,
    device: Device | None = None,
    **options: Any,
) -> Tensor:
    ends = [end for end in (start, end) if isinstance(end, Tensor)]
    if any(end.dim() for end in ends):
        raise RuntimeError(f"{series.__name__} only supports 0-dimensional start and end tensors")
    numbers = [end.item() if isinstance(end, Tensor) else end for end in (start, end)]
    return series(*numbers, *arguments, device=device or ends[0].device, **options)


def _dim_arange(like: Tensor, dim: int) -> Tensor:
    """The places along a dim, as int64."""
    return ops.arange(like.size(dim), dtype=dtypes.int64, device=like.device)


def _shape_as_tensor(self: Tensor) -> Tensor:
    """The sizes, as int64."""
    sizes = [ops.scalar_tensor(size, dtype=dtypes.int64, device=self.device) for size in self.shape]
    return ops.stack(sizes) if sizes else ops.empty([0], dtype=dtypes.int64, device=self.device)


def _reshape_from_tensor(self: Tensor, shape: Tensor) -> Tensor:
    return self.reshape(shape.tolist())


# Memory without values, laid out as wanted.


def empty_strided(
    size: Sequence[int],
    stride: Sequence[int],
    *,
    dtype: DType | None = None,
    layout: Layout | None = None,
    device: Device | None = None,
    pin_memory: bool | None = None,
) -> Tensor:
    """The elements of index i lie at the sum of i times `stride`: sizes of 1 and strides of 0 are allowed."""
    if len(size) != len(stride):
        raise RuntimeError(
            f"dimensionality of sizes ({len(size)}) must match dimensionality of strides ({len(stride)})"
        )
    if any(length < 0 for length in size):
        raise RuntimeError(f"Trying to create tensor with negative dimension: {list(size)}")
    if any(step < 0 for step in stride):
        raise RuntimeError(f"Storage size calculation overflowed with sizes={list(size)} and strides={list(stride)}")
    count = 0 if 0 in size else 1 + sum((length - 1) * step for length, step in zip(size, stride, strict=True))
    return ops.empty([count], dtype=dtype, device=device).as_strided(size, stride).detach()


def new_empty_strided(
    self: Tensor,
    size: Sequence[int],
    stride: Sequence[int],
    *,
    dtype: DType | None = None,
    layout: Layout | None = None,
    device: Device | None = None,
    pin_memory: bool | None = None,
) -> Tensor:
    """A Tensor of these sizes and strides with arbitrary elements."""
    return ops.empty_strided(size, stride, dtype=dtype or self.dtype, device=device or self.device)


def empty_permuted(
    size: Sequence[int],
    physical_layout: Sequence[int],
    *,
    dtype: DType | None = None,
    layout: Layout | None = None,
    device: Device | None = None,
    pin_memory: bool | None = None,
) -> Tensor:
    """Dense, with the dims in memory in the order of `physical_layout`, the last one of which changes fastest."""
    if len(physical_layout) != len(size):
        raise RuntimeError(
            "Number of dimensions in size does not match the length of the physical_layout; i.e. "
            f"len(size) = {len(size)} is not equal to len(physical_layout) = {len(physical_layout)}"
        )
    if any(not 0 <= dim < len(size) for dim in physical_layout):
        raise RuntimeError(f"Dimension out of range (expected to be between 0 and {len(size) - 1})")
    if len(set(physical_layout)) < len(physical_layout):
        raise RuntimeError("Duplicate dim not allowed")
    lying = ops.empty([size[dim] for dim in physical_layout], dtype=dtype, device=device)
    return lying.permute([list(physical_layout).index(dim) for dim in range(len(size))]).detach()
