"""State that each thread has of its own, and work that goes on in another thread with the same state."""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable
from typing import Any, Self, TypeVar

_Result = TypeVar("_Result")
_states: list[ThreadState] = []


class ThreadState(threading.local):
    """Attributes of which each thread has values of its own; `in_another_thread` takes them along."""

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        state = super().__new__(cls, *args, **kwargs)
        _states.append(state)
        return state


def in_another_thread(call: Callable[..., _Result], *args: Any) -> _Result:
    """What `call(*args)` gives in a new thread, for which this one waits: with its state, and an empty stack.

    Raises:
        BaseException: whatever the call raises.
    """
    states = [(state, dict(vars(state))) for state in _states]
    context = contextvars.copy_context()
    results: list[_Result] = []
    errors: list[BaseException] = []

    def run() -> None:
        for state, values in states:
            vars(state).update(values)
        try:
            results.append(context.run(call, *args))
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join()
    if errors:
        raise errors.pop()
    return results.pop()
