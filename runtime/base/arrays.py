"""What modules that work on NumPy arrays share: types, dimension arguments, elements of a dtype, common errors."""

from __future__ import annotations

import cmath
import math
import operator
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array: TypeAlias = NDArray[Any]
else:
    Array = np.ndarray

Number = bool | int | float | complex


_MOST_ELEMENTS = 2**59 - 1  # of 16 bytes, that their number is an int64


def checked_sizes(size: Sequence[int]) -> tuple[int, ...]:
    """The sizes of a new array.

    Raises:
        RuntimeError: one is negative, or they are too much together.
    """
    for length in size:
        if length < 0:
            raise RuntimeError(f"Trying to create tensor with negative dimension {length}: {list(size)}")
    if math.prod(size) > _MOST_ELEMENTS:
        raise RuntimeError(f"Storage size calculation overflowed with sizes={list(size)}")
    return tuple(size)


def normalize_dim(dim: int, ndim: int) -> int:
    """`dim` counted from the front.  A 0-dim array takes 0 and -1, as if it had one dimension."""
    size = ndim or 1
    if -size <= dim < size:
        return dim + size if dim < 0 else dim
    operator.index(dim)  # what is no integer is a TypeError
    raise IndexError(f"Dimension out of range (expected to be in range of [{-size}, {size - 1}], but got {dim})")


def normalize_dims(dims: int | Sequence[int], ndim: int) -> tuple[int, ...]:
    """Each of `dims` counted from the front, in the order given; naming one twice is an error."""
    if isinstance(dims, int):
        return (normalize_dim(dims, ndim),)
    normal = tuple(normalize_dim(dim, ndim) for dim in dims)
    if len(set(normal)) != len(normal):
        twice = next(dim for place, dim in enumerate(normal) if dim in normal[:place])
        raise RuntimeError(f"dim {twice} appears multiple times in the list of dims")
    return normal


def nearest_diagonal(diagonal: int, rows: int, columns: int) -> int:
    """The diagonal, or the nearest one without elements beyond them: NumPy takes what an int in C holds."""
    if not -(2**63) <= diagonal < 2**63:
        raise OverflowError("a diagonal is counted by an int64")
    return max(-rows - 1, min(diagonal, columns + 1))


def unsupported(operation: str, array: Array) -> NotImplementedError:
    """The error for a dtype that `operation` has no meaning for."""
    return NotImplementedError(f'"{operation}" not implemented for dtype {array.dtype}')


def check_divisor(other: Array | Number) -> None:
    """Refuse an integer division by zero, for which NumPy gives zero."""
    if not np.all(other):
        raise RuntimeError("ZeroDivisionError: integer division or remainder by zero")


_TYPE_NAMES = {
    "bool": "Bool", "uint8": "Byte", "int8": "Char", "int16": "Short", "int32": "Int", "int64": "Long",
    "float16": "Half", "bfloat16": "BFloat16", "float32": "Float", "float64": "Double",
    "complex64": "ComplexFloat", "complex128": "ComplexDouble",
    "float8_e4m3fn": "Float8_e4m3fn", "float8_e4m3fnuz": "Float8_e4m3fnuz", "float8_e5m2": "Float8_e5m2",
    "float8_e5m2fnuz": "Float8_e5m2fnuz", "float8_e8m0fnu": "Float8_e8m0fnu",
}  # fmt: skip


@cache
def type_name(dtype: np.dtype[Any]) -> str:
    """The word PyTorch's messages use for an element type: `Long`, `Float`."""
    if is_complex32(dtype):
        return "ComplexHalf"
    if dtype.names is not None:
        name = dtype.names[0]
        return f"UI{name[2:]}" if name.startswith("uint") else name.capitalize()
    return _TYPE_NAMES.get(dtype.name, dtype.name)


# Complex numbers of two float16, which NumPy does not have: it copies, views and indexes structures of them.
_PARTS = ("real", "imag")
COMPLEX32 = np.dtype([(part, np.float16) for part in _PARTS])


def is_complex32(dtype: np.dtype[Any]) -> bool:
    """Complex numbers of two float16: stored as structures, computed in complex64."""
    return dtype.names == _PARTS


def is_opaque(dtype: np.dtype[Any]) -> bool:
    """A type whose bits nothing reads."""
    return dtype.names is not None and dtype.names != _PARTS


