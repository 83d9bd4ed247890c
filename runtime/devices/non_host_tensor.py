"""NonHostTensor: what Tensors on devices and Tensors without data have in common."""

from __future__ import annotations

import builtins
from typing import Any, ClassVar

from runtime.base import identity
from runtime.base.array_proxies import NonHostArray, tensor_over
from runtime.base.overriding import disabled
from runtime.base.sharing import share
from runtime.base.state import LEAF
from runtime.base.tensor import Tensor
from runtime.base.types import Device, DType


class NonHostTensor(Tensor):
    """A Tensor whose `_array` is a NonHostArray, and which is no Tensor to the fast paths."""

    __slots__ = ()

    _opaque = True
    __torch_function__ = disabled
    _dispatch_key: ClassVar[str]

    def _non_host_array(self) -> NonHostArray:
        array = self._array
        assert isinstance(array, NonHostArray)
        return array

    @property
    def device(self) -> Device:
        """The device of the array."""
        array = self._non_host_array()
        return Device(array.backend.device, array.backend.index_of(array))

    def __contains__(self, element: Any) -> builtins.bool:
        return bool((self == element).any())

    def type(self, dtype: DType | str | None = None) -> str | Tensor:
        """The name of the Tensor type, which names the device; with a dtype, the Tensor converted to it."""
        if dtype is None:
            return f"{identity.name}.{self._non_host_array().backend.device}.{self.dtype.scalar_name}Tensor"
        return super().type(dtype)

    # Other Tensors over the same memory, and copies.

    def detach(self) -> Tensor:
        """A Tensor over the same memory that requires no gradient."""
        out = self.data
        share(out, self)
        return out

    @property
    def data(self) -> Tensor:
        """A Tensor over the same memory whose writes autograd does not notice."""
        return tensor_over(self._array)

    @data.setter
    def data(self, value: Tensor) -> None:
        Tensor.data.__set__(self, value)  # type: ignore[attr-defined]

    def _array_again(self) -> NonHostArray:
        """An array of its own with the same values."""
        raise NotImplementedError

    def _copied(self, memo: dict[Any, Any]) -> Tensor:
        out = tensor_over(self._array_again())
        out._edge = LEAF if self._edge is not None else None
        return out
