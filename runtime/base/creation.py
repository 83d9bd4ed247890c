"""Tensors from data: Python numbers and sequences, NumPy arrays, buffers.

Factories that fill a shape (`zeros`, `arange`, ...) are operators and come from the generated code.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from runtime.base import dtypes
from runtime.base.modes import grad_mode
from runtime.base.tensor import UNTRACKED, Tensor, wrap
from runtime.base.types import Device, DType, check_device

_NUMBERS = frozenset((bool, int, float, complex))


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
    return _finish(wrap(array_of(data, wanted)), requires_grad)


def as_tensor(data: Any, dtype: DType | type | None = None, device: Device | str | None = None) -> Tensor:
    """`data` as a Tensor, over the same memory and with the same history where no conversion is needed."""
    wanted = _wanted(dtype, "as_tensor()")
    check_device(device)
    if isinstance(data, Tensor):
        return data if wanted is None or data.dtype is wanted else data.to(wanted)
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
        return _tensor_asarray(obj, wanted, copy, requires_grad)
    if isinstance(obj, bytes | bytearray | memoryview):
        given: Any = np.frombuffer(obj, (wanted or dtypes.get_default_dtype()).numpy)
    else:
        given = obj
    if isinstance(given, np.ndarray):
        _check_castable(given.dtype, wanted, copy)
        out = wrap(array_of(given, wanted)) if copy else as_tensor(given, wanted)
    elif copy is False:
        raise ValueError("can't alias arbitrary sequence into a tensor.")
    else:
        out = wrap(array_of(given, wanted))
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


def _check_castable(given: np.dtype[Any], wanted: DType | None, copy: bool | None) -> None:
    if copy is False and wanted is not None and given != wanted.numpy:
        name = dtypes.from_numpy(given).scalar_name
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


def array_of(data: Any, wanted: DType | None) -> np.ndarray[Any, Any]:
    """A new array with the values of `data`, of dtype `wanted` or the one that the values call for."""
    if (array := _array_of_plain_numbers(data, wanted)) is not None:
        return array
    if isinstance(data, Tensor):
        data = data.numpy() if data._opaque else data._array
    elif isinstance(data, np.ndarray | np.generic):
        data = np.asarray(data)
        _check_array(data)
    if isinstance(data, np.ndarray):
        target = wanted or dtypes.from_numpy(data.dtype)
        if data.dtype.kind == "c" and not target.is_complex:
            warnings.warn("Casting complex values to real discards the imaginary part", UserWarning, stacklevel=3)
            data = data.real
        with np.errstate(all="ignore"):
            return np.array(data, target.numpy, order="C")
    if isinstance(data, str):
        raise TypeError("new(): invalid data type 'str'")
    shape = _shape_of(data)
    chosen = _dtype_of(data) if wanted is None else wanted
    if 0 in shape:
        return np.empty(shape, chosen.numpy)
    numbers: list[Any] = []
    _flatten(data, shape, 0, numbers)
    return _from_numbers(numbers, chosen).reshape(shape)


def _array_of_plain_numbers(data: Any, wanted: DType | None) -> np.ndarray[Any, Any] | None:
    """As `array_of`, of a float, an int, a list of them or of lists of them; None for what needs a closer look."""
    kinds = set(map(type, data)) if type(data) is list else {type(data)}
    if kinds == {list}:
        if len(set(map(len, data))) != 1:
            return None
        kinds = set().union(*[map(type, row) for row in data])
    if not kinds or not kinds <= {float, int}:
        return None
    dtype = (wanted or (dtypes.get_default_dtype() if float in kinds else dtypes.int64)).numpy
    if dtype.kind != "f" and (dtype != np.int64 or float in kinds):
        return None
    try:
        with np.errstate(all="ignore"):
            return np.array(data, dtype)
    except OverflowError:
        return None


def _is_sequence(data: object) -> bool:
    if isinstance(data, list | tuple):
        return True
    if isinstance(data, np.ndarray):
        return data.ndim > 0
    # A Tensor within a sequence stands for a number.
    single = isinstance(data, Tensor | np.generic | dict | str)
    return not single and hasattr(data, "__getitem__") and hasattr(data, "__len__")


def _shape_of(data: Any) -> tuple[int, ...]:
    """The shape that the first element at each depth suggests; `_flatten` checks the others against it."""
    shape = []
    while _is_sequence(data):
        shape.append(len(data))
        if shape[-1] == 0:
            break
        if len(shape) > 64:
            raise ValueError(f"too many dimensions '{type(data).__name__}'")
        data = data[0]
    if shape and isinstance(data, str):
        raise ValueError("too many dimensions 'str'")
    return tuple(shape)


def _dtype_of(data: Any) -> DType:
    if isinstance(data, Tensor):
        return data.dtype
    if isinstance(data, np.ndarray | np.generic):
        return dtypes.from_numpy(data.dtype)
    if isinstance(data, str):
        raise TypeError("new(): invalid data type 'str'")
    if _is_sequence(data):
        return _common_dtype(data)
    try:
        found = dtypes.dtype_of_number(data)
    except TypeError:
        raise RuntimeError(f"Could not infer dtype of {type(data).__name__}") from None
    return dtypes.int64 if found is dtypes.uint64 else found  # which refuses what is beyond it


def _common_dtype(data: Any) -> DType:
    if len(data) == 0:
        return dtypes.get_default_dtype()
    kinds = set(map(type, data))
    if kinds <= _NUMBERS:
        # Numbers of one type have one dtype, so one of each will do.
        found = [dtypes.dtype_of_number(kind()) for kind in kinds]
    else:
        found = [_dtype_of(item) for item in data]
    result = found[0]
    for other in found[1:]:
        result = dtypes.promote_types(result, other)
    return result


def _flatten(data: Any, shape: tuple[int, ...], dim: int, numbers: list[Any]) -> None:
    if dim == len(shape):
        numbers.append(_number(data))
        return
    if not _is_sequence(data):
        raise TypeError(f"expected a sequence of length {shape[dim]} at dim {dim}, but got {type(data).__name__}")
    if len(data) != shape[dim]:
        raise ValueError(f"expected sequence of length {shape[dim]} at dim {dim} (got {len(data)})")
    if dim + 1 == len(shape) and set(map(type, data)) <= _NUMBERS:
        numbers.extend(data)
        return
    for item in data:
        _flatten(item, shape, dim + 1, numbers)


def _number(item: Any) -> Any:
    if isinstance(item, Tensor):
        if item.numel() != 1:
            raise ValueError("only one element tensors can be converted to Python scalars")
        return item.item()
    if isinstance(item, np.ndarray | np.generic):
        return item.item()
    if isinstance(item, bool | int | float | complex):
        return item
    raise TypeError(f"expected a number, but got {type(item).__name__}")


def _from_numbers(numbers: list[Any], wanted: DType) -> np.ndarray[Any, Any]:
    if wanted.kind != dtypes.int64.kind:
        if not wanted.is_complex and wanted is not dtypes.bool and complex in set(map(type, numbers)):
            raise TypeError("must be real number, not complex")
        with np.errstate(all="ignore"):
            if wanted is dtypes.bfloat16:
                return np.array(numbers, np.float32).astype(wanted.numpy)
            return np.array(numbers, wanted.numpy)
    return _integers(numbers, wanted)


def _integers(numbers: list[Any], wanted: DType) -> np.ndarray[Any, Any]:
    overflow: Exception = RuntimeError(f"value cannot be converted to type {wanted.name} without overflow")
    info = dtypes.iinfo(wanted)
    if wanted is dtypes.uint64:
        smallest, overflow = 0, OverflowError(f"value cannot be converted to type {wanted.name} without overflow")
    else:
        # Of the other unsigned dtypes, negative numbers wrap around, as in C.
        smallest = info.min if wanted.is_signed else -info.max
        if any(type(number) is int and not -(2**63) <= number < 2**63 for number in numbers):
            raise ValueError("Overflow when unpacking long long")
    if any(isinstance(number, float) and not info.min <= number <= info.max for number in numbers):
        raise overflow
    numbers = [int(number) for number in numbers]
    if max(numbers) > info.max or min(numbers) < smallest:
        raise overflow
    return np.array([number % (info.max + 1) if number < info.min else number for number in numbers], wanted.numpy)


def _check_array(array: np.ndarray[Any, Any]) -> None:
    if not array.dtype.isnative:
        raise ValueError("given numpy array has byte order different from the native byte order; convert it first")
    dtypes.from_numpy(array.dtype)


def _shared(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Another array object over the same memory, with the very dtype object that operators compare by identity."""
    _check_array(array)
    if any(stride < 0 for stride in array.strides):
        raise ValueError(
            "At least one stride in the given numpy array is negative, and tensors with negative strides are not "
            "supported. Make a copy with array.copy() first."
        )
    return np.asarray(array).view(dtypes.from_numpy(array.dtype).numpy)


def _wanted(dtype: DType | type | None, function: str) -> DType | None:
    return None if dtype is None else dtypes.as_dtype(dtype, f"{function}: argument 'dtype'")


def _finish(out: Tensor, requires_grad: bool) -> Tensor:
    if requires_grad:
        if not (out.is_floating_point() or out.is_complex()):
            raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
        out.requires_grad_()
    if grad_mode.inference:
        out._writes = UNTRACKED
    return out
