"""Calls taken over by classes and modes: `__torch_function__`, and what a library of one's own needs to take part.

A class takes over the calls in which its objects are arguments, a mode all calls of a block. Functions that are written
in Python over operators, such as those of `nn.functional`, are seen as the operators that they call.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from types import ModuleType
from typing import TYPE_CHECKING, Any, Self

from gradwright import fft, linalg, special
from gradwright.mode_blocks import ModeBlock
from runtime import ops
from runtime.base import overriding
from runtime.base.modes import Variant, handle_calls
from runtime.base.overriding import (
    DisableTorchFunction,
    DisableTorchFunctionSubclass,
    has_torch_function,
    has_torch_function_unary,
    has_torch_function_variadic,
    overriding_types,
    state,
)
from runtime.base.tensor import Tensor
from runtime.call.public import as_called

if TYPE_CHECKING:
    from runtime.call.dispatch import Operator

__all__ = [
    "BaseTorchFunctionMode",
    "DisableTorchFunction",
    "DisableTorchFunctionSubclass",
    "TorchFunctionMode",
    "enable_reentrant_dispatch",
    "get_default_nowrap_functions",
    "get_ignored_functions",
    "get_overridable_functions",
    "get_testing_overrides",
    "handle_torch_function",
    "has_torch_function",
    "has_torch_function_unary",
    "has_torch_function_variadic",
    "is_tensor_like",
    "is_tensor_method_or_property",
    "resolve_name",
    "wrap_torch_function",
]


class TorchFunctionMode(ModeBlock):
    """A `with` block in which `__torch_function__` of this object stands for every call of an operator.

    What it calls itself is seen by the modes around it, not by this one. A call that it declines, by NotImplemented,
    goes to the classes of the arguments, and is a TypeError where these decline it as well.
    """

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Iterable[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        raise NotImplementedError

    def __enter__(self) -> Self:
        overriding.watch.used = True
        super().__enter__()
        state.modes = (*state.modes, self)
        return self

    def _handling(self) -> AbstractContextManager[None]:
        return handle_calls(self._handle)

    def _handle(
        self,
        operator: Operator,
        variant: Variant,
        values: list[Any],
        proceed: Callable[[list[Any]], Any],
    ) -> Any:
        if state.all_off:
            return proceed(values)
        func, args, kwargs = as_called(operator, variant, values)
        return overriding.ask_types(func, args, kwargs, overriding_types((*args, *kwargs.values())))

    def take(
        self, func: Callable[..., Any], types: tuple[type, ...], args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> Any:
        """What the mode makes of a call, which goes on outside of the mode and of all that was entered in it."""
        return self._outside(self.__torch_function__, func, types, args, kwargs)


class BaseTorchFunctionMode(TorchFunctionMode):
    """A mode that changes nothing."""

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Iterable[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        return func(*args, **kwargs or {})


def handle_torch_function(
    public_api: Callable[..., Any], relevant_args: Iterable[Any], *args: Any, **kwargs: Any
) -> Any:
    """What modes and classes make of a call of `public_api`, the newest mode first.

    Raises:
        TypeError: all decline it.
    """
    return overriding.ask_types(public_api, args, kwargs, overriding_types(relevant_args))


def wrap_torch_function(dispatcher: Callable[..., Iterable[Any]]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator of functions that classes and modes take over.

    Args:
        dispatcher: takes the arguments of the function, and gives those whose classes are asked.
    """

    def decorate(func: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(func)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            relevant = tuple(dispatcher(*args, **kwargs))
            if has_torch_function(relevant):
                return handle_torch_function(wrapped, relevant, *args, **kwargs)
            return func(*args, **kwargs)

        return wrapped

    return decorate


def is_tensor_like(inp: Any) -> bool:
    """Whether an object is a Tensor, or of a class that takes calls over."""
    return type(inp) is Tensor or hasattr(inp, "__torch_function__")


def enable_reentrant_dispatch() -> AbstractContextManager[None]:
    """A block like any other: a mode's own calls always go to the modes around it."""
    return nullcontext()


def get_default_nowrap_functions() -> set[Callable[..., Any]]:
    """The attributes whose values are not made objects of a class."""
    return set(overriding._as_they_are)


@functools.cache
def get_ignored_functions() -> set[Callable[..., Any]]:
    """The functions that no class takes over."""
    names = "as_tensor asarray frombuffer from_numpy get_default_dtype is_tensor manual_seed set_default_dtype tensor"
    return {getattr(_library(), name) for name in names.split()} | {vars(Tensor)["as_subclass"]}


@functools.cache
def get_overridable_functions() -> dict[Any, list[Callable[..., Any]]]:
    """The functions that classes and modes take over: by the module or class that they are in."""
    found: dict[Any, list[Callable[..., Any]]] = {}
    operators = {id(function) for name, function in vars(ops).items() if not name.startswith("__")}
    for place in (_library(), fft, linalg, special):
        found[place] = [each for name, each in vars(place).items() if id(each) in operators and name[0] != "_"]
    found[Tensor] = [_as_function(member) for member in overriding.members(Tensor).values()]
    return found


def _as_function(member: Any) -> Any:
    return member.taken_over if isinstance(member, overriding.Attribute) else member.__wrapped__


def get_testing_overrides() -> dict[Callable[..., Any], Callable[..., Any]]:
    """For each function that classes take over one that takes any arguments and gives -1."""
    return {each: _minus_one for functions in get_overridable_functions().values() for each in functions}


def _minus_one(*args: Any, **kwargs: Any) -> int:
    return -1


@functools.cache
def _names() -> dict[Callable[..., Any], str]:
    found: dict[Callable[..., Any], str] = {}
    for place, functions in get_overridable_functions().items():
        owner = "torch.Tensor" if place is Tensor else place.__name__.replace("gradwright", "torch", 1)
        for function in functions:
            name = getattr(function, "__name__", "")
            if name == "__get__":
                name = f"{_attribute_name(function)}.__get__"
            found.setdefault(function, f"{owner}.{name}")
    return found


def _attribute_name(function: Any) -> str:
    known = function.__self__
    return str(getattr(known, "__name__", None) or getattr(getattr(known, "fget", None), "__name__", ""))


def resolve_name(f: Callable[..., Any]) -> str | None:
    """The name of a function that classes take over, such as "torch.Tensor.add"; None for others."""
    return _names().get(f)


def is_tensor_method_or_property(func: Callable[..., Any]) -> bool:
    """Whether a function is a method of Tensor, or reads an attribute of it."""
    return func in get_overridable_functions()[Tensor] or getattr(func, "__name__", "") == "__get__"


def _library() -> ModuleType:
    return sys.modules["gradwright"]
