"""Tensors that a function under a transform takes from outside: it may read them, and must not write them."""

from __future__ import annotations

import contextlib
import dis
import functools
import os
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType, NoneType
from typing import Any

from runtime.base.sharing import capture, let_go, transforms
from runtime.base.state import UNTRACKED
from runtime.base.tensor import Tensor


class unchanged(AbstractContextManager[None]):
    """A block in which `func` is called, and in which the Tensors that it captures are not to be written.

    These are what its names mean outside of it, and outside of the functions that it captures or calls by a name, with
    what lies in lists, dicts and plain objects of these names. Operators in place ask
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
    """The Tensors that a function reaches by its names, by those of functions that it calls, and in what these hold."""
    found: dict[int, Tensor] = {}
    waiting: list[Any] = [func]
    seen: set[int] = set()
    while waiting:
        value = waiting.pop()
        if isinstance(value, Tensor):
            if value._writes is not UNTRACKED:
                found[id(value)] = value
            continue
        if id(value) in seen:
            continue
        kind: Any = type(value)
        few = len(seen) < _MOST_SEEN
        if kind is FunctionType:
            seen.add(id(value))
            if value.__closure__:
                with contextlib.suppress(ValueError):  # a name that is not bound yet
                    waiting += [cell.cell_contents for cell in value.__closure__]
            names = _names(value.__code__)
            if names and few:
                space = value.__globals__
                waiting += [each for name in names if type(each := space.get(name)) not in _WITHOUT_TENSORS]
        elif kind is MethodType:
            waiting += (value.__func__, value.__self__)
        elif kind is functools.partial:
            waiting += (value.func, *value.args, *value.keywords.values())
        elif kind is list or kind is tuple or kind is dict:
            seen.add(id(value))
            if few and len(value) <= _MOST_ITEMS:
                waiting += value.values() if kind is dict else value
        elif few and _holds_tensors(kind):
            seen.add(id(value))
            waiting += [each for each in vars(value).values() if type(each) not in _WITHOUT_TENSORS]
    return list(found.values())


# A longer list is data, and to look through it would take longer than the function may.
_MOST_ITEMS = 64
_MOST_SEEN = 64  # functions and objects: what a program reaches by names may be all of it
_WITHOUT_TENSORS = frozenset((
    ModuleType, type, BuiltinFunctionType, int, float, complex, bool, str, bytes, NoneType, set, frozenset,
))  # fmt: skip


@functools.lru_cache(maxsize=1024)
def _holds_tensors(kind: Any) -> bool:
    """Whether objects of a class are looked into: those of a program's plain classes.

    A Module's Tensors are its parameters and buffers, which the statistics of a batch, say, are written to.
    """
    if kind.__dictoffset__ == 0 or kind.__setattr__ is not object.__setattr__:
        return False
    module = sys.modules.get(kind.__module__)
    file = getattr(module, "__file__", None) or ""
    return not file.startswith(_LIBRARY) and "site-packages" not in file


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
