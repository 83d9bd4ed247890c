"""Methods that make a Tensor of another dtype or class, in the ways that PyTorch spells it, or of other data."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np

from runtime import ops
from runtime.base import creation, dtypes
from runtime.base.describe import describe
from runtime.base.keys import key_of_device
from runtime.base.modes import plain_types
from runtime.base.overriding import DisableTorchFunction
from runtime.base.tensor import Tensor
from runtime.base.types import Device, DType, MemoryFormat, check_device, lies_in
from runtime.devices.transfer import moved

T = TypeVar("T", bound=Tensor)

_NAMES = ("device", "dtype", "non_blocking", "copy")


def cast(self: Tensor, dtype: DType, memory_format: MemoryFormat | None = None) -> Tensor:
    """The Tensor in another dtype; itself where it has that dtype already."""
    return self if dtype is self.dtype else ops._to_copy(self, dtype=dtype, memory_format=memory_format)


def cpu(self: Tensor, memory_format: MemoryFormat | None = None) -> Tensor:
    """The Tensor in main memory; itself where it lies there."""
    return self if type(self) in plain_types else to(self, "cpu", memory_format=memory_format)


def new_tensor(
    self: Tensor,
    data: Any,
    *,
    dtype: DType | None = None,
    device: Device | str | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """A Tensor with the given data, of this one's dtype unless another is given."""
    device = self.device if device is None else device
    return creation.tensor(data, dtype=dtype or self.dtype, device=device, requires_grad=requires_grad)


def to(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """The Tensor in another dtype, or on another device.

    `to(dtype)`, `to(device)`, `to(device, dtype)` and `to(other)`, each followed by `non_blocking` and `copy`; every
    argument may be named. An int as device is the index of an accelerator; any other number is an `other`, of float64,
    complex128 or bool. The Tensor itself comes back where nothing changes, unless `copy` is true.

    Raises:
        TypeError: the arguments are none of these.
        RuntimeError: there is no such device; `runtime.base.types.check_there` has the classes.
    """
    if len(args) == 1 and not kwargs:  # the usual calls: to read arguments in general costs more than a small copy
        given = args[0]
        if type(given) is DType:
            return cast(self, given)
        if type(self) in plain_types and type(given) in plain_types:
            return cast(self, given.dtype)
        if type(given) is str and given == "cpu":
            return cpu(self)
    dtype, device, copy = read_arguments(args, kwargs)
    memory_format = kwargs.get("memory_format")
    if device is not None and device != self.device.type:
        self, copy = moved(self, key_of_device(device)), False
    if not copy and (dtype is None or dtype is self.dtype) and lies_in(self, memory_format):
        return self
    return ops._to_copy(self, dtype=self.dtype if dtype is None else dtype, memory_format=memory_format)


def as_subclass(self: Tensor, cls: type[T]) -> T:
    """The Tensor as one of another class, with the same memory and history.

    Raises:
        TypeError: it is no class of Tensors.
    """
    if not isinstance(cls, type) or not issubclass(cls, Tensor):
        raise TypeError(f"as_subclass(): cls must be a subclass of Tensor, not {cls!r}")
    with DisableTorchFunction():
        out: Any = ops.alias(self)
    if type(out) is not cls:
        out.__class__ = cls
    same: T = out
    return same


def read_arguments(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[DType | None, str | None, bool]:
    """The dtype, the device and the flag `copy` that a call of `to` means; errors are those of `to`."""
    named = dict(kwargs)
    memory_format = named.pop("memory_format", None)
    if memory_format is not None and not isinstance(memory_format, MemoryFormat):
        raise _misfit(args, kwargs)
    rest = list(args)
    if rest and isinstance(rest[0], Tensor):
        other = rest.pop(0)
        read: dict[str, Any] = {"dtype": other.dtype, "device": other.device}
        names = ["non_blocking", "copy"]
    elif rest and (kind := _kind_of_number(rest[0])) is not None:
        del rest[0]
        read = {"dtype": kind, "device": "cpu"}
        names = ["non_blocking", "copy"]
    elif rest and _is_dtype(rest[0]):
        read, names = {}, ["dtype", "non_blocking", "copy"]
    else:
        read, names = {}, list(_NAMES)
    if len(rest) > len(names):
        raise _misfit(args, kwargs)
    for name, value in zip(names, rest, strict=False):
        read[name] = value
    for name, value in named.items():
        if name in read or name not in _NAMES:
            raise _misfit(args, kwargs)
        read[name] = value
    _check(read, args, kwargs)
    dtype, place = read.get("dtype"), read.get("device")
    return (
        None if dtype is None else dtypes.as_dtype(dtype),
        None if place is None else Device(place).type,
        bool(read.get("copy", False)),
    )


def _kind_of_number(value: object) -> type | None:
    """The dtype of a number that stands for a Tensor; None of all else, ints among it, which stand for a device."""
    if isinstance(value, bool):
        return bool
    if isinstance(value, (float, np.floating)):
        return float
    return complex if isinstance(value, (complex, np.complexfloating)) else None


def _is_dtype(value: object) -> bool:
    return isinstance(value, DType) or value in (bool, int, float, complex)


def _check(read: dict[str, Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    dtype, place = read.get("dtype"), read.get("device")
    if dtype is not None and not _is_dtype(dtype):
        raise _misfit(args, kwargs)
    if any(not isinstance(read.get(flag, False), bool) for flag in ("non_blocking", "copy")):
        raise _misfit(args, kwargs)
    if place is None:
        return
    if not isinstance(place, (str, Device, int, np.integer)) or isinstance(place, bool):
        raise _misfit(args, kwargs)
    check_device(int(place) if isinstance(place, np.integer) else place)


def _misfit(args: tuple[Any, ...], kwargs: dict[str, Any]) -> TypeError:
    types = ", ".join([*map(describe, args), *(f"{name}={describe(value)}" for name, value in kwargs.items())])
    return TypeError(
        f"to() received an invalid combination of arguments - got ({types}), but expected one of:\n"
        " * (Device device=None, ScalarType dtype=None, bool non_blocking=False, bool copy=False)\n"
        " * (ScalarType dtype, bool non_blocking=False, bool copy=False)\n"
        " * (Tensor other, bool non_blocking=False, bool copy=False)"
    )
