"""The native core: a C++ extension that takes the common paths where it is built, and may decline any call.

Python is the specification.  Without the core everything works, and gives the same results.
"""

from __future__ import annotations

import importlib.util
import os
import warnings
from importlib.machinery import ExtensionFileLoader
from types import ModuleType
from typing import Any

from codegen import extension
from codegen.extension import COMMAND, SWITCH
from codegen.inputs import root_folder

DEBUG = "GRADWRIGHT_DEBUG"
debugging = os.environ.get(DEBUG, "") not in ("", "0")  # whether kernels are checked at every call


def is_available() -> bool:
    """Whether the native core is loaded."""
    return core is not None


def why_not() -> str | None:
    """The reason why there is no native core, in a line; None where there is one."""
    return _reason


def find() -> tuple[ModuleType | None, str | None]:
    """The module, or the reason why there is none; a reason that the user can do something about is a warning.

    Raises:
        ImportError: GRADWRIGHT_NATIVE insists on it, and it is not to be had.
    """
    switch = os.environ.get(SWITCH, "")
    if debugging and switch in ("", "1"):
        return None, f"{DEBUG}={os.environ[DEBUG]} checks what kernels return, and those of the core are not looked at"
    if switch == "0":
        return None, f"{SWITCH}=0 switches it off"
    root = root_folder()
    folder, output = extension.core_place(root)
    file = extension.current(folder, output, root)
    error: Exception | None = None
    if file is not None:
        try:
            return load(file, f"{__name__}._native"), None
        except Exception as raised:  # of the dynamic loader, of NumPy where it is too old, of the module itself
            error = raised
            reason = f"{_shown(file)} can not be loaded: {raised}"
    elif extension.present(folder):
        reason = f"that in {_shown(folder)} was built from other sources"
    else:
        reason = f"there is none in {_shown(folder)} for this Python"
    remedy = f"run: {COMMAND}" if extension.core_files(root) else "install again where there is a C++ compiler"
    if switch:
        raise ImportError(f"{SWITCH}={switch}, but there is no native core: {reason}; {remedy}") from error
    if extension.present(folder):
        warnings.warn(f"The native core is off: {reason}; {remedy}", stacklevel=2)
    return None, f"{reason}; {remedy}"


def _shown(name: str) -> str:
    """A path as messages name it: relative to the checkout or to where the user is, if it lies below."""
    name = os.path.realpath(name)
    for base in (root_folder(), os.path.realpath(os.curdir)):
        if name.startswith(base + os.sep):
            return os.path.relpath(name, base)
    return name


def load(file: str, name: str) -> ModuleType:
    """An extension module by its file, under a name that is not put into `sys.modules`."""
    spec = importlib.util.spec_from_file_location(name, file, loader=ExtensionFileLoader(name, file))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# The extension module; None where it is off, or not to be had.
core: Any
core, _reason = find()
