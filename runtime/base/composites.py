"""Operators that are traced through, and whether their calls are seen.

Generated code runs the function of such an operator itself, so no handler would see the call. While there are handlers,
`composite`, which it calls, is the operator.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol


class Composite(Protocol):
    """An operator that is traced through."""

    traced: Callable[..., Any] | None
    composite: Callable[..., Any] | None

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any: ...


_known: weakref.WeakSet[Any] = weakref.WeakSet()
# What asks the arguments of an operator's calls: one for each, so that it is the same again after handlers and kernels.
_guards: weakref.WeakKeyDictionary[Any, tuple[Any, Callable[..., Any]]] = weakref.WeakKeyDictionary()
_watchers = 0
_taken: Callable[[Iterable[Any]], Any] | None = None
_lock = threading.Lock()


def add(operator: Composite) -> None:
    """Remember an operator that is traced through, and let generated code call what it must call now."""
    _known.add(operator)
    _set(operator)


def _set(operator: Any) -> None:
    if _watchers:
        operator.composite = operator
    elif _taken is None or operator.traced is None:
        operator.composite = operator.traced
    else:
        made = _guards.get(operator)
        if made is None or made[0] is not operator.traced:
            made = _guards[operator] = operator.traced, _unless_taken(weakref.proxy(operator), operator.traced, _taken)
        operator.composite = made[1]


def _unless_taken(
    operator: Callable[..., Any], traced: Callable[..., Any], taken: Callable[[Iterable[Any]], Any]
) -> Callable[..., Any]:
    def composite(*args: Any, **kwargs: Any) -> Any:
        return operator(*args, **kwargs) if taken((*args, *kwargs.values())) else traced(*args, **kwargs)

    return composite


def take_over(taken: Callable[[Iterable[Any]], Any]) -> None:
    """From now on let generated code call an operator as such where `taken` says so of its arguments."""
    global _taken
    with _lock:
        _taken = taken
        for operator in list(_known):
            _set(operator)


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
                _set(operator)
