"""The names of operators in this package: `gradwright.add`, `gradwright.linalg.norm`."""

from __future__ import annotations

import importlib
import os
from types import ModuleType

# Namespaces of PyTorch that hold operators under shorter names: `linalg_norm` is `linalg.norm`.
NAMESPACES = ("fft", "linalg", "special")


def publish(generated: ModuleType, package: ModuleType) -> None:
    """Put the operators into the namespaces of the public API; a function that is written by hand stays."""
    packets = importlib.import_module(f"{generated.__name__}.packets")
    names = vars(package)
    parts = {entry.partition(".")[0] for entry in os.listdir(os.path.dirname(package.__file__ or ""))}
    for base, function in packets.PACKETS.items():
        module = packets.PYTHON_MODULES.get(base)
        if module in NAMESPACES:
            setattr(names[module], base.removeprefix(f"{module}_"), function)
        elif module is None and base in packets.FUNCTIONS and base not in parts:
            names.setdefault(base, function)


def public_names(module: ModuleType) -> list[str]:
    """The names of a module that do not begin with an underscore."""
    return [name for name in vars(module) if not name.startswith("_")]
