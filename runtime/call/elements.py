"""Lists whose elements belong together: what operators on lists of Tensors go through."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from runtime.base.tensor import Tensor


def together(*lists: Sequence[Any]) -> Iterator[tuple[Any, ...]]:
    """The first elements of all lists, the second ones, and so on.

    Raises:
        RuntimeError: the lists are empty, or not of the same length.
    """
    first = lists[0]
    if not first:
        raise RuntimeError("Tensor list must have at least one tensor.")
    for other in lists[1:]:
        if len(other) != len(first):
            if other and not isinstance(other[0], Tensor):
                raise RuntimeError("Tensor list must have same number of elements as scalar list.")
            raise RuntimeError(f"Tensor lists must have the same number of tensors, got {len(first)} and {len(other)}")
    return zip(*lists, strict=True)
