"""The memory of the linearity check."""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any


class Conclusions:
    """What was concluded, in its order: a conclusion may rest on an assumption that proves wrong later."""

    def __init__(self) -> None:
        self._made: list[tuple[MutableMapping[Any, Any], object]] = []

    def __len__(self) -> int:
        return len(self._made)

    def add(self, memory: MutableMapping[Any, Any], key: object) -> None:
        """`memory[key]` was concluded."""
        self._made.append((memory, key))

    def forget(self, count: int) -> None:
        """Forget all but the first `count` conclusions."""
        for memory, key in self._made[count:]:
            memory.pop(key, None)
        del self._made[count:]
