"""Levels of vmap: which are open on a thread, and how many elements each has."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Self

from runtime.base.modes import Variant, thread_handlers
from runtime.base.threads import ThreadState

if TYPE_CHECKING:
    from runtime.call.dispatch import Operator


class _Open(ThreadState):
    """The levels of vmap that are open on this thread, the outermost first."""

    vmaps: tuple[VmapLevel, ...] = ()


_open = _Open()


def open_vmaps() -> tuple[VmapLevel, ...]:
    """The levels of vmap that are open on this thread, the outermost first; not those of tangents only."""
    return tuple([level for level in _open.vmaps if not level.of_tangents])


class VmapLevel:
    """One call of a function under vmap, and the `with` block in which it runs.

    BatchedTensors and batching rules know levels by this class. How a level performs calls is in `vmap_calls.py`,
    which stands on the rules.

    Args:
        size: how many elements the batch has.
        randomness: "error", "same" or "different".
        of_tangents: only tangents are batched, and the values that carry them are not.
    """

    __slots__ = ("_outer", "number", "of_tangents", "open", "randomness", "size")

    def __init__(self, size: int, randomness: str, of_tangents: bool = False) -> None:
        self.size = size
        self.randomness = randomness
        self.of_tangents = of_tangents
        self.number = len(_open.vmaps) + 1
        self.open = True

    def __call__(
        self, operator: Operator, variant: Variant, values: list[Any], proceed: Callable[[list[Any]], Any]
    ) -> Any:
        """Perform an operator call that has a batch of this level among its arguments; let others pass."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        """Let calls of this thread come to the level; when the block ends, Tensors batched at it are void."""
        self._outer = vmaps, around = _open.vmaps, thread_handlers.calls
        _open.vmaps = (*vmaps, self)
        thread_handlers.calls = (*around, self)
        return self

    def __exit__(self, *error: object) -> None:
        _open.vmaps, thread_handlers.calls = self._outer
        self.open = False

    @contextmanager
    def suspended(self) -> Iterator[None]:
        """A block in which calls of this thread do not come to the level: it has no batch among their arguments."""
        around = thread_handlers.calls
        thread_handlers.calls = tuple([handler for handler in around if handler is not self])
        try:
            yield
        finally:
            thread_handlers.calls = around

    def another(self) -> Self:
        """A level like this one, to be opened by a `with` block."""
        return type(self)(self.size, self.randomness)
