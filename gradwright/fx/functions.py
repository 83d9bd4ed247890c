"""Functions and methods of the runtime that see Proxies.

They are exchanged while there are Tracers with Proxies: each gets the code of a function that looks for Proxies among
its arguments before it does what it did. It stays the same object, so whoever holds it, as a default argument or as an
attribute, calls the other code meanwhile, and a program without Proxies pays nothing.

Operators that are native callables have Python functions behind them, which get the calls that the native ones decline,
some with their defaults filled in. While a trace goes on, their names in modules stand for functions that see the call
as it is (`gradwright.fx.wrapping`).
"""

from __future__ import annotations

import functools
import inspect
import sys
import threading
from collections.abc import Callable, Iterable, Mapping, MutableMapping
from types import CodeType, FunctionType
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary, finalize

from codegen.module_names import RUNTIME
from gradwright.fx.names import IN_PYTHON, OPERATORS
from runtime import ops
from runtime.base import overriding
from runtime.base.tensor import Tensor
from runtime.call import packets
from runtime.methods import indexing

_lock = threading.RLock()  # a Tracer may go while this thread has it


class _Exchanged:
    """The functions, and of how many Tracers there are Proxies."""

    tracers = 0
    functions: tuple[_Code, ...] = ()


class _Code(NamedTuple):
    """A function, and what it is made of by itself and while it sees Proxies."""

    function: FunctionType
    own: tuple[CodeType, dict[str, Any] | None]
    seeing: tuple[CodeType, dict[str, Any]]


_exchanged = _Exchanged()
_finalizers: WeakKeyDictionary[Any, finalize[..., Any]] = WeakKeyDictionary()

# Functions of `nn.functional` that are methods of their argument in PyTorch.
_AS_METHODS = frozenset(("sigmoid", "tanh"))
# Functions of values and dtypes that are no operators, and are recorded as they are called.
_QUERIES = frozenset((
    "can_cast", "is_complex", "is_floating_point", "is_inference", "numel", "promote_types", "resize_as_",
    "result_type", "sym_float", "sym_int", "sym_ite", "sym_max", "sym_min", "sym_not", "sym_sqrt", "sym_sum",
))  # fmt: skip
_CONTAINERS = frozenset((list, tuple, dict, slice))

Arguments = tuple[tuple[Any, ...], dict[str, Any]]
Record = Callable[[Any, tuple[Any, ...], dict[str, Any]], Any]


def find(kind: type, values: Iterable[Any]) -> Any:
    """The first Proxy among values and in their lists, tuples, dictionaries and slices; None if there is none."""
    for value in values:
        if isinstance(value, kind):
            return value
        if type(value) in _CONTAINERS and (found := find(kind, _parts(value))) is not None:
            return found
    return None


def _parts(container: Any) -> Iterable[Any]:
    if type(container) is dict:
        return container.values()
    if type(container) is slice:
        return container.start, container.stop, container.step
    return container  # type: ignore[no-any-return]


def is_method(function: Any) -> bool:
    """Whether a function is a method of Tensor, and none of a module."""
    name = getattr(function, "__name__", "")
    places = vars(ops), vars(sys.modules["gradwright"])
    return getattr(Tensor, name, None) is function and all(names.get(name) is not function for names in places)


@functools.cache
def operators() -> Mapping[str, Any]:
    """The operators' functions by their names."""
    return {name: value for name, value in vars(ops).items() if "overloads" in getattr(value, "__dict__", ())}


def namespaces() -> list[MutableMapping[str, Any]]:
    """The modules that have the operators' functions."""
    gradwright = sys.modules["gradwright"]
    return [
        vars(each)
        for each in (gradwright, gradwright.nn.functional, gradwright.linalg, gradwright.fft, gradwright.special)
    ]


def attend(tracer: Any, proxy: Any) -> None:
    """Let functions see Proxies for as long as there is this Tracer, or until it is let go.

    Args:
        tracer: the Tracer of a Proxy.
        proxy: the class of Proxies.
    """
    with _lock:
        if tracer in _finalizers:
            return
        if not _exchanged.functions:
            _exchanged.functions = tuple(_found(proxy))
        _finalizers[tracer] = finalizer = finalize(tracer, _leave)
        finalizer.atexit = False
        _exchanged.tracers += 1
        if _exchanged.tracers == 1:
            for function, _, (code, defaults) in _exchanged.functions:
                # The defaults come first: the code that is there does not look at them.
                function.__kwdefaults__ = defaults
                function.__code__ = code


def let_go(tracer: Any) -> None:
    """A trace is over: its Proxies are seen no more."""
    with _lock:
        if (finalizer := _finalizers.pop(tracer, None)) is not None:
            finalizer()


def _leave() -> None:
    with _lock:
        _exchanged.tracers -= 1
        if _exchanged.tracers == 0:
            for function, (code, defaults), _ in _exchanged.functions:
                function.__code__ = code
                function.__kwdefaults__ = defaults


