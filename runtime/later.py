"""Names of a package that are loaded when somebody asks for them, so that importing the package stays quick."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any


def later(package: str, places: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of a package (PEP 562).

    Args:
        package: its name.
        places: where each name comes from: `runtime.nn` is a module, `runtime.func.vectorize:vmap` something in one.
    """
    names = vars(sys.modules[package])

    def find(name: str) -> Any:
        place = places.get(name)
        if place is None:
            raise AttributeError(f"module '{package}' has no attribute '{name}'")
        module, _, attribute = place.partition(":")
        found: Any = importlib.import_module(module)
        # Kept, so that the next one who asks does not come here.
        found = names[name] = getattr(found, attribute) if attribute else found
        return found

    def listed() -> list[str]:
        return sorted({*names, *places})

    return find, listed
