"""Modules of a package that are loaded when somebody looks into them, so that importing the package stays quick.

They stand in the package from the beginning, empty. A `__getattr__` of the package (PEP 562) would do the same in fewer
lines, but Python finds every name of a package that has one slowly, and operators are called by such names.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any


def load_later(package: str, names: Iterable[str]) -> None:
    """Put submodules into a package, the code of which runs when the first of their attributes is asked for."""
    for name in names:
        module = _WaitingModule(f"{package}.{name}")
        _finder.waiting[module.__name__] = module
        setattr(sys.modules[package], name, module)


class _WaitingModule(ModuleType):
    """A module that has not run. The import system runs it in this object, under its locks."""

    def __getattr__(self, name: str) -> Any:
        # The import system itself asks for such names, before others can find the module.
        if self.__spec__ is None or not name.startswith("__"):
            importlib.import_module(self.__name__)
        return ModuleType.__getattribute__(self, name)

    def __dir__(self) -> Iterable[str]:
        importlib.import_module(self.__name__)
        return ModuleType.__dir__(self)


class _Finder(MetaPathFinder):
    """Finds waiting modules, and lets them be filled instead of made."""

    def __init__(self) -> None:
        self.waiting: dict[str, ModuleType] = {}

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The place of a waiting module's code; None for all others."""
        module = self.waiting.get(fullname)
        if module is None:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = _Filler(spec.loader, module, self.waiting)
        return spec


class _Filler(Loader):
    """Loads into a module that is there already; it steps aside for the loader of the code."""

    def __init__(self, loader: Loader, module: ModuleType, waiting: dict[str, ModuleType]) -> None:
        self._loader = loader
        self._module = module
        self._waiting = waiting

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return self._module

    def exec_module(self, module: ModuleType) -> None:
        assert module.__spec__ is not None
        module.__spec__.loader = module.__loader__ = self._loader
        self._loader.exec_module(module)
        module.__class__ = ModuleType
        self._waiting.pop(module.__name__, None)


_finder = _Finder()
sys.meta_path.insert(0, _finder)