def _found(proxy: Any) -> Iterable[_Code]:
    """All functions that see Proxies."""
    gradwright = sys.modules["gradwright"]
    known: dict[int, _Code] = {}

    def exchange(function: Any, record: Record) -> None:
        if id(function) not in known:
            known[id(function)] = _exchange(proxy, function, record)

    for home, place in (
        ("gradwright.nn.functional", gradwright.nn.functional),
        (f"{RUNTIME}.operators.functional", gradwright),
        ("gradwright.lowrank", gradwright),
    ):
        for name, function in list(vars(place).items()):
            ours = isinstance(function, FunctionType) and function.__module__.startswith(home)
            if ours and (not name.startswith("_") or name == "_assert"):
                exchange(function, _recording_function(name, function))
    for name in _QUERIES:
        function = getattr(gradwright, name)
        exchange(function, _recording(function, _as_given))
    for name, public in operators().items():
        # A native packet whose arguments fit calls its overload at once.
        for function in filter(None, map(_python, (public, *vars(public).values()))):
            exchange(function, _recording_operator(public, name, function))
    exchange(packets.foreign_operand, _record_sign)
    exchange(packets.foreign_equality, _record_sign)
    exchange(indexing.getitem, _recording_method("__getitem__"))
    for name, function in _methods():  # last: a method may be the function itself
        exchange(function, _recording_method(overriding.CALLED.get(name, name)))
    return known.values()


def _python(public: Any) -> FunctionType | None:
    """The Python function of a callable: itself, or what stands behind a native one."""
    if isinstance(public, FunctionType):
        return public
    behind = None if isinstance(public, type) else getattr(public, "__wrapped__", None)
    return behind if isinstance(behind, FunctionType) else None


def _methods() -> Iterable[tuple[str, FunctionType]]:
    """Methods of Tensor that are no operators, which are called with a Proxy as another argument than their first."""
    for base in Tensor.__mro__[:-1]:
        for name, member in list(vars(base).items()):
            hidden = name.startswith("_") and name not in overriding.SIGNS
            if not hidden and not isinstance(member, (staticmethod, classmethod)):
                function = _python(member)
                if function is not None:
                    yield name, function


# -- what is recorded


def _recording_function(name: str, function: FunctionType) -> Record:
    """Of Python functions of a module: most are recorded with all arguments that have defaults by keyword."""
    if not function.__module__.startswith("gradwright.nn"):
        return _recording(function, _arranger(function) if name in IN_PYTHON else _as_given)
    if name in _AS_METHODS:
        return _recording_method(name)
    return _recording(function, _as_given if name in OPERATORS else _arranger(function))


def _recording(public: Any, arranged: Callable[..., Arguments]) -> Record:
    def record(proxy: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        args, kwargs = arranged(args, kwargs)
        return proxy.__torch_function__(public, (proxy,), args, kwargs)

    return record


def _recording_method(name: str) -> Record:
    def record(proxy: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        found = find(proxy, (*args, *kwargs.values()))
        return found.tracer.create_proxy("call_method", name, args, kwargs)

    return record


def _recording_operator(public: Any, name: str, function: FunctionType) -> Record:
    """Records a call that has not come by a name of a module: of the method, if the first argument is a Tensor."""
    defaults, by_keyword = function.__defaults__ or (), function.__kwdefaults__ or {}
    required = function.__code__.co_argcount - len(defaults)
    as_method = _recording_method(name) if hasattr(Tensor, name) else None

    def record(proxy: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        count = len(args)
        while required < count <= required + len(defaults) and _same(args[count - 1], defaults[count - 1 - required]):
            count -= 1
        args = args[:count]
        kwargs = {
            key: value for key, value in kwargs.items() if key not in by_keyword or not _same(value, by_keyword[key])
        }
        if as_method is not None and args and isinstance(args[0], Tensor):
            return as_method(proxy, args, kwargs)
        return proxy.__torch_function__(public, (proxy,), args, kwargs)

    return record


def _same(value: Any, default: Any) -> bool:
    return value is default or (type(value) is type(default) and type(value) in (int, float, str) and value == default)


def _record_sign(proxy: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    name, *operands = args
    return _recording_method(name)(proxy, tuple(operands), kwargs)


def _as_given(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Arguments:
    return args, kwargs


def _arranger(function: Callable[..., Any]) -> Callable[..., Arguments]:
    """Gives arguments that have no default by position, and all others by keyword."""
    signature = inspect.signature(function)
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
            elif each.name not in by_keyword:
                first.append(values[each.name])
        return tuple(first), {name: values[name] for name in by_keyword}

    return arranged


# -- the exchange


def _seeing(*args: Any, _call: Any, **kwargs: Any) -> Any:
    return _call(args, kwargs)


def _exchange(proxy: Any, function: FunctionType, record: Record) -> _Code:
    """What lets a function ask `record` where there is a Proxy among its arguments."""
    code, defaults = function.__code__, function.__kwdefaults__
    original = FunctionType(code, function.__globals__, function.__name__, function.__defaults__, function.__closure__)
    original.__kwdefaults__ = defaults
    original.__annotations__ = function.__annotations__

    def call(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if find(proxy, args) is None and (not kwargs or find(proxy, kwargs.values()) is None):
            return original(*args, **kwargs)
        return record(proxy, args, kwargs)

    if not hasattr(function, "__wrapped__"):
        function.__wrapped__ = original  # type: ignore[attr-defined]  # the signature is read from it
    seeing = _seeing.__code__.replace(co_freevars=code.co_freevars, co_name=code.co_name)
    return _Code(function, (code, defaults), (seeing, {**(defaults or {}), "_call": call}))
