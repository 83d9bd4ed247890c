"""Arrays from what users give: numbers, nested sequences, arrays, Tensors.

Tensor itself is made with this, so a Tensor is known by its base class.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from runtime.base import dtypes
from runtime.base.arrays import converted, is_half, is_narrow, is_opaque, narrowed
from runtime.base.state import TensorBase
from runtime.base.types import DType

_FLOAT16 = np.dtype(np.float16)
_NUMBERS = frozenset((bool, int, float, complex))


def is_tensor(value: object) -> bool:
    """Whether this is a Tensor."""
    return isinstance(value, TensorBase)


def array_of(data: Any, wanted: DType | None) -> np.ndarray[Any, Any]:
    """A new array with the values of `data`, of dtype `wanted` or the one that the values call for."""
    if (array := _array_of_numbers(data, wanted)) is not None:
        return array
    if is_tensor(data):
        data = data.numpy(force=True) if data._opaque else data._array
    elif isinstance(data, (np.ndarray, np.generic)):
        data = np.asarray(data)
        check_array(data)
    if isinstance(data, np.ndarray):
        target = wanted or dtypes.from_numpy(data.dtype)
        if data.dtype.kind in "cV" and not target.is_complex and dtypes.from_numpy(data.dtype).is_complex:
            warnings.warn("Casting complex values to real discards the imaginary part", UserWarning, stacklevel=3)
            data = data.real if data.dtype.kind == "c" else converted(data, _FLOAT16)
        with np.errstate(all="ignore"):
            if data.dtype != target.numpy and (is_narrow(target.numpy) or is_narrow(data.dtype)):
                data = converted(data, target.numpy)
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


def _array_of_numbers(data: Any, wanted: DType | None) -> np.ndarray[Any, Any] | None:
    """As `array_of`, of a float, an int, a list of them or of lists of them; None for what needs a closer look."""
    kinds = set(map(type, data)) if type(data) is list else {type(data)}
    if kinds == {list}:
        if len(set(map(len, data))) != 1:
            return None
        kinds = set().union(*[map(type, row) for row in data])
    if not kinds or not kinds <= {float, int}:
        return None
    dtype = (wanted or (dtypes.get_default_dtype() if float in kinds else dtypes.int64)).numpy
    if (dtype.kind != "f" or dtype.itemsize == 1) and (dtype != np.int64 or float in kinds):
        return None
    try:
        with np.errstate(all="ignore"):
            return np.array(data, dtype)
    except OverflowError:
        return None


def _is_sequence(data: object) -> bool:
    if isinstance(data, (list, tuple)):
        return True
    if isinstance(data, np.ndarray):
        return data.ndim > 0
    # A Tensor within a sequence stands for a number.
    single = is_tensor(data) or isinstance(data, (np.generic, dict, str))
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
    if is_tensor(data):
        return data.dtype  # type: ignore[no-any-return]
    if isinstance(data, (np.ndarray, np.generic)):
        return dtypes.from_numpy(data.dtype)
    if isinstance(data, str):
        raise TypeError("new(): invalid data type 'str'")
    if _is_sequence(data):
        return _common_dtype(data)
    try:
        dtype = dtypes.dtype_of_number(data)
    except TypeError:
        raise RuntimeError(f"Could not infer dtype of {type(data).__name__}") from None
    return dtypes.int64 if dtype is dtypes.uint64 else dtype  # which refuses what is beyond it


def _common_dtype(data: Any) -> DType:
    if len(data) == 0:
        return dtypes.get_default_dtype()
    kinds = set(map(type, data))
    if kinds <= _NUMBERS:
        # Numbers of one type have one dtype, so one of each will do.
        all_dtypes = [dtypes.dtype_of_number(kind()) for kind in kinds]
    else:
        all_dtypes = [_dtype_of(item) for item in data]
    result = all_dtypes[0]
    for other in all_dtypes[1:]:
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
    if is_tensor(item):
        if item.numel() != 1:
            raise ValueError("only one element tensors can be converted to Python scalars")
        return item.item()
    if isinstance(item, (np.ndarray, np.generic)):
        return item.item()
    if isinstance(item, (bool, int, float, complex)):
        return item
    raise TypeError(f"expected a number, but got {type(item).__name__}")


def _from_numbers(numbers: list[Any], wanted: DType) -> np.ndarray[Any, Any]:
    if is_opaque(wanted.numpy):
        raise RuntimeError("store_scalar: invalid type")
    if wanted.kind != dtypes.int64.kind:
        if not wanted.is_complex and wanted is not dtypes.bool and complex in set(map(type, numbers)):
            raise TypeError("must be real number, not complex")
        with np.errstate(all="ignore"):
            if wanted is dtypes.complex32:
                return narrowed(np.array(numbers, np.complex64))
            if is_half(wanted.numpy):
                return converted(np.array(numbers, np.float32), wanted.numpy)
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


def check_array(array: np.ndarray[Any, Any]) -> None:
    """Refuse an array that no Tensor can lie over: of foreign byte order, or of a dtype that has no counterpart."""
    if not array.dtype.isnative:
        raise ValueError("given numpy array has byte order different from the native byte order; convert it first")
    is_structure = array.dtype.names is not None  # of which only Tensors' own arrays are known
    dtypes.from_numpy(np.dtype(np.void) if is_structure else array.dtype)
