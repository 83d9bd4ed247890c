"""A stand-in for CuPy over NumPy's memory, for machines without a GPU.

It has the names and the parameters that CuPy has, as `cupy_names.json` lists them, and no others. NumPy can not see its
arrays, functions on them take no array of NumPy, and a value that would have to come to main memory is an error: there
are no transfers that nobody asked for. What a function computes is NumPy's result.
"""

from __future__ import annotations

import importlib
import json
import math
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, ClassVar, NoReturn

import numpy as np
import scipy.special
import support_cuda

NAMES: Mapping[str, Any] = json.loads(Path(__file__).with_name("cupy_names.json").read_text())
_METHODS = frozenset(NAMES["cupy.ndarray"])
_STATE = SimpleNamespace(allocated=0, device=0, calls=[])


class ndarray:
    """An array whose values NumPy can not see."""

    __slots__ = ("_memory",)
    __array_ufunc__ = None  # NumPy's operators leave it alone

    def __init__(self, memory: np.ndarray[Any, Any]) -> None:
        self._memory = memory

    @property
    def shape(self) -> tuple[int, ...]:
        return self._memory.shape

    @property
    def device(self) -> Any:
        return SimpleNamespace(id=0)

    def __array__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise TypeError("Implicit conversion to a NumPy array is not allowed.")

    def _refuse(self, *args: Any) -> NoReturn:
        raise TypeError("a value of the device was to be looked at")

    __bool__ = __int__ = __float__ = __index__ = __complex__ = __iter__ = __contains__ = _refuse

    def __len__(self) -> int:
        return len(self._memory)

    def __getitem__(self, index: Any) -> Any:
        return wrapped(self._memory[unwrapped(index)])

    def __setitem__(self, index: Any, value: Any) -> None:
        self._memory[unwrapped(index)] = unwrapped(value)

    def __getattr__(self, name: str) -> Any:
        if name == "item":  # as said: a transfer that is asked for
            return self._memory.item
        if name not in _METHODS or name in ("tolist", "get", "tobytes"):
            raise AttributeError(f"'cupy.ndarray' object has no attribute '{name}'")
        found = getattr(self._memory, name)
        if not callable(found) or isinstance(found, np.dtype):
            return wrapped(found)
        return lambda *args, **kwargs: wrapped(found(*unwrapped(args), **unwrapped(kwargs)))


def _operator(name: str) -> Callable[..., Any]:
    def apply(self: ndarray, *others: Any) -> Any:
        return wrapped(getattr(self._memory, name)(*unwrapped(others)))

    return apply


_WITH_TWO = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or", "xor", "lshift", "rshift")
for _name in _WITH_TWO:
    for _full in (f"__{_name}__", f"__r{_name}__", f"__i{_name}__"):
        setattr(ndarray, _full, _operator(_full))
for _name in ["lt", "le", "gt", "ge", "eq", "ne", "neg", "pos", "abs", "invert", "divmod", "rdivmod"]:
    setattr(ndarray, f"__{_name}__", _operator(f"__{_name}__"))


def unwrapped(value: Any) -> Any:
    """Arguments as NumPy takes them; arrays of NumPy are refused as CuPy refuses them."""
    if isinstance(value, ndarray):
        return value._memory
    if isinstance(value, np.ndarray):
        raise TypeError("Unsupported type <class 'numpy.ndarray'>")
    if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
        return type(value)(map(unwrapped, value))
    return {name: unwrapped(item) for name, item in value.items()} if isinstance(value, dict) else value


def wrapped(value: Any) -> Any:
    """Results as CuPy gives them: arrays, those without dimensions too."""
    if isinstance(value, (np.ndarray, np.generic)):
        return ndarray(np.asarray(value))
    if type(value) in (tuple, list):
        return type(value)(map(wrapped, value))
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*map(wrapped, value))
    return value


def _function(name: str, function: Callable[..., Any], parameters: list[str] | None) -> Callable[..., Any]:
    """A function of NumPy with the keywords that CuPy's has."""
    known = None if parameters is None or any(each.startswith("**") for each in parameters) else set(parameters)

    def call(*args: Any, **kwargs: Any) -> Any:
        unknown = kwargs.keys() - known if known is not None else ()
        if unknown:
            raise TypeError(f"{name}() got an unexpected keyword argument '{min(unknown)}'")
        _STATE.calls.append(name)
        with np.errstate(all="ignore"):
            return wrapped(function(*unwrapped(args), **unwrapped(kwargs)))

    call.__name__ = name
    return call


def _filled(module: ModuleType, names: Mapping[str, list[str] | None], source: Any) -> ModuleType:
    """A module with the names of one of CuPy's, whose functions are NumPy's or SciPy's."""
    for name, parameters in names.items():
        found = getattr(source, name, None)
        if found is None:
            continue
        if callable(found) and not isinstance(found, type):
            found = _function(name, found, parameters)
        setattr(module, name, found)
    return module


class Device:
    """A GPU by its number."""

    compute_capability = "90"

    def __init__(self, device: Any = None) -> None:
        self.id = _STATE.device if device is None else getattr(device, "id", device)

    def __enter__(self) -> Device:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def use(self) -> None:
        _STATE.device = self.id

    def synchronize(self) -> None:
        _STATE.calls.append("synchronize")


class Event:
    """A moment in the work of a stream."""

    def __init__(self, block: bool = False, disable_timing: bool = False, interprocess: bool = False) -> None:
        self.at = 0.0
        self.done = True

    def record(self, stream: Any = None) -> None:
        self.at = time.perf_counter()

    def synchronize(self) -> None:
        pass


