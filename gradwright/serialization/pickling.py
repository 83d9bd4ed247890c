"""Pickles values so that PyTorch reads them: Tensors by its names, their memory beside the pickle."""

from __future__ import annotations

import io
import pickle
from collections import OrderedDict
from typing import Any, ClassVar

import numpy as np

from gradwright.nn.parameter import Parameter
from gradwright.serialization.names import CLASSES, STORAGE_OF_DTYPE
from runtime.base import dtypes
from runtime.base.memory import bounds, owner_of
from runtime.base.storage import UntypedStorage, bytes_of
from runtime.base.tensor import Tensor
from runtime.base.types import Device, DType, Layout, Size
from runtime.devices.wrapper import WrapperArray


class Named:
    """A global in a pickle by its name, which needs no module of this name here."""

    def __init__(self, module: str, name: str) -> None:
        self.module = module
        self.name = name

    def __call__(self, *args: Any) -> Any:  # the pickler wants a callable for what it has written to be called
        raise TypeError(f"{self.module}.{self.name} is a name")


class Storage:
    """A storage in a file: its key, and its elements' dtype.

    Attributes:
        memory: its bytes.
        kind: the name of PyTorch's class for it.
        location: where it lies.
        count: how many elements it has.
    """

    def __init__(self, key: str, memory: np.ndarray[Any, Any], dtype: DType, location: str) -> None:
        name = STORAGE_OF_DTYPE.get(dtype)
        self.key = key
        self.memory = memory
        self.dtype = dtype
        self.kind = Named("torch.storage", "UntypedStorage") if name is None else Named("torch", name)
        self.location = location
        self.count = memory.nbytes // (1 if name is None else dtype.itemsize)


# Python's pickler that is written in Python: the other one writes globals only of modules that are there.
_Pickler: Any = pickle._Pickler


