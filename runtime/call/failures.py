"""Errors of operator calls as the caller sees them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from runtime.base.errors import translated
from runtime.base.tensor import Tensor
from runtime.call.facts import tensors_at

if TYPE_CHECKING:
    from runtime.call.dispatch import Operator


def explained(operator: Operator, error: Exception, values: Sequence[Any]) -> Exception:
    """`error` as the caller should see it: the class PyTorch raises, with the schema and what was given."""
    if operator.traced is not None:  # what a composite function made of wrong arguments is not what is wrong
        try:
            operator.signature.bind(values[: operator.signature.positional], operator.by_name(values))
        except (TypeError, ValueError) as misfit:
            return misfit
    if getattr(error, "__notes__", None):
        return error
    tensors = tensors_at(values, range(len(values)))
    if type(error) is ValueError and "broadcast" in str(error):
        error = RuntimeError(_broadcast_error(tensors) or str(error))
    else:
        kinds = ", ".join(sorted({str(tensor.dtype) for tensor in tensors}))
        error = translated(error, operator.name, kinds)
    arguments = ", ".join(f"{name}={_short(value)}" for name, value in zip(operator.names, values, strict=False))
    error.add_note(f"in {operator.schema}\ngiven {arguments}")
    return error


def _short(value: object) -> str:
    if isinstance(value, Tensor):
        return f"Tensor{list(value._array.shape)} of {value.dtype}"
    if isinstance(value, list):
        return f"[{', '.join(_short(item) for item in value)}]"
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _broadcast_error(tensors: Sequence[Tensor]) -> str | None:
    shapes = [tensor._array.shape for tensor in tensors]
    for i, left in enumerate(shapes):
        for right in shapes[i + 1 :]:
            for offset in range(1, min(len(left), len(right)) + 1):
                a, b = left[-offset], right[-offset]
                if a != b and 1 not in (a, b):
                    return (
                        f"The size of tensor a ({a}) must match the size of tensor b ({b}) at non-singleton dimension "
                        f"{max(len(left), len(right)) - offset}"
                    )
    return None
