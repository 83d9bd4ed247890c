"""TorchScript's names: nothing is compiled, so functions and Modules come back as they are, and that is said once."""

from __future__ import annotations

import builtins
import warnings
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Final, TypeVar

from gradwright import futures
from gradwright.absent import refusing, say_once

__all__ = [
    "Attribute",
    "Final",
    "annotate",
    "export",
    "fork",
    "freeze",
    "ignore",
    "interface",
    "is_scripting",
    "is_tracing",
    "isinstance",
    "optimize_for_inference",
    "optimized_execution",
    "script",
    "script_if_tracing",
    "set_fusion_strategy",
    "trace",
    "trace_module",
    "unused",
    "wait",
]

T = TypeVar("T")


def script(obj: T, optimize: None = None, example_inputs: Any = None) -> T:
    """A function, class or Module, as it is."""
    say_once("jit.script compiles nothing here: what it gets runs in Python, as it is")
    return obj


def trace(func: Callable[..., Any], example_inputs: Any = None, *args: Any, **options: Any) -> Any:
    """A function or Module, as it is: it also follows conditions, which a trace would not."""
    say_once("jit.trace records nothing here: what it gets runs in Python, as it is")
    return func


def trace_module(mod: T, inputs: Mapping[str, Any], **options: Any) -> T:
    """A Module, as it is."""
    say_once("jit.trace_module records nothing here: what it gets runs in Python, as it is")
    return mod


def script_if_tracing(fn: T) -> T:
    """A function, as it is: nothing is traced."""
    return fn


def freeze(mod: T, preserved_attrs: list[str] | None = None, optimize_numerics: bool = True) -> T:
    """A Module, as it is."""
    return mod


def optimize_for_inference(mod: T, other_methods: list[str] | None = None) -> T:
    """A Module, as it is."""
    return mod


def fork(func: Callable[..., T], *args: Any, **kwargs: Any) -> futures.Future[T]:
    """A Future of what a function gives: it runs at once. Deprecated."""
    _warn("fork")
    return futures.fork(func, *args, **kwargs)


def wait(future: futures.Future[T]) -> T:
    """The value of a Future, once it is there. Deprecated."""
    _warn("wait")
    return futures.wait(future)


def _warn(name: str) -> None:
    warnings.warn(
        f"`torch.jit.{name}` is deprecated. Please use `torch.compile` instead.", DeprecationWarning, stacklevel=3
    )


def ignore(drop: Any = False, **kwargs: Any) -> Any:
    """Leave a function to Python, where it is anyway; also a decorator with arguments."""
    return drop if callable(drop) else _as_it_is


def _as_it_is(fn: T) -> T:
    return fn


export = unused = interface = _as_it_is


def annotate(the_type: Any, the_value: T) -> T:
    """The value."""
    return the_value


def isinstance(obj: Any, target_type: Any) -> bool:
    """Whether a value is of a type, the parts of a container included."""
    origin = getattr(target_type, "__origin__", None)
    arguments: tuple[Any, ...] = getattr(target_type, "__args__", ())
    if builtins.isinstance(target_type, tuple):
        return any(isinstance(obj, each) for each in target_type)
    if origin is None:
        return builtins.isinstance(obj, target_type)
    if origin is list:
        return builtins.isinstance(obj, list) and all(isinstance(each, arguments[0]) for each in obj)
    if origin is dict:
        return builtins.isinstance(obj, dict) and all(
            isinstance(key, arguments[0]) and isinstance(value, arguments[1]) for key, value in obj.items()
        )
    if origin is tuple:
        return (
            builtins.isinstance(obj, tuple)
            and len(obj) == len(arguments)
            and all(isinstance(each, kind) for each, kind in zip(obj, arguments, strict=True))
        )
    return any(isinstance(obj, each) for each in arguments)


class Attribute:
    """A value of a Module with its type."""

    def __init__(self, value: Any, type: Any) -> None:
        self.value = value
        self.type = type


class ScriptModule:
    """The class of compiled Modules, of which there are none: nothing is an instance of it."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise NotImplementedError("Gradwright compiles no Modules: derive from nn.Module")


class ScriptFunction(ScriptModule):
    """The class of compiled functions, of which there are none."""


def script_method(fn: T) -> T:
    """A method, as it is."""
    return fn


def is_scripting() -> bool:
    """Whether a function runs compiled: no."""
    return False


def is_tracing() -> bool:
    """Whether a function is being traced: no."""
    return False


def optimized_execution(should_optimize: bool) -> AbstractContextManager[None]:
    """A block like any other."""
    return nullcontext()


def set_fusion_strategy(strategy: list[tuple[str, int]]) -> list[tuple[str, int]]:
    """How what is compiled is fused; the strategy before: none."""
    return []


globals().update(
    refusing(
        ("load", "save"),
        __name__,
        NotImplementedError,
        "Gradwright has no TorchScript: docs/reports/pytorch.md",
    )
)
