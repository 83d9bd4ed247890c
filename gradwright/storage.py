"""Storages: the memory of Tensors."""

from __future__ import annotations

from runtime.base.storage import TypedStorage, UntypedStorage

__all__ = ["TypedStorage", "UntypedStorage"]
