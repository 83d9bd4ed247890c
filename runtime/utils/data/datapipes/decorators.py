"""Decorators of classes of pipes and of functions with pipes, and the switches of what they check."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from typing import Any, get_args, get_origin, get_type_hints

from runtime.utils.data.datapipes.datapipe import IterDataPipe, MapDataPipe
from runtime.utils.data.datapipes.element_types import element_type, is_instance, is_subtype, name_of

__all__ = [
    "argument_validation",
    "functional_datapipe",
    "guaranteed_datapipes_determinism",
    "non_deterministic",
    "runtime_validation",
    "runtime_validation_disabled",
]


class functional_datapipe:
    """Let pipes have a class of pipes as a method.

    Args:
        name: of the method.
        enable_df_api_tracing: accepted; data frames are not traced.
    """

    def __init__(self, name: str, enable_df_api_tracing: bool = False) -> None:
        self.name = name
        self.enable_df_api_tracing = enable_df_api_tracing

    def __call__(self, cls: Any) -> Any:
        """The class itself."""
        kind = cls.cls if isinstance(cls, non_deterministic) else cls
        if not isinstance(kind, type):
            owner = getattr(cls, "__self__", None)
            if not isinstance(owner, non_deterministic):
                raise TypeError("`functional_datapipe` can only decorate IterDataPipe")
            kind = owner.cls
        if kind is not None and issubclass(kind, IterDataPipe):
            IterDataPipe.register_datapipe_as_function(self.name, cls)
        elif kind is not None and issubclass(kind, MapDataPipe):
            MapDataPipe.register_datapipe_as_function(self.name, cls)
        return cls


class _Switch:
    """A setting that is on until the end of a block, or from a call on."""

    is_on: bool

    def __init__(self, value: bool) -> None:
        self._before = type(self).is_on
        type(self).is_on = value

    def __enter__(self) -> None:
        pass

    def __exit__(self, *error: object) -> None:
        type(self).is_on = self._before


class guaranteed_datapipes_determinism(_Switch):
    """From now on, or for a block: no pipes whose elements come in an order that may be another each time."""

    is_on = False

    def __init__(self) -> None:
        super().__init__(True)


class runtime_validation_disabled(_Switch):
    """From now on, or for a block: elements are not compared with the types that they should have."""

    is_on = False

    def __init__(self) -> None:
        super().__init__(True)


class non_deterministic:
    """Mark a class of streams, or with a function those that it says True of, by their arguments.

    Raises:
        TypeError: it is something else.
    """

    cls: type[IterDataPipe[Any]] | None = None

    def __init__(self, arg: Any) -> None:
        if isinstance(arg, type):
            if not issubclass(arg, IterDataPipe):
                raise TypeError(
                    f"Only `IterDataPipe` can be decorated with `non_deterministic`, but {arg.__name__} is found"
                )
            self.cls = arg
        elif callable(arg):
            self.deterministic_fn = arg
        else:
            raise TypeError(f"{arg} can not be decorated by non_deterministic")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """A pipe of the class; with a function, first what makes those of a class."""
        if self.cls is not None:
            if guaranteed_datapipes_determinism.is_on:
                raise self._refusal(self.cls)
            return self.cls(*args, **kwargs)
        if not isinstance(args[0], type) or not issubclass(args[0], IterDataPipe):
            raise TypeError(f"Only `IterDataPipe` can be decorated, but {args[0].__name__} is found")
        self.cls = args[0]
        return self.deterministic_wrapper_fn

    def deterministic_wrapper_fn(self, *args: Any, **kwargs: Any) -> Any:
        """A pipe of the class, if it may be made of these arguments."""
        found = self.deterministic_fn(*args, **kwargs)
        if not isinstance(found, bool):
            raise TypeError(
                "deterministic_fn of `non_deterministic` decorator is required to return a boolean value, but "
                f"{type(found)} is found"
            )
        assert self.cls is not None
        if found and guaranteed_datapipes_determinism.is_on:
            raise self._refusal(self.cls)
        return self.cls(*args, **kwargs)

    def _refusal(self, cls: type[Any]) -> TypeError:
        return TypeError(f"{cls.__name__} is non-deterministic, but 'guaranteed_datapipes_determinism' is set")


def argument_validation(f: Callable[..., Any]) -> Callable[..., Any]:
    """Compare the pipes that a function gets with its annotations, such as `IterDataPipe[int]`, at each call.

    The call raises a TypeError where one is something else, or declares elements of another type.
    """
    signature = inspect.signature(f)
    wanted = {name: found for name, hint in get_type_hints(f).items() if (found := _pipe_of(hint)) is not None}

    @functools.wraps(f)
    def checked(*args: Any, **kwargs: Any) -> Any:
        for name, value in signature.bind(*args, **kwargs).arguments.items():
            if name not in wanted:
                continue
            kind, base, elements = wanted[name]
            if not isinstance(value, kind):
                raise TypeError(f"Expected argument '{name}' as a {kind.__name__}, but found {type(value)}")
            found = element_type(type(value), base)
            if not is_subtype(found, elements):
                raise TypeError(
                    f"Expected type of argument '{name}' as a subtype of hint {name_of(elements)}, but found "
                    f"{name_of(found)}"
                )
        return f(*args, **kwargs)

    return checked


def _pipe_of(hint: Any) -> tuple[type[Any], type[Any], Any] | None:
    """The class of pipes that an annotation is of, the base of its kind, and the type of the elements."""
    kind = get_origin(hint) or hint
    for base in (IterDataPipe, MapDataPipe):
        if isinstance(kind, type) and issubclass(kind, base):
            return kind, base, get_args(hint)[0] if get_args(hint) else element_type(kind, base)
    return None


def runtime_validation(f: Callable[[Any], Iterator[Any]]) -> Callable[[Any], Iterator[Any]]:
    """Compare the elements that an `__iter__` gives with what its class declares, `IterDataPipe[int]`.

    Raises:
        TypeError: it is another function.
    """
    if f.__name__ != "__iter__":
        raise TypeError(f"Can not decorate function {f.__name__} with 'runtime_validation'")

    @functools.wraps(f)
    def checked(self: Any) -> Iterator[Any]:
        declared = element_type(type(self), IterDataPipe)
        for element in f(self):
            if not runtime_validation_disabled.is_on and not is_instance(element, declared):
                raise RuntimeError(
                    f"Expected an instance as subtype of {name_of(declared)}, but found {element}({type(element)})"
                )
            yield element

    return checked
