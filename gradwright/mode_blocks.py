"""What `with` blocks of modes share: an object that handles operator calls, in blocks that may lie in each other."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, Self

from runtime.base.modes import thread_handlers
from runtime.base.overriding import state


class ModeBlock:
    """An object that handles operator calls in its `with` blocks, which may lie in each other."""

    # Of each block that is open what ends it, and the handlers and the modes around it. Made by the first one, since a
    # class may not call our __init__.
    _blocks: list[tuple[AbstractContextManager[None], tuple[Any, ...], tuple[Any, ...]]]

    def __enter__(self) -> Self:
        outer = thread_handlers.calls
        block = self._handling()
        block.__enter__()
        self.__dict__.setdefault("_blocks", []).append((block, outer, state.modes))
        return self

    def __exit__(self, *error: object) -> None:
        block, _, state.modes = self._blocks.pop()
        block.__exit__(None, None, None)

    def _handling(self) -> AbstractContextManager[None]:
        """The block in which it does."""
        raise NotImplementedError

    @classmethod
    def push(cls, *args: Any, **kwargs: Any) -> Self:
        """A new one, to be entered."""
        return cls(*args, **kwargs)

    def _outside(self, call: Callable[..., Any], *args: Any) -> Any:
        """What a call gives outside of the mode, and of all that was entered in it.

        Of the blocks of this mode that lie in each other that is outside of the innermost which is not yet left so.
        """
        known = thread_handlers.calls, state.modes
        open_modes: tuple[object, ...] = state.modes
        outer = state.modes[: max(place for place, mode in enumerate(open_modes) if mode is self)]
        thread_handlers.calls = next(handlers for _, handlers, modes in reversed(self._blocks) if modes == outer)
        state.modes = outer
        try:
            return call(*args)
        finally:
            thread_handlers.calls, state.modes = known
