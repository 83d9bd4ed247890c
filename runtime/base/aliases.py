"""Second names of modules: `gradwright.ops` is `runtime.ops`, and the same object.

A second name of a module costs nothing where it is used, unlike a module that hands names on.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from importlib.abc import Loader, MetaPathFinder
else:
    Loader = MetaPathFinder = object  # the import system asks for no more than the methods, and the module takes long


class AliasFinder(MetaPathFinder):
    """Finds modules by their second names.

    Args:
        first_name: gives the name of the module for a second name, and None for what is no second name.
    """

    def __init__(self, first_name: Callable[[str], str | None]) -> None:
        self._first_name = first_name

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The place of a module under its second name; None where there is no such module."""
        name = self._first_name(fullname)
        if name is None or find_spec(name) is None:
            return None
        return ModuleSpec(fullname, AliasLoader(name))


class AliasLoader(Loader):
    """Loads a module under its first name, and gives that."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._spec: ModuleSpec | None = None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = importlib.import_module(self._name)
        self._spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self._spec  # the import system has put the spec of the second name there
