"""The rule of streams: an iterator is good until another one of the same stream begins."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from typing import Any


class Elements:
    """An iterator over a stream, which ends when another one of the same stream has begun.

    Args:
        pipe: the stream.
        source: its elements.
        begins_at_once: whether it has begun now; else with the first element.
    """

    def __init__(self, pipe: Any, source: Iterator[Any], begins_at_once: bool) -> None:
        self._pipe, self._source = pipe, source
        self._round: int | None = pipe._begin_round() if begins_at_once else None

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        if self._round is None:
            self._round = self._pipe._begin_round()
        elif not self._pipe._is_in_round(self._round):
            raise RuntimeError(
                "This iterator has been invalidated because another iterator has been created from the same "
                f"IterDataPipe: {self._pipe}. Use `.fork()` to go through it more than once at a time."
            )
        try:
            return next(self._source)
        except StopIteration:
            raise
        except Exception as error:
            note = f"This exception is thrown by __iter__ of {type(self._pipe).__name__}"
            if note not in getattr(error, "__notes__", ()):
                error.add_note(note)
            raise

    def __getattr__(self, name: str) -> Any:
        return getattr(self._source, name)


def one_at_a_time(function: Callable[[Any], Iterator[Any]]) -> Callable[[Any], Iterator[Any]]:
    """The `__iter__` of a class of streams with this rule."""
    begins_at_once = not inspect.isgeneratorfunction(function)

    @functools.wraps(function)
    def iterate(self: Any) -> Iterator[Any]:
        return Elements(self, function(self), begins_at_once)

    return iterate
