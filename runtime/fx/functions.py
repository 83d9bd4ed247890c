"""Functions and methods of the runtime that see Proxies.

They are exchanged from the first Proxy on: each gets the code of a function that looks for Proxies among its arguments
before it does what it did. It stays the same object, so whoever holds it, as a default argument or as an attribute,
calls the other code from then on, and a program without Proxies pays nothing.
"""

from __future__ import annotations

import inspect
import sys
import threading
from collections.abc import Callable, Iterable, Mapping
from types import FunctionType
from typing import Any

from runtime import ops
from runtime.base import overriding
from runtime.base.tensor import Tensor

_lock = threading.Lock()
_done: list[type] = []
# Methods of Tensor that were exchanged, and what Proxies call them.
_methods: dict[Any, str] = {}

# Functions of `nn.functional` that are operators in PyTorch: their arguments are recorded as they are given.
OPERATORS = frozenset((
    "avg_pool1d", "avg_pool2d", "avg_pool3d", "bilinear", "channel_shuffle", "conv1d", "conv2d", "conv3d", "conv_tbc",
    "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "cosine_similarity", "gelu", "hardshrink", "linear",
    "logsigmoid", "native_channel_shuffle", "one_hot", "pairwise_distance", "pdist", "pixel_shuffle",
    "pixel_unshuffle", "prelu", "scaled_dot_product_attention", "softplus", "softshrink",
))  # fmt: skip
# Those that are methods of their argument there.
_AS_METHODS = frozenset(("sigmoid", "tanh"))


def find(kind: type, values: Iterable[Any]) -> Any:
    """The first Proxy among values and in their lists, tuples and dictionaries; None if there is none."""
    for value in values:
        if isinstance(value, kind):
            return value
        if type(value) in (list, tuple, dict, slice):
            inside = (
                value.values()
                if type(value) is dict
                else (value.start, value.stop, value.step)
                if type(value) is slice
                else value
            )
            if (found := find(kind, inside)) is not None:
                return found
    return None


def method_name(function: Any) -> str | None:
    """The name of a method of Tensor that a Proxy is given as a function; None for others."""
    return _methods.get(function)


def take_over(proxy: Any) -> None:
    """Exchange all functions, once.

    Args:
        proxy: the class of Proxies.
    """
    if _done:
        return
    with _lock:
        if _done:
            return
        runtime = sys.modules["runtime"]
        _exchange_module(proxy, runtime.nn.functional, "runtime.nn.functional")
        _exchange_module(proxy, runtime, "runtime.functional")
        _exchange_module(proxy, runtime, "runtime.lowrank")
        _exchange(proxy, runtime._assert, _recording(runtime._assert, _as_given))
        for name, public in list(vars(ops).items()):
            if not name.startswith("__") and (function := _python(public)) is not None:
                _exchange(proxy, function, _recording(public, _as_given))
                for overload in vars(public).values():  # a native packet calls its only one at once
                    if (function := _python(overload)) is not None:
                        _exchange(proxy, function, _recording(public, _as_given))
        _exchange_members(proxy)  # last: a method may be the function itself
        _done.append(proxy)


def _python(public: Any) -> FunctionType | None:
    """The Python function of a callable: itself, or what stands behind a native one."""
    if isinstance(public, FunctionType):
        return public
    behind = None if isinstance(public, type) else getattr(public, "__wrapped__", None)
    return behind if isinstance(behind, FunctionType) else None


Arguments = tuple[tuple[Any, ...], dict[str, Any]]


def _as_given(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Arguments:
    return args, kwargs


def _recording(public: Any, arranged: Callable[..., Arguments]) -> Callable[..., Any]:
    def record(proxy: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        args, kwargs = arranged(args, kwargs)
        return proxy.__torch_function__(public, (proxy,), args, kwargs)

    return record


def _exchange_members(proxy: Any) -> None:
    """Methods of Tensor, which are called with a Proxy as another argument than their first."""
    for base in Tensor.__mro__[:-1]:
        for name, member in list(vars(base).items()):
            hidden = name.startswith("_") and name not in overriding.SIGNS
            if hidden or isinstance(member, (staticmethod, classmethod)) or (function := _python(member)) is None:
                continue
            called = overriding.CALLED.get(name, name)
            _exchange(proxy, function, _recording_method(function, called))


def _recording_method(function: Any, name: str) -> Callable[..., Any]:
    _methods[function] = name

    def record(proxy: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return proxy.__torch_function__(function, (proxy,), args, kwargs)

    return record


def _exchange_module(proxy: Any, place: Any, home: str) -> None:
    """The Python functions of a module: they are recorded with all arguments that have defaults by keyword."""
    for name, function in list(vars(place).items()):
        ours = isinstance(function, FunctionType) and function.__module__.startswith(home)
        if not ours or name.startswith("_"):
            continue
        if name in _AS_METHODS and place is not sys.modules["runtime"]:
            _exchange(proxy, function, _recording_call(name))
        else:
            arranged = _as_given if name in OPERATORS else _arranger(inspect.signature(function))
            _exchange(proxy, function, _recording(function, arranged))


def _recording_call(name: str) -> Callable[..., Any]:
    def record(proxy: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        found = find(proxy, (*args, *kwargs.values()))
        return found.tracer.create_proxy("call_method", name, args, kwargs)

    return record


def _arranger(signature: inspect.Signature) -> Callable[..., Arguments]:
    parameters = signature.parameters.values()
    by_keyword = [each.name for each in parameters if each.default is not inspect.Parameter.empty]

    def arranged(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Arguments:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        values: Mapping[str, Any] = bound.arguments
        first: list[Any] = []
        for each in parameters:
            if each.kind is inspect.Parameter.VAR_POSITIONAL:
                first.extend(values[each.name])
            elif each.name not in by_keyword and each.kind is not inspect.Parameter.VAR_KEYWORD:
                first.append(values[each.name])
        return tuple(first), {name: values[name] for name in by_keyword}

    return arranged


def _seeing(*args: Any, _call: Any, **kwargs: Any) -> Any:
    return _call(args, kwargs)


def _exchange(proxy: Any, function: FunctionType, record: Callable[..., Any]) -> None:
    """Let a function ask `record` where there is a Proxy among its arguments."""
    if "_call" in (function.__kwdefaults__ or ()):
        return
    code = function.__code__
    original = FunctionType(code, function.__globals__, function.__name__, function.__defaults__, function.__closure__)
    original.__kwdefaults__ = function.__kwdefaults__
    original.__annotations__ = function.__annotations__

    def call(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if find(proxy, args) is None and (not kwargs or find(proxy, kwargs.values()) is None):
            return original(*args, **kwargs)
        return record(proxy, args, kwargs)

    if not hasattr(function, "__wrapped__"):
        function.__wrapped__ = original  # type: ignore[attr-defined]
    # The defaults come first: the code that is there does not look at them.
    function.__kwdefaults__ = {**(function.__kwdefaults__ or {}), "_call": call}
    function.__code__ = _seeing.__code__.replace(co_freevars=code.co_freevars, co_name=code.co_name)
