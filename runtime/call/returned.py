"""Whether a kernel or a composite function returned what its schema says: so many results, and arrays for Tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from runtime.call.dispatch import Operator


def counted(operator: Operator, result: Any) -> Any:
    """What a kernel or a composite function returned, if it has as many results as the operator, by their names.

    Raises:
        RuntimeError: it has not; an array is no tuple of its rows.
    """
    _raise(operator, _miscount(operator, result))
    return operator.results(result) if type(result) is tuple else result


def check_arrays(operator: Operator, result: Any) -> None:
    """See that a kernel on arrays returned what the schema says.

    Raises:
        RuntimeError: there are other results than the operator has, or one that is a Tensor is no array.
    """
    if type(result) is not np.ndarray or operator.result_count != 1:
        _raise(operator, misfit(operator, result))


def misfit(operator: Operator, result: Any) -> tuple[str, str] | None:
    """What a kernel on arrays was to return, and what it did; None where it fits the schema."""
    found = _miscount(operator, result)
    types = operator.facts.results
    if found is not None or not types:
        return found or (None if result is None else ("None", _kind(result)))
    if operator.result_count == 1:
        fits = types[0] != "Tensor" or _is_array(result)
        return None if fits else ("an array", _kind(result))
    left_out = operator.facts.masks_outputs
    each = types if len(types) > 1 else ["Tensor"] * len(result)
    for place, (type_, item) in enumerate(zip(each, result, strict=True)):
        if type_ == "Tensor" and not _is_array(item) and not (left_out and item is None):
            return f"an array as result {place}", _kind(item)
    return None


def _miscount(operator: Operator, result: Any) -> tuple[str, str] | None:
    count = operator.result_count
    length = len(result) if isinstance(result, (tuple, list)) else None
    if count is None:
        return None if length is not None else ("a list", _kind(result))
    if length == (None if count == 1 else count) or not count:
        return None
    return _count_text(count), _count_text(length) if length is not None and count != 1 else _kind(result)


def _raise(operator: Operator, found: tuple[str, str] | None) -> None:
    if found is not None:
        raise RuntimeError(
            f"{operator.qualified_name}: expected {found[0]}, but the kernel returned {found[1]}"
            f"\n  schema: {operator.schema}"
        )


def _is_array(value: Any) -> bool:
    return isinstance(value, (np.ndarray, np.generic))


def _kind(value: Any) -> str:
    if value is None or _is_array(value):
        return "None" if value is None else "an array"
    of = f" of {len(value)}" if isinstance(value, (tuple, list)) else ""
    return f"a {type(value).__name__}{of}"


def _count_text(count: int) -> str:
    return "1 result" if count == 1 else f"{count} results"
