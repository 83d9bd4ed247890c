"""What stands in the `_array` of a Tensor on the device `meta`: an array with addresses and without data.

Shape, dtype, strides and the place in its memory are those of any other array, so that views, their bases and what
overlaps are found as in main memory. The memory is a range of addresses of which no page exists. NumPy's functions
refuse such an array; what reads it through `plain` reads zeros.
"""

from __future__ import annotations

import mmap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from runtime.base.array_proxies import NonHostArray

if TYPE_CHECKING:
    from runtime.base.devices import Backend

# Of so many bytes an array has memory of its own: that is cheaper than a range of addresses.
_SMALL = 1 << 12
_RESERVED: dict[str, Any] = {}
if hasattr(mmap, "PROT_READ"):  # else NumPy's zeros, of which most systems make pages when they are used
    _RESERVED = {"flags": mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, "prot": mmap.PROT_READ}


class MetaArray(NonHostArray):
    """An array without data."""

    backend: Backend

    def copy(self, order: Any = "C") -> MetaArray:
        """Other addresses, in the order of the indices ("C") or in that of this array ("K")."""
        return made(self.shape, self.dtype, order_of(self) if order == "K" else None)

    def astype(  # type: ignore[override]
        self, dtype: Any, order: Any = "K", casting: Any = "unsafe", subok: bool = True, copy: bool = True
    ) -> MetaArray:
        """Another dtype, in the order of this array."""
        if not copy and self.dtype == dtype:
            return self
        return made(self.shape, np.dtype(dtype), order_of(self))

    def reshape(self, *shape: Any, copy: bool | None = None, **options: Any) -> MetaArray:
        """Another shape, over the same addresses where the strides allow it."""
        try:
            same: MetaArray = super().reshape(*shape, copy=False)
            return same
        except ValueError:
            if copy is False:
                raise
            return self.copy().reshape(*shape, copy=False)

    def __array_ufunc__(self, *args: Any, **kwargs: Any) -> NoReturn:
        _refuse(self)

    def __array_function__(self, *args: Any, **kwargs: Any) -> NoReturn:
        _refuse(self)


def _refuse(*args: Any, **kwargs: Any) -> NoReturn:
    raise NotImplementedError("Cannot copy out of meta tensor; no data!")


# What would read or write elements; the rest gives views.
for _name in (
    "all", "any", "argmax", "argmin", "argpartition", "argsort", "byteswap", "choose", "clip", "compress", "conj",
    "conjugate", "cumprod", "cumsum", "dot", "dump", "dumps", "fill", "flatten", "item", "max", "mean", "min",
    "nonzero", "partition", "prod", "put", "ravel", "repeat", "round", "searchsorted", "sort", "std", "sum", "take",
    "tobytes", "tofile", "tolist", "trace", "var", "__array__", "__bool__", "__int__", "__float__", "__complex__",
    "__index__", "__setitem__", "__contains__", "__reduce__", "__reduce_ex__", "__deepcopy__", "__copy__", "__repr__",
    "__str__", "__format__",
):  # fmt: skip
    setattr(MetaArray, _name, _refuse)


def over(array: np.ndarray[Any, Any]) -> MetaArray:
    """An array without data in the place of one over the memory of such."""
    return array.view(MetaArray)


def plain(array: MetaArray) -> np.ndarray[Any, Any]:
    """The same place as an array that NumPy works with: for functions that read no elements, and for zeros."""
    return np.asarray(array)


def made(shape: Sequence[int], dtype: np.dtype[Any], order: Sequence[int] | None = None) -> MetaArray:
    """An array of its own, dense, the dimensions from the innermost in `order`; in that of the indices by default.

    Raises:
        RuntimeError: there are not so many addresses.
    """
    return strided(shape, dtype, dense_strides(shape, dtype.itemsize, order))


def strided(shape: Sequence[int], dtype: np.dtype[Any], strides: Sequence[int]) -> MetaArray:
    """An array of its own with these strides, in bytes, none of them negative.

    Raises:
        RuntimeError: there are not so many addresses.
    """
    steps = zip(shape, strides, strict=True)
    size = 0 if 0 in shape else dtype.itemsize + sum((length - 1) * stride for length, stride in steps)
    return np.ndarray.__new__(MetaArray, tuple(shape), dtype, _memory(size), 0, tuple(strides))


def _memory(size: int) -> Any:
    if size <= _SMALL or not _RESERVED:
        memory = np.zeros(size, np.uint8)
        memory.flags.writeable = False
        return memory
    try:
        return np.frombuffer(mmap.mmap(-1, size, **_RESERVED), np.uint8)
    except (OSError, OverflowError):
        raise RuntimeError(f"a meta Tensor of {size} bytes is larger than what memory has addresses for") from None


def dense_strides(shape: Sequence[int], itemsize: int, order: Sequence[int] | None = None) -> list[int]:
    """The strides in bytes of a dense array, its dimensions from the innermost in `order`."""
    strides, step = [0] * len(shape), itemsize
    for dim in reversed(range(len(shape))) if order is None else order:
        strides[dim] = step
        step *= max(shape[dim], 1)
    return strides


def order_of(array: np.ndarray[Any, Any]) -> list[int]:
    """The dimensions from the innermost, as they lie in memory."""
    return sorted(range(array.ndim - 1, -1, -1), key=lambda dim: abs(array.strides[dim]))
