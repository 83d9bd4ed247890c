"""The modules into which PyTorch divides `nn`, as `nn.modules.conv` and `nn.modules.batchnorm._BatchNorm`.

Each has what the modules of ours have that hold its classes, the names that begin with an underscore as well.
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING

for _found in iter_modules(__path__):
    if not _found.name.startswith("_"):
        _part = vars(import_module(f"{__name__}.{_found.name}"))
        globals().update((name, value) for name, value in _part.items() if not name.startswith("_"))

if TYPE_CHECKING:
    from gradwright.nn import *  # noqa: F403
