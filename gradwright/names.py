"""Second names of modules: `gradwright.nn.functional` is `runtime.nn.functional`, and the same object."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

_SECOND, _FIRST, _GENERATOR = "gradwright", "runtime", "codegen"
_OURS = Path(__file__).resolve().parent.parent
# The files of this package itself.
_HERE = frozenset((__name__, *(f"{_SECOND}.{file}" for file in ("__main__", "as_torch", "missing"))))


# A file that each of the packages has, by which it is known.
_MARKS = {_FIRST: "base/tensor.py", _GENERATOR: "pipeline.py", "generated": "manifest.json"}


def install() -> ModuleType:
    """Make the second names importable, and give the module that has the first one.

    Raises:
        ImportError: a package of somebody else has the first name, and comes before ours on the path.
    """
    for name, mark in _MARKS.items():
        spec = find_spec(name)
        folder = None if spec is None or spec.origin is None else Path(spec.origin).parent
        if folder is not None and folder != _OURS / name and not (folder / mark).exists():
            raise ImportError(
                f"{folder} hides Gradwright's package '{name}', which is in {_OURS}: give it another name, or remove "
                "its __init__.py"
            )
    sys.meta_path.insert(0, _Names())
    return importlib.import_module(_FIRST)


def first_name(name: str) -> str | None:
    """What a module is called whose second name this is; None where it is none."""
    head, _, rest = name.partition(".")
    if head != _SECOND or name == _SECOND or name in _HERE:
        return None
    inside_generator = rest.partition(".")[0] == _GENERATOR
    return rest if inside_generator else f"{_FIRST}.{rest}"


class _Names(MetaPathFinder):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The place of a module under its second name; None where there is no such module."""
        if fullname in _HERE:
            return spec_from_file_location(fullname, _OURS / f"{fullname.replace('.', '/')}.py")
        name = first_name(fullname)
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
