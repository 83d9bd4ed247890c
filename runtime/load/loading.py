"""Loading of the generated code: operators into `runtime.ops` and `runtime`, methods onto Tensor."""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from collections.abc import Mapping
from types import ModuleType
from typing import Any

from codegen.inputs import MANIFEST, OUTPUT_VARIABLE, input_files, is_current, manifest_text, shown_path
from runtime import ops
from runtime.base.state import TensorBase
from runtime.base.tensor import Tensor
from runtime.load import replacing
from runtime.methods.written import written_by_hand
from runtime.native import core, debugging

COMMAND = "python -m codegen"
# Namespaces of PyTorch that hold operators under shorter names: `linalg_norm` is `linalg.norm`.
NAMESPACES = ("fft", "linalg", "special")


def load(package: str, runtime: ModuleType) -> None:
    """Import the generated package and put its operators into the namespaces of the public API.

    Raises:
        ImportError: there is no generated code, or it was made from other YAML; the message names the command to run.
    """
    elsewhere = os.environ.get(OUTPUT_VARIABLE)
    if elsewhere:
        _import_from(package, elsewhere)
    else:
        _check_current(package)
    packets = importlib.import_module(f"{package}.packets")
    methods = importlib.import_module(f"{package}.methods")
    if core is not None:
        replacing.take_over(core, package)
    if debugging:
        from runtime.load.debugging import check_kernels

        check_kernels(package)
    kept = {name for name in vars(ops) if name.startswith("__")} | {"aten"}  # that is a namespace
    vars(ops).update({base: function for base, function in packets.PACKETS.items() if base not in kept})
    names = vars(runtime)
    parts = {entry.partition(".")[0] for entry in os.listdir(os.path.dirname(runtime.__file__ or ""))}
    for base, function in packets.PACKETS.items():
        module = packets.PYTHON_MODULES.get(base)
        if module in NAMESPACES:
            namespace = importlib.import_module(f"runtime.{module}")
            setattr(namespace, base.removeprefix(f"{module}_"), function)
        elif module is None and base in packets.FUNCTIONS and base not in parts:
            names.setdefault(base, function)
    install_methods({**methods.METHODS, **written_by_hand()}, signs=core is not None)


def public_names(module: ModuleType) -> list[str]:
    """The names of a module that do not begin with an underscore."""
    return [name for name in vars(module) if not name.startswith("_")]


def install_methods(methods: Mapping[str, Any], signs: bool = False) -> None:
    """Put operators on Tensor; a member written by hand stays, and with `signs` what the native base class has."""
    kept = {name for base in Tensor.__mro__[:-1] if signs or base is not TensorBase for name in vars(base)}
    for name, function in methods.items():
        if name in ("__eq__", "__ne__") or name not in kept:
            setattr(Tensor, name, function)


def _import_from(package: str, folder: str) -> None:
    """Import the output in `folder` as `package`."""
    file = os.path.join(folder, "__init__.py")
    if not os.path.exists(os.path.join(folder, MANIFEST)):
        raise ImportError(f"{OUTPUT_VARIABLE} names {folder}, where there is no generated code")
    spec = importlib.util.spec_from_file_location(package, file, submodule_search_locations=[folder])
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[package] = module
    spec.loader.exec_module(module)


def _check_current(package: str) -> None:
    spec = importlib.util.find_spec(package)
    places = list(spec.submodule_search_locations or ()) if spec is not None else []
    folders = [place for place in places if os.path.exists(os.path.join(place, "packets.py"))]
    if not folders:
        raise ImportError(f"there is no generated code; run: {COMMAND}")
    files = input_files()
    if not all(map(os.path.exists, files)):
        return
    try:
        current = is_current(manifest_text(folders[0]), files)
    except OSError:
        current = False
    if not current:
        raise ImportError(f"{shown_path(folders[0])} was made from other YAML; run: {COMMAND}")
