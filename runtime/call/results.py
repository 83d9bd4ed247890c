"""What kernels return, in the form in which callers get it: laid out, wrapped, and none of the arguments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from runtime.base import layouts
from runtime.base.array_proxies import class_over
from runtime.base.sharing import shares
from runtime.base.tensor import Tensor, wrap
from runtime.base.types import MemoryFormat, preserve_format
from runtime.call.facts import flat_tensors
from runtime.call.promote import to_array
from runtime.graph import views

if TYPE_CHECKING:
    from runtime.call.dispatch import Operator


def laid_out(operator: Operator, result: Any, values: Sequence[Any]) -> Any:
    """What a kernel gave, as it is to lie in memory."""
    if operator.layout is None or not isinstance(result, (np.ndarray, np.generic, tuple, list)):
        return result
    kind, positions, results = operator.layout
    at = operator.memory_format_position
    memory_format: MemoryFormat | None = None if at is None else values[at]
    lay = getattr(layouts, kind)
    if memory_format is not None and memory_format is not preserve_format:
        lay, positions = getattr(layouts, memory_format.name), ()
    operands = [array for i in positions for array in _arrays(values[i])]
    if not isinstance(result, (tuple, list)):
        return lay(np.asanyarray(result), *operands)
    if len(results) != len(result):
        laid = [layouts.contiguous(array) if array is not None else None for array in result]
        for i in results:
            laid[i] = lay(result[i], *operands)
    else:
        laid = [lay(np.asanyarray(array), *operands) if array is not None else None for array in result]
    return type(result)(laid)


def wrapped(operator: Operator, result: Any) -> Any:
    """Arrays that a kernel gave as Tensors."""
    if isinstance(result, (np.ndarray, np.generic)):
        return wrap(np.asarray(result))
    if isinstance(result, tuple):
        return operator.results([None if array is None else wrap(np.asarray(array)) for array in result])
    if isinstance(result, list):
        return tuple([wrap(array) for array in result])
    return result


def as_results(operator: Operator, out: Any, values: Sequence[Any]) -> Any:
    """What a kernel on Tensors returned: views where the operator makes views, else no argument and no view."""
    if operator.view is not None:
        base = values[operator.base_position]
        tensors = flat_tensors([out])
        if any(_lies_in(tensor, base) for tensor in tensors):
            return views.views_of(out, base, operator.view)
    written = _identities([values[place] for place in operator.facts.writes])
    read = _identities(values) - written
    return _freed(operator, out, written, read)


def _freed(operator: Operator, out: Any, written: set[int], read: set[int]) -> Any:
    """Results with new Tensors in place of those that are not the kernel's own.

    These are arguments that were only read, views of what it made, and what has a history.
    """
    if isinstance(out, Tensor):
        view = out._base is not None and type(out) is class_over(out._array)
        known = view or id(out) in read or out._edge is not None
        return out.detach() if id(out) not in written and known else out
    if not isinstance(out, (list, tuple)):
        return out
    items = [_freed(operator, item, written, read) for item in out]
    if all(item is before for item, before in zip(items, out, strict=True)):
        return out
    return items if type(out) is list else tuple(items) if type(out) is tuple else operator.results(items)


def _arrays(value: Any) -> list[Any]:
    """The arrays of a Tensor, or of a list of them, with None for what is none."""
    return [to_array(item) for item in value] if isinstance(value, (list, tuple)) else [to_array(value)]


def _identities(values: Sequence[Any]) -> set[int]:
    return {id(tensor) for tensor in flat_tensors(values)}


def _lies_in(tensor: Tensor, base: Tensor) -> bool:
    """Whether a Tensor can be a view of another one.  Where there are no elements none is elsewhere."""
    array = tensor._array
    return not array.size or shares(tensor, base) or np.may_share_memory(array, base._array)
