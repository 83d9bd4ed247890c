"""Decisions by the values of a Tensor, which functions over operators make."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from runtime.base.tensor import Tensor


def holds_anywhere(condition: Tensor) -> bool:
    """Whether a condition holds for some element; of a Tensor without data it is said of none."""
    return not condition.is_meta and bool(condition.any().item())
