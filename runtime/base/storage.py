"""The memory of Tensors as bytes: what the Tensors that share it have in common.

A storage is no more than a look at memory: two that are asked of one Tensor, or of views of each other, are equal.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from runtime.base.arrays import is_complex32, narrowed, readable
from runtime.base.dtypes import uint8
from runtime.base.memory import bounds, owner_of
from runtime.base.shared_memory import is_shared
from runtime.base.types import Device, DType


class _Memory:
    """Hands all the bytes of an array to NumPy, and keeps the array alive."""

    def __init__(self, owner: np.ndarray[Any, Any]) -> None:
        low, high = bounds(owner)
        self.base = owner  # by which `owner_of` finds the way on
        self.__array_interface__ = {
            "version": 3,
            "shape": (high - low,),
            "typestr": "|u1",
            "data": (owner.__array_interface__["data"][0] + low, not owner.flags.writeable),
        }


def bytes_of(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """All the memory that an array lies in, as uint8."""
    owner = owner_of(array)
    if owner.dtype == np.uint8 and owner.ndim == 1 and owner.flags.c_contiguous:
        return owner
    return np.asarray(_Memory(owner)) if owner.size else np.empty(0, np.uint8)


class UntypedStorage:
    """A piece of memory, as bytes.

    Args:
        size: how many bytes to take; without it none. Their values are arbitrary.
        device: accepted; storages lie in main memory.

    Attributes:
        elements: of one that was read from a file, of which dtype its elements are.
        destination: of one that was read from a file, the device on which Tensors over it are to lie, if it is another.
    """

    elements: DType = uint8
    destination: str | None = None

    def __init__(self, size: int = 0, *, device: Any = None) -> None:
        if device is not None and Device(device).type != "cpu":
            raise NotImplementedError(f"a storage lies in main memory, but the device is {device}")
        self._bytes = np.empty(size, np.uint8)

    @classmethod
    def _over(cls, memory: np.ndarray[Any, Any]) -> UntypedStorage:
        """A storage of these very bytes."""
        storage = cls.__new__(cls)
        storage._bytes = memory
        return storage

    @property
    def device(self) -> Device:
        """Where the memory lies."""
        return Device("cpu")

    @property
    def is_cuda(self) -> bool:
        """Whether the memory is that of a GPU."""
        return False

    def is_shared(self) -> bool:
        """Whether forked processes share the memory."""
        return is_shared(self._bytes)

    def nbytes(self) -> int:
        """How many bytes there are."""
        return int(self._bytes.nbytes)

    def size(self) -> int:
        """How many bytes there are."""
        return self.nbytes()

    def __len__(self) -> int:
        return self.nbytes()

    def element_size(self) -> int:
        """The size of an element, which is a byte."""
        return 1

    def data_ptr(self) -> int:
        """The address of the first byte."""
        return int(self._bytes.__array_interface__["data"][0])

    @property
    def _cdata(self) -> int:
        return self.data_ptr()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, UntypedStorage):
            return NotImplemented
        return (self.data_ptr(), self.nbytes()) == (other.data_ptr(), other.nbytes())

    def __hash__(self) -> int:
        return hash((self.data_ptr(), self.nbytes()))

    def __getitem__(self, index: int | slice) -> Any:
        found = self._bytes[index]
        return UntypedStorage._over(found) if isinstance(index, slice) else int(found)

    def __setitem__(self, index: int | slice, value: int) -> None:
        self._bytes[index] = value

    def __iter__(self) -> Iterator[int]:
        return iter(self.tolist())

    def tolist(self) -> list[int]:
        """The bytes as numbers."""
        return self._bytes.tolist()

    def clone(self) -> UntypedStorage:
        """A copy."""
        return UntypedStorage._over(self._bytes.copy())

    def cpu(self) -> UntypedStorage:
        """The storage itself: it lies in main memory."""
        return self

    def copy_(self, source: UntypedStorage, non_blocking: bool = False) -> UntypedStorage:
        """Write the bytes of another storage, of the same size, over these."""
        if source.nbytes() != self.nbytes():
            raise RuntimeError(
                f"size does not match, self was {self.nbytes()} bytes but src was {source.nbytes()} bytes"
            )
        self._bytes[:] = source._bytes
        return self

    def fill_(self, value: int) -> UntypedStorage:
        """Write one value to all bytes."""
        self._bytes[:] = value
        return self

    def __deepcopy__(self, memo: dict[Any, Any]) -> UntypedStorage:
        done: UntypedStorage | None = memo.get(id(self))
        if done is None:
            done = memo[id(self)] = self.clone()
        return done

    def __reduce__(self) -> tuple[Any, ...]:
        return _storage_of_bytes, (self._bytes.tobytes(),)

    def __repr__(self) -> str:
        return f"[gradwright.storage.UntypedStorage(device=cpu) of size {self.nbytes()}]"


def _storage_of_bytes(data: bytes) -> UntypedStorage:
    return UntypedStorage._over(np.frombuffer(bytearray(data), np.uint8))


class TypedStorage:
    """A storage as elements of a dtype, as PyTorch had them first; `UntypedStorage` takes its place."""

    def __init__(self, *, wrap_storage: UntypedStorage, dtype: DType) -> None:
        warnings.warn(
            "TypedStorage is deprecated. To access UntypedStorage directly, use tensor.untyped_storage() instead of "
            "tensor.storage()",
            UserWarning,
            stacklevel=3,
        )
        self._untyped_storage = wrap_storage
        self.dtype = dtype

    def _elements(self) -> np.ndarray[Any, Any]:
        memory = self._untyped_storage._bytes
        return memory[: memory.size - memory.size % self.element_size()].view(self.dtype.numpy)

    def untyped(self) -> UntypedStorage:
        """The bytes."""
        return self._untyped_storage

    @property
    def device(self) -> Device:
        """Where the memory lies."""
        return self._untyped_storage.device

    def is_shared(self) -> bool:
        """Whether forked processes share the memory."""
        return self._untyped_storage.is_shared()

    def data_ptr(self) -> int:
        """The address of the first element."""
        return self._untyped_storage.data_ptr()

    def nbytes(self) -> int:
        """How many bytes there are."""
        return self._untyped_storage.nbytes()

    def element_size(self) -> int:
        """How many bytes an element has."""
        return self.dtype.itemsize

    def size(self) -> int:
        """How many elements there are."""
        return self.nbytes() // self.element_size()

    def __len__(self) -> int:
        return self.size()

    def __getitem__(self, index: int) -> Any:
        return readable(np.asarray(self._elements()[index])).item()

    def __setitem__(self, index: int | slice, value: Any) -> None:
        elements = self._elements()
        elements[index] = narrowed(np.asarray(value)) if is_complex32(elements.dtype) else value

    def __iter__(self) -> Iterator[Any]:
        return iter(self.tolist())

    def tolist(self) -> list[Any]:
        """The elements as numbers."""
        return readable(self._elements()).tolist()  # type: ignore[no-any-return]

    def __repr__(self) -> str:
        return f"[gradwright.storage.TypedStorage(dtype={self.dtype}, device=cpu) of size {self.size()}]"


def array_over(
    memory: np.ndarray[Any, Any], dtype: DType, offset: int, size: tuple[int, ...], stride: tuple[int, ...]
) -> np.ndarray[Any, Any]:
    """An array over bytes; offset and strides count elements.

    Raises:
        RuntimeError: it would not lie in the memory.
    """
    item = dtype.itemsize
    if len(size) != len(stride):
        raise RuntimeError(f"mismatch in length of strides and shape: {list(stride)} and {list(size)}")
    if offset < 0 or min((*size, *stride), default=0) < 0:
        raise RuntimeError(f"offset {offset}, sizes {list(size)} and strides {list(stride)} must not be negative")
    empty = 0 in size
    end = 0 if empty else offset + sum((n - 1) * step for n, step in zip(size, stride, strict=True)) + 1
    if end * item > memory.nbytes:
        raise RuntimeError(
            f"setStorage: sizes {list(size)}, strides {list(stride)}, storage offset {offset}, and itemsize {item} "
            f"requiring a storage size of {end * item} are out of bounds for storage of size {memory.nbytes}"
        )
    if empty:
        return np.empty(size, dtype.numpy)
    return np.ndarray(size, dtype.numpy, memory, offset * item, tuple(step * item for step in stride))


def dense_strides(size: tuple[int, ...]) -> tuple[int, ...]:
    """The strides, in elements, of a contiguous Tensor."""
    strides, step = [], 1
    for n in reversed(size):
        strides.append(step)
        step *= max(n, 1)
    return tuple(reversed(strides))
