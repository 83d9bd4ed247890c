"""The package tensorboardX. It imports a package `torch` where it finds one, and needs nothing of it here."""

from __future__ import annotations

import importlib
import sys
from typing import Any


def _load() -> Any:
    """The package, and PyTorch with it only where that is imported already."""
    hidden = "torch" not in sys.modules
    if hidden:
        sys.modules["torch"] = None  # type: ignore[assignment]
    try:
        return importlib.import_module("tensorboardX")
    except ImportError as error:
        message = "utils.tensorboard needs the package tensorboardX: pip install 'gradwright[tensorboard]'"
        raise ImportError(message, name="tensorboardX") from error
    finally:
        if hidden:
            del sys.modules["torch"]


tensorboardx = _load()
