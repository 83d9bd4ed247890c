"""Modules whose parameters are not filled."""

from __future__ import annotations

import inspect
from typing import Any

from gradwright.nn.module import Module

__all__ = ["skip_init"]


def skip_init(module_cls: type[Any], *args: Any, **kwargs: Any) -> Any:
    """A Module of a class without values in its parameters and buffers: for those that will be loaded.

    Raises:
        RuntimeError: it is no class of Modules, or takes no `device`.
    """
    if not issubclass(module_cls, Module):
        raise RuntimeError(f"Expected a Module; got {module_cls}")
    if "device" not in inspect.signature(module_cls).parameters:
        raise RuntimeError("Module must support a 'device' arg to skip initialization")
    device = kwargs.pop("device", "cpu")
    return module_cls(*args, **{**kwargs, "device": "meta"}).to_empty(device=device)
