"""Calls with Tensors of other element types than the fast path takes, where nothing else is unusual.

Of the general path they need little: arguments in the types that are computed in, the kernel, and the result rounded
and recorded. What is converted to what depends on the types of the arguments alone: it is decided once for each
combination of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from codegen.dispatch_keys import CPU
from runtime.base.arrays import converted, is_half
from runtime.base.dtypes import get_default_dtype
from runtime.base.half import FLOAT32
from runtime.base.modes import plain
from runtime.base.tensor import Tensor, wrap
from runtime.call.promote import converted_numbers, half_of_results, to_array, wanted_dtype
from runtime.call.results import laid_out

if TYPE_CHECKING:
    from runtime.call.dispatch import Operator

_SIMPLE = frozenset((type(None), bool, float, str))  # nothing but the type matters


class Conversion(NamedTuple):
    """What is done around the kernel; None: nothing."""

    dtypes: tuple[np.dtype[Any] | None, ...]  # that each argument of the kernel is brought to
    integers: np.dtype[Any] | None  # that Python's ints among them are brought to
    half: np.dtype[Any] | None  # that results of float32 are rounded to


def computed(operator: Operator, values: list[Any]) -> Tensor | None:
    """The result of an operator that `converts`; None where the general path has to look at the arguments."""
    key: list[Any] = [get_default_dtype()]
    contiguous = True
    for value in values:
        kind = type(value)
        if kind in plain:
            array = value._array
            if type(array) is not np.ndarray:
                return None
            contiguous = contiguous and array.flags.c_contiguous
            key += (array.dtype, array.ndim > 0)
        elif (
            kind in _SIMPLE
            or (kind is int and -(2**63) <= value < 2**63)
            or (kind in (list, tuple) and not any(isinstance(item, (Tensor, complex)) for item in value))
        ):
            key.append(kind)
        else:
            return None
    combination = tuple(key)
    known = operator.conversions
    if combination not in known:
        known[combination] = _conversion(operator, values)
    conversion = known[combination]
    if conversion is None:
        return None
    try:
        if conversion.integers is not None:
            values = converted_numbers(operator, values, conversion.integers)
        arrays = [
            to_array(values[i]) if dtype is None else values[i]._array.astype(dtype)
            for i, dtype in zip(operator.kernel_positions, conversion.dtypes, strict=True)
        ]
        result = operator.built_in[CPU](*arrays)
        if not isinstance(result, (np.ndarray, np.generic)):
            return None
        if conversion.half is not None and result.dtype == FLOAT32:
            result = converted(np.asanyarray(result), conversion.half)
    except Exception:
        return None  # the general path says what is wrong
    if not (contiguous and result.flags.c_contiguous):
        result = laid_out(operator, result, values)
    return wrap(np.asarray(result))


def _conversion(operator: Operator, values: list[Any]) -> Conversion | None:
    """What is to be done with arguments of such types; None where they are converted in another way, or not at all."""
    try:
        wanted = wanted_dtype(operator, values)
    except Exception:
        return None  # refused, with words of the general path
    types = [value._array.dtype for value in values if isinstance(value, Tensor)]
    if any(each is not None and each.kind == "V" and not is_half(each) for each in (wanted, *types)):
        return None  # complex numbers of two float16, and what is only stored
    half = half_of_results(operator, values, wanted) if operator.in_float32 else None
    if wanted is not None and is_half(wanted):
        if half is None:
            return None
        wanted = FLOAT32
    dtypes = []
    for i in operator.kernel_positions:
        dtype = values[i]._array.dtype if isinstance(values[i], Tensor) else None
        to = None
        if dtype is not None and wanted is not None and i in operator.promoted_positions:
            to = wanted
        elif dtype is not None and half is not None and is_half(dtype):
            to = FLOAT32
        dtypes.append(None if dtype is to else to)
    if not any(dtypes):
        return None
    integers = wanted if wanted is not None and wanted.kind in "iu" and operator.number_positions else None
    return Conversion(tuple(dtypes), integers, half)
