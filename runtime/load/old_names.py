"""Names that the package `runtime` had before they were `gradwright`'s: `runtime.nn`, `runtime.tensor`.

They work in this release, with one warning for a process.
"""

from __future__ import annotations

import importlib
import os
import sys
import warnings
from typing import Any

from runtime.base.aliases import AliasFinder

_OLD, _NEW = "runtime", "gradwright"
_FOLDER = os.path.dirname(os.path.dirname(__file__))
# What the package has itself, which is never looked for elsewhere: it may just be about to be imported.
_PARTS = frozenset(entry.partition(".")[0] for entry in os.listdir(_FOLDER))


def attribute(name: str) -> Any:
    """The `__getattr__` of the package: a public name of `gradwright`.

    Raises:
        AttributeError: there is no such name.
    """
    if name in _PARTS or name.startswith("__"):
        raise AttributeError(f"module '{_OLD}' has no attribute '{name}'")
    public = importlib.import_module(_NEW)
    try:
        value = getattr(public, name)
    except AttributeError:
        raise AttributeError(f"module '{_OLD}' has no attribute '{name}'") from None
    _warn()
    return value


def _new_name(module: str) -> str | None:
    head, _, rest = module.partition(".")
    if head != _OLD or not rest or rest.partition(".")[0] in _PARTS:
        return None
    _warn()
    return f"{_NEW}.{rest}"


_warned = False


def _warn() -> None:
    global _warned
    if not _warned:
        _warned = True
        warnings.warn(
            f"PyTorch's names are in the package '{_NEW}': write `import {_NEW} as torch`; from the next release on "
            f"'{_OLD}' has none of them",
            DeprecationWarning,
            stacklevel=3,
        )


sys.meta_path.append(AliasFinder(_new_name))
