"""Operators that are traced through, and whether their calls are seen.

Generated code runs the function of such an operator itself, so no handler would see the call. While there are handlers,
`composite`, which it calls, is the operator.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol


class Composite(Protocol):
    """An operator that is traced through."""

    traced: Callable[..., Any] | None
    composite: Callable[..., Any] | None

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any: ...


_known: weakref.WeakSet[Any] = weakref.WeakSet()
_watchers = 0
_lock = threading.Lock()


def add(operator: Composite) -> None:
    """Remember an operator that is traced through, and let generated code call what it must call now."""
    _known.add(operator)
    operator.composite = operator if _watchers else operator.traced


@contextmanager
def called() -> Iterator[None]:
    """Let generated code call composite operators as operators, so that handlers see them; for all threads."""
    _change_watchers(1)
    try:
        yield
    finally:
        _change_watchers(-1)


def _change_watchers(change: int) -> None:
    global _watchers
    with _lock:
        before, _watchers = _watchers, _watchers + change
        if bool(before) != bool(_watchers):
            for operator in list(_known):
                operator.composite = operator if _watchers else operator.traced
