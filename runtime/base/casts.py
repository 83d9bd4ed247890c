"""The methods that convert a Tensor to a named dtype: `x.double()` and its kin.

They stand apart from Tensor because their names hide Python's own `int`, `float` and `bool` in the class that has them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from runtime.base import dtypes

if TYPE_CHECKING:
    from runtime.base.tensor import Tensor


class Casts:
    """Base of Tensor: a method for each dtype that has one in PyTorch. A Tensor of that dtype is returned as it is."""

    __slots__ = ()

    def _cast(self, dtype: dtypes.dtype) -> Tensor:
        raise NotImplementedError

    def half(self) -> Tensor:
        return self._cast(dtypes.float16)

    def bfloat16(self) -> Tensor:
        return self._cast(dtypes.bfloat16)

    def float(self) -> Tensor:
        return self._cast(dtypes.float32)

    def double(self) -> Tensor:
        return self._cast(dtypes.float64)

    def cfloat(self) -> Tensor:
        return self._cast(dtypes.complex64)

    def cdouble(self) -> Tensor:
        return self._cast(dtypes.complex128)

    def byte(self) -> Tensor:
        return self._cast(dtypes.uint8)

    def char(self) -> Tensor:
        return self._cast(dtypes.int8)

    def short(self) -> Tensor:
        return self._cast(dtypes.int16)

    def int(self) -> Tensor:
        return self._cast(dtypes.int32)

    def long(self) -> Tensor:
        return self._cast(dtypes.int64)

    def bool(self) -> Tensor:
        return self._cast(dtypes.bool)
