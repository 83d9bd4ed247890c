"""Methods of Tensor that PyTorch has and the engine does not need: the same for all Tensors, or of old programs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Never

import numpy as np

from gradwright import removed
from gradwright.storage_types import StorageType, type_of
from gradwright.tensor_types import made
from runtime.base.describe import describe
from runtime.base.layouts import innermost_first
from runtime.base.tensor import Tensor, wrap
from runtime.base.types import Device, MemoryFormat
from runtime.methods.conversion import to


def _property(value: Any, doc: str) -> property:
    def get(self: Tensor) -> Any:
        return value

    return property(get, doc=doc)


def is_cpu(self: Tensor) -> bool:
    """Whether the Tensor lies in main memory."""
    return self.device.type == "cpu"


def never(self: Tensor) -> bool:
    """Whether there is something that no Tensor has here: no."""
    return False


def new(self: Tensor, *args: Any, device: Any = None) -> Tensor:
    """A Tensor of this one's dtype, from data or of a shape with arbitrary contents; prefer `new_tensor`."""
    return made(self.dtype, args, device=device)


def storage_type(self: Tensor) -> StorageType:
    """The class of storages of this Tensor's dtype.

    Raises:
        KeyError: there is none.
    """
    return type_of(self.dtype)


def _place(kind: str, device: Device | str | int | None) -> Device:
    """The device that a method named after its kind goes to.

    Raises:
        TypeError: `device` is no device.
        RuntimeError: it is of another kind, or a number where there is no accelerator.
    """
    if device is not None and not isinstance(device, (str, Device)) and type(device) is not int:
        raise TypeError(f"{kind}(): argument 'device' must be a device, not {describe(device)}")
    place = Device(kind if device is None else device)
    if place.type != kind:
        raise RuntimeError(f"Invalid device, must be {kind} device")
    return place


def cuda(
    self: Tensor,
    device: Device | str | int | None = None,
    non_blocking: bool = False,
    memory_format: MemoryFormat | None = None,
) -> Tensor:
    """Move to a CUDA device.

    Raises:
        AssertionError: there is none, unless a package has brought it.
        RuntimeError: `device` is of another kind, or a number.
    """
    return to(self, _place("cuda", device), non_blocking=non_blocking, memory_format=memory_format)


def xpu(
    self: Tensor,
    device: Device | str | int | None = None,
    non_blocking: bool = False,
    memory_format: MemoryFormat | None = None,
) -> Tensor:
    """Move to an XPU.

    Raises:
        AssertionError: there is none, unless a package has brought it.
        RuntimeError: `device` is of another kind, or a number.
    """
    return to(self, _place("xpu", device), non_blocking=non_blocking, memory_format=memory_format)


def ipu(
    self: Tensor,
    device: Device | str | int | None = None,
    non_blocking: bool = False,
    memory_format: MemoryFormat | None = None,
) -> Tensor:
    """Move to an IPU.

    Raises:
        RuntimeError: there is none, unless a package has brought it.
    """
    return to(self, _place("ipu", device), non_blocking=non_blocking, memory_format=memory_format)


def mtia(
    self: Tensor,
    device: Device | str | int | None = None,
    non_blocking: bool = False,
    memory_format: MemoryFormat | None = None,
) -> Tensor:
    """Move to an MTIA.

    Raises:
        AssertionError: there is none, unless a package has brought it.
        RuntimeError: `device` is of another kind, or a number.
    """
    return to(self, _place("mtia", device), non_blocking=non_blocking, memory_format=memory_format)


def is_pinned(self: Tensor, device: Any = None) -> bool:
    """Whether a device can read the memory itself: there is none that could."""
    return False


def pin_memory(self: Tensor, device: Any = None) -> Never:
    """Let a device read the memory itself.

    Raises:
        RuntimeError: always; there is none.
    """
    raise RuntimeError("Cannot access accelerator device when none is available.")


def const_data_ptr(self: Tensor) -> int:
    """The address of the first element, for one who only reads."""
    address: int = self.data_ptr()
    return address


def module_load(self: Tensor, other: Any, assign: bool = False) -> Tensor:
    """What stands in the place of this Tensor when a Module loads another: without history.

    Args:
        other: the Tensor that is loaded.
        assign: whether it is taken itself; else its values are copied into this one.
    """
    return (other if assign else self.copy_(other)).detach()


