"""Whether a kernel or a composite function returned what its schema says: so many results, and arrays for Tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from runtime.call.dispatch import Operator


def counted(operator: Operator, result: Any) -> Any:
    """What a kernel or a composite function returned, if it has as many results as the operator.

    Raises:
        RuntimeError: it has not; an array is no tuple of its rows.
    """
    count = operator.result_count
    length = len(result) if isinstance(result, (tuple, list)) else None
    if count is None:
        fits, wanted = length is not None, "a list"
    else:
        fits, wanted = length == (None if count == 1 else count) or not count, _count_text(count)
    if not fits:
        raise _misfit(operator, wanted, _count_text(length) if length is not None and count != 1 else _kind(result))
    return result


def check_arrays(operator: Operator, result: Any) -> None:
    """See that a kernel on arrays returned what the schema says.

    Raises:
        RuntimeError: there are other results than the operator has, or one that is a Tensor is no array.
    """
    if type(result) is np.ndarray and operator.result_count == 1:
        return
    counted(operator, result)
    returns = operator.signature.schema.returns
    if not returns:
        if result is not None:
            raise _misfit(operator, "None", _kind(result))
        return
    if operator.result_count == 1:
        if str(returns[0].type) == "Tensor" and not _is_array(result):
            raise _misfit(operator, "an array", _kind(result))
        return
    types = [str(value.type) for value in returns] if len(returns) > 1 else ["Tensor"] * len(result)
    left_out = operator.signature.schema.masks_outputs
    for place, (type_, item) in enumerate(zip(types, result, strict=True)):
        if type_ == "Tensor" and not _is_array(item) and not (left_out and item is None):
            raise _misfit(operator, f"an array as result {place}", _kind(item))


def _is_array(value: Any) -> bool:
    return isinstance(value, (np.ndarray, np.generic))


def _misfit(operator: Operator, wanted: str, returned: str) -> RuntimeError:
    return RuntimeError(
        f"{operator.qualified_name}: expected {wanted}, but the kernel returned {returned}\n  schema: {operator.schema}"
    )


def _kind(value: Any) -> str:
    of = f" of {len(value)}" if isinstance(value, (tuple, list)) else ""
    return "None" if value is None else f"a {type(value).__name__}{of}"


def _count_text(count: int) -> str:
    return "1 result" if count == 1 else f"{count} results"
