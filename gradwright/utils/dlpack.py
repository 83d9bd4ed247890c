"""DLPack: memory that libraries share without a copy, whose description lies in a capsule.

NumPy makes the capsules and takes them. It knows no bfloat16 and no complex numbers of two float16; such elements pass
through it as integers, and the element type in the description is changed on the way (https://dmlc.github.io/dlpack/latest/c_api.html).
"""

from __future__ import annotations

import ctypes
from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np

from runtime.base import dtypes
from runtime.base.tensor import Tensor, wrap
from runtime.base.types import Device

__all__ = ["DLDeviceType", "capsule_of", "device_of", "from_dlpack", "to_dlpack"]


class DLDeviceType(IntEnum):
    """Kinds of devices, as DLPack numbers them."""

    kDLCPU = 1
    kDLCUDA = 2
    kDLCUDAHost = 3
    kDLOpenCL = 4
    kDLVulkan = 7
    kDLMetal = 8
    kDLVPI = 9
    kDLROCM = 10
    kDLROCMHost = 11
    kDLExtDev = 12
    kDLCUDAManaged = 13
    kDLOneAPI = 14
    kDLWebGPU = 15
    kDLHexagon = 16
    kDLMAIA = 17


class _Description(ctypes.Structure):
    """DLTensor."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


class _Element(NamedTuple):
    """An element type: a kind, and how many bits it has."""

    code: int
    bits: int


class _Foreign(NamedTuple):
    """A dtype that NumPy does not know, its element type, and the integers that pass for it."""

    dtype: dtypes.dtype
    element: _Element
    integers: np.dtype[Any]

    @property
    def passing(self) -> _Element:
        """The element type of the integers."""
        return _Element(1, self.element.bits)


_FOREIGN = (
    _Foreign(dtypes.bfloat16, _Element(4, 16), np.dtype(np.uint16)),
    _Foreign(dtypes.complex32, _Element(5, 32), np.dtype(np.uint32)),
)
# Where the description begins in what a capsule of this name points to: behind a version, two pointers and flags.
_BEGINNINGS = {b"dltensor": 0, b"dltensor_versioned": 32}


def _description(capsule: Any) -> _Description:
    """The description in a capsule, to be read and written.

    Raises:
        RuntimeError: it is no capsule, or one that has been taken.
    """
    names, pointers = ctypes.pythonapi.PyCapsule_GetName, ctypes.pythonapi.PyCapsule_GetPointer
    names.restype, names.argtypes = ctypes.c_char_p, [ctypes.py_object]
    pointers.restype, pointers.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    name = names(capsule) if type(capsule).__name__ == "PyCapsule" else None
    if name not in _BEGINNINGS:
        raise RuntimeError(
            "from_dlpack received an invalid capsule. Note that DLTensor capsules can be consumed only once, so you "
            "might have already constructed a tensor from it once."
        )
    return _Description.from_address(pointers(capsule, name) + _BEGINNINGS[name])


def _change(capsule: Any, old: _Element, new: _Element) -> bool:
    """Replace the element type of a capsule, where it is `old`."""
    description = _description(capsule)
    if (description.code, description.bits, description.lanes) != (*old, 1):
        return False
    description.code, description.bits = new
    return True


def device_of(tensor: Tensor) -> tuple[DLDeviceType, int]:
    """Where a Tensor lies that lies in main memory, as DLPack says it."""
    return DLDeviceType.kDLCPU, 0


def capsule_of(tensor: Tensor, stream: Any, max_version: Any, dl_device: Any, copy: bool | None) -> Any:
    """A capsule with the memory of a Tensor.

    Raises:
        BufferError: the Tensor requires a gradient, or can not be brought where it should.
    """
    if tensor._edge is not None:
        raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
    if stream not in (None, -1):
        raise AssertionError("stream should be None on cpu.")
    options: dict[str, Any] = {"max_version": max_version, "copy": copy}
    if dl_device is not None:
        options["dl_device"] = tuple(map(int, dl_device))
    foreign = next((each for each in _FOREIGN if each.dtype is tensor.dtype), None)
    if foreign is None:
        return tensor._array.__dlpack__(**options)
    capsule = tensor._array.view(foreign.integers).__dlpack__(**options)
    _change(capsule, foreign.passing, foreign.element)
    return capsule


class _Holder:
    """Hands a capsule on to NumPy."""

    def __init__(self, capsule: Any) -> None:
        self._capsule = capsule

    def __dlpack__(self, **options: Any) -> Any:
        return self._capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        description = _description(self._capsule)
        return description.device_type, description.device_id


class _Writable:
    """The memory of an array that NumPy takes for one that must not be written."""

    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        self.base = array
        interface = dict(array.__array_interface__)
        interface["data"] = (interface["data"][0], False)
        interface["strides"] = array.strides
        self.__array_interface__ = interface


def from_dlpack(ext_tensor: Any, *, device: Any = None, copy: bool | None = None) -> Tensor:
    """A Tensor over the memory of an array of another library.

    Args:
        ext_tensor: an object with the method `__dlpack__`, or a capsule.
        device: where the Tensor is to lie.
        copy: True for a copy, False for none at all, None for one where it is needed.

    Raises:
        RuntimeError: it is neither, or a capsule that has been taken already.
        BufferError: the memory is not main memory, its elements are of no type that there is here, or a copy is needed
            and must not be made.
    """
    if copy is False and device is not None and Device(device).type != "cpu":
        raise BufferError(f"cannot move (i.e. copy) tensor to device {device} with copy=False")
    made = wrap(_array_of(ext_tensor))
    if copy:
        made = made.clone()
    return made if device is None else made.to(device)


def _array_of(source: Any) -> np.ndarray[Any, Any]:
    capsule = source
    if hasattr(source, "__dlpack__"):
        kind = source.__dlpack_device__()[0]
        if kind not in (DLDeviceType.kDLCPU, DLDeviceType.kDLCUDAHost, DLDeviceType.kDLROCMHost):
            raise BufferError(f"the memory of {type(source).__name__} lies on a device of the kind {kind}")
        try:
            capsule = source.__dlpack__(max_version=(1, 0))
        except TypeError:  # of a time before there were versions
            capsule = source.__dlpack__()
    is_old = "versioned" not in repr(capsule)
    foreign = next((each for each in _FOREIGN if _change(capsule, each.element, each.passing)), None)
    array = np.from_dlpack(_Holder(capsule))
    if foreign is not None:
        array = array.view(foreign.dtype.numpy)
    if is_old and not array.flags.writeable:
        # Capsules without a version can not say it, and NumPy is careful.
        kind = array.dtype
        array = np.asarray(_Writable(array.view(foreign.integers) if foreign is not None else array)).view(kind)
    return array


def to_dlpack(tensor: Tensor) -> Any:
    """A capsule with the memory of a Tensor, which can be taken once."""
    return capsule_of(tensor, None, None, None, None)
