"""What holds of each call of a kernel on arrays: what it may write to, and what it may return.

A kernel must not write to its arguments, nor hand their memory on as its result, unless its schema says so, and what
it returns must be arrays of element types that Tensors have. Floating point numbers keep their width, and of an
operator that is tagged `pointwise` the shape follows from the arguments. The tag `maybe_aliasing_or_mutating` allows
what its name says.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from runtime.base import dtypes
from runtime.base.arrays import COMPLEX32
from runtime.call.dispatch import Operator
from runtime.call.returned import misfit
from runtime.load.operator_info import OperatorInfo

Kernel = Callable[..., Any]


def watched(operator: Operator, info: OperatorInfo, kernel: Kernel, tell: Callable[[str], None]) -> Kernel:
    """A kernel that is looked at in each call: `tell` gets what is wrong, in words that follow on its name."""
    written = {operator.kernel_positions.index(position) for position in operator.targets}

    @functools.wraps(kernel, assigned=("__module__", "__name__", "__doc__"), updated=())
    def run(*args: Any, **kwargs: Any) -> Any:
        values = (*args, *kwargs.values())
        read = [*_arrays([value for place, value in enumerate(values) if place not in written])]
        before = [array.tobytes() for array in read]
        result = kernel(*args, **kwargs)
        changed = any(array.tobytes() != content for array, content in zip(read, before, strict=True))
        asked = {value for value in values if isinstance(value, np.dtype)} if "ScalarType" in operator.schema else set()
        problem = "wrote to an argument" if changed else _problem(operator, info, [*_arrays(values)], result, asked)
        if problem is not None:
            tell(problem)
        return result

    return run


def place_of(kernel: Kernel) -> str:
    """`mylib/kernels.py:12`, or the name of a function that is not Python's."""
    try:
        _, line = inspect.getsourcelines(kernel)
        return f"{inspect.getsourcefile(kernel)}:{line}"
    except (TypeError, OSError):
        return str(getattr(kernel, "__name__", kernel))


def _problem(
    operator: Operator, info: OperatorInfo, arrays: Sequence[np.ndarray], result: Any, asked: set[np.dtype[Any]]
) -> str | None:
    """What is wrong with what a kernel returned, in the dtype that a call names or in that of the arguments; None if
    nothing is.
    """
    found = misfit(operator, result)
    if found is not None:
        return f"returned {found[1]}, and the schema wants {found[0]}"
    results = list(_arrays((result,)))
    for place, made in enumerate(results):
        if made.dtype not in _KNOWN:
            return f"returned elements of type {made.dtype}, which Tensors do not have"
        if operator.given_back is not None:
            continue  # whatever it is, it is written there
        shared = any(_shares(made, array) for array in arrays)
        if operator.view is None and not info.may_alias:
            if shared:
                return "returned memory of an argument, and the schema declares no view: return a copy"
            if any(_shares(made, other) for other in results[:place]):
                return "returned two results in one memory: return a copy"
        if operator.view is not None and made.size and not shared:
            return "returned a copy, and the schema declares a view"
    if operator.view is not None or operator.given_back is not None:
        return None
    if info.pointwise:
        shape = np.broadcast_shapes(*(array.shape for array in arrays))
        for made in results:
            if made.shape != shape:
                return f"returned shape {made.shape} for arguments of shape {shape}: it works element by element"
    if asked:
        wrong = next((made.dtype for made in results if made.dtype.kind in "fc" and made.dtype not in asked), None)
        names = ", ".join(sorted(map(str, asked)))
        return None if wrong is None or len(asked) > 1 else f"returned {wrong}, and was asked for {names}"
    return _width_problem(arrays, results, info.differentiable)


def _shares(one: np.ndarray, other: np.ndarray) -> bool:
    return bool(np.may_share_memory(one, other)) and bool(np.shares_memory(one, other))


def _width_problem(arrays: Sequence[np.ndarray], results: Sequence[np.ndarray], of_integers: bool) -> str | None:
    given = {array.dtype for array in arrays}
    widths = {_width(dtype) for dtype in given if dtype.kind in "fc" and dtype.itemsize > _HALF}
    if of_integers and given and all(dtype.kind in "biu" for dtype in given):
        widths = {_width(dtypes.get_default_dtype().numpy)}  # what is computed of integers has the default dtype
    for made in results:
        if (
            len(widths) == 1
            and made.dtype.kind in "fc"
            and made.dtype not in given
            and _width(made.dtype) not in widths
        ):
            kinds = ", ".join(sorted(map(str, given)))
            return f"returned {made.dtype} for {kinds}: a constant of another type, perhaps"
    return None


_HALF = 2  # the bytes of a number of half precision, which may be computed in more and is rounded later
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
