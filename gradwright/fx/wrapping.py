"""Functions that are recorded as they are: what `wrap` notes, and what stands in their places while a trace goes on."""

from __future__ import annotations

import builtins
import functools
import inspect
from collections.abc import Callable, Iterator, MutableMapping
from contextlib import contextmanager
from typing import Any

# Globals of modules and the names in them that are wrapped.
_places: dict[tuple[int, str], MutableMapping[str, Any]] = {}


def wrap(fn_or_name: str | Callable[..., Any]) -> str | Callable[..., Any]:
    """Let calls of a function be recorded as such, and not what it does; to be called at the top of a module.

    Args:
        fn_or_name: the function, or what it is called in this module; it may stand as a decorator.

    Raises:
        RuntimeError: it is neither a function nor a name.
        NotImplementedError: this is not the top of a module, or the function is a lambda.
    """
    if not callable(fn_or_name) and not isinstance(fn_or_name, str):
        raise RuntimeError("Unsupported type for global function! Must be either a callable or string name")
    name = fn_or_name if isinstance(fn_or_name, str) else fn_or_name.__name__
    if name == "<lambda>":
        raise NotImplementedError("wrap must be called at the top level of a module")
    frame = inspect.currentframe()
    caller = frame.f_back if frame is not None else None
    if caller is None or caller.f_code.co_name != "<module>":
        raise NotImplementedError("wrap must be called at the top level of a module")
    _places[id(caller.f_globals), name] = caller.f_globals
    return fn_or_name


@contextmanager
def in_place(
    function: Callable[[Callable[..., Any]], Callable[..., Any]],
    namespaces: list[MutableMapping[str, Any]],
    others: frozenset[int],
    wrapped: bool = True,
) -> Iterator[None]:
    """Put functions in the places of those that are recorded as they are.

    Args:
        function: makes the one that stands for a function.
        namespaces: where others are looked for.
        others: the ids of functions that are recorded wherever one of the namespaces has them.
        wrapped: whether those that `wrap` has noted are, too.
    """
    before: list[tuple[MutableMapping[str, Any], str, bool, Any]] = []

    def put(names: MutableMapping[str, Any], name: str, known: Any) -> None:
        before.append((names, name, name in names, names.get(name)))
        names[name] = function(known)

    try:
        for (_, name), names in list(_places.items()) if wrapped else ():
            known = names.get(name, getattr(builtins, name, None))
            if known is not None:
                put(names, name, known)
        for names in namespaces:
            for name, value in list(names.items()):
                if not name.startswith("_") and callable(value) and id(value) in others:
                    put(names, name, value)
        yield
    finally:
        for names, name, was_there, value in reversed(before):
            if was_there:
                names[name] = value
            else:
                del names[name]


def standing_for(original: Callable[..., Any], record: Callable[[Any, Any, Any], Any]) -> Callable[..., Any]:
    """A function for `original` that asks `record` first, which gives NotImplemented where nothing is recorded."""

    @functools.wraps(original)
    def function(*args: Any, **kwargs: Any) -> Any:
        out = record(original, args, kwargs)
        return original(*args, **kwargs) if out is NotImplemented else out

    return function
