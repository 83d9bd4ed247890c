"""Calls of operators with Tensors of one half precision, where nothing else is unusual.

Of the general path they need little: the arguments in float32, the kernel, and the result rounded and recorded. So a
product of small matrices takes less than half of the time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from codegen.dispatch_keys import CPU
from runtime.base.arrays import converted, is_half
from runtime.base.dtypes import dtype as DType
from runtime.base.half import FLOAT32
from runtime.base.modes import plain
from runtime.base.tensor import Tensor
from runtime.call.promote import to_array
from runtime.call.results import laid_out, wrapped

if TYPE_CHECKING:
    from runtime.call.dispatch import Operator


def computed(operator: Operator, values: Sequence[Any]) -> Tensor | None:
    """The result of an operator that `takes_halves`; None where the general path has to look at the arguments."""
    half: np.dtype[Any] | None = None
    arrays = []
    for i in operator.kernel_positions:
        value = values[i]
        if type(value) in plain:
            array = value._array
            if type(array) is not np.ndarray:
                return None
            if array.dtype is not half:
                if half is not None or array.dtype.itemsize != 2 or not is_half(array.dtype):
                    return None
                half = array.dtype
            arrays.append(array.astype(FLOAT32))
        elif isinstance(value, (Tensor, DType, complex)) or (
            type(value) is list and any(isinstance(v, Tensor) for v in value)
        ):
            return None
        else:
            arrays.append(to_array(value))
    if half is None:
        return None
    with np.errstate(all="ignore"):
        try:
            result = operator.built_in[CPU](*arrays)
        except Exception:
            return None  # the general path says what is wrong
        if not isinstance(result, (np.ndarray, np.generic)):
            return None
        if result.dtype == FLOAT32:
            result = converted(np.asanyarray(result), half)
    out: Tensor = wrapped(operator, laid_out(operator, result, values))
    return out
