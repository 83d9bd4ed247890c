"""Containers taken apart by the structure that they must have: what generated code calls."""

from __future__ import annotations

from typing import Any

from gradwright.utils._pytree import TreeSpec

__all__ = ["tree_flatten_spec"]


def tree_flatten_spec(tree: Any, spec: TreeSpec) -> list[Any]:
    """The leaves of a container of this structure."""
    return spec.flatten_up_to(tree)
