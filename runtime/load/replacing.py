"""Native callables in the place of generated Python functions, wherever generated code and users find these."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping, MutableMapping
from types import FunctionType, ModuleType
from typing import Any

from runtime.graph.node import Node, add_raw_saved

Counterparts = Mapping[Callable[..., Any], Callable[..., Any]]


def take_over(extension: Any, package: str) -> None:
    """Load the native callables and Nodes of a generated package, and put them in their places.

    Args:
        extension: the module that has them: the core, or that of a package.
        package: the name of the generated package.
    """
    names = ("operators", "packets", "methods")
    operators, packets, methods = (importlib.import_module(f"{package}.{name}") for name in names)
    known = set(Node.__subclasses__())
    replace(extension.load(), sys.modules[package], operators, packets, methods)
    for cls in Node.__subclasses__():
        if cls not in known:  # native classes are not made by class statements
            add_raw_saved(cls)


def replace(
    counterparts: Counterparts, package: ModuleType, operators: ModuleType, packets: ModuleType, methods: ModuleType
) -> None:
    """Put each native callable where the Python function is that it falls back on.

    To be called before `runtime.load.loading` hands the operators out. What the Operator objects know stays Python's:
    they are the general path.

    Args:
        counterparts: native callables by Python function.
        package: the package `generated`, which has the packets.
        operators: its module `operators`; formulas of Python Nodes look operators up in it.
        packets: its module `packets`.
        methods: its module `methods`.
    """
    for native in counterparts.values():
        _replace_in(vars(native), counterparts)
    for names in (vars(package), vars(operators), vars(packets), packets.PACKETS, vars(methods), methods.METHODS):
        _replace_in(names, counterparts)
    for packet in packets.PACKETS.values():  # those that stay Python's have overloads that do not
        _replace_in(vars(packet), counterparts)
    for name, candidates in list(vars(packets).items()):
        if name.endswith("_overloads"):
            setattr(packets, name, tuple([(operator, _native(f, counterparts)) for operator, f in candidates]))


def _native(value: Any, counterparts: Counterparts) -> Any:
    return counterparts.get(value, value) if isinstance(value, FunctionType) else value


def _replace_in(names: MutableMapping[str, Any], counterparts: Counterparts) -> None:
    for name, value in list(names.items()):
        native = _native(value, counterparts)
        if native is not value:
            names[name] = native
