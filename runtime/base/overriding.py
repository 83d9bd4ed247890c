"""`__torch_function__`: classes that take over the calls in which their objects are arguments.

Tensors of such a class are not plain, so their calls come to the general path, and only that asks here; it does so from
the first class on (`watch.classes`), and a program without one pays nothing. The methods and attributes of Tensor are
taken over where they are looked up: such a class gets its own ones when it is made.

A class that does not say otherwise has the `__torch_function__` of Tensor: calls run as ever, and results are of the
class.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Protocol

from runtime import ops
from runtime.base import composites
from runtime.base.threads import ThreadState


class Watch:
    """Whether there are classes of Tensors with a `__torch_function__`, and whether there ever was one or a mode.

    Classes with a `__torch_dispatch__` and their modes count among those that there ever were.
    """

    classes = False
    used = False


class Mode(Protocol):
    """What `gradwright.overrides.TorchFunctionMode` is to a call."""

    def take(
        self, func: Callable[..., Any], types: tuple[type, ...], args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> Any:
        """What the mode makes of a call, which goes on outside of it."""


class State(ThreadState):
    """Whether calls of this thread are taken over."""

    off = 0  # within how many blocks that let calls pass by classes
    all_off = 0  # within how many that let them pass by modes as well
    modes: tuple[Mode, ...] = ()  # the newest is the last
    in_formula = False  # whether operators are called by a formula or a composite, in PyTorch C++, not by the program


watch = Watch()
state = State()


class _Disabled:
    """The `__torch_function__` of classes that change nothing about calls."""

    __name__ = "_disabled_torch_function_impl"

    def __call__(
        self,
        func: Callable[..., Any],
        types: Iterable[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        with DisableTorchFunctionSubclass():
            return func(*args, **kwargs or {})


disabled = _Disabled()


class DisableTorchFunctionSubclass(AbstractContextManager[None]):
    """A `with` block in which no class takes calls over."""

    def __enter__(self) -> None:
        state.off += 1

    def __exit__(self, *error: object) -> None:
        state.off -= 1


class DisableTorchFunction(AbstractContextManager[None]):
    """A `with` block in which neither classes nor modes take calls over: they are none of the program's own."""

    def __enter__(self) -> None:
        state.off += 1
        state.all_off += 1

    def __exit__(self, *error: object) -> None:
        state.off -= 1
        state.all_off -= 1


@contextmanager
def of_the_program() -> Iterator[None]:
    """Undo the blocks that are open, where the program's own code runs within them."""
    before = state.off, state.all_off, state.in_formula
    state.off, state.all_off, state.in_formula = 0, 0, False
    try:
        yield
    finally:
        state.off, state.all_off, state.in_formula = before


def call_the_program(function: Callable[..., Any], *args: Any) -> Any:
    """Call a function of the program, such as a hook, from within a formula or between two."""
    if not watch.used:
        return function(*args)
    with of_the_program():
        return function(*args)


class TakesNumbers(Protocol):
    """What an operator says of its numbers."""

    of_tensors: str | None


