"""The native core, where it was built: types of Tensors and Nodes, operators and the engine's loop in C++.

The Python runtime is the specification; the core is a fast path on the same objects, and declines what is unusual.
See docs/native.md.
"""

from __future__ import annotations

import importlib
import os
import warnings
from pathlib import Path
from typing import Any

__all__ = ["core", "explain", "is_available"]

# Switches the core off.
_ENVIRONMENT = "GRADWRIGHT_NATIVE"
_FOLDER = Path(__file__).resolve().parent
_COMMAND = "python -m codegen build"


def _load() -> Any:
    if os.environ.get(_ENVIRONMENT) == "0":
        return None
    built = next(_FOLDER.glob("_native*.so"), None)
    if built is None:
        return None
    made = built.stat().st_mtime
    if any(source.stat().st_mtime > made for source in _FOLDER.glob("src/*")):
        warnings.warn(f"the native core is older than its sources and is not used; run: {_COMMAND}", stacklevel=2)
        return None
    try:
        return importlib.import_module(f"{__name__}._native")
    except ImportError as error:
        warnings.warn(f"the native core cannot be loaded ({error}); run: {_COMMAND}", stacklevel=2)
        return None


core: Any = _load()


def is_available() -> bool:
    """Whether the native core is built and in use."""
    return core is not None


def __getattr__(name: str) -> Any:
    if name == "explain":  # it needs what needs this module
        return importlib.import_module(f"{__name__}.explaining").explain
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