class Stream:
    """A queue of work."""

    null: Any = None
    _current: ClassVar[list[Any]] = []

    def __init__(
        self, null: bool = False, non_blocking: bool = False, ptds: bool = False, priority: Any = None
    ) -> None:
        self.ptr = 0 if null else id(self)
        self.device_id = 0
        self.done = True

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and self.ptr == other.ptr

    def __hash__(self) -> int:
        return hash(self.ptr)

    def __enter__(self) -> Stream:
        self._current.append(self)
        return self

    def __exit__(self, *error: object) -> None:
        self._current.pop()

    def use(self) -> Stream:
        self._current[:] = [self]
        return self

    def synchronize(self) -> None:
        _STATE.calls.append("stream.synchronize")

    def wait_event(self, event: Event) -> None:
        _STATE.calls.append("wait_event")

    def record(self, event: Event | None = None) -> Event:
        event = Event() if event is None else event
        event.record(self)
        return event


Stream.null = Stream(null=True)


class Generator:
    """Random numbers: NumPy's, with the methods of CuPy's generator."""

    def __init__(self, bits: Any) -> None:
        self._numpy = np.random.default_rng(bits.seed)

    def __getattr__(self, name: str) -> Any:
        if name not in NAMES["cupy.random.Generator"]:
            raise AttributeError(name)
        found = getattr(self._numpy, name)
        return lambda *args, **kwargs: wrapped(found(*unwrapped(args), **unwrapped(kwargs)))


def _scatter(function: Any) -> Callable[..., None]:
    def scatter(a: ndarray, slices: Any, value: Any) -> None:
        function.at(a._memory, unwrapped(slices), unwrapped(value))

    return scatter


def _pinned(shape: Any, dtype: Any = float, order: str = "C") -> np.ndarray[Any, Any]:
    """An array over memory that says that it is pinned."""
    kind = np.dtype(dtype)
    return np.frombuffer(_PinnedMemory(kind.itemsize * math.prod(shape)), kind).reshape(shape, order=order)


class _PinnedMemory(bytearray):
    pass


def modules() -> dict[str, ModuleType]:
    """The stand-ins by the names under which they are imported."""
    cupy = _filled(ModuleType("cupy"), NAMES["cupy"], np)
    cupy.ndarray = ndarray
    cupy.array = cupy.asarray = _made
    cupy.asnumpy = lambda a, **options: a._memory.copy()
    cupy.__version__ = NAMES["version"]
    cupy.linalg = _filled(ModuleType("cupy.linalg"), NAMES["cupy.linalg"], np.linalg)
    cupy.fft = _filled(ModuleType("cupy.fft"), NAMES["cupy.fft"], np.fft)
    cupy.lib = ModuleType("cupy.lib")
    cupy.lib.stride_tricks = _filled(
        ModuleType("cupy.lib.stride_tricks"), NAMES["cupy.lib.stride_tricks"], np.lib.stride_tricks
    )
    cupy.RawModule = support_cuda.RawModule
    cupy.random = ModuleType("cupy.random")
    cupy.random.Generator = Generator
    cupy.random.Philox4x3210 = lambda seed=None: SimpleNamespace(seed=seed)
    cupy.cuda = ModuleType("cupy.cuda")
    pool = SimpleNamespace(used_bytes=lambda: 512, total_bytes=lambda: 1024, free_all_blocks=lambda *args: None)
    properties = {"name": b"Stand-in", "totalGlobalMem": 1 << 30, "multiProcessorCount": 1, "major": 9, "minor": 0}
    cupy.get_default_memory_pool = lambda: pool
    vars(cupy.cuda).update(
        Device=Device,
        Stream=Stream,
        Event=Event,
        is_available=lambda: True,
        get_current_stream=lambda device_id=-1: Stream._current[-1] if Stream._current else Stream.null,
        get_elapsed_time=lambda start, end: (end.at - start.at) * 1000,
        PinnedMemoryPointer=_PinnedMemory,
        runtime=SimpleNamespace(
            getDevice=lambda: _STATE.device,
            getDeviceCount=lambda: 1,
            memGetInfo=lambda: (1 << 29, 1 << 30),
            getDeviceProperties=lambda index: properties,
            runtimeGetVersion=lambda: 12090,
        ),
    )
    cupyx = ModuleType("cupyx")
    cupyx.scatter_add, cupyx.scatter_max, cupyx.scatter_min = map(_scatter, (np.add, np.maximum, np.minimum))
    cupyx.empty_pinned = _pinned
    cupyx.scipy = ModuleType("cupyx.scipy")
    cupyx.scipy.special = _filled(ModuleType("cupyx.scipy.special"), NAMES["cupyx.scipy.special"], scipy.special)
    cupy.cuda.device = ModuleType("cupy.cuda.device")
    cupy.cuda.device.Device = Device
    packages = (cupy, cupyx)
    found = {package.__name__: package for package in packages}
    for package in (*packages, cupyx.scipy, cupy.lib, cupy.cuda):
        package.__path__ = []
        found |= {m.__name__: m for m in vars(package).values() if isinstance(m, ModuleType)}
    return found


def _made(obj: Any, dtype: Any = None, copy: Any = None, order: str = "K", **options: Any) -> ndarray:
    """An array on the device: the way there that is asked for."""
    if isinstance(obj, ndarray):
        return ndarray(np.array(obj._memory, dtype, copy=copy))
    if isinstance(obj, (list, tuple)):
        return ndarray(np.array(unwrapped(obj), dtype))
    return ndarray(np.array(obj, dtype))


def install() -> ModuleType:
    """Let `import cupy` give the stand-in, and load what goes over it: the package that brings the device."""
    sys.modules.update(modules())
    return importlib.import_module("gradwright_cupy")


def calls() -> list[str]:
    """The names of all functions that were called, which may be cleared."""
    calls: list[str] = _STATE.calls
    return calls
