"""The extension module of the native core: what its file is called, and whether a file is the one that belongs here.

The name holds a hash of all that the generated code was made from and one of the core's own sources:

    _native-0f4c2a9be1d37765-92b1c06fd4e8a513.cpython-311-x86_64-linux-gnu.so

So a module of other sources is known by its name and never loaded, not even to ask it what it is.  The runtime imports
this at start, so it imports next to nothing.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

from codegen import manifest

# "0" switches the core off, "1" insists on it, a folder says where the module lies, and insists on it.
SWITCH = "GRADWRIGHT_NATIVE"
COMMAND = "python -m codegen build"

PREFIX = "_native-"
# Of this Python alone: a module built for another one is none that this one sees.
SUFFIX = EXTENSION_SUFFIXES[0]
_DIGITS = 16


def file_name(output: Path, root: Path) -> str | None:
    """The name of the module for the generated code in `output`; None if there is no such code."""
    start = _start(output)
    return None if start is None else f"{start}{core_hash(root)[:_DIGITS]}{SUFFIX}"


def present(folder: Path) -> list[str]:
    """The names of the modules for this Python in a folder."""
    try:
        return sorted(name for name in os.listdir(folder) if name.startswith(PREFIX) and name.endswith(SUFFIX))
    except OSError:
        return []


def current(folder: Path, output: Path, root: Path) -> Path | None:
    """The module in `folder` that belongs to the generated code in `output`, and to the core's sources where they are.

    Those are read only where one of them is younger than the module, so as a rule this costs nothing.
    """
    start = _start(output)
    found = [name for name in present(folder) if start is not None and name.startswith(start)]
    sources = core_files(root)
    if found and sources:
        newest = max(path.stat().st_mtime for path in sources)
        if any((folder / name).stat().st_mtime <= newest for name in found):
            expected = file_name(output, root)
            found = [name for name in found if name == expected]
    return folder / found[-1] if found else None


def core_hash(root: Path) -> str:
    """A hash over the sources of the core and how they are built."""
    digest = hashlib.sha256()
    for path in core_files(root):
        digest.update(f"\0{path.name}\0".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def core_files(root: Path) -> Sequence[Path]:
    """The sources of the core, in a checkout; nothing where the package is installed."""
    build = root / "CMakeLists.txt"
    if not (build.exists() and (root / "native_functions.yaml").exists()):
        return ()
    kinds = (".cpp", ".hpp")
    return [build, *sorted(path for path in (root / "runtime/native/src").glob("*") if path.suffix in kinds)]


def _start(output: Path) -> str | None:
    sources = manifest.made_from(output)
    return None if sources is None else f"{PREFIX}{sources[:_DIGITS]}-"
