"""What `with` blocks of modes share: an object that handles operator calls, and calls of its own outside of it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Self

from runtime.base.modes import Variant, around, interest
from runtime.base.overriding import state

if TYPE_CHECKING:
    from runtime.call.dispatch import Operator


class ModeBlock:
    """An object whose `_handle` stands around operator calls in its `with` blocks, which may lie in each other."""

    # Of each block that is open what ends it, and the handlers and the modes around it. Made by the first one, since a
    # class may not call our __init__.
    _blocks: list[tuple[AbstractContextManager[None], tuple[Any, ...], tuple[Any, ...]]]

    def __enter__(self) -> Self:
        outer = interest.around
        block = around(self._handle)
        block.__enter__()
        self.__dict__.setdefault("_blocks", []).append((block, outer, state.modes))
        return self

    def __exit__(self, *error: object) -> None:
        block, _, state.modes = self._blocks.pop()
        block.__exit__(None, None, None)

    def _handle(
        self, operator: Operator, variant: Variant, values: list[Any], proceed: Callable[[list[Any]], Any]
    ) -> Any:
        raise NotImplementedError

    def _outside(self, call: Callable[..., Any], *args: Any) -> Any:
        """What a call gives outside of the mode, and of all that was entered in it."""
        known = interest.around, state.modes
        _, interest.around, state.modes = self._blocks[-1]
        try:
            return call(*args)
        finally:
            interest.around, state.modes = known
