"""Tensors from data: Python numbers and sequences, NumPy arrays, buffers.

Factories that fill a shape (`zeros`, `arange`, ...) are operators and come from the generated code.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from runtime.base import dtypes
from runtime.base.data import array_of, check_array
from runtime.base.devices import backends
from runtime.base.errors import flag
from runtime.base.modes import grad_mode
from runtime.base.state import UNTRACKED
from runtime.base.tensor import Tensor, wrap
from runtime.base.types import CPU, Device, DType, check_device, check_there, get_default_device


def tensor(
    data: Any,
    *,
    dtype: DType | type | None = None,
    device: Device | str | None = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """A new Tensor with a copy of `data`: a number, nested sequences of numbers, an array or a Tensor.

    Without `dtype`, Python floats get the default dtype, integers int64, and arrays keep theirs.

    Raises:
        ValueError: sequences of different lengths at one depth.
        TypeError: something in `data` is not a number.
        RuntimeError: the dtype cannot hold a value, or cannot require a gradient.
    """
    wanted = _wanted(dtype, "tensor()")
    check_device(device)
    if isinstance(data, Tensor):
        warnings.warn(
            "To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
            "sourceTensor.detach().clone().requires_grad_(True), rather than tensor(sourceTensor).",
            UserWarning,
            stacklevel=2,
        )
    place = device or (data.device if isinstance(data, Tensor) else get_default_device())
    if isinstance(data, Tensor) and Device(place).type == "meta":
        return _finish(data.detach().to(place, wanted or data.dtype, copy=True), requires_grad)
    return _finish(_placed(wrap(array_of(data, wanted)), place), requires_grad)


def as_tensor(data: Any, dtype: DType | type | None = None, device: Device | str | None = None) -> Tensor:
    """`data` as a Tensor, over the same memory and with the same history where no conversion is needed."""
    wanted = _wanted(dtype, "as_tensor()")
    check_device(device)
    if isinstance(data, Tensor):
        return data.to(device=device, dtype=wanted)
    device = _place_of(data) if device is None else device
    if device is not None and Device(device).type != "cpu":
        return tensor(data, dtype=wanted, device=device)
    if isinstance(data, np.ndarray) and (wanted is None or data.dtype == wanted.numpy):
        return wrap(_shared(data))
    return wrap(array_of(data, wanted))


def asarray(
    obj: Any,
    *,
    dtype: DType | type | None = None,
    device: Device | str | None = None,
    copy: bool | None = None,
    requires_grad: bool | None = None,
) -> Tensor:
    """`obj` as a Tensor; `copy` True or False asks for new or for shared memory, None shares where it can.

    `requires_grad` False gives a Tensor without history; None keeps that of a Tensor.

    Raises:
        ValueError: `copy` is False and the memory cannot be shared.
    """
    wanted = _wanted(dtype, "asarray()")
    check_device(device)
    if isinstance(obj, Tensor):
        return _tensor_asarray(obj if device is None else obj.to(device), wanted, copy, requires_grad)
    device = _place_of(obj) if device is None else device
    if device is not None and Device(device).type != "cpu":
        if copy is False:
            raise ValueError(f"can't alias an object in main memory on {device}.")
        return tensor(obj, dtype=wanted, device=device, requires_grad=bool(requires_grad))
    if isinstance(obj, (bytes, bytearray, memoryview)):
        data: Any = np.frombuffer(obj, (wanted or dtypes.get_default_dtype()).numpy)
    else:
        data = obj
    if isinstance(data, np.ndarray):
        _check_castable(data.dtype, wanted, copy)
        out = wrap(array_of(data, wanted)) if copy else as_tensor(data, wanted)
    elif copy is False:
        raise ValueError("can't alias arbitrary sequence into a tensor.")
    else:
        out = wrap(array_of(data, wanted))
    return _finish(out, bool(requires_grad))


def _tensor_asarray(obj: Tensor, wanted: DType | None, copy: bool | None, requires_grad: bool | None) -> Tensor:
    _check_castable(obj._array.dtype, wanted, copy)
    out = obj if wanted is None or wanted is obj.dtype else obj.to(wanted)
    if copy and out is obj:
        out = obj.clone()
    if requires_grad is None:
        return out
    if not requires_grad:
        return out.detach() if out.requires_grad else out
    return out if out.requires_grad else _finish(out, True)


def _check_castable(source: np.dtype[Any], wanted: DType | None, copy: bool | None) -> None:
    if copy is False and wanted is not None and source != wanted.numpy:
        name = dtypes.from_numpy(source).scalar_name
        raise ValueError(f"can't alias tensor with dtype '{name}' into dtype '{wanted.scalar_name}'.")


def from_numpy(ndarray: np.ndarray[Any, Any]) -> Tensor:
    """A Tensor over the memory of an array: writes to one are seen by the other."""
    if not isinstance(ndarray, np.ndarray):
        raise TypeError(f"expected np.ndarray (got {type(ndarray).__name__})")
    return wrap(_shared(ndarray))


def frombuffer(buffer: Any, *, dtype: DType, count: int = -1, offset: int = 0, requires_grad: bool = False) -> Tensor:
    """A 1-dim Tensor over the memory of an object with Python's buffer interface.

    Raises:
        ValueError: the buffer is empty, or `count` elements from `offset` on do not fit in it.
    """
    wanted = dtypes.as_dtype(dtype, "frombuffer(): argument 'dtype'")
    return _finish(wrap(np.frombuffer(buffer, wanted.numpy, count, offset)), requires_grad)


def is_tensor(obj: object) -> bool:
    """Whether `obj` is a Tensor."""
    return isinstance(obj, Tensor)


def is_inference(input: Tensor) -> bool:
    """Whether a Tensor was made in inference mode."""
    return input.is_inference()


def is_floating_point(input: Tensor) -> bool:
    """Whether the elements are real floating-point numbers."""
    return input.is_floating_point()


def is_complex(input: Tensor) -> bool:
    """Whether the elements are complex."""
    return input.is_complex()


def numel(input: Tensor) -> int:
    """The number of elements."""
    return input.numel()


def _shared(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Another array object over the same memory, with the very dtype object that operators compare by identity."""
    check_array(array)
    if any(stride < 0 for stride in array.strides):
        raise ValueError(
            "At least one stride in the given numpy array is negative, and tensors with negative strides are not "
            "supported. Make a copy with array.copy() first."
        )
    return np.asarray(array).view(dtypes.from_numpy(array.dtype).numpy)


def _place_of(data: Any) -> Device:
    """Where data go that are not sent elsewhere: arrays stay where they lie."""
    return CPU if isinstance(data, np.ndarray) else get_default_device()


def _placed(out: Tensor, device: Device | str | None) -> Tensor:
    """A Tensor in main memory, or a copy of it on a device."""
    if device is None or (kind := Device(device).type) == "cpu":
        return out
    check_there(kind)
    backend = backends[kind]
    return backend.tensor(backend.from_host(out._array))


def _wanted(dtype: DType | type | None, function: str) -> DType | None:
    return None if dtype is None else dtypes.as_dtype(dtype, f"{function}: argument 'dtype'")


def _finish(out: Tensor, requires_grad: bool) -> Tensor:
    if flag("tensor", "requires_grad", requires_grad):
        if not (out.is_floating_point() or out.is_complex()):
            raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
        out.requires_grad_()
    if grad_mode.inference:
        out._writes = UNTRACKED
    return out
