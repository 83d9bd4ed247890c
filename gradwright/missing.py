"""What stands in the place of names of PyTorch that Gradwright does not have, while it is installed as torch.

A library imports more than it uses, so an import never fails: what it gets raises when it is used. Only an import
statement gets it. A program that asks, by `hasattr` or by an attribute, is told that there is no such name, which is
how libraries find out what the PyTorch has that they run on.
"""

from __future__ import annotations

import importlib
import sys
from opcode import opmap
from types import FrameType, ModuleType
from typing import Any, NoReturn

_LIST = "docs/reports/pytorch.md lists what there is"
_IMPORT_FROM = opmap["IMPORT_FROM"]

# Where PyTorch divides a package into modules whose names the package has all: by the path of the modules, the package.
_DIVIDED = {
    "torch.optim": "torch.optim",
    "torch.distributions": "torch.distributions",
    "torch.utils.data": "torch.utils.data",
    "torch.autograd": "torch.autograd",
}


class MissingNameError(AttributeError, NotImplementedError):
    """A name of PyTorch was used that Gradwright does not have."""


def refuse(name: str) -> NoReturn:
    """Say that there is no such name.

    Raises:
        MissingNameError: always.
    """
    raise MissingNameError(f"Gradwright has no '{name}': {_LIST}")


class _Missing(type):
    """The class of what an import statement gets: a class, so that it can be inherited, annotated and asked for."""

    def __call__(cls, *args: Any, **kwargs: Any) -> NoReturn:
        refuse(_of(cls).__name__)

    def __getattr__(cls, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(f"{cls!r} has no attribute '{name}'")
        refuse(f"{_of(cls).__name__}.{name}")

    def __getitem__(cls, parameters: Any) -> Any:
        return cls

    def __instancecheck__(cls, instance: Any) -> bool:
        return False

    def __repr__(cls) -> str:
        return f"<'{_of(cls).__name__}', which Gradwright does not have>"


def _of(cls: type) -> type:
    """The missing name itself, of which `cls` may be a class of the program's."""
    return next(base for base in reversed(cls.__mro__) if isinstance(base, _Missing))


def missing(name: str) -> Any:
    """An object for a name that is not there, which raises MissingNameError when it is used."""
    return _Missing(name, (), {"__module__": "torch"})


class Surface(ModuleType):
    """A module as it is while it is installed as torch: it tells what it lacks."""

    def __getattr__(self, name: str) -> Any:
        own = self.__name__
        if name.startswith("__"):
            raise AttributeError(f"module '{own}' has no attribute '{name}'")
        full = ".".join(("torch", *own.split(".")[1:], name))
        imported = _imports(sys._getframe(1))
        if full in _DIVIDED or (imported and name.islower() and _whole(full) is not None):
            return importlib.import_module(full)
        if imported:
            return missing(full)
        refuse(full)


class MissingModule(Surface):
    """A submodule that is not there; one of a divided package has what the package has."""

    def __getattr__(self, name: str) -> Any:
        whole = None if name.startswith("__") else _whole(self.__name__)
        if whole is not None and whole is not self and hasattr(whole, name):
            return getattr(whole, name)
        if whole is not None and name.islower():
            return importlib.import_module(f"{self.__name__}.{name}")  # PyTorch's packages have imported theirs
        if not name.startswith("__") and _imports(sys._getframe(1)):
            return missing(f"{self.__name__}.{name}")
        return super().__getattr__(name)


def _whole(full: str) -> ModuleType | None:
    """The package that has all names of such a module; None where it is no part of a divided package."""
    for path, package in _DIVIDED.items():
        if full == path or full.startswith(f"{path}."):
            return importlib.import_module(package)
    return None


def _imports(frame: FrameType) -> bool:
    """Whether what a frame does is `from module import name`."""
    return frame.f_code.co_code[frame.f_lasti] == _IMPORT_FROM
