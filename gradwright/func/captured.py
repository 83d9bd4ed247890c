"""Tensors that a function under a transform takes from outside: it may read them, and must not write them."""

from __future__ import annotations

import contextlib
import dis
import functools
import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from types import CodeType, FunctionType
from typing import Any

from runtime.base.sharing import capture, let_go, transforms
from runtime.base.state import UNTRACKED
from runtime.base.tensor import Tensor


class unchanged(AbstractContextManager[None]):
    """A block in which `func` is called, and in which the Tensors that it captures are not to be written.

    These are what its names mean outside of it, and outside of the functions that it captures. Operators in place ask
    `runtime.base.sharing.check_captured`, and raise RuntimeError.
    """

    __slots__ = ("_new", "_outer")

    def __init__(self, func: Callable[..., Any]) -> None:
        self._outer = outer = transforms.captured
        # What an outer block has marked, that takes the mark away from.
        self._new = [capture(tensor) for tensor in _captured(func)]
        if outer:
            self._new = [writes for writes in self._new if not any(writes is each for each in outer)]

    def __enter__(self) -> None:
        transforms.captured = (*self._outer, *self._new)

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        transforms.captured = self._outer
        for writes in self._new:
            let_go(writes)


def _captured(func: Callable[..., Any]) -> list[Tensor]:
    found: dict[int, Tensor] = {}
    waiting: list[Any] = [func]
    seen: set[int] = set()
    while waiting:
        value = waiting.pop()
        if isinstance(value, Tensor):
            if value._writes is not UNTRACKED:
                found[id(value)] = value
        elif isinstance(value, functools.partial):
            waiting.append(value.func)
        elif type(value) is FunctionType and id(value) not in seen:
            seen.add(id(value))
            if value.__closure__:
                with contextlib.suppress(ValueError):  # a name that is not bound yet
                    waiting += [cell.cell_contents for cell in value.__closure__]
            names = _names(value.__code__)
            if names:
                space = value.__globals__
                waiting += [each for name in names if isinstance(each := space.get(name), Tensor)]
    return list(found.values())


# The names of each code object that was met, with the object itself: a hash of it costs more than the names of most.
_known_names: dict[int, tuple[CodeType, tuple[str, ...]]] = {}
_MOST_KNOWN = 4096
# Where the functions of this library lie: no Tensor of a program is among their names.
_LIBRARY = os.path.join(os.path.dirname(os.path.dirname(__file__)), "")


def _names(code: CodeType) -> tuple[str, ...]:
    """The names that a function, and those that are defined in it, look up outside."""
    known = _known_names.get(id(code))
    if known is not None:
        return known[1]
    names: tuple[str, ...] = ()
    if not code.co_filename.startswith(_LIBRARY):
        inner = [name for each in code.co_consts if isinstance(each, CodeType) for name in _names(each)]
        names = tuple(dict.fromkeys((*_global_names(code), *inner)))
    if len(_known_names) >= _MOST_KNOWN:
        _known_names.clear()
    _known_names[id(code)] = code, names
    return names


def _global_names(code: CodeType) -> list[str]:
    return [each.argval for each in dis.get_instructions(code) if each.opname in ("LOAD_GLOBAL", "LOAD_NAME")]
