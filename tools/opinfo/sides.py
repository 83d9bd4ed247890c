"""One of the two libraries: PyTorch's objects turned into its own, and the functions of its samples made to call it."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import importlib
import types
from typing import Any

import ml_dtypes
import numpy as np
import torch

from tools.opinfo.arrays import NotApplicable, array_of


class Missing(Exception):
    """The library lacks this name."""


def dotted(root: Any, path: str) -> Any:
    """What stands at a path of names, modules imported as they come."""
    here = root
    for part in path.split("."):
        try:
            here = getattr(here, part)
        except AttributeError:
            if isinstance(here, types.ModuleType):
                with contextlib.suppress(ImportError):
                    here = importlib.import_module(f"{here.__name__}.{part}")
                    continue
            raise Missing(path) from None
    return here


class Named:
    """The name `torch`, or that of a module of it, inside a function of the samples."""

    def __init__(self, library: Any, name: str) -> None:
        self._library, self._name = library, name.partition(".")[2]

    def __getattr__(self, name: str) -> Any:
        return dotted(self._library, f"{self._name}.{name}" if self._name else name)


_SPACES = ("Tensor", "masked", "signal.windows", "fft", "special", "linalg", "nn.functional", "")


@functools.cache
def _names() -> dict[int, str]:
    """The path of each function of PyTorch, by its identity."""
    found = {}
    for space in _SPACES:
        holder = dotted(torch, space) if space else torch
        for name in dir(holder):
            if name.startswith("__") and space != "Tensor":
                continue
            with contextlib.suppress(Exception):
                value = getattr(holder, name)
                if callable(value) and not isinstance(value, type):
                    found[id(value)] = f"{space}.{name}" if space else name
    return found


def _of_the_samples(function: Any) -> bool:
    return isinstance(function, types.FunctionType) and str(function.__module__ or "").startswith("torch.testing.")


class Side:
    """A library that has PyTorch's names."""

    def __init__(self, library: Any) -> None:
        self.library = library
        self._bound: dict[Any, Any] = {}

    @property
    def is_pytorch(self) -> bool:
        return self.library is torch

    def tensor(self, x: torch.Tensor) -> Any:
        """The same numbers as a new Tensor of this library."""
        if x.layout is not torch.strided or x.is_nested or x.is_quantized or x.device.type != "cpu":
            raise NotApplicable("not a dense Tensor in main memory")
        if x.dtype is torch.complex32 and self.is_pytorch:  # which NumPy has not
            made = x.detach().clone()
        elif x.dtype is torch.complex32:
            parts = torch.view_as_real(x.detach().resolve_conj().resolve_neg())
            made = self.library.view_as_complex(self.of_array(array_of(parts.contiguous())))
        else:
            made = self.of_array(array_of(x).copy())
        return made.requires_grad_(True) if x.requires_grad else made

    def of_array(self, array: np.ndarray) -> Any:
        """The elements of an array as a new Tensor of this library."""
        if array.dtype == ml_dtypes.bfloat16:  # which neither library takes from NumPy
            return self.library.tensor(array.astype(np.float32)).to(self.library.bfloat16)
        return self.library.tensor(array)

    def value(self, value: Any) -> Any:
        """An argument of a sample as this library has it."""
        if isinstance(value, torch.Tensor):
            return self.tensor(value)
        if isinstance(value, tuple):
            items = [self.value(item) for item in value]
            return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
        if isinstance(value, list):
            return [self.value(item) for item in value]
        if isinstance(value, dict):
            return {key: self.value(item) for key, item in value.items()}
        if isinstance(value, slice):
            return slice(self.value(value.start), self.value(value.stop), self.value(value.step))
        return value if self.is_pytorch else self._translated(value)

    def _translated(self, value: Any) -> Any:
        if isinstance(value, (torch.dtype, torch.layout, torch.memory_format)):
            return dotted(self.library, str(value).rpartition(".")[2])
        if isinstance(value, torch.device):
            return self.library.device(str(value))
        if isinstance(value, torch.Generator):
            return self.library.Generator()
        if isinstance(value, torch.nn.Module):  # samples have those that are made without arguments
            return dotted(self.library, f"nn.{type(value).__name__}")()
        if dataclasses.is_dataclass(value) and type(value).__module__.startswith("torch.nn."):
            made = dotted(self.library, f"nn.{type(value).__name__}")
            return made(**{field.name: self.value(getattr(value, field.name)) for field in dataclasses.fields(value)})
        if callable(value) and not isinstance(value, type) and hasattr(value, "__name__"):
            return self.function(value)
        return value

    def function(self, function: Any, name: str | None = None) -> Any:
        """A function of PyTorch, or one of the samples, as one of this library."""
        if isinstance(function, functools.partial):
            args = [self.value(arg) for arg in function.args]
            named = {key: self.value(arg) for key, arg in function.keywords.items()}
            return functools.partial(self.function(function.func), *args, **named)
        if _of_the_samples(function):
            return self._rebound(function)
        if self.is_pytorch:
            return function
        if isinstance(function, torch._ops.OpOverload | torch._ops.OpOverloadPacket):
            try:
                return dotted(self.library, f"ops.{function}")
            except Missing:
                return dotted(self.library, str(function).split(".")[1])
        if name is None:
            name = _names().get(id(function))
        if name is None:
            module = getattr(function, "__module__", None)
            if module in (None, "builtins", "math", "operator", "numpy"):
                return function
            of_tensor = getattr(function, "__objclass__", None) is not None or module == "torch._tensor"
            name = f"Tensor.{function.__name__}" if of_tensor else function.__name__
        try:
            return dotted(self.library, name)
        except Missing:
            if "." in name and not name.startswith("Tensor."):
                raise
            return dotted(self.library, f"Tensor.{name.rpartition('.')[2]}")

    def _rebound(self, function: Any) -> Any:
        """A function of the samples in which `torch` is this library, and so in all that it calls of them."""
        if function in self._bound:
            return self._bound[function]
        if function.__name__ == "wrapper_set_seed":  # seeds are set here
            self._bound[function] = lambda op, *args, **kwargs: op(*args, **kwargs)
            return self._bound[function]
        scope = dict(function.__globals__)
        cells: tuple[Any, ...] | None = None
        made = types.FunctionType(function.__code__, scope, function.__name__, None, function.__closure__)
        self._bound[function] = made
        for name in _names_in(function.__code__):
            if name in scope:
                scope[name] = self._in_scope(scope[name])
        if function.__closure__:
            cells = tuple(types.CellType(self._enclosed(cell.cell_contents)) for cell in function.__closure__)
            made = self._bound[function] = types.FunctionType(function.__code__, scope, function.__name__, None, cells)
        made.__defaults__ = function.__defaults__ and tuple(map(self._enclosed, function.__defaults__))
        named = function.__kwdefaults__
        made.__kwdefaults__ = named and {key: self._enclosed(value) for key, value in named.items()}
        return made

    def _in_scope(self, value: Any) -> Any:
        if isinstance(value, types.ModuleType):
            return Named(self.library, value.__name__) if value.__name__.split(".")[0] == "torch" else value
        if _of_the_samples(value):
            return self._rebound(value)
        if isinstance(value, (torch.dtype, torch.layout, torch.memory_format)):
            return self.value(value)
        return value

    def _enclosed(self, value: Any) -> Any:
        if isinstance(value, types.ModuleType):
            return self._in_scope(value)
        if isinstance(value, type) or value is None:
            return value
        try:
            return self.value(value)
        except Missing as error:
            if not callable(value):
                raise
            return functools.partial(_raise, str(error))


def _raise(name: str, *args: Any, **kwargs: Any) -> Any:
    raise Missing(name)


def _names_in(code: types.CodeType) -> set[str]:
    """All global names that a function uses, and those inside it."""
    inner = [_names_in(part) for part in code.co_consts if isinstance(part, types.CodeType)]
    return set(code.co_names).union(*inner)