def is_narrow(dtype: np.dtype[Any]) -> bool:
    """A type that is computed in another one, of more bits: half precision, or complex numbers of it."""
    return is_half(dtype) or is_complex32(dtype)


def adds_up(dtype: np.dtype[Any]) -> bool:
    """Whether NumPy adds such elements as operators do: neither float8, which they refuse, nor structures."""
    return dtype.itemsize > 1 and dtype.names is None


def is_half(dtype: np.dtype[Any]) -> bool:
    """float16, bfloat16 or float8: stored in one or two bytes, computed in float32.

    NumPy knows those of ml_dtypes as void types, mostly.
    """
    return dtype.itemsize <= 2 and dtype.kind in "fV" and dtype.names is None


def is_float8(dtype: np.dtype[Any]) -> bool:
    """A floating type of one byte."""
    return dtype.itemsize == 1 and dtype.kind in "fV" and dtype.names is None


def is_stored(dtype: np.dtype[Any]) -> bool:
    """A type that is stored, and hardly computed with: float8, a structure, or one whose bits nothing reads."""
    return dtype.names is not None or is_float8(dtype)


def check_computed(name: str, dtype: np.dtype[Any]) -> None:
    """Refuse to make numbers of a type that is stored, and hardly computed with."""
    if is_stored(dtype):
        raise NotImplementedError(f"\"{name}\" not implemented for '{type_name(dtype)}'")


def converted(array: Array, dtype: np.dtype[Any]) -> Array:
    """The elements in another dtype, or the array itself; of a complex number that becomes real, the real part.

    Raises:
        NotImplementedError: nothing reads or makes elements of one of these types.
    """
    if array.dtype == dtype:
        return array
    if dtype.names is not None or array.dtype.names is not None:
        return _structures(array, dtype)
    if array.dtype.kind == "c" and dtype.kind not in "cb":
        array = array.real
    if is_float8(array.dtype):
        array = array.astype(_FLOAT32)  # exactly, and what NumPy has all casts of
    return _to_float8(array.astype(_FLOAT32, copy=False), dtype) if is_float8(dtype) else array.astype(dtype)


def readable(array: Array) -> Array:
    """The elements in a type whose numbers NumPy makes Python's of: float32 instead of those of ml_dtypes.

    Raises:
        NotImplementedError: nothing reads elements of this type.
    """
    dtype = array.dtype
    if dtype.kind != "V" and dtype.itemsize != 1:
        return array
    if is_complex32(dtype):
        return widened(array)
    if dtype.names is not None:
        raise NotImplementedError(f"\"_local_scalar_dense_cpu\" not implemented for '{type_name(dtype)}'")
    return array.astype(_FLOAT32) if is_half(dtype) else array


def _structures(array: Array, dtype: np.dtype[Any]) -> Array:
    """`converted` where one of the types is a structure."""
    for each in (dtype, array.dtype):
        if is_opaque(each):
            raise NotImplementedError(f"\"copy_\" not implemented for '{type_name(each)}'")
    return narrowed(array) if is_complex32(dtype) else converted(widened(array), dtype)


def widened(array: Array) -> Array:
    """Complex numbers of two float16 in complex64, exactly, and laid out as they are."""
    out = np.empty_like(array, _COMPLEX64)
    out.real = array["real"]
    out.imag = array["imag"]
    return out


def narrowed(array: Array) -> Array:
    """Numbers as complex ones of two float16: each part is rounded once, to float32 before where it is a float64."""
    out = np.empty_like(array, COMPLEX32)
    with np.errstate(all="ignore"):
        out["real"] = converted(array.real, _FLOAT32)
        out["imag"] = converted(array.imag, _FLOAT32) if array.dtype.kind == "c" else 0
    return out


_FLOAT32, _COMPLEX64 = np.dtype(np.float32), np.dtype(np.complex64)
_LARGEST_E4M3FN = np.float32(448)
_NAN_E5M2 = np.uint8(0x7F)


def _to_float8(array: Array, dtype: np.dtype[Any]) -> Array:
    """Numbers of float32 in a float8 type, rounded to even.

    float8_e4m3fn has no infinity, and numbers beyond it become its largest. float8_e8m0fnu has powers of two alone:
    signs are lost, and zero is the smallest of them.
    """
    with np.errstate(all="ignore"):
        if dtype.name == "float8_e4m3fn":
            return np.clip(array, -_LARGEST_E4M3FN, _LARGEST_E4M3FN).astype(dtype)
        if dtype.name == "float8_e8m0fnu":
            return np.maximum(np.abs(array), np.float32(2.0**-127)).astype(dtype)
        out = array.astype(dtype)
        if dtype.name == "float8_e5m2":
            bits = out.view(np.uint8)
            np.copyto(bits, (bits & 0x80) | _NAN_E5M2, where=np.isnan(array))
    return out


