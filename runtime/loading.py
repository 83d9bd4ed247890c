"""Loading of the generated code: operators into `runtime.ops` and `runtime`, methods onto Tensor."""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from codegen.manifest import NAME as MANIFEST
from codegen.manifest import is_current
from codegen.paths import OUTPUT_VARIABLE, project_paths
from runtime import ops
from runtime.native import core, replacing
from runtime.node import Node, add_raw_saved
from runtime.tensor import Tensor, TensorBase

COMMAND = "python -m codegen"
# Namespaces of PyTorch that hold operators under shorter names: `linalg_norm` is `linalg.norm`.
NAMESPACES = ("linalg", "special")


def load(package: str, runtime: ModuleType) -> None:
    """Import the generated package and put its operators where people look for them.

    Raises:
        ImportError: there is no generated code, or it was made from other YAML; the message names the command to run.
    """
    elsewhere = os.environ.get(OUTPUT_VARIABLE)
    if elsewhere:
        _import_from(package, Path(elsewhere))
    else:
        _check_current(package)
    packets = importlib.import_module(f"{package}.packets")
    methods = importlib.import_module(f"{package}.methods")
    if core is not None:
        operators = importlib.import_module(f"{package}.operators")
        replacing.replace(core.load(), sys.modules[package], operators, packets, methods)
        for cls in Node.__subclasses__():  # native classes are not made by class statements
            add_raw_saved(cls)
    vars(ops).update(packets.PACKETS)
    for base, function in packets.PACKETS.items():
        module = packets.PYTHON_MODULES.get(base)
        if module in NAMESPACES:
            namespace = importlib.import_module(f"runtime.{module}")
            setattr(namespace, base.removeprefix(f"{module}_"), function)
        elif module is None and base in packets.FUNCTIONS and not hasattr(runtime, base):
            setattr(runtime, base, function)
    install_methods({**methods.METHODS, **_written_by_hand()}, signs=core is not None)


def _written_by_hand() -> dict[str, Any]:
    """Methods that are made of operators, but take more than a schema can say."""
    from runtime import conversion, functional, indexing

    return {
        "__getitem__": indexing.getitem,
        "__setitem__": indexing.setitem,
        "to": conversion.to,
        "cpu": conversion.cpu,
        "nonzero": functional.nonzero,
        "norm": functional.norm,
    }


def install_methods(methods: Mapping[str, Any], signs: bool = False) -> None:
    """Put operators on Tensor; a member written by hand stays, and with `signs` what the native base class has."""
    kept = [base for base in Tensor.__mro__[:-1] if signs or base is not TensorBase]
    for name, function in methods.items():
        if name in ("__eq__", "__ne__") or not any(name in vars(base) for base in kept):
            setattr(Tensor, name, function)


def _import_from(package: str, folder: Path) -> None:
    """Import the output in `folder` as `package`."""
    file = folder / "__init__.py"
    if not (folder / MANIFEST).exists():
        raise ImportError(f"{OUTPUT_VARIABLE} names {folder}, where there is no generated code")
    spec = importlib.util.spec_from_file_location(package, file, submodule_search_locations=[str(folder)])
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[package] = module
    spec.loader.exec_module(module)


def _check_current(package: str) -> None:
    spec = importlib.util.find_spec(package)
    places = list(spec.submodule_search_locations or ()) if spec is not None else []
    found = [Path(place) for place in places if (Path(place) / "packets.py").exists()]
    if not found:
        raise ImportError(f"there is no generated code; run: {COMMAND}")
    paths = project_paths()
    inputs = (paths.native_functions, paths.derivatives)
    if all(path.exists() for path in inputs) and not is_current(found[0], inputs):
        raise ImportError(f"{paths.shown(found[0])} was made from other YAML; run: {COMMAND}")
