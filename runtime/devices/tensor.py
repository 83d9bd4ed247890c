"""DeviceTensor: a Tensor whose values lie on a device, as an array of another type than NumPy's.

Its `_array` is a DeviceArrayProxy. What asks for values in Python copies them to main memory; what would hand the
memory itself to NumPy is refused.
"""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

import numpy as np

from runtime.base.array_proxies import DeviceArrayProxy
from runtime.base.devices import Backend, backends
from runtime.base.leaves import leaf
from runtime.base.modes import grad_mode
from runtime.base.sharing import share, views_over
from runtime.base.state import MARKS, UNTRACKED
from runtime.base.tensor import Tensor, wrap
from runtime.devices.non_host_tensor import NonHostTensor
from runtime.graph.node import DISCARD_GRADIENT

if TYPE_CHECKING:
    from runtime.base.types import MemoryFormat


class DeviceTensor(NonHostTensor):
    """A Tensor on a device; each backend has a class of its own."""

    __slots__ = ()

    _backend: ClassVar[Backend]

    def get_device(self) -> int:
        """The number of the device; 0 where there is one of a kind."""
        return self._backend.index_of(self._proxy()) or 0

    @property
    def is_cuda(self) -> builtins.bool:
        """Whether the device is a GPU of CUDA."""
        return self._backend.device == "cuda"

    # Values in main memory.

    def _on_host(self) -> Tensor:
        return wrap(self._backend.to_host(self._proxy()))

    def _proxy(self) -> DeviceArrayProxy:
        array = self._array
        assert isinstance(array, DeviceArrayProxy)
        return array

    def item(self) -> Any:
        """The only element, as a Python number, copied from the device."""
        return self._on_host().item()

    def tolist(self) -> Any:
        """The elements as nested lists of Python numbers, copied from the device."""
        return self._on_host().tolist()

    def __bool__(self) -> builtins.bool:
        return bool(self._on_host())

    def __index__(self) -> int:
        return self._on_host().__index__()

    def __format__(self, spec: str) -> str:
        return self._on_host().__format__(spec) if self._array.ndim == 0 else object.__format__(self, spec)

    # What has no memory that NumPy could see.

    def numpy(self, *, force: builtins.bool = False) -> np.ndarray[Any, Any]:
        """With `force`, the values copied to main memory.

        Raises:
            TypeError: without it, because an array over the same memory there can be none.
        """
        if force:
            return self._on_host().numpy()
        raise TypeError(
            f"can't convert {self._backend.device} device type tensor to numpy. Use Tensor.cpu() to copy the tensor to "
            "host memory first."
        )

    def __array__(self, dtype: Any = None, copy: builtins.bool | None = None) -> np.ndarray[Any, Any]:
        return self.numpy()

    def __dlpack__(self, **options: Any) -> Any:
        if self._edge is not None:
            raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
        return self._proxy().read().__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        place: tuple[int, int] = self._proxy().read().__dlpack_device__()
        return place

    def data_ptr(self) -> NoReturn:
        """Raise: where a device keeps its values is its own affair."""
        raise RuntimeError(f"a Tensor on {self._backend.device} has no address in main memory")

    def storage_offset(self) -> int:
        """0: arrays of devices are whole."""
        return 0

    def is_contiguous(self, memory_format: MemoryFormat | None = None) -> builtins.bool:
        """True: arrays of devices have one order."""
        return memory_format is None or memory_format.name == "contiguous_format"

    def _apply_linear(self, forward: Any, adjoint: Any, kind: Any) -> NoReturn:
        raise NotImplementedError(
            f"a gradient on {self._backend.device} would need the memory of another Tensor: in-place writes to views "
            "are differentiated in main memory only"
        )

    def _array_again(self) -> DeviceArrayProxy:
        return self._proxy().copy()

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        array = self._backend.to_host(self._proxy())
        return _rebuild, (self._backend.device, array, self._edge is not None), self.__dict__ or None


def view_of(array: DeviceArrayProxy, base: Tensor) -> Tensor:
    """A result of a view operator over `array`, which follows the values of `base`; it must not be written itself."""
    out = array.backend.tensor(array)
    root = out._base = base if base._base is None else base._base
    share(out, base)
    recorded = grad_mode.enabled and (base._base is None or base._extra is None or base._extra.view == "single")
    if not recorded and out._writes is not UNTRACKED:
        if root._edge is not None and array.dtype.kind not in "biu":
            out._edge = DISCARD_GRADIENT
        out._extra = MARKS["inference" if grad_mode.inference else "no_grad"]
    return out


def check_views(tensor: Tensor, recorded: bool) -> None:
    """Refuse an in-place write that would have to give views of a Tensor on a device a new history.

    Raises:
        RuntimeError: it is recorded, and there are such views.
    """
    if (
        recorded
        and type(tensor._array) is DeviceArrayProxy
        and any(view._base is tensor for view in views_over(tensor))
    ):
        raise RuntimeError(
            f"a Tensor on {tensor.device} of which there are views is being modified inplace, and the write would be "
            "recorded: views on devices have no place in the memory of their base. Write out of place, or to a clone()."
        )


def tensor_type(backend: Backend) -> type[DeviceTensor]:
    """The class of the Tensors on a device."""
    members = {"__slots__": (), "_dispatch_key": backend.key, "_backend": backend}
    return type(f"{backend.key}Tensor", (DeviceTensor,), members)


def _rebuild(device: str, array: np.ndarray[Any, Any], requires_grad: bool) -> Tensor:
    """Make a Tensor again from what `__reduce_ex__` stored."""
    backend = backends[device]
    out = backend.tensor(backend.from_host(array))
    return leaf(out, requires_grad)
