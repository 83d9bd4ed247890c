"""Where a view lies in its base, by bytes, and arrays that lie in memory as others do."""

from __future__ import annotations

import numpy as np

from runtime.base.memory import bounds
from runtime.base.meta_array import MetaArray, made, strided
from runtime.graph.fit import convert


class Region:
    """Where a view lies in its base, in bytes; the linear maps between arrays of the base's shape and of the view's."""

    __slots__ = ("_base", "_dense", "_origin", "_overlaps", "_place", "_span", "dtype", "shape")

    def __init__(self, base: np.ndarray, view: np.ndarray) -> None:
        self.shape, self.dtype = view.shape, view.dtype
        low, high = bounds(base)
        self._span = high - low
        self._origin = -low  # the first element of the base, from the lowest byte of it
        self._base = (base.shape, base.dtype, base.strides)
        self._dense = base.flags.c_contiguous
        offset = 0
        if view.size and base.size:
            offset = view.__array_interface__["data"][0] - base.__array_interface__["data"][0]
        self._place = (self._origin + offset, view.strides)
        self._overlaps = _may_overlap(view)

    def gather(self, array: np.ndarray) -> np.ndarray:
        """From the base's shape: the elements of the view."""
        if isinstance(array, MetaArray):
            return made(self.shape, self.dtype)
        if not array.size or 0 in self.shape:
            return np.zeros(self.shape, self.dtype)
        if self._dense and array.flags.c_contiguous and array.dtype is self._base[1]:
            return self._slice(array)
        return self._slice(self._image(array)[0])

    def scatter(self, array: np.ndarray) -> np.ndarray:
        """From the view's shape: zeros of the base's shape with `array` added in its place."""
        if isinstance(array, MetaArray):
            return strided(*self._base)
        memory, image = self._empty()
        self._add(memory, array)
        return image

    def clear(self, array: np.ndarray) -> np.ndarray:
        """`array`, of the base's shape, with zeros in the place of the view."""
        return self.replace(array, None)

    def replace(self, array: np.ndarray, piece: np.ndarray | None) -> np.ndarray:
        """`array`, of the base's shape, with `piece` in the place of the view (None: zeros)."""
        if isinstance(array, MetaArray):
            return strided(*self._base)
        memory, image = self._image(array)
        if image.size and 0 not in self.shape:
            self._slice(memory)[...] = 0
            if piece is not None:
                self._add(memory, piece)
        return image

    def _empty(self) -> tuple[np.ndarray, np.ndarray]:
        shape, dtype, strides = self._base
        memory = np.zeros(self._span, np.uint8)
        if not memory.size:
            return memory, np.zeros(shape, dtype)
        return memory, np.ndarray(shape, dtype, memory, self._origin, strides)

    def _image(self, array: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """A copy of `array` laid out as the base is."""
        memory, image = self._empty()
        image[...] = convert(array, image.dtype)
        return memory, image

    def _slice(self, memory: np.ndarray) -> np.ndarray:
        return np.ndarray(self.shape, self.dtype, memory, *self._place)

    def _add(self, memory: np.ndarray, piece: np.ndarray) -> None:
        if not memory.size or 0 in self.shape:
            return
        piece = convert(piece, self.dtype)
        if not self._overlaps:
            self._slice(memory)[...] += piece
            return
        # Elements of the view that are one element of the base: their gradients add up.
        start, strides = self._place
        size = self.dtype.itemsize
        lead = start % size
        elements = memory[lead : lead + (memory.size - lead) // size * size].view(self.dtype)
        index = np.full(self.shape, start // size)
        for axis, (extent, stride) in enumerate(zip(self.shape, strides, strict=True)):
            steps = np.arange(extent) * (stride // size)
            index += steps.reshape((-1,) + (1,) * (len(self.shape) - axis - 1))
        np.add.at(elements, index, piece)


class Place:
    """What NumPy makes an array over the memory of `array` of, laid out as `like` is."""

    def __init__(self, array: np.ndarray, offset: int, like: np.ndarray) -> None:
        self._array = array  # keeps the memory
        dtype = like.dtype
        self.__array_interface__ = {
            "data": (array.__array_interface__["data"][0] + offset, False),
            "shape": like.shape,
            "strides": like.strides,
            "typestr": dtype.str if dtype.kind in "fc" and dtype.itemsize > 1 else f"<u{dtype.itemsize}",
            "version": 3,
        }


def zeros_as(array: np.ndarray) -> np.ndarray:
    """Zeros of the shape and dtype of `array`, and with its strides unless elements of it overlap."""
    if isinstance(array, MetaArray):
        return array.copy("K") if _may_overlap(array) else strided(array.shape, array.dtype, array.strides)
    out = np.zeros_like(array)
    if out.strides == array.strides or _may_overlap(array):
        return out
    low, high = bounds(array)
    return np.ndarray(array.shape, array.dtype, np.zeros(high - low, np.uint8), -low, array.strides)


def _may_overlap(array: np.ndarray) -> bool:
    """Whether two elements could be one; true only if they are, but for rare strides where it makes no difference."""
    reach = array.itemsize
    dims = [(abs(stride), size) for size, stride in zip(array.shape, array.strides, strict=True) if size > 1]
    for stride, size in sorted(dims):
        if stride < reach:
            return True
        reach += stride * (size - 1)
    return False
