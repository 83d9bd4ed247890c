"""The kernels of an operator that were registered at run time, by dispatch key."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from runtime.call.dispatch import Operator


class Kernel(Protocol):
    """What stands in a table: `run` takes the values of all arguments, in the schema's order."""

    def run(self, operator: Operator, values: list[Any]) -> Any: ...


class KernelTable:
    """The kernels of one operator, by key; the newest of a key counts, and the one before it when that is removed."""

    __slots__ = ("_stacks",)

    def __init__(self) -> None:
        self._stacks: dict[str, tuple[Kernel, ...]] = {}  # replaced and not changed: calls look without a lock

    def add(self, key: str, kernel: Kernel) -> None:
        """Put a kernel on top of those of its key."""
        self._stacks[key] = (*self._stacks.get(key, ()), kernel)

    def remove(self, key: str, kernel: Kernel) -> None:
        """Take one kernel away."""
        stack = list(self._stacks[key])
        stack.remove(kernel)
        if stack:
            self._stacks[key] = tuple(stack)
        else:
            del self._stacks[key]

    def get(self, key: str) -> Kernel | None:
        """The kernel that counts for a key."""
        stack = self._stacks.get(key)
        return stack[-1] if stack else None

    def __iter__(self) -> Iterator[tuple[str, Kernel]]:
        """All kernels with their keys, those that do not count included."""
        return iter([(key, kernel) for key, stack in list(self._stacks.items()) for kernel in stack])

    def keys(self) -> list[str]:
        """The keys that have a kernel."""
        return list(self._stacks)
