"""What a module defines itself."""

from __future__ import annotations

from types import ModuleType
from typing import Any


def own_names(module: ModuleType) -> dict[str, Any]:
    """The classes and functions that are defined in a module, those with an underscore as well."""
    name = module.__name__
    return {known: value for known, value in vars(module).items() if getattr(value, "__module__", None) == name}
