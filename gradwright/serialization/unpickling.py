"""Reads pickled values without running anything that is not allowed.

A pickle is a program for a machine with a stack. This machine knows the instructions that values are written with, and
calls only what is on the list, or what the user has put there. `pickle.Unpickler` is not enough: with a list of classes
it still sets any attribute of anything.
"""

from __future__ import annotations

import collections
import pickle
import pickletools
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from runtime.base.tensor import Tensor

_MARK = object()
# Instructions that put their argument on the stack as it is.
_VALUES = frozenset(
    (
        "BININT", "BININT1", "BININT2", "LONG1", "LONG4", "INT", "LONG", "BINFLOAT", "FLOAT", "BINUNICODE",
        "SHORT_BINUNICODE", "BINUNICODE8", "BINBYTES", "SHORT_BINBYTES", "BINBYTES8", "UNICODE", "BINSTRING",
        "SHORT_BINSTRING", "STRING",
    )
)  # fmt: skip
_CONSTANTS: Mapping[str, Any] = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False}
_NEW: Mapping[str, Callable[[], Any]] = {"EMPTY_LIST": list, "EMPTY_DICT": dict, "EMPTY_SET": set, "EMPTY_TUPLE": tuple}
_IGNORED = frozenset(("PROTO", "FRAME"))
# What may get a state: by its dictionary alone, except for the user's classes.
_WITH_STATE = (collections.OrderedDict,)


