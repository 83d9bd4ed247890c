"""The device `meta`: Tensors with shape, strides and dtype, and without data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

import numpy as np

from runtime import ops
from runtime.base import devices, dtypes
from runtime.base.keys import key_of_device
from runtime.base.leaves import leaf
from runtime.base.memory import owner_of
from runtime.base.meta_array import MetaArray, made, order_of, plain, strided
from runtime.base.modes import grad_mode
from runtime.base.state import UNTRACKED
from runtime.base.tensor import Tensor
from runtime.base.types import DType
from runtime.devices.non_host_tensor import NonHostTensor
from runtime.graph.linear import LinearBackward

if TYPE_CHECKING:
    import builtins

DEVICE = "meta"
META = key_of_device(DEVICE)


class MetaTensor(NonHostTensor):
    """A Tensor without data. Operators give Tensors of the shape, strides and dtype that they would have."""

    __slots__ = ()

    _dispatch_key: ClassVar[str] = META

    def get_device(self) -> int:
        """-1: the device has no number."""
        return -1

    @property
    def is_meta(self) -> bool:
        """True."""
        return True

    # What needs data.

    def item(self) -> NoReturn:
        """Raise.

        Raises:
            RuntimeError: there is no data.
        """
        if self._array.size != 1:
            raise RuntimeError(f"a Tensor with {self._array.size} elements cannot be converted to Scalar")
        raise RuntimeError("Tensor.item() cannot be called on meta tensors")

    def __bool__(self) -> bool:
        if self._array.size != 1:
            kind = "more than one value" if self._array.size else "no values"
            raise RuntimeError(f"Boolean value of Tensor with {kind} is ambiguous")
        self.item()

    def __index__(self) -> int:
        self.item()

    def __int__(self) -> int:
        self.item()

    def __float__(self) -> float:
        self.item()

    def __complex__(self) -> complex:
        self.item()

    def __format__(self, spec: str) -> str:
        return object.__format__(self, spec)

    def __repr__(self) -> str:
        text = super().__repr__()
        return f"Parameter containing:\n{text}" if getattr(self, "_is_param", False) else text

    def tolist(self) -> NoReturn:
        """Raise.

        Raises:
            NotImplementedError: there is no data.
        """
        raise no_data()

    def numpy(self, *, force: builtins.bool = False) -> np.ndarray[Any, Any]:
        """Raise.

        Raises:
            TypeError: there is no data.
            NotImplementedError: with `force`.
        """
        if force:
            raise no_data()
        raise TypeError(
            "can't convert meta device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory first."
        )

    def __array__(self, dtype: Any = None, copy: builtins.bool | None = None) -> np.ndarray[Any, Any]:
        return self.numpy()

    def __dlpack__(self, **options: Any) -> NoReturn:
        raise BufferError("Cannot pack tensors on meta")

    def __dlpack_device__(self) -> NoReturn:
        raise ValueError("Unknown device type meta for Dlpack")

    # The rest of what belongs to a device.

    def data_ptr(self) -> int:
        """0: there is no memory."""
        return 0

    def storage_offset(self) -> int:
        """The position of the first element in the memory that this Tensor would share with others, in elements."""
        array = plain(self._meta())
        return (array.ctypes.data - owner_of(array).ctypes.data) // array.itemsize

    def _meta(self) -> MetaArray:
        array = self._array
        assert isinstance(array, MetaArray)
        return array

    def _array_again(self) -> MetaArray:
        array = self._meta()
        return strided(array.shape, array.dtype, array.strides)

    def _apply_linear(self, forward: Any, adjoint: Any, kind: Any = LinearBackward) -> Tensor:
        """A map between arrays, which are told by their type to be without data; see `graph.linear`."""
        out = backend.tensor(forward(self._array))
        if self._edge is not None and grad_mode.enabled:
            out._edge = kind(self, forward, adjoint, out._array)
        return out

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        array = self._array
        return _rebuild, (array.shape, self.dtype, array.strides, self._edge is not None), self.__dict__ or None


def no_data() -> NotImplementedError:
    """The error of a way that values would have to go."""
    return NotImplementedError("Cannot copy out of meta tensor; no data!")


class MetaBackend:
    """The device as the rest of the runtime asks for it: see `runtime.base.devices`."""

    key = META
    device = DEVICE
    listed_in = ""
    tensor_type: type[Tensor] = MetaTensor

    def index_of(self, array: Any) -> None:
        """None: it has no number."""

    def check_index(self, index: int | None) -> None:
        """Nothing: numbers say nothing here."""

    def numpy_dtype(self, dtype: Any) -> np.dtype[Any]:
        """The same one."""
        same: np.dtype[Any] = np.dtype(dtype)
        return same

    def tensor(self, array: np.ndarray[Any, Any]) -> Tensor:
        """A new Tensor over an array without data that requires no gradient."""
        out: Tensor = object.__new__(MetaTensor)
        out._array = array
        out._base = out._edge = out._writes = out._extra = None
        return out

    def from_host(self, array: np.ndarray[Any, Any]) -> MetaArray:
        """An array without data that lies as the given one, without its gaps."""
        return made(array.shape, array.dtype, None if array.flags.c_contiguous else order_of(array))

    def to_host(self, array: np.ndarray[Any, Any]) -> NoReturn:
        """Raise.

        Raises:
            NotImplementedError: there is no data.
        """
        raise no_data()

    def overwrite(self, target: np.ndarray[Any, Any], source: np.ndarray[Any, Any]) -> None:
        """Nothing: neither has `target` data to replace, nor does it come to have any."""

    def zeros(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Tensor:
        """A new Tensor."""
        out: Tensor = ops.zeros(list(shape), dtype=dtypes.from_numpy(dtype), device=DEVICE)
        return out


backend = MetaBackend()
MetaArray.backend = backend
devices.by_key[META] = devices.backends[DEVICE] = backend


def _rebuild(shape: tuple[int, ...], dtype: DType, strides: tuple[int, ...], requires_grad: bool) -> Tensor:
    """Make a Tensor again from what `__reduce_ex__` stored."""
    devices.named.add(DEVICE)
    out = backend.tensor(strided(shape, dtype.numpy, strides))
    if grad_mode.inference:
        out._writes = UNTRACKED
    return leaf(out, requires_grad)
