"""Half precision: float16, bfloat16 and float8 are computed in float32, and what comes out is rounded once.

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
from runtime.base.tensor import Tensor, wrap
from runtime.kernels._common import converted, is_half

P = ParamSpec("P")
R = TypeVar("R")
FLOAT32 = np.dtype(np.float32)


def shared_half(arrays: Iterable[np.ndarray]) -> np.dtype[Any] | None:
    """The half precision that all floating and complex arrays have; None where there is another type among them."""
    kinds = {array.dtype for array in arrays if array.dtype.kind in "fcV"}
    return next((dtype for dtype in kinds if is_half(dtype)), None) if len(kinds) == 1 else None


def computable(value: Any) -> Any:
    """An argument for a kernel that computes: half precision in float32."""
    if isinstance(value, Tensor):
        return wrap(value._array.astype(FLOAT32)) if is_half(value._array.dtype) else value
    return [computable(item) for item in value] if isinstance(value, list) else value


def asks_dtype(values: Iterable[Any]) -> bool:
    """Whether a dtype is among the arguments of a call: results come in that one, and are not rounded."""
    return any(isinstance(value, dtypes.dtype) for value in values)


def rounded(result: Any, dtype: np.dtype[Any]) -> Any:
    """What a kernel gave, with `dtype` in place of float32."""
    if isinstance(result, (tuple, list)):
        return type(result)([rounded(item, dtype) for item in result])
    if isinstance(result, (np.ndarray, np.generic)) and result.dtype == FLOAT32:
        return converted(np.asanyarray(result), dtype)
    return result


def in_float32(composite: Callable[P, R]) -> Callable[P, R]:
    """A function on Tensors that computes half precision in float32 as a whole: a composite, or a part of a formula."""

    @wraps(composite)
    def function(*args: P.args, **kwargs: P.kwargs) -> R:
        for value in (*args, *kwargs.values()) if kwargs else args:
            if isinstance(value, Tensor) and value._array.dtype.itemsize == 2:
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