def dim_order(self: Tensor) -> tuple[int, ...]:
    """The dimensions, from the one with the longest steps through memory to that with the shortest."""
    return tuple(reversed(innermost_first(self.shape, [self.stride()])))


def apply_(self: Tensor, callable: Callable[[Any], Any]) -> Tensor:
    """Overwrite each element with what a Python function makes of it; slow.

    Raises:
        TypeError: the values are not in main memory.
    """
    return _write(self, callable, self)


def map_(self: Tensor, tensor: Tensor, callable: Callable[[Any, Any], Any]) -> Tensor:
    """Overwrite each element with what a Python function makes of it and of another Tensor's; slow.

    Raises:
        TypeError: the values are not in main memory.
    """
    return _write(self, callable, self, tensor)


def map2_(self: Tensor, x: Tensor, y: Tensor, callable: Callable[[Any, Any, Any], Any]) -> Tensor:
    """Overwrite each element with what a Python function makes of it and of two other Tensors'; slow.

    Raises:
        TypeError: the values are not in main memory.
    """
    return _write(self, callable, self, x, y)


def _write(self: Tensor, function: Callable[..., Any], *tensors: Tensor) -> Tensor:
    if any(each._opaque for each in tensors):
        raise TypeError("functions of Python are applied to Tensors in main memory only")
    if any(each.requires_grad for each in tensors):
        raise RuntimeError("Can't call a Python function on elements of a Tensor that requires grad. Use detach().")
    shape = self._array.shape
    sources = [np.broadcast_to(each._array, shape).ravel().tolist() for each in tensors]
    values = np.array([function(*each) for each in zip(*sources, strict=True)], dtype=self._array.dtype)
    written: Tensor = self.copy_(wrap(values.reshape(shape)))
    return written


def _dlpack(
    self: Tensor,
    *,
    stream: Any = -1,
    max_version: tuple[int, int] | None = None,
    dl_device: tuple[int, int] | None = None,
    copy: bool | None = None,
) -> Any:
    """The data as a DLPack capsule, for other array libraries.

    Args:
        stream: accepted; main memory has none.
        max_version: the newest version of DLPack that is understood.
        dl_device: where the data is wanted.
        copy: True for a copy, False for none at all.
    """
    from gradwright.utils.dlpack import capsule_of

    return capsule_of(self, stream, max_version, dl_device, copy)


def _dlpack_device(self: Tensor) -> tuple[int, int]:
    """The kind and the number of the device, as DLPack numbers them."""
    from gradwright.utils.dlpack import device_of

    return device_of(self)


# By name: what `install_methods` puts on Tensor.
_NEVER = ("is_distributed", "is_conj", "is_neg")
_NO_KINDS = ("ipu", "maia", "mkldnn", "mps", "mtia", "nested", "quantized", "sparse_csr", "vulkan", "xla", "xpu")


def methods() -> dict[str, Any]:
    """Each under its name."""
    kinds = {f"is_{kind}": _property(False, f"Whether the Tensor is of kind {kind}: no.") for kind in _NO_KINDS}
    return {
        **kinds,
        **removed.methods(),
        **dict.fromkeys(_NEVER, never),
        "is_cpu": property(is_cpu),
        "name": _property(None, "The name of the Tensor: it has none."),
        "volatile": _property(False, "Whether nothing is recorded, as it was said long ago: always False."),
        "new": new,
        "storage_type": storage_type,
        "cuda": cuda,
        "xpu": xpu,
        "ipu": ipu,
        "mtia": mtia,
        "is_pinned": is_pinned,
        "pin_memory": pin_memory,
        "const_data_ptr": const_data_ptr,
        "module_load": module_load,
        "dim_order": dim_order,
        "apply_": apply_,
        "map_": map_,
        "map2_": map2_,
        "__dlpack__": _dlpack,
        "__dlpack_device__": _dlpack_device,
    }


def install_methods() -> None:
    """Put them on Tensor, over operators of the same names."""
    for name, method in methods().items():
        if name.startswith("__"):
            method.__name__ = name  # as classes are told that take calls over
        setattr(Tensor, name, method)
