"""GRADWRIGHT_DEBUG=1: what kernels return is checked at every call, for those who write them.

A kernel must not write to its arguments, nor hand them on as its result unless its schema says so, and what it returns
must be arrays of element types that Tensors have. Of an operator that is tagged `pointwise` the shape follows from
the arguments, and floating point numbers keep their width. The tag `maybe_aliasing_or_mutating` allows what its name
says.
"""

from __future__ import annotations

import functools
import importlib
import inspect
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from runtime.base import dtypes
from runtime.base.keys import COMPOSITES
from runtime.call.dispatch import Operator
from runtime.kernels._common import COMPLEX32
from runtime.load.operator_info import OperatorInfo

Kernel = Callable[..., Any]


def check_kernels(package: str) -> None:
    """Put a check around each kernel on arrays of a generated package."""
    names = vars(importlib.import_module(f"{package}.operators"))
    known = importlib.import_module(f"{package}.registry").OPERATORS
    for operator in [value for value in names.values() if isinstance(value, Operator)]:
        for key, kernel in operator.built_in.items():
            if key not in COMPOSITES:
                checked = operator.built_in[key] = _checked(operator, known[operator.name], kernel)
                if names.get(f"{operator.symbol}_kernel") is kernel:
                    names[f"{operator.symbol}_kernel"] = checked


def _checked(operator: Operator, info: OperatorInfo, kernel: Kernel) -> Kernel:
    @functools.wraps(kernel, assigned=("__module__", "__name__", "__doc__"), updated=())
    def run(*args: Any, **kwargs: Any) -> Any:
        arrays = list(_arrays((*args, *kwargs.values())))
        before = [array.tobytes() for array in arrays]
        result = kernel(*args, **kwargs)
        problem = _problem(operator, info, arrays, before, result)
        if problem is not None:
            raise RuntimeError(f"{operator.qualified_name}: its kernel {_place(kernel)} {problem}")
        return result

    return run


def _problem(
    operator: Operator, info: OperatorInfo, arrays: Sequence[np.ndarray], before: Sequence[bytes], result: Any
) -> str | None:
    """What is wrong with a call of a kernel, in words that follow on its name; None if nothing is."""
    if any(array.tobytes() != content for array, content in zip(arrays, before, strict=True)):
        return "wrote to an argument"
    results = list(_arrays((result,)))
    for made in results:
        if made.dtype not in _KNOWN:
            return f"returned elements of type {made.dtype}, which Tensors do not have"
        shared = [array for array in arrays if np.may_share_memory(made, array) and np.shares_memory(made, array)]
        if operator.view is None and shared and not info.may_alias:
            return "returned memory of an argument, and the schema declares no view: return a copy"
        if operator.view is not None and made.size and not shared:
            return "returned a copy, and the schema declares a view"
    if not info.pointwise or operator.view is not None:
        return None
    shape = np.broadcast_shapes(*(array.shape for array in arrays))
    for made in results:
        if made.shape != shape:
            return f"returned shape {made.shape} for arguments of shape {shape}: it works element by element"
    keeps_width = operator.promotion is None or operator.promotion[0] in _KEEPING
    return _width_problem(arrays, results) if keeps_width and "ScalarType" not in operator.schema else None


def _width_problem(arrays: Sequence[np.ndarray], results: Sequence[np.ndarray]) -> str | None:
    widths = {_width(array.dtype) for array in arrays if array.dtype.kind in "fc" and array.dtype.itemsize > _HALF}
    for made in results:
        if len(widths) == 1 and made.dtype.kind in "fc" and _width(made.dtype) not in widths:
            dtypes = ", ".join(sorted({str(array.dtype) for array in arrays}))
            return f"returned {made.dtype} for {dtypes}: a constant of another type, perhaps"
    return None


# Promotions after which a result is as wide as the widest argument; and the bytes of a number of half precision, which
# may be computed in more and is rounded later.
_KEEPING = ("default", "int_to_float")
_HALF = 2
_OTHERS = [kind for kind in dtypes.EVERY_DTYPE if kind is not dtypes.complex32]  # whose first user is told something
_KNOWN = frozenset((*(kind.numpy for kind in _OTHERS), COMPLEX32))


def _width(dtype: np.dtype[Any]) -> int:
    """The bytes of a real number."""
    return dtype.itemsize // 2 if dtype.kind == "c" else dtype.itemsize


def _arrays(values: Sequence[Any]) -> Iterator[np.ndarray]:
    for value in values:
        if isinstance(value, (np.ndarray, np.generic)):
            yield np.asarray(value)
        elif isinstance(value, (tuple, list)):
            yield from _arrays(value)


def _place(kernel: Kernel) -> str:
    """`mylib/kernels.py:12`, or the name of a function that is not Python's."""
    try:
        _, line = inspect.getsourcelines(kernel)
        return f"{inspect.getsourcefile(kernel)}:{line}"
    except (TypeError, OSError):
        return str(getattr(kernel, "__name__", kernel))