class TensorPickler(_Pickler):  # type: ignore[misc]
    """Pickles values, and collects the storages of Tensors.

    Attributes:
        storages: those that have been met, in the order in which they were.
    """

    dispatch: ClassVar[dict[type, Any]] = dict(_Pickler.dispatch)

    def __init__(self, file: io.BytesIO, protocol: int) -> None:
        super().__init__(file, protocol)
        self.storages: list[Storage] = []
        self._by_place: dict[tuple[int, int], Storage] = {}
        self._alive: list[Any] = []  # what an address stands for must not be freed, and the address used again
        self._names: dict[tuple[str, str], Named] = {}

    def _named(self, module: str, name: str) -> Named:
        """One object for each name, which the pickler remembers."""
        return self._names.setdefault((module, name), Named(module, name))

    def save_named(self, named: Any) -> None:
        """Write a global by its name."""
        self.write(pickle.GLOBAL + f"{named.module}\n{named.name}\n".encode())
        self.memoize(named)

    def save_dtype(self, dtype: Any) -> None:
        """Write a dtype as PyTorch does: it is a global."""
        self.save_named_once(self._named("torch", dtype.name))

    def save_named_once(self, named: Named) -> None:
        """Write a global, or where it was written before."""
        known = self.memo.get(id(named))
        if known is None:
            self.save_named(named)
        else:
            self.write(self.get(known[0]))

    def save_type(self, kind: Any) -> None:
        """Write a class; those that PyTorch has too have its names."""
        if kind in CLASSES:
            self.save_named_once(self._named(*CLASSES[kind]))
        else:
            _Pickler.save_type(self, kind)

    dispatch[Named] = save_named
    dispatch[DType] = save_dtype
    dispatch[type] = save_type

    def persistent_id(self, obj: Any) -> Any:
        """The id of a storage; None for all that is pickled as it is."""
        if isinstance(obj, UntypedStorage):
            obj = self._storage(obj._bytes, dtypes.uint8, "cpu")
        if not isinstance(obj, Storage):
            return None
        kind = self._named(obj.kind.module, obj.kind.name)
        return "storage", kind, obj.key, obj.location, obj.count

    def _storage(self, memory: np.ndarray[Any, Any], dtype: DType, location: str) -> Storage:
        place = (memory.__array_interface__["data"][0], memory.nbytes)
        found = self._by_place.get(place) if memory.nbytes else None
        if found is None:
            found = Storage(str(len(self.storages)), memory, dtype, location)
            self.storages.append(found)
            self._alive.append(memory)
            self._by_place[place] = found
        elif found.dtype is not dtype:
            raise RuntimeError(
                "Cannot save multiple tensors or storages that view the same data as different types: "
                f"{found.dtype} and {dtype}"
            )
        return found

    def reducer_override(self, obj: Any) -> Any:
        """How Tensors and values of other classes of PyTorch are made again."""
        if isinstance(obj, Tensor):
            return self._reduced(obj)
        if isinstance(obj, Size):
            return self._named("torch", "Size"), (tuple(obj),)
        if isinstance(obj, Device):
            index = () if obj.index is None else (obj.index,)
            return self._named("torch", "device"), (obj.type, *index)
        if isinstance(obj, Layout):
            return self._named("torch.serialization", "_get_layout"), (f"torch.{obj.name}",)
        return NotImplemented

    def _reduced(self, tensor: Tensor) -> tuple[Any, tuple[Any, ...]]:
        kind, state = type(tensor), tensor.__dict__
        if tensor.is_sparse:
            state = {name: value for name, value in state.items() if name != "_is_param"}
        if kind is Parameter or (tensor.is_sparse and isinstance(tensor, Parameter)):
            args: tuple[Any, ...] = (tensor.data, tensor.requires_grad, OrderedDict())
            if state:
                return self._named("torch._utils", "_rebuild_parameter_with_state"), (*args, state)
            return self._named("torch._utils", "_rebuild_parameter"), args
        if isinstance(tensor._array, WrapperArray):
            name = self._named("torch._utils", "_rebuild_wrapper_subclass")
            _, args = tensor._array.made_again(tensor.requires_grad)
            return self._named("torch._tensor", "_rebuild_from_type_v2"), (name, kind, args, state or None)
        if tensor.device.type == "meta":
            size, stride = tuple(tensor.shape), tuple(tensor.stride())
            name = self._named("torch._utils", "_rebuild_meta_tensor_no_storage")
            return name, (tensor.dtype, size, stride, tensor.requires_grad)
        function, args = self._sparse(tensor) if tensor.is_sparse else self._over_storage(tensor)
        if (kind is Tensor or tensor._opaque) and not state:
            return function, args
        return self._named("torch._tensor", "_rebuild_from_type_v2"), (function, kind, args, state or None)

    def _sparse(self, tensor: Any) -> tuple[Named, tuple[Any, ...]]:
        parts = (tensor._indices(), tensor._values(), tensor.size(), tensor.is_coalesced())
        return self._named("torch._utils", "_rebuild_sparse_tensor"), (tensor.layout, parts)

    def _over_storage(self, tensor: Tensor) -> tuple[Named, tuple[Any, ...]]:
        location = str(tensor.device)
        array = tensor.numpy(force=True) if tensor._opaque else tensor._array
        start, item = _start_of(array), array.itemsize
        if start % item or any(stride % item or stride < 0 for stride in array.strides):
            # What can not be said in elements of the storage gets one of its own.
            array, start = np.ascontiguousarray(array), 0
        storage = self._storage(bytes_of(array), tensor.dtype, location)
        strides = tuple(stride // item for stride in array.strides)
        args: tuple[Any, ...] = (
            storage,
            start // item,
            tuple(array.shape),
            strides,
            tensor.requires_grad,
            OrderedDict(),
        )
        if tensor.dtype in STORAGE_OF_DTYPE:
            return self._named("torch._utils", "_rebuild_tensor_v2"), args
        return self._named("torch._utils", "_rebuild_tensor_v3"), (*args, tensor.dtype)


def _start_of(array: np.ndarray[Any, Any]) -> int:
    """The byte of its memory at which an array has its first element."""
    owner = owner_of(array)
    if not array.size:
        return 0
    low, _ = bounds(owner)
    return int(array.__array_interface__["data"][0] - owner.__array_interface__["data"][0] - low)
