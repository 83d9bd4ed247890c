"""Installation of the backends that packages bring: their devices, and the kernels of operators for them."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from functools import partial
from types import ModuleType
from typing import Any

from codegen.module_names import GENERATED
from runtime.call.dispatch import Operator
from runtime.devices.backend import ArrayBackend, register

Kernels = Mapping[str, Callable[..., Any]]


def install_backend(
    key: str, device: str, arrays: ModuleType, listed_in: str, kernels: Kernels, generic: Kernels, package: str
) -> None:
    """Let operators have kernels on the arrays of a device; the generated module of a backend calls this.

    Args:
        key: the dispatch key.
        device: the name of the device.
        arrays: the module with the type of arrays; see `ArrayBackend`.
        listed_in: the file that lists the kernels, for messages.
        kernels: by the names of Gradwright's operators, functions on these arrays.
        generic: the same for functions of `runtime.operators.array_api`, which take the namespace of the arrays first.
        package: the generated package that brings it; what it has installed stays.

    Raises:
        ImportError: the key or the device is another's, or the module of arrays lacks a name.
    """
    if brought_by.get(key) == package:
        return
    modules = [importlib.import_module(f"{each}.operators") for each in (GENERATED, package)]
    found = [each for module in modules for each in vars(module).values() if isinstance(each, Operator)]
    by_name = {each.name: each for each in found}
    backend = ArrayBackend(key, device, arrays, listed_in)
    register(backend)
    brought_by[key] = package
    for name, function in generic.items():
        by_name[name].add_backend(key, partial(function, backend.namespace))
    for name, function in kernels.items():
        by_name[name].add_backend(key, function)
    for offered in _offered.get(key, ()):
        _take(key, *offered)


# By the key, the package that brought it.
brought_by: dict[str, str] = {}
# By the key, packages that have kernels for it: the generated package, and its module with the table `OPERATORS`.
_offered: dict[str, list[tuple[str, str]]] = {}


def offer_kernels(key: str, package: str, module: str) -> None:
    """Let the operators of a package have kernels for a key that another package brings, now or later.

    Args:
        key: the dispatch key.
        package: the generated package with the operators.
        module: has functions on arrays by the names of operators, `OPERATORS`; imported when the key is there.
    """
    _offered.setdefault(key, []).append((package, module))
    if key in brought_by:
        _take(key, package, module)


def _take(key: str, package: str, module: str) -> None:
    operators = vars(importlib.import_module(f"{package}.operators")).values()
    by_name = {each.name: each for each in operators if isinstance(each, Operator)}
    for name, function in importlib.import_module(module).OPERATORS.items():
        by_name[name].add_backend(key, function)
