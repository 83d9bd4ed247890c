"""Devices for tests: arrays of array-api-strict, and those of the toy in examples/backend, which counts launches."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

import runtime.operators.array_api
from generated import operators
from runtime.base import devices, keys
from runtime.call.dispatch import Operator
from runtime.load import backends
from support.documents import ROOT

OPERATORS = {each.name: each for each in vars(operators).values() if isinstance(each, Operator)}


def strict_arrays() -> ModuleType:
    """A module of arrays over array-api-strict, which refuses all that the standard does not say."""
    strict = importlib.import_module("array_api_strict")
    module = ModuleType("strict_arrays")
    module.Array = type(strict.zeros(1))  # type: ignore[attr-defined]
    module.namespace = strict  # type: ignore[attr-defined]
    module.from_numpy = strict.asarray  # type: ignore[attr-defined]
    module.to_numpy = np.asarray  # type: ignore[attr-defined]
    return module


@cache
def toy_arrays() -> ModuleType:
    """The arrays of the example."""
    spec = importlib.util.spec_from_file_location("toy_arrays", ROOT / "examples/backend/toynpu/arrays.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["toy_arrays"] = module
    spec.loader.exec_module(module)
    return module


@cache
def array_api_kernels() -> Mapping[str, Callable[..., Any]]:
    """The functions of `runtime.operators.array_api` by the operators that they are kernels of."""
    functions: dict[str, Callable[..., Any]] = {}
    for path in Path(runtime.operators.array_api.__file__ or "").parent.glob("[a-z]*.py"):
        module = importlib.import_module(f"runtime.operators.array_api.{path.stem}")
        functions |= {
            n: f for n, f in vars(module).items() if inspect.isfunction(f) and f.__module__ == module.__name__
        }
    found = {}
    for name, operator in OPERATORS.items():
        base, _, overload = name.partition(".")
        function = functions.get(f"{base}_{overload or 'default'}") or functions.get(base)
        wanted = [operator.spelled[i] for i in operator.kernel_positions]
        if "CPU" in operator.built_in and function and list(inspect.signature(function).parameters)[1:] == wanted:
            found[name] = function
    return found


@contextmanager
def device(key: str, arrays: ModuleType, kernels: Mapping[str, Any] | None = None) -> Iterator[str]:
    """A device whose kernels are those of the array API, or these; it is gone afterwards."""
    known = set(keys.KEYS)
    name = key.lower()
    generic = array_api_kernels() if kernels is None else kernels
    backends.install_backend(key, name, arrays, "npu.yaml", {}, generic, "generated")
    try:
        yield name
    finally:
        del backends.brought_by[key], devices.by_key[key], devices.backends[name], keys.DEVICES[name]
        keys.KEYS.intersection_update(known)
        for operator in OPERATORS.values():
            operator.built_in.pop(key, None)
