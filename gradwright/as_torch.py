"""Gradwright under the name torch: what `gradwright.install_as_torch` does.

`torch` is the module `gradwright` itself, and its submodules are those of `gradwright`. The modules that PyTorch has as
well become ones that tell what they lack (`gradwright/missing.py`); looking up an attribute of such a module takes
longer, so they are ordinary ones in all other programs.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.metadata import Distribution, DistributionFinder
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

from codegen.module_names import INNER_PACKAGES, PUBLIC_PACKAGE
from gradwright.missing import MissingModule, Surface
from gradwright.names import ALIASES
from gradwright.torch_version import TorchVersion
from runtime.base import identity, lazy
from runtime.base.aliases import AliasLoader
from runtime.base.dtypes import dtype
from runtime.base.tensor import Tensor

_TORCH, _LIBRARY = "torch", PUBLIC_PACKAGE
_IMPORT_SYSTEM = "<frozen importlib._bootstrap>"  # the file of its functions
# Packages of PyTorch beside it, and the module that has their names.
_BESIDE = {"functorch": "gradwright.func"}
# The release of PyTorch whose names these are, as libraries ask for it.
VERSION = "2.13.0"

# Parts of `gradwright` under names that mean nothing, or something else, in PyTorch.
_OWN = frozenset((
    "absent", "anomaly", "as_torch", "batches", "comparing", "conditional", "examples", "files", "graph_command",
    "lowrank", "missing", "mode_blocks", "names", "native", "other_devices", "publishing", "removed", "settings",
    "storage_types", "symbols", "tensor_methods", "tensor_types", "verify", *INNER_PACKAGES,
))  # fmt: skip
# Modules of the engine that PyTorch has.
_OF_THE_ENGINE = frozenset(first for name, first in ALIASES.items() if name not in _OWN)


def install() -> None:
    """Let `import torch` give Gradwright; once is enough.

    Raises:
        ImportError: PyTorch itself is loaded already.
    """
    library = importlib.import_module(_LIBRARY)
    known = sys.modules.get(_TORCH)
    if known is library:
        return
    if known is not None:
        raise ImportError("PyTorch is loaded already: call install_as_torch() before anything imports it")
    sys.meta_path.insert(0, _TorchNames())
    sys.modules[_TORCH] = library
    lazy.finished = kind_of
    for name, module in list(sys.modules.items()):
        if type(module) is ModuleType:
            module.__class__ = kind_of(name)
    identity.name = Tensor.__module__ = dtype.__module__ = _TORCH
    vars(library).update(__name__=_TORCH, __version__=TorchVersion(VERSION))


def kind_of(name: str) -> type[ModuleType]:
    """The class of a module: of one that PyTorch has as well, or an ordinary one."""
    head, _, rest = name.partition(".")
    is_public = head == _LIBRARY and rest.partition(".")[0] not in _OWN
    is_shown = is_public or any(f"{name}.".startswith(f"{each}.") for each in _OF_THE_ENGINE)
    return Surface if is_shown else ModuleType


class _TorchNames(MetaPathFinder):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The place of a module under the name that it has in PyTorch; of one that is not there, its stand-in."""
        head, _, rest = fullname.partition(".")
        if fullname in _BESIDE:
            return ModuleSpec(fullname, AliasLoader(_BESIDE[fullname]))
        if head != _TORCH:
            return None
        first = f"{_LIBRARY}.{rest}"
        if _is_there(first):
            return ModuleSpec(fullname, AliasLoader(first))
        parent, _, name = fullname.rpartition(".")
        if parent == _TORCH and _asks_for_a_name():
            return None
        if not isinstance(vars(sys.modules[parent]).get(name), (ModuleType, type(None))):
            return None  # a function, say: as an import of PyTorch's would, this one fails
        return ModuleSpec(fullname, _Standin(), is_package=True)

    def find_distributions(self, context: DistributionFinder.Context) -> Iterable[Distribution]:
        """What is installed, for programs that ask `importlib.metadata` for the version of torch."""
        named = context.name is not None and context.name.lower() == _TORCH
        return [_TorchDistribution()] if named else []


def _is_there(first: str) -> bool:
    if any(part in _OWN for part in first.split(".")[1:2]):
        return False
    try:
        return find_spec(first) is not None
    except ModuleNotFoundError:  # what would be its package is no package, or not there either
        return False


class _TorchDistribution(Distribution):
    """The metadata of the release whose names these are; it has no files of its own."""

    def read_text(self, filename: str) -> str | None:
        return f"Metadata-Version: 2.1\nName: {_TORCH}\nVersion: {VERSION}\n" if filename == "METADATA" else None

    def locate_file(self, path: str | os.PathLike[str]) -> Any:
        return Path(os.path.dirname(__file__), path)


def _asks_for_a_name() -> bool:
    """Whether the import system looks for what `from torch import name` names, which need not be a module."""
    frame = sys._getframe(2)
    while frame.f_code.co_filename == _IMPORT_SYSTEM and frame.f_back is not None:
        if frame.f_code.co_name == "_handle_fromlist":
            return True
        frame = frame.f_back
    return False


class _Standin(Loader):
    """Loads a module that is not there."""

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return MissingModule(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        pass