def is_integral(dtype: np.dtype[Any]) -> bool:
    """An integer type or bool."""
    return dtype.kind in "iub"


def element(value: Number, dtype: np.dtype[Any], wraps: bool = False) -> Any:
    """A Python number as an element of `dtype`: a fraction is cut off.

    Args:
        value: the number.
        dtype: of the result.
        wraps: whether it wraps around in an integer dtype and becomes infinite in a floating one, as operands of
            arithmetic do; others have to fit.

    Raises:
        RuntimeError: it does not fit.  Infinity and NaN fit where the dtype has them.
        OverflowError: it is an integer that no dtype holds.
    """
    if dtype.names is not None:
        if is_opaque(dtype):
            raise NotImplementedError(f"\"fill_cpu\" not implemented for '{type_name(dtype)}'")
        return narrowed(np.asarray(element(value, _COMPLEX64, wraps=True)))[()]  # what is too large is infinite
    if isinstance(value, complex) and dtype.kind not in "cb":
        if value.imag:
            raise _does_not_fit(dtype)
        value = value.real
    if isinstance(value, int):
        check_int(value)
    if dtype.kind in "iu":
        number: Any = value
        limits = np.iinfo(dtype)
        size = limits.max - limits.min + 1
        if not (wraps and isinstance(number, int)):
            # A negative integer counts down from the end of an unsigned type, as in C.
            least = -limits.max if dtype.kind == "u" and isinstance(number, int) else limits.min
            if not math.isfinite(number) or not least <= number <= limits.max:
                raise _does_not_fit(dtype)
        return dtype.type((int(number) - limits.min) % size + limits.min)
    if dtype.kind == "b":
        return np.bool_(value)
    if is_float8(dtype):
        number = np.float32(cast("float", value))
        result = converted(np.asarray(number), dtype)[()]
        limit = _float8_limit(dtype)
        if not wraps and not np.isnan(number) and not (limit[0] <= number <= limit[1]):
            raise _does_not_fit(dtype)
        return result
    with np.errstate(over="ignore"):
        result = dtype.type(value)
    if not wraps and not np.isfinite(result) and cmath.isfinite(value):
        raise _does_not_fit(dtype)
    return result


def check_int(value: int) -> None:
    """Refuse an integer that no dtype holds."""
    if not -(2**63) <= value < 2**64:
        raise OverflowError("int too big to convert" if value > 0 else "can't convert negative int to unsigned")


_C_NAMES = {
    "float32": "float", "float64": "double", "bool": "bool", "float16": "c10::Half", "bfloat16": "c10::BFloat16",
}  # fmt: skip


@cache
def _float8_limit(dtype: np.dtype[Any]) -> tuple[float, float]:
    """The smallest and largest number that are elements of a float8 type."""
    import ml_dtypes

    if dtype.name == "float8_e5m2":
        return -math.inf, math.inf
    limits: Any = ml_dtypes.finfo
    info = limits(dtype)
    return float(info.min), float(info.max)


def _does_not_fit(dtype: np.dtype[Any]) -> RuntimeError:
    name = f"c10::{type_name(dtype)}" if is_float8(dtype) else _C_NAMES.get(dtype.name, f"{dtype.name}_t")
    return RuntimeError(f"value cannot be converted to type {name} without overflow")


def shaped(shape: Sequence[int], dtype: np.dtype[Any]) -> Array:
    """What a kernel for Meta gives: an array of a shape, of which nobody reads an element."""
    return np.broadcast_to(np.empty((), dtype), shape)


class Constant(dict[np.dtype[Any], Array]):
    """A number as a 0-dim array of each dtype, made once: NumPy converts a Python number anew in every call."""

    def __init__(self, number: Number) -> None:
        super().__init__()
        self.number = number

    def __missing__(self, dtype: np.dtype[Any]) -> Array:
        array = self[dtype] = np.asarray(self.number, dtype)
        array.flags.writeable = False
        return array


ZERO = Constant(0)
