"""Methods of Tensor about its memory."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np

from runtime import ops
from runtime.base.array_proxies import tensor_over
from runtime.base.memory import lie_alike
from runtime.base.modes import grad_mode
from runtime.base.shared_memory import is_shared as in_shared_memory
from runtime.base.shared_memory import shared_bytes
from runtime.base.sharing import check_captured, transforms, views_over
from runtime.base.storage import TypedStorage, UntypedStorage, array_over, bytes_of, dense_strides
from runtime.base.tensor import Tensor
from runtime.base.types import (
    MemoryFormat,
    Size,
    channels_last,
    channels_last_3d,
    contiguous_format,
    preserve_format,
)
from runtime.call.general import NotDifferentiable
from runtime.graph import forward
from runtime.graph.views import bump_version, check_inplace
from runtime.operators.kernels.shape import memory_of

T = TypeVar("T", bound=Tensor)


def untyped_storage(self: Tensor) -> UntypedStorage:
    """The memory that this Tensor lies in, as bytes; that of its views is the same.

    Raises:
        NotImplementedError: it does not lie in main memory.
    """
    if self._opaque:
        raise NotImplementedError(f"a Tensor on {self.device} has no storage in main memory")
    return UntypedStorage._over(bytes_of(self._array))


def storage(self: Tensor) -> TypedStorage:
    """The memory as elements of this Tensor's dtype."""
    return TypedStorage(wrap_storage=untyped_storage(self), dtype=self.dtype)