def call_formula(operator: TakesNumbers, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call a formula of an operator, or what it is made of: its calls are seen under their own overloads.

    They are not where the operator itself is seen as that of two Tensors: PyTorch passes on a Tensor for the number.
    """
    if not watch.used or operator.of_tensors is not None:
        return function(*args, **kwargs)
    return _call_as(True, function, args, kwargs)


def call_handler(handler: Callable[..., Any], *args: Any) -> Any:
    """Call what the program has put in the place of kernels: its own calls are not those of the formula."""
    return _call_as(False, handler, args, {}) if state.in_formula else handler(*args)


def _call_as(in_formula: bool, function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    before, state.in_formula = state.in_formula, in_formula
    try:
        return function(*args, **kwargs)
    finally:
        state.in_formula = before


def overriding_types(values: Iterable[Any]) -> list[Any]:
    """The values, those in lists as well, that take a call over: one of each class, subclasses before their bases."""
    return [] if state.off else one_of_each_class(values, takes_over)


def one_of_each_class(values: Iterable[Any], chosen: Callable[[type], bool]) -> list[Any]:
    """The first value of each chosen class, those in lists as well, subclasses before their bases."""
    found: list[Any] = []
    for value in values:
        for each in value if type(value) in (list, tuple) else (value,):
            kind = type(each)
            if chosen(kind) and all(type(other) is not kind for other in found):
                place = next((i for i, other in enumerate(found) if issubclass(kind, type(other))), len(found))
                found.insert(place, each)
    return found


def takes_over(kind: type) -> bool:
    """Whether objects of a class take calls over: not those of Tensor itself."""
    function = getattr(kind, "__torch_function__", None)
    return function is not None and function is not disabled and kind is not _plain[0]


_plain: list[type] = [object]  # Tensor, when it is there


def know(tensor: type) -> None:
    """Take note of Tensor, below which this module stands."""
    _plain[0] = tensor


def has_torch_function(relevant_args: Iterable[Any]) -> bool:
    """Whether a class of one of the arguments, or a mode, takes a call over."""
    return bool((state.modes and not state.all_off) or overriding_types(relevant_args))


def has_torch_function_unary(arg: Any) -> bool:
    """The same for one argument."""
    return has_torch_function((arg,))


def has_torch_function_variadic(*args: Any) -> bool:
    """The same for arguments that are not in a tuple."""
    return has_torch_function(args)


def ask_types(func: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any], found: Sequence[Any]) -> Any:
    """What the newest mode makes of a call, or the first of the overriding_types that does not decline it.

    Raises:
        TypeError: all do.
    """
    types, declined = tuple(map(type, found)), ""
    if state.modes and not state.all_off:
        out = state.modes[-1].take(func, types, args, kwargs)
        if out is not NotImplemented:
            return out
        declined = f" nor in mode {state.modes[-1]!r}"
    for taker in found:
        out = taker.__torch_function__(func, types, args, kwargs)
        if out is not NotImplemented:
            return out
    raise TypeError(
        f"no implementation found for '{_called(func)}' on types that implement __torch_function__: "
        f"{list(types)}{declined}"
    )


def _called(func: Callable[..., Any]) -> str:
    """What a message calls a function that classes take over: `add`, and `shape.__get__` where an attribute is read."""
    name = str(getattr(func, "__name__", func))
    read = getattr(func, "__self__", None) if name in ("__get__", "__set__", "__delete__") else None
    owner = getattr(read, "__name__", None) or getattr(getattr(read, "fget", None), "__name__", None)
    return f"{owner}.{name}" if owner else name


def pass_on(
    cls: type, func: Callable[..., Any], types: Iterable[type], args: Sequence[Any], kwargs: Mapping[str, Any] | None
) -> Any:
    """The `__torch_function__` of Tensor: the call itself, and its results as objects of the class."""
    if not all(issubclass(cls, kind) for kind in types):
        return NotImplemented
    with DisableTorchFunctionSubclass():
        out = func(*args, **kwargs or {})
        return out if func in _as_they_are else _converted(out, cls)


def _converted(out: Any, cls: Any) -> Any:
    if cls is _plain[0]:
        return out
    if isinstance(out, _plain[0]) and not isinstance(out, cls):
        return out.as_subclass(cls)  # type: ignore[attr-defined]
    if isinstance(out, (tuple, list)):
        return getattr(type(out), "_make", type(out))([_converted(each, cls) for each in out])
    return out


# Attributes that are given as they are.
_as_they_are: set[Any] = set()

# Python's own methods that are taken over; others, and those that begin with one underscore, are not. Those of a sign
# with the object on its right are no others than Tensor's: Python would ask them before the Tensor on the left.
SIGNS = frozenset(f"__{name}__" for name in (
    "abs", "add", "and", "array", "bool", "complex", "contains", "delitem", "eq", "float", "floordiv", "format",
    "ge", "getitem", "gt", "iadd", "iand", "ifloordiv", "ilshift", "imod", "imul", "index", "int", "invert", "ior",
    "ipow", "irshift", "isub", "itruediv", "ixor", "le", "len", "lshift", "lt", "matmul", "mod", "mul", "ne", "neg",
    "or", "pos", "pow", "repr", "reversed", "rshift", "setitem", "sub", "truediv", "xor",
))  # fmt: skip

# The method that is named to a class for one of Python's own.
CALLED = {
    **{f"__{name}__": name for name in ("abs", "add", "ge", "gt", "le", "lt", "matmul", "mul", "ne")},
    **{f"__{name}__": name for name in ("neg", "pow", "sub")},
    **{f"__i{name}__": f"{name}_" for name in ("add", "mul", "pow", "sub")},
    "__truediv__": "div",
    "__itruediv__": "div_",
    "__mod__": "remainder",
    "__imod__": "remainder_",
    "__ifloordiv__": "floor_divide_",
    "__pos__": "positive",
}
_KEPT = frozenset(("as_subclass", "register_plain"))


def admit(cls: type) -> None:
    """A class of Tensors was made: if it takes calls over, it gets methods and attributes that ask it."""
    if not takes_over(cls):
        return
    if not watch.classes:
        watch.classes = watch.used = True
        composites.take_over(overriding_types)
    tensor = _plain[0]
    own = {name for base in cls.__mro__[: cls.__mro__.index(tensor)] for name in vars(base)}
    for name, member in members(tensor).items():
        if name not in own:
            setattr(cls, name, member)


@functools.cache
def members(tensor: type) -> Mapping[str, Any]:
    """What a class that takes calls over gets in the place of the methods and attributes of Tensor."""
    found: dict[str, Any] = {}
    for base in reversed(tensor.__mro__[:-1]):
        for name, known in vars(base).items():
            if (name.startswith("_") and name not in SIGNS) or name in _KEPT:
                continue
            if callable(known) and not isinstance(known, type):
                called = CALLED.get(name, name)
                found[name] = _method(getattr(tensor, name), _public(called, getattr(tensor, called)))
            elif hasattr(known, "__get__") and not isinstance(known, (staticmethod, classmethod)):
                found[name] = Attribute(known)
                if name == "grad":
                    _as_they_are.add(known.__get__)
    return found


def _public(name: str, method: Any) -> Any:
    """The function of an operator in the place of its method, as the general path names it as well."""
    function = vars(ops).get(name)
    same = function is not None and not name.endswith("_") and any(method is each for each in vars(function).values())
    return function if same else method


def _method(function: Callable[..., Any], called: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function, updated=())
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        found = overriding_types((self, *args, *kwargs.values()))
        return ask_types(called, (self, *args), kwargs, found) if found else function(self, *args, **kwargs)

    return method


class Attribute:
    """An attribute of Tensor, in a class that takes calls over."""

    def __init__(self, known: Any) -> None:
        self._known = known
        self.taken_over = known.__get__  # the function that a class is given
        self.__doc__ = getattr(known, "__doc__", None)

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None:
            return self
        found = overriding_types((instance,))
        known = self._known.__get__
        return ask_types(known, (instance,), {}, found) if found else known(instance, type(instance))

    def __set__(self, instance: Any, value: Any) -> None:
        found = overriding_types((instance, value))
        if found:
            ask_types(self._known.__set__, (instance, value), {}, found)
        else:
            self._known.__set__(instance, value)
