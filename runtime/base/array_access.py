"""Access to the data of a Tensor: its shape and memory, and its values as Python numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, overload

import numpy as np

from runtime.base import dtypes
from runtime.base.arrays import is_complex32, is_opaque, readable
from runtime.base.memory import owner_of
from runtime.base.types import CPU, Device, DType, Layout, MemoryFormat, Scalar, Size, contiguous_format, strided


class ArrayAccess:
    """Base of Tensor: what can be told from the array alone."""

    __slots__ = ()

    _array: np.ndarray[Any, Any]

    @property
    def shape(self) -> Size:
        """The sizes of the dimensions."""
        return _new_size(Size, self._array.shape)

    @overload
    def size(self, dim: None = None) -> Size: ...
    @overload
    def size(self, dim: int) -> int: ...
    def size(self, dim: int | None = None) -> Size | int:
        """The shape, or the size of one dimension."""
        return self.shape if dim is None else self._array.shape[self._wrap_dim(dim)]

    def dim(self) -> int:
        """The number of dimensions."""
        return self._array.ndim

    ndimension = dim

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return self._array.ndim

    def numel(self) -> int:
        """The number of elements."""
        return self._array.size

    nelement = numel

    @property
    def dtype(self) -> DType:
        """The type of the elements."""
        return dtypes.from_numpy(self._array.dtype)

    @property
    def device(self) -> Device:
        """Where the data lies."""
        place = self._array.device  # of a Tensor around others the one that it says; "cpu" of NumPy's arrays
        return CPU if place == "cpu" else place

    @property
    def layout(self) -> Layout:
        """How the data lies there."""
        return strided

    @property
    def itemsize(self) -> int:
        """The size of one element in bytes."""
        return self._array.itemsize

    def element_size(self) -> int:
        """The size of one element in bytes."""
        return self._array.itemsize

    @property
    def nbytes(self) -> int:
        """The size of all elements in bytes."""
        return self._array.nbytes

    @overload
    def stride(self, dim: None = None) -> tuple[int, ...]: ...
    @overload
    def stride(self, dim: int) -> int: ...
    def stride(self, dim: int | None = None) -> tuple[int, ...] | int:
        """The distance between neighbours along each dimension, in elements."""
        array = self._array
        if array.flags.c_contiguous:
            # NumPy leaves strides open where a dimension has fewer than two elements.
            strides = _contiguous_strides(array.shape, range(array.ndim))
        else:
            strides = tuple(stride // array.itemsize for stride in array.strides)
        return strides if dim is None else strides[self._wrap_dim(dim)]

    def storage_offset(self) -> int:
        """The position of the first element in the memory that this Tensor shares with others, in elements."""
        array = self._array
        owner = owner_of(array)
        return 0 if owner is array else (self.data_ptr() - owner.ctypes.data) // array.itemsize

    def data_ptr(self) -> int:
        """The address of the first element."""
        return self._array.ctypes.data

    def is_contiguous(self, memory_format: MemoryFormat = contiguous_format) -> bool:
        """Whether the elements lie in memory in the order of their indices (or in that of `memory_format`)."""
        if not isinstance(memory_format, MemoryFormat):
            raise TypeError(
                "is_contiguous(): argument 'memory_format' must be gradwright.memory_format, "
                f"not {type(memory_format).__name__}"
            )
        order = _CHANNELS_LAST.get(memory_format.name)
        if order is None:
            return bool(self._array.flags.c_contiguous)
        return len(order) == self._array.ndim and bool(self._array.transpose(order).flags.c_contiguous)

    def is_floating_point(self) -> bool:
        """Whether the elements are real floating-point numbers."""
        return self.dtype.is_floating_point

    def is_complex(self) -> bool:
        """Whether the elements are complex."""
        dtype = self._array.dtype
        return bool(dtype.kind == "c" or (dtype.kind == "V" and is_complex32(dtype)))

    def is_signed(self) -> bool:
        """Whether the elements can be negative."""
        return self.dtype.is_signed

    @property
    def is_cuda(self) -> bool:
        """False: there is one kind of memory."""
        return False

    @property
    def is_meta(self) -> bool:
        """False: every Tensor has data."""
        return False

    @property
    def is_sparse(self) -> bool:
        """False: every Tensor is strided."""
        return False

    def get_device(self) -> int:
        """-1, as for every Tensor in main memory."""
        return -1

    def _wrap_dim(self, dim: int) -> int:
        ndim = self._array.ndim
        limit = ndim or 1
        if not -limit <= dim < limit:
            raise IndexError(
                f"Dimension out of range (expected to be in range of [{-limit}, {limit - 1}], but got {dim})"
            )
        if ndim == 0:
            raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
        return dim + ndim if dim < 0 else dim

    def item(self) -> Scalar:
        """The only element, as a Python number."""
        array = self._array
        if array.size != 1:
            raise RuntimeError(f"a Tensor with {array.size} elements cannot be converted to Scalar")
        value: Scalar = array.item() if array.dtype.kind in "fciub" else readable(array).item()
        return value

    def tolist(self) -> Any:
        """The elements as nested lists of Python numbers; of a 0-dim Tensor, the number."""
        if is_opaque(self._array.dtype):
            raise RuntimeError("load_scalar: invalid type")
        return readable(self._array).tolist()

    def __bool__(self) -> bool:
        size = self._array.size
        if size != 1:
            what = "no values" if size == 0 else "more than one value"
            raise RuntimeError(f"Boolean value of Tensor with {what} is ambiguous")
        return bool(readable(self._array).item())

    def __float__(self) -> float:
        return float(self._real_item("double"))

    def __int__(self) -> int:
        return int(self._real_item("int64_t"))

    def __complex__(self) -> complex:
        return complex(self._only_item())

    def __index__(self) -> int:
        array = self._array
        if array.size != 1 or array.dtype.kind not in "iub":
            raise TypeError("only integer tensors of a single element can be converted to an index")
        return int(array.item())

    def _only_item(self) -> Scalar:
        if self._array.size != 1:
            raise ValueError("only one element tensors can be converted to Python scalars")
        return self.item()

    def _real_item(self, target: str) -> bool | int | float:
        value = self._only_item()
        if isinstance(value, complex):
            if value.imag != 0:
                raise RuntimeError(f"value cannot be converted to type {target} without overflow")
            return value.real
        return value

    def __len__(self) -> int:
        if self._array.ndim == 0:
            raise TypeError("len() of a 0-d tensor")
        return len(self._array)


def _contiguous_strides(shape: tuple[int, ...], order: Sequence[int]) -> tuple[int, ...]:
    strides = [0] * len(shape)
    step = 1
    for dim in reversed(order):
        strides[dim] = step
        step *= max(shape[dim], 1)
    return tuple(strides)


_new_size: Callable[[type[Size], tuple[int, ...]], Size] = tuple.__new__
_CHANNELS_LAST = {"channels_last": (0, 2, 3, 1), "channels_last_3d": (0, 2, 3, 4, 1)}
