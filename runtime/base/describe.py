"""What was given, in the words of error messages."""

from __future__ import annotations

from runtime.base.tensor import Tensor


def describe(value: object) -> str:
    """What was given, as an error shows it: the type, for Tensors also the dtype, for lists their elements' types."""
    if isinstance(value, Tensor):
        return f"Tensor of {value.dtype}"
    if isinstance(value, (list, tuple)) and value:
        kinds = sorted({describe(item) for item in value})
        return f"{type(value).__name__} of {', '.join(kinds[:3])}"
    return type(value).__name__