def set_(
    self: Tensor,
    source: Tensor | UntypedStorage | TypedStorage | None = None,
    storage_offset: int = 0,
    size: Any = None,
    stride: Any = None,
) -> Tensor:
    """Let this Tensor lie in other memory, that of `source`; without it, it is empty.

    Raises:
        RuntimeError: the Tensor requires a gradient, `source` is of another dtype, or the memory is too small.
    """
    recorded = grad_mode.enabled and self._edge is not None
    check_inplace(self, recorded)
    if forward.active() and forward.any_tangent([self]):
        raise NotImplementedError("Trying to use forward AD with set_ that does not support it")
    if isinstance(source, Tensor) and source.dtype is not self.dtype:
        raise RuntimeError(f"Could not set tensor of type {source.dtype} to a tensor of type {self.dtype}")
    if source is None:
        array = np.empty(0, self._array.dtype)
    elif isinstance(source, Tensor) and size is None:
        array = source._array
    else:
        memory = _bytes_from(source)
        size = _sizes((memory.nbytes // self.dtype.itemsize,) if size is None else size)
        stride = dense_strides(size) if stride is None or (not _sizes(stride) and size) else _sizes(stride)
        array = array_over(memory, self.dtype, storage_offset, size, stride)
    _lie_at(self, tensor_over(array))
    if recorded:
        self._edge = NotDifferentiable("set_", self)
    return self


def _lie_at(self: Tensor, place: Tensor) -> None:
    """Let a Tensor lie where another does, which counts as a write: what was saved of it is no longer there."""
    self.data = place
    bump_version(self)


def _bytes_from(source: Tensor | UntypedStorage | TypedStorage) -> np.ndarray[Any, Any]:
    if isinstance(source, Tensor):
        return untyped_storage(source)._bytes
    if isinstance(source, TypedStorage):
        return source.untyped()._bytes
    if isinstance(source, UntypedStorage):
        return source._bytes
    raise TypeError(f"set_(): argument 'source' must be a Tensor or a storage, not {type(source).__name__}")


def is_shared(self: Tensor) -> bool:
    """Whether the Tensor lies in memory that forked processes share."""
    return not self._opaque and in_shared_memory(self._array)


def share_memory_(self: T) -> T:
    """Move the Tensor to memory that forked processes share, with its views and what it is a view of.

    Other Tensors over the memory, such as detached ones, stay where they are.

    Raises:
        RuntimeError: it does not lie in main memory.
    """
    if self._opaque:
        raise RuntimeError(f"only main memory is shared, and the Tensor is on {self.device}")
    if is_shared(self):
        return self
    old = untyped_storage(self)._bytes
    new = shared_bytes(old.nbytes)
    new[:] = old
    start = old.__array_interface__["data"][0]
    for each in (self, *(() if self._base is None else (self._base,)), *views_over(self)):
        array = each._array
        if not array.size:
            continue
        offset = array.__array_interface__["data"][0] - start
        if 0 <= offset < old.nbytes:
            each._array = np.ndarray(array.shape, array.dtype, new, offset, array.strides)
    return self


def is_set_to(self: Tensor, tensor: Tensor) -> bool:
    """Whether two Tensors lie at the same place of the same memory, with the same sizes and strides."""
    same_memory = untyped_storage(self) == untyped_storage(tensor)
    same_place = self.storage_offset() == tensor.storage_offset()
    return same_memory and same_place and lie_alike(self._array, tensor._array)


def resize_(self: Tensor, *size: Any, memory_format: MemoryFormat | None = None) -> Tensor:
    """The Tensor with other sizes over its memory, or over new memory that begins with its elements.

    New memory is made where there is too little, and is no longer shared with other Tensors. What lies in it behind the
    old elements is anything.

    Raises:
        RuntimeError: the Tensor requires grad, or carries a tangent.
    """
    if transforms.captured:
        check_captured(self, "aten::resize_")
    if self.requires_grad:
        raise RuntimeError("cannot resize variables that require grad")
    if forward.active() and forward.any_tangent([self]):
        raise RuntimeError("cannot resize variables that has a forward grad")
    sizes = list(size[0]) if len(size) == 1 and not isinstance(size[0], int) else list(size)
    same = sizes == list(self.shape)
    if same and memory_format is None:
        return self
    wanted = ops.empty(sizes, dtype=self.dtype, device="meta", memory_format=memory_format)
    first, old = self.storage_offset(), self.detach()
    available = memory_of(self._array)[0].size - first
    if wanted.numel() > available:
        grown = ops.empty([wanted.numel()], dtype=self.dtype, device=self.device)
        grown.narrow(0, 0, available).copy_(old.as_strided([available], [1], first))
        first, old = 0, grown
    self.data = old.as_strided(sizes, wanted.stride(), first)
    if not same:
        bump_version(self)
    return self


def resize_as_(self: Tensor, the_template: Tensor, *, memory_format: MemoryFormat | None = None) -> Tensor:
    """`resize_` to the sizes of another Tensor; `preserve_format` is the memory format that its strides are in.

    Raises:
        RuntimeError: the Tensor requires grad, or carries a tangent.
    """
    if transforms.captured:
        check_captured(self, "aten::resize_as_")
    if memory_format is preserve_format:
        memory_format = _format_of(the_template)
    return resize_(self, the_template.shape, memory_format=memory_format)


def _format_of(tensor: Tensor) -> MemoryFormat:
    """The memory format that the strides of a Tensor suggest, gaps or not."""
    last = {4: channels_last, 5: channels_last_3d}.get(tensor.dim())
    return contiguous_format if last is None or not _has_channels_last(tensor) else last


def _has_channels_last(tensor: Tensor) -> bool:
    """Whether channels lie side by side, then the dimensions of the image from the last, then the images.

    Where single elements leave that open it is the order of the indices.
    """
    sizes, strides = tensor.shape, tensor.stride()
    if strides[1] == 0 or 0 in sizes:
        return False
    least = 0
    for dim in (1, *range(len(sizes) - 1, 1, -1), 0):
        if strides[dim] < least or (dim == 0 and least == strides[1]):
            return False
        least = strides[dim] * max(sizes[dim], 1)
    return True


def _sizes(sizes: Any) -> tuple[int, ...]:
    return tuple(Size(sizes))
