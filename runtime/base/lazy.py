"""Modules that are loaded on first access, so that importing the package stays fast.

A module that waits is there as an object, in its package or where an import statement brought it, and its code runs
when the first of its attributes is asked for. A `__getattr__` of the package (PEP 562) would do the same in fewer
lines, but Python finds every name of a package that has one slowly, and operators are called by such names.

Threads
-------
The import system has a lock for each module and runs a module's code under it. Two threads that come into packages at
different ends (one through the package, which imports its parts; one by the name of a part, which imports the package)
hold what the other wants; the import system notices, and one of them gets an error or a module that is half loaded.

Here code never runs under a lock that the import system holds for one of our modules. There is one lock for all that
load later, and three kinds of locks are only ever taken in this order, so no two threads can wait for each other:

1. locks of modules of others: a module that imports ours holds its own while it does;
2. the one lock, under which code runs. It is re-entrant, so cycles among our modules are what they always are;
3. the import system's locks of our modules. An import by name takes them, a part's before its package's, for as long as
   it takes to find the file and to make the object that waits. Who holds one asks for neither of the others.

The code under the one lock imports modules of others, too, but none that import ours. A thread that looks into a module
while another loads it waits until all is loaded that was begun together, so nothing is ever seen half. The price is
that an import statement does not run the code: the first look does, so no module may count on being only imported.
"""

from __future__ import annotations

import importlib
import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from importlib.machinery import ExtensionFileLoader, ModuleSpec, PathFinder
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from importlib.abc import Loader, MetaPathFinder
else:
    Loader = MetaPathFinder = object  # the import system asks for no more than the methods, and the module takes long


def load_lazily(package: str, names: Iterable[str]) -> None:
    """Put submodules into a package, the code of which runs when the first of their attributes is asked for."""
    for name in names:
        full = f"{package}.{name}"
        module = sys.modules.get(full)  # an import statement may have brought it before the package's code ran
        if module is None:
            module = _finder.known[full] = _WaitingModule(full)
        setattr(sys.modules[package], name, module)


def load_the_rest_lazily(*packages: str) -> None:
    """From now on these modules, and those of these packages, run their code on first access when they are imported."""
    _finder.packages += [package for package in packages if package not in _finder.packages]


def is_waiting(module: ModuleType) -> bool:
    """Whether the code of a module has not run yet, or is running."""
    return type(module) is _WaitingModule


def when_loaded(module: ModuleType, callback: Callable[[], None]) -> None:
    """Call a function once, as soon as the code of a module has run."""
    name = _get(module, "__name__")
    _loading.callbacks.setdefault(name, []).append(callback)
    if not is_waiting(module):  # another thread has loaded it, and called those that it saw
        _loading.call_back(name)


def _ordinary(name: str) -> type[ModuleType]:
    return ModuleType


# The class that a module of this name gets when it is loaded.
finished: Callable[[str], type[ModuleType]] = _ordinary


# What the import system sets and asks for while it holds the module's lock.
_GIVEN: Final = frozenset(
    ("__cached__", "__class__", "__file__", "__loader__", "__name__", "__package__", "__path__", "__spec__")
)

_get = ModuleType.__getattribute__
_set = ModuleType.__setattr__


class _WaitingModule(ModuleType):
    """A module that has not run, or is not loaded wholly. It becomes an ordinary one when it is."""

    def __getattribute__(self, name: str) -> Any:
        # Without a __spec__ the import system has not seen the module, so the access does not come from there.
        if name not in _GIVEN or (name not in ("__class__", "__name__") and _get(self, "__spec__") is None):
            _loading.load(self)
        return _get(self, name)

    def __setattr__(self, name: str, value: Any) -> None:
        # The import system puts a submodule into its package under the submodule's lock.
        if name not in _GIVEN and not isinstance(value, ModuleType):
            _loading.load(self)
        _set(self, name, value)

    def __delattr__(self, name: str) -> None:
        _loading.load(self)
        ModuleType.__delattr__(self, name)


class _Loading:
    """Runs the code of modules that wait: one thread at a time."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._begun: dict[str, _WaitingModule] = {}  # ran or are running since somebody took the lock
        self.callbacks: dict[str, list[Callable[[], None]]] = {}

    def load(self, module: _WaitingModule) -> None:
        """Run the code of `module`; the thread that is doing so already goes on at once."""
        with self._lock:
            if type(module) is not _WaitingModule:
                return  # another thread loaded it before this one had the lock
            outermost = not self._begun
            try:
                self._run(module)
            finally:
                if outermost:
                    self._finish()

    def _finish(self) -> None:
        done, self._begun = self._begun, {}
        for name, module in done.items():
            _set(module, "__class__", finished(name))
        for name in done:
            self.call_back(name)

    def call_back(self, name: str) -> None:
        """Call what waits for a module; each function once, whoever comes first."""
        for callback in self.callbacks.pop(name, ()):
            callback()

    def _run(self, module: _WaitingModule) -> None:
        name = _get(module, "__name__")
        importlib.import_module(name)  # gives it its place in sys.modules, and imports its package
        package = sys.modules.get(name.rpartition(".")[0])
        if type(package) is _WaitingModule:
            self._run(package)
        if name in self._begun:
            return
        self._begun[name] = module
        try:
            _get(module, "__loader__").exec_module(module)
        except BaseException:
            # It waits again, as if it had not been imported.
            del self._begun[name]
            _finder.known[name] = module
            _set(module, "__spec__", None)
            sys.modules.pop(name, None)
            raise


_loading = _Loading()


class _Finder(MetaPathFinder):
    """Finds modules that are loaded later."""

    def __init__(self) -> None:
        self.known: dict[str, _WaitingModule] = {}  # are there already, to be filled instead of made
        self.packages: list[str] = []

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The place of such a module's code; None for all others, and for one that is loaded again (`target`)."""
        if target is not None or (fullname not in self.known and not self._is_listed(fullname)):
            return None
        spec = PathFinder.find_spec(fullname, path)
        if spec is not None and spec.loader is not None and not isinstance(spec.loader, ExtensionFileLoader):
            spec.loader = _Later(spec.loader)
        return spec

    def _is_listed(self, name: str) -> bool:
        return any(name == package or name.startswith(f"{package}.") for package in self.packages)


class _Later(Loader):
    """Stands before the loader of a module's code while the module is imported, and runs nothing."""

    def __init__(self, loader: Loader) -> None:
        self._loader = loader

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)  # for readers of the source or the code

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = _finder.known.get(spec.name) or _WaitingModule(spec.name)
        attributes: dict[str, Any] = {"__loader__": self._loader, "__package__": spec.parent}
        if spec.submodule_search_locations is not None:
            attributes["__path__"] = spec.submodule_search_locations
        if spec.has_location:
            attributes |= {"__file__": spec.origin, "__cached__": spec.cached}
        for name, value in attributes.items():
            _set(module, name, value)
        _set(module, "__spec__", spec)  # set last: a thread that sees it sees the others
        return module

    def exec_module(self, module: ModuleType) -> None:
        assert module.__spec__ is not None
        module.__spec__.loader = self._loader
        _finder.known.pop(module.__name__, None)


_finder = _Finder()
sys.meta_path.insert(0, _finder)
