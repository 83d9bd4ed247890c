"""Methods of Tensor about its memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from runtime.base.state import LEAF_EDGES
from runtime.base.storage import TypedStorage, UntypedStorage, array_over, bytes_of, dense_strides
from runtime.base.tensor import Tensor
from runtime.base.types import Size


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
    _check_free(self, "set_")
    if isinstance(source, Tensor):
        if source.dtype is not self.dtype:
            raise RuntimeError(f"Could not set tensor of type {source.dtype} to a tensor of type {self.dtype}")
        if size is None:
            self._array = source._array
            return self
    if source is None:
        self._array = np.empty(0, self._array.dtype)
        return self
    memory = _bytes_from(source)
    if size is None:
        size = (memory.nbytes // self.dtype.itemsize,)
    size = _sizes(size)
    stride = dense_strides(size) if stride is None or (not _sizes(stride) and size) else _sizes(stride)
    self._array = array_over(memory, self.dtype, storage_offset, size, stride)
    return self


def _bytes_from(source: Tensor | UntypedStorage | TypedStorage) -> np.ndarray[Any, Any]:
    if isinstance(source, Tensor):
        return untyped_storage(source)._bytes
    if isinstance(source, TypedStorage):
        return source.untyped()._bytes
    if isinstance(source, UntypedStorage):
        return source._bytes
    raise TypeError(f"set_(): argument 'source' must be a Tensor or a storage, not {type(source).__name__}")


def is_set_to(self: Tensor, tensor: Tensor) -> bool:
    """Whether two Tensors lie at the same place of the same memory, with the same sizes and strides."""
    same_memory = untyped_storage(self) == untyped_storage(tensor)
    return same_memory and all(
        one == other
        for one, other in (
            (self.shape, tensor.shape),
            (self.stride(), tensor.stride()),
            (self.storage_offset(), tensor.storage_offset()),
        )
    )


def resize_(self: Tensor, *sizes: Any, memory_format: Any = None) -> Tensor:
    """Give this Tensor another shape, over the memory that it has, contiguous from its first element on.

    Where the memory is too small this Tensor gets a larger one, with what it had and arbitrary values behind that;
    other Tensors over the old memory keep it.

    Raises:
        RuntimeError: the Tensor requires a gradient, or a size is negative.
    """
    size = _sizes(sizes[0] if len(sizes) == 1 and not isinstance(sizes[0], int) else sizes)
    if size == tuple(self.shape):
        return self
    if self._edge is not None:
        raise RuntimeError("cannot resize variables that require grad")
    if min(size, default=0) < 0:
        raise RuntimeError(f"Trying to create tensor with negative dimension {min(size)}: {list(size)}")
    memory = untyped_storage(self)._bytes
    offset = self.storage_offset()
    needed = (offset + int(np.prod(size, dtype=np.int64))) * self.dtype.itemsize
    if needed > memory.nbytes:
        larger = np.empty(needed, np.uint8)
        larger[: memory.nbytes] = memory
        memory = larger
    self._array = array_over(memory, self.dtype, offset, size, dense_strides(size))
    return self


def resize_as_(self: Tensor, the_template: Tensor, *, memory_format: Any = None) -> Tensor:
    """Give this Tensor the shape of another one: see `resize_`."""
    return resize_(self, the_template.shape, memory_format=memory_format)


def _sizes(sizes: Any) -> tuple[int, ...]:
    return tuple(Size(sizes))


def _check_free(self: Tensor, name: str) -> None:
    """Refuse what has a history, which would no longer be that of its values."""
    if self._edge is not None:
        if type(self._edge) in LEAF_EDGES:
            raise RuntimeError(f"a leaf Variable that requires grad is being used in an in-place operation: {name}")
        raise RuntimeError(f"{name} is not allowed on a Tensor that an operator made and that requires a gradient")