class Machine:
    """Runs one pickle.

    Args:
        allowed: what the file may name, by module and name.
        users: what the user has added to it.
        persistent_load: gives the value for an id of the file's own.
    """

    def __init__(
        self, allowed: Mapping[str, Any], users: Mapping[str, Any], persistent_load: Callable[[Any], Any]
    ) -> None:
        self._allowed = allowed
        self._users = users
        self._persistent_load = persistent_load
        self._stack: list[Any] = []
        self._memo: dict[int, Any] = {}

    def run(self, data: bytes) -> Any:
        """The value that was pickled.

        Raises:
            UnpicklingError: an instruction or a name is not allowed, or the data is damaged.
        """
        try:
            for opcode, argument, _ in pickletools.genops(data):
                if opcode.name == "STOP":
                    return self._stack.pop()
                self._step(opcode.name, argument)
        except (IndexError, ValueError, KeyError, AttributeError) as error:
            raise pickle.UnpicklingError(f"the pickled data is damaged: {error}") from error
        raise pickle.UnpicklingError("the pickled data has no end")

    def _step(self, name: str, argument: Any) -> None:
        stack = self._stack
        if name in _VALUES:
            stack.append(argument)
        elif name in _CONSTANTS:
            stack.append(_CONSTANTS[name])
        elif name in _NEW:
            stack.append(_NEW[name]())
        elif name == "MARK":
            stack.append(_MARK)
        elif name not in _IGNORED:
            instruction = getattr(self, f"_do_{name.lower()}", None)
            if instruction is None:
                raise pickle.UnpicklingError(f"the instruction {name} is not allowed in a file of weights")
            instruction(argument)

    def _above_mark(self) -> list[Any]:
        at = len(self._stack) - 1
        while self._stack[at] is not _MARK:
            at -= 1
            if at < 0:
                raise IndexError("there is no mark")
        values = self._stack[at + 1 :]
        del self._stack[at:]
        return values

    # -- names and calls

    def _do_global(self, argument: str) -> None:
        module, _, name = argument.partition(" ")
        self._stack.append(self._named(module, name))

    def _do_stack_global(self, argument: None) -> None:
        name, module = self._stack.pop(), self._stack.pop()
        self._stack.append(self._named(module, name))

    def _named(self, module: str, name: str) -> Any:
        # Python 2 called it so, and protocol 2 does.
        full = f"{module}.{name}".replace("__builtin__.", "builtins.", 1)
        for table in (self._users, self._allowed):
            if full in table:
                return table[full]
        raise pickle.UnpicklingError(
            f"Unsupported global: GLOBAL {full} was not an allowed global by default. A file of weights may name only "
            f"what makes Tensors and plain containers. If you trust it, allow it by "
            f"serialization.add_safe_globals([{name}]), or give weights_only=False, which may run any code of the file."
        )

    def _is_callable(self, function: Any) -> bool:
        callables = [value for value in (*self._allowed.values(), *self._users.values()) if callable(value)]
        return any(function is one for one in callables)

    def _do_reduce(self, argument: None) -> None:
        args, function = self._stack.pop(), self._stack.pop()
        if not self._is_callable(function):
            raise pickle.UnpicklingError(f"Trying to call reduce for unrecognized function {function!r}")
        self._stack.append(function(*args))

    def _do_newobj(self, argument: None) -> None:
        args, kind = self._stack.pop(), self._stack.pop()
        allowed = isinstance(kind, type) and (kind in self._users.values() or kind is collections.OrderedDict)
        if not allowed:
            raise pickle.UnpicklingError(f"Trying to create a new object of the class {kind!r}, which is not allowed")
        self._stack.append(kind.__new__(kind, *args))

    def _do_build(self, argument: None) -> None:
        state, made = self._stack.pop(), self._stack[-1]
        kind = type(made)
        if kind in self._users.values():
            if hasattr(made, "__setstate__"):
                made.__setstate__(state)
                return
            values, slots = state if isinstance(state, tuple) and len(state) == 2 else (state, None)
            made.__dict__.update(values or {})
            for name, value in (slots or {}).items():
                setattr(made, name, value)
        elif kind in _WITH_STATE or isinstance(made, Tensor):
            made.__dict__.update(state)
        else:
            raise pickle.UnpicklingError(f"Trying to set the state of {kind!r}, which is not allowed")

    def _do_binpersid(self, argument: None) -> None:
        self._stack.append(self._persistent_load(self._stack.pop()))

    # -- containers

    def _do_tuple(self, argument: None) -> None:
        self._stack.append(tuple(self._above_mark()))

    def _take(self, count: int) -> tuple[Any, ...]:
        values = tuple(self._stack[-count:])
        del self._stack[-count:]
        return values

    def _do_tuple1(self, argument: None) -> None:
        self._stack.append(self._take(1))

    def _do_tuple2(self, argument: None) -> None:
        self._stack.append(self._take(2))

    def _do_tuple3(self, argument: None) -> None:
        self._stack.append(self._take(3))

    def _do_list(self, argument: None) -> None:
        self._stack.append(self._above_mark())

    def _do_dict(self, argument: None) -> None:
        values = iter(self._above_mark())
        self._stack.append(dict(zip(values, values, strict=True)))

    def _do_append(self, argument: None) -> None:
        value = self._stack.pop()
        _checked(self._stack[-1], list).append(value)

    def _do_appends(self, argument: None) -> None:
        values = self._above_mark()
        _checked(self._stack[-1], list).extend(values)

    def _do_additems(self, argument: None) -> None:
        values = self._above_mark()
        _checked(self._stack[-1], set).update(values)

    def _do_setitem(self, argument: None) -> None:
        value, key = self._stack.pop(), self._stack.pop()
        _checked(self._stack[-1], dict)[key] = value

    def _do_setitems(self, argument: None) -> None:
        _checked_pairs(self._above_mark(), self._stack)

    # -- the memo

    def _do_binput(self, argument: int) -> None:
        self._memo[argument] = self._stack[-1]

    _do_long_binput = _do_binput

    def _do_memoize(self, argument: None) -> None:
        self._memo[len(self._memo)] = self._stack[-1]

    def _do_binget(self, argument: int) -> None:
        self._stack.append(self._memo[argument])

    _do_long_binget = _do_binget

    def _do_pop(self, argument: None) -> None:
        self._stack.pop()


def _checked(container: Any, kind: type) -> Any:
    if not isinstance(container, kind):
        raise pickle.UnpicklingError(f"expected a {kind.__name__} to put values into, but got {type(container)!r}")
    return container


def _checked_pairs(values: list[Any], stack: list[Any]) -> None:
    target = _checked(stack[-1], dict)
    rest = iter(values)
    for key, value in zip(rest, rest, strict=True):
        target[key] = value


def globals_of(data: bytes) -> Iterator[str]:
    """The names in a pickle, without running it."""
    texts: list[str] = []
    for opcode, argument, _ in pickletools.genops(data):
        if opcode.name == "GLOBAL":
            yield str(argument).replace(" ", ".", 1)
        elif opcode.name == "STACK_GLOBAL" and len(texts) > 1:
            yield ".".join(texts[-2:])
        elif isinstance(argument, str):
            texts.append(argument)
