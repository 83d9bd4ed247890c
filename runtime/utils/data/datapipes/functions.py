"""What pipes ask of the functions that they are given."""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable
from typing import Any


def check_function(function: Any) -> None:
    """Warn of a function that no process can be sent.

    Raises:
        TypeError: it cannot be called.
    """
    if not callable(function):
        raise TypeError(f"A callable function is expected, but {type(function)} is provided.")
    inner = function.func if isinstance(function, functools.partial) else function
    if inspect.isfunction(inner) and (inner.__name__ == "<lambda>" or "<locals>" in inner.__qualname__):
        warnings.warn(
            "Lambda and local functions are not supported by pickle; use a function of a module, or functools.partial",
            UserWarning,
            stacklevel=4,
        )


def check_columns(function: Callable[..., Any], columns: Any) -> None:
    """Refuse a function that does not take as many arguments as there are columns.

    Raises:
        ValueError: it takes more, or fewer.
    """
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # of functions that are not written in Python
        return
    count = len(columns) if isinstance(columns, (list, tuple)) else 1
    if any(each.kind is each.KEYWORD_ONLY and each.default is each.empty for each in parameters):
        raise ValueError(f"The function {function} takes keyword-only parameters, which columns do not give.")
    by_position = [each for each in parameters if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)]
    least = sum(each.default is each.empty for each in by_position)
    if least > count:
        raise ValueError(f"The function {function} takes {least} parameters, but {count} are required.")
    if len(by_position) < count and not any(each.kind is each.VAR_POSITIONAL for each in parameters):
        raise ValueError(f"The function {function} takes {len(by_position)} parameters, but {count} are required.")


def values_of(data: Any, columns: Any) -> tuple[Any, ...]:
    """The arguments that a function gets of a row."""
    if columns is None:
        return (data,)
    if isinstance(columns, (list, tuple)):
        return tuple(data[column] for column in columns)
    return (data[columns],)
