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

from runtime.base.state import UNTRACKED
from runtime.base.tensor import Tensor


class unchanged(AbstractContextManager[None]):
    """A block in which `func` is called, at the end of which the Tensors that it captures are as they were.

    These are what its names mean outside of it, and outside of the functions that it captures.

    Raises:
        RuntimeError: one was written.
    """

    __slots__ = ("_known",)

    def __init__(self, func: Callable[..., Any]) -> None:
        self._known = [(tensor, tensor._version, _histories(tensor)) for tensor in _captured(func)]

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        if kind is not None:
            return
        for tensor, version, histories in self._known:
            if tensor._version != version:
                for each, edge in histories:
                    each._edge = edge  # the other leads into a graph that nobody is to see
                raise RuntimeError(
                    "During a grad (vjp, jvp, grad, etc) transform, the function provided attempted to call in-place "
                    "operation that would mutate a captured Tensor. This is not supported; please rewrite the function "
                    "being transformed to explicitly accept the mutated Tensor(s) as inputs."
                )


def _histories(tensor: Tensor) -> list[tuple[Tensor, Any]]:
    """Of a Tensor and what it is a view of."""
    return [(each, each._edge) for each in (tensor, tensor._base) if each is not None]


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
