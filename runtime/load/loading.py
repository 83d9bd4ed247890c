"""Loading of the generated code: operators into `runtime.ops`, methods onto Tensor."""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from collections.abc import Mapping
from types import ModuleType
from typing import Any

from codegen.inputs import MANIFEST, OUTPUT_VARIABLE, input_files, is_current, manifest_text, shown_path
from codegen.module_names import GENERATED, PREFIX, RUNTIME
from runtime import ops
from runtime.base.lazy import load_the_rest_lazily
from runtime.base.state import TensorBase
from runtime.base.tensor import Tensor
from runtime.load import replacing
from runtime.load.collector import paused
from runtime.methods.written import written_by_hand
from runtime.native import core, debugging

COMMAND = "python -m codegen"


def import_generated(package: str = GENERATED) -> ModuleType:
    """The generated package, with its operators installed: from the folder that a variable names, or from the path.

    Raises:
        ImportError: there is no generated code, or it was made from other YAML; the message names the command to run.
    """
    elsewhere = os.environ.get(OUTPUT_VARIABLE)
    if package not in sys.modules:
        if elsewhere:
            return _import_from(package, elsewhere)
        _folder(package)
    return importlib.import_module(package)


def install(package: str) -> None:
    """Put the operators of the generated package into `runtime.ops` and onto Tensor; its `__init__` calls this.

    Raises:
        ImportError: it was made from other YAML; the message names the command to run.
    """
    elsewhere = os.environ.get(OUTPUT_VARIABLE)
    if not elsewhere:
        _check_current(_folder(package))
    elif not os.path.samefile(elsewhere, os.path.dirname(sys.modules[package].__file__ or "")):
        _import_from(package, elsewhere)
        return
    if not debugging:  # which looks at every kernel
        parts = [f"{RUNTIME}.operators.{part}" for part in ("kernels", "composite", "helpers")]
        load_the_rest_lazily(*parts, f"{package}.kernels")
    with paused():
        _install(package)
    load_the_rest_lazily(RUNTIME, package, f"{PREFIX}codegen")


def _install(package: str) -> None:
    packets = importlib.import_module(f"{package}.packets")
    methods = importlib.import_module(f"{package}.methods")
    if core is not None:
        replacing.take_over(core, package)
    if debugging:
        from runtime.load.debugging import check_kernels

        check_kernels(package)
    kept = {name for name in vars(ops) if name.startswith("__")} | {"aten"}  # that is a namespace
    vars(ops).update({base: function for base, function in packets.PACKETS.items() if base not in kept})
    install_methods({**methods.METHODS, **written_by_hand()}, signs=core is not None)


def install_methods(methods: Mapping[str, Any], signs: bool = False) -> None:
    """Put operators on Tensor; a member written by hand stays, and with `signs` what the native base class has."""
    kept = {name for base in Tensor.__mro__[:-1] if signs or base is not TensorBase for name in vars(base)}
    for name, function in methods.items():
        if name in ("__eq__", "__ne__") or name not in kept:
            if getattr(function, "__name__", name) == f"{name}_default":  # an overload without others is the method
                function.__name__ = name  # and it is pickled by the qualified name that it has
            setattr(Tensor, name, function)


def _import_from(package: str, folder: str) -> ModuleType:
    """Import the output in `folder` as `package`."""
    file = os.path.join(folder, "__init__.py")
    if not os.path.exists(os.path.join(folder, MANIFEST)):
        raise ImportError(f"{OUTPUT_VARIABLE} names {folder}, where there is no generated code")
    spec = importlib.util.spec_from_file_location(package, file, submodule_search_locations=[folder])
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[package] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[package]
        raise
    return module


def _folder(package: str) -> str:
    spec = importlib.util.find_spec(package)
    places = list(spec.submodule_search_locations or ()) if spec is not None else []
    folders = [place for place in places if os.path.exists(os.path.join(place, "packets.py"))]
    if not folders:
        raise ImportError(f"there is no generated code; run: {COMMAND}")
    return folders[0]


def _check_current(folder: str) -> None:
    files = input_files()
    if not all(map(os.path.exists, files)):
        return
    try:
        current = is_current(manifest_text(folder), files)
    except OSError:
        current = False
    if not current:
        raise ImportError(f"{shown_path(folder)} was made from other YAML; run: {COMMAND}")
