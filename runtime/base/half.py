"""Half precision: float16, bfloat16 and float8 are computed in float32, and what comes out is rounded once.

Complex numbers of two float16 are computed in complex64. NumPy has no such type, so all kernels get them in that, but
those of views and those that make or draw elements: what only moves elements gives the same ones back.

Which operators compute is planned from native_functions.yaml (the key `half`). The others get their arguments as they
are: they move or compare elements, or are made of operators that each round.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import numpy as np

from runtime import ops
from runtime.base import dtypes
from runtime.base.arrays import COMPLEX32, converted, is_complex32, is_half, is_narrow, widened
from runtime.base.tensor import Tensor, wrap

P = ParamSpec("P")
R = TypeVar("R")
FLOAT32, COMPLEX64, COMPLEX128 = np.dtype(np.float32), np.dtype(np.complex64), np.dtype(np.complex128)


def shared_half(arrays: Iterable[np.ndarray]) -> np.dtype[Any] | None:
    """The type that all floating and complex arrays have, where it is half precision, or complex numbers of it."""
    kinds = {array.dtype for array in arrays if array.dtype.kind in "fcV"}
    return next((dtype for dtype in kinds if is_narrow(dtype)), None) if len(kinds) == 1 else None


def computable(value: Any, wide: np.dtype[Any] = COMPLEX64) -> Any:
    """An argument for a kernel that computes: half precision in float32, complex numbers of it in `wide`."""
    if isinstance(value, Tensor):
        array = value._array
        if is_half(array.dtype):
            return wrap(array.astype(FLOAT32))
        if is_complex32(array.dtype):
            return wrap((widened(array) if type(array) is np.ndarray else array).astype(wide, copy=False))
        return value
    if value is dtypes.complex32:
        return dtypes.complex64
    return [computable(item, wide) for item in value] if isinstance(value, list) else value


def computed_in(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The type that elements of half precision, or complex numbers of it, are computed in."""
    return COMPLEX64 if is_complex32(dtype) else FLOAT32


def asks_dtype(values: Iterable[Any]) -> bool:
    """Whether a dtype is among the arguments of a call: results come in that one, and are not rounded."""
    return any(isinstance(value, dtypes.dtype) for value in values)


def rounded(result: Any, dtype: np.dtype[Any]) -> Any:
    """What a kernel gave, with `dtype` in place of float32, or of a complex dtype where it is one.

    Real numbers that come of complex ones are float16.
    """
    if isinstance(result, (tuple, list)):
        return type(result)([rounded(item, dtype) for item in result])
    if isinstance(result, (np.ndarray, np.generic)):
        if result.dtype == FLOAT32:
            return converted(np.asanyarray(result), _FLOAT16 if is_complex32(dtype) else dtype)
        if result.dtype.kind == "c" and is_complex32(dtype):
            return _rounded_complex(np.asanyarray(result))
    return result


def _rounded_complex(array: np.ndarray) -> np.ndarray:
    return converted(array, COMPLEX32) if type(array) is np.ndarray else array.astype(COMPLEX32)


_FLOAT16 = np.dtype(np.float16)


def in_float32(composite: Callable[P, R]) -> Callable[P, R]:
    """A function on Tensors that computes half precision in float32 as a whole: a composite, or a part of a formula."""

    @wraps(composite)
    def function(*args: P.args, **kwargs: P.kwargs) -> R:
        for value in (*args, *kwargs.values()) if kwargs else args:
            if isinstance(value, Tensor) and value._array.dtype.itemsize == 2:  # complex numbers round in each operator
                return computed(args, kwargs)  # type: ignore[no-any-return]
        return composite(*args, **kwargs)

    def computed(args: Any, kwargs: Any) -> Any:
        values = (*args, *kwargs.values())
        shared = shared_half([value._array for value in values if isinstance(value, Tensor)])
        if shared is None:
            return composite(*args, **kwargs)
        half = dtypes.from_numpy(shared)
        args = tuple([_cast(value, half, dtypes.float32) for value in args])
        kwargs = {name: _cast(value, half, dtypes.float32) for name, value in kwargs.items()}
        result = composite(*args, **kwargs)
        return result if asks_dtype(values) else _cast(result, dtypes.float32, half)

    return function


def _cast(value: Any, before: dtypes.dtype, wanted: dtypes.dtype) -> Any:
    """The Tensors of a dtype in another one, as a recorded operator makes them."""
    if isinstance(value, Tensor):
        return ops._to_copy(value, dtype=wanted) if value.dtype is before else value
    if isinstance(value, (tuple, list)) and any(isinstance(item, Tensor) for item in value):
        return type(value)([_cast(item, before, wanted) for item in value])
    return value
