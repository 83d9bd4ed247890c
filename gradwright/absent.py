"""What is not there and is asked for all the same: devices that no machine has for us, compilers that do nothing."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from typing import Any

_said: set[str] = set()


def say_once(message: str) -> None:
    """Warn of something that has no effect, once in a process."""
    if message not in _said:
        _said.add(message)
        warnings.warn(message, UserWarning, stacklevel=3)


def refusing(names: Iterable[str], module: str, error: type[Exception], message: str) -> dict[str, Callable[..., Any]]:
    """Functions of a module that need what is not there: each raises `error`."""

    def function(name: str) -> Callable[..., Any]:
        def refuse(*args: Any, **kwargs: Any) -> Any:
            raise error(message)

        refuse.__name__ = refuse.__qualname__ = name
        refuse.__module__ = module
        refuse.__doc__ = f"Raise {error.__name__}: {message}."
        return refuse

    return {name: function(name) for name in names}
