"""Tensors that a function under a transform takes from outside: it may read them, and must not write them."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import CodeType, FunctionType
from typing import Any

from runtime.base.state import UNTRACKED
from runtime.base.tensor import Tensor


@contextmanager
def unchanged(func: Callable[..., Any]) -> Iterator[None]:
    """A block in which `func` is called, at the end of which the Tensors that it captures are as they were.

    These are what its names mean outside of it, and outside of the functions that it captures.

    Raises:
        RuntimeError: one was written.
    """
    known = [(tensor, tensor._version, _histories(tensor)) for tensor in _captured(func)]
    yield
    for tensor, version, histories in known:
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


@functools.lru_cache(maxsize=1024)
def _names(code: CodeType) -> tuple[str, ...]:
    """The names that a function, and those that are defined in it, look up outside."""
    inner = [name for each in code.co_consts if isinstance(each, CodeType) for name in _names(each)]
    return tuple(dict.fromkeys((*code.co_names, *inner)))
