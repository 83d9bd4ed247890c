"""The methods that convert a Tensor to a named dtype: `x.double()` and its kin.

They stand apart from Tensor because their names hide Python's own `int`, `float` and `bool` in the class that has them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from runtime.base import dtypes

if TYPE_CHECKING:
    from runtime.base.tensor import Tensor
    from runtime.base.types import MemoryFormat


class Casts:
    """Base of Tensor: a method for each dtype that has one in PyTorch. A Tensor of that dtype is returned as it is."""

    __slots__ = ()

    def _cast(self, dtype: dtypes.dtype, memory_format: MemoryFormat | None = None) -> Tensor:
        raise NotImplementedError

    def half(self, memory_format: MemoryFormat | None = None) -> Tensor:
        return self._cast(dtypes.float16, memory_format)

    def bfloat16(self, memory_format: MemoryFormat | None = None) -> Tensor:
        return self._cast(dtypes.bfloat16, memory_format)

    def float(self, memory_format: MemoryFormat | None = None) -> Tensor:
        return self._cast(dtypes.float32, memory_format)

    def double(self, memory_format: MemoryFormat | None = None) -> Tensor:
        return self._cast(dtypes.float64, memory_format)

    def chalf(self, memory_format: MemoryFormat | None = None) -> Tensor:
        return self._cast(dtypes.complex32, memory_format)

    def cfloat(self, memory_format: MemoryFormat | None = None) -> Tensor:
        return self._cast(dtypes.complex64, memory_format)

    def cdouble(self, memory_format: MemoryFormat | None = None) -> Tensor:
        return self._cast(dtypes.complex128, memory_format)

    def byte(self, memory_format: MemoryFormat | None = None) -> Tensor:
        return self._cast(dtypes.uint8, memory_format)

    def char(self, memory_format: MemoryFormat | None = None) -> Tensor:
        return self._cast(dtypes.int8, memory_format)

    def short(self, memory_format: MemoryFormat | None = None) -> Tensor:
        return self._cast(dtypes.int16, memory_format)

    def int(self, memory_format: MemoryFormat | None = None) -> Tensor:
        return self._cast(dtypes.int32, memory_format)

    def long(self, memory_format: MemoryFormat | None = None) -> Tensor:
        return self._cast(dtypes.int64, memory_format)

    def bool(self, memory_format: MemoryFormat | None = None) -> Tensor:
        return self._cast(dtypes.bool, memory_format)
