"""A device whose arrays are of another type than NumPy's: its names, its element types, and how values come and go."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

from runtime import ops
from runtime.base import devices, dtypes, keys
from runtime.base.array_proxies import DeviceArrayProxy
from runtime.base.modes import grad_mode
from runtime.base.tensor import Tensor
from runtime.devices.tensor import DeviceTensor, tensor_type

# What a module of arrays has to have.
NAMES = ("Array", "namespace", "from_numpy", "to_numpy")


class ArrayBackend:
    """A device by its dispatch key.

    Args:
        key: under which its kernels stand.
        device: its name, as in `device="npu"`.
        arrays: a module with the type of arrays `Array`, their namespace of functions `namespace`, and `from_numpy` and
            `to_numpy`, by which values come to the device and back. With `index_of` there are several devices of the
            kind: it gives the number of the one that an array lies on, and of None that of the current one. Where
            `from_numpy` always copies, `copies = True` says so.
        listed_in: the file that lists its kernels, for messages.

    Raises:
        ImportError: the module lacks one of these names.
    """

    def __init__(self, key: str, device: str, arrays: ModuleType, listed_in: str) -> None:
        for name in NAMES:
            if not hasattr(arrays, name):
                raise ImportError(f"{arrays.__name__} has no '{name}', which arrays of {key} need")
        self.key = key
        self.device = device
        self.listed_in = listed_in
        self.array_type: type = arrays.Array
        self.namespace: Any = arrays.namespace
        self._from_numpy: Callable[[np.ndarray[Any, Any]], Any] = arrays.from_numpy
        self._to_numpy: Callable[[Any], np.ndarray[Any, Any]] = arrays.to_numpy
        known = [(getattr(self.namespace, d.name, None), d) for d in dtypes.ALL_DTYPES]
        self._dtypes = [(own, d) for own, d in known if own is not None]
        self._index_of: Callable[[Any], int] | None = getattr(arrays, "index_of", None)
        self._copies: bool = getattr(arrays, "copies", False)
        self.tensor_type: type[DeviceTensor] = tensor_type(self)

    # -- devices of the kind

    def index_of(self, array: DeviceArrayProxy) -> int | None:
        """The number of the device that an array lies on; None where there is one of a kind."""
        return None if self._index_of is None else self._index_of(array.read())

    def check_index(self, index: int | None) -> None:
        """Refuse any but the current device of the kind.

        Raises:
            RuntimeError: it is another one.
        """
        if index is None or self._index_of is None:
            return
        current = self._index_of(None)
        if index != current:
            raise RuntimeError(
                f"Tensors are made on the current device, {self.device}:{current}, and not on {self.device}:{index}"
            )

    # -- element types

    def numpy_dtype(self, dtype: Any) -> np.dtype[Any]:
        """The NumPy dtype for one of the backend's."""
        for own, known in self._dtypes:
            if own is dtype or own == dtype:
                return known.numpy
        raise TypeError(f"{self.key} has arrays of {dtype}, which is no element type of Tensors")

    def own_dtype(self, dtype: dtypes.dtype) -> Any:
        """The backend's object for an element type.

        Raises:
            TypeError: it has none.
        """
        for own, known in self._dtypes:
            if known is dtype:
                return own
        raise TypeError(f"{self.key} has no elements of type {dtype.name}")

    # -- Tensors

    def tensor(self, array: DeviceArrayProxy) -> Tensor:
        """A new Tensor over an array of this device that requires no gradient."""
        out = object.__new__(self.tensor_type)
        out._array = array
        out._base = out._edge = out._writes = out._extra = None
        return out

    def wrap(self, values: Any) -> Tensor:
        """A new Tensor over what a kernel gave."""
        return self.tensor(DeviceArrayProxy.of(values, self))

    def zeros(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Tensor:
        """A new Tensor of zeros."""
        out: Tensor = ops.zeros(list(shape), dtype=dtypes.from_numpy(dtype), device=self.device)
        return out

    # -- the way of values

    def from_host(self, array: np.ndarray[Any, Any]) -> DeviceArrayProxy:
        """An array in main memory, copied to the device."""
        dtype = dtypes.from_numpy(array.dtype)
        self.own_dtype(dtype)
        values = self._from_numpy(np.array(array, order="C", copy=None if self._copies else True))
        if not isinstance(values, self.array_type):
            raise TypeError(f"from_numpy of {self.key} gave a {type(values).__name__}, no {self.array_type.__name__}")
        return DeviceArrayProxy.of(values, self)

    def to_host(self, array: DeviceArrayProxy) -> np.ndarray[Any, Any]:
        """An array of the device, copied to main memory."""
        values = self._to_numpy(array.read())
        if type(values) is not np.ndarray or values.shape != array.shape:
            raise TypeError(f"to_numpy of {self.key} gave no array of the shape {array.shape}")
        return np.array(values, array.dtype)  # with the very dtype object that operators compare by identity

    def overwrite(self, target: DeviceArrayProxy, source: np.ndarray[Any, Any]) -> None:
        """Give `target` the values of an array of the same shape, which may be of another dtype or device."""
        if not isinstance(source, DeviceArrayProxy) or source.backend is not self:
            host = source.backend.to_host(source) if isinstance(source, DeviceArrayProxy) else source
            source = self.from_host(host.astype(target.dtype))
        target.write(self.cast(source, target.dtype).read())

    def cast(self, array: DeviceArrayProxy, dtype: np.dtype[Any]) -> DeviceArrayProxy:
        """The array in another element type, by the operator that converts."""
        if array.dtype is dtype:
            return array
        enabled, grad_mode.enabled = grad_mode.enabled, False
        try:
            converted = ops._to_copy(self.tensor(array), dtype=dtypes.from_numpy(dtype))
        finally:
            grad_mode.enabled = enabled
        return converted._array  # type: ignore[return-value]


def register(backend: ArrayBackend) -> None:
    """Let the runtime know a device.

    Raises:
        ImportError: its key or its name is another's.
    """
    taken = devices.by_key.get(backend.key) or devices.backends.get(backend.device)
    if taken is not None or not keys.is_free(backend.key, backend.device):
        raise ImportError(f"the dispatch key {backend.key} and the device '{backend.device}' are not free")
    keys.add_backend(backend.key, backend.device)
    devices.by_key[backend.key] = devices.backends[backend.device] = backend
    devices.named.add(backend.device)
