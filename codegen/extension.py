"""The extension module of the native core: what its file is called, and whether a file is the one that belongs here.

The name holds a hash of all that the generated code was made from and one of the core's own sources:

    _native-0f4c2a9be1d37765-92b1c06fd4e8a513.cpython-311-x86_64-linux-gnu.so

So a module of other sources is known by its name and never loaded, not even to ask it what it is.  That of a package
has a third one, of its own C++, and the second is of the core that it was compiled for: it goes with no other.

The runtime imports this at start, so here is nothing of pathlib, json and, before something looks stale, hashlib.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib.machinery import EXTENSION_SUFFIXES
from typing import TypeAlias

from codegen.inputs import OUTPUT_VARIABLE, content, manifest_text

# "0" switches the core off, "1" insists on it, a folder says where the module lies, and insists on it.
SWITCH = "GRADWRIGHT_NATIVE"
COMMAND = "python -m codegen build"

PREFIX = "_native-"
# Of this Python alone: a module built for another one is none that this one sees.
SUFFIX = EXTENSION_SUFFIXES[0]
_DIGITS = 16
_SOURCE_SUFFIXES = (".cpp", ".hpp", ".flags", ".map")
# The line of the manifest with the hash of all that the output was made from.
_SOURCES = '\n "sources": "'

Folder: TypeAlias = str | os.PathLike[str]


def file_name(output: Folder, root: Folder) -> str | None:
    """The name of the module for the generated code in `output`; None if there is no such code."""
    start = _start(output)
    return None if start is None else f"{start}{core_hash(root)[:_DIGITS]}{SUFFIX}"


def present(folder: Folder) -> list[str]:
    """The names of the modules for this Python in a folder."""
    try:
        return sorted(name for name in os.listdir(folder) if name.startswith(PREFIX) and name.endswith(SUFFIX))
    except OSError:
        return []


def current(folder: Folder, output: Folder, root: Folder) -> str | None:
    """The module in `folder` that belongs to the generated code in `output`, and to the core's sources where they are.

    Those are read only where one of them is younger than the module, so as a rule this costs little.
    """
    start = _start(output)
    built = [name for name in present(folder) if start is not None and name.startswith(start)]
    sources = core_files(root) if built else ()
    if sources:
        newest = max(map(os.path.getmtime, sources))
        if any(os.path.getmtime(os.path.join(folder, name)) <= newest for name in built):
            expected = file_name(output, root)
            built = [name for name in built if name == expected]
    return os.path.join(folder, built[-1]) if built else None


def core_place(root: Folder) -> tuple[str, str]:
    """The folder that the core is looked for in, and that of the generated code which it has to be of."""
    switch = os.environ.get(SWITCH, "")
    output = os.environ.get(OUTPUT_VARIABLE) or os.path.join(root, "generated")
    return output if switch in ("", "0", "1") else switch, output


def package_file_name(output: Folder, core: Folder, native: Folder | None) -> str | None:
    """The name of the module of a package, for a core; None if nothing was generated for it.

    Args:
        output: the generated code of the package.
        core: the module of the core.
        native: the folder of the package's own C++, if it has one.
    """
    start = _package_start(output, core)
    return None if start is None else f"{start}{_hash(native_sources(native))[:_DIGITS]}{SUFFIX}"


def current_of_package(output: Folder, core: Folder, native: Folder | None) -> str | None:
    """The module in `output` that belongs to the generated code there, to a core, and to the C++ in `native`.

    That is read only where it is there and younger than the module.
    """
    start = _package_start(output, core)
    built = [name for name in present(output) if start is not None and name.startswith(start)]
    sources = native_sources(native) if built else ()
    if sources:
        newest = max(map(os.path.getmtime, sources))
        if any(os.path.getmtime(os.path.join(output, name)) <= newest for name in built):
            expected = package_file_name(output, core, native)
            built = [name for name in built if name == expected]
    return os.path.join(output, built[-1]) if built else None


def native_sources(folder: Folder | None) -> Sequence[str]:
    """The C++ in a folder, and how it is compiled."""
    names = sorted(os.listdir(folder)) if folder is not None and os.path.isdir(folder) else ()
    return [os.path.join(folder, name) for name in names if folder is not None and name.endswith(_SOURCE_SUFFIXES)]


def _package_start(output: Folder, core: Folder) -> str | None:
    import hashlib

    start = _start(output)
    name = os.path.basename(os.fspath(core)).encode()
    return None if start is None else f"{start}{hashlib.sha256(name).hexdigest()[:_DIGITS]}-"


def core_hash(root: Folder) -> str:
    """A hash over the sources of the core and how they are built."""
    return _hash(core_files(root))


def _hash(files: Sequence[str]) -> str:
    import hashlib

    digest = hashlib.sha256()
    for name in files:
        digest.update(f"\0{os.path.basename(name)}\0".encode())
        digest.update(content(name))
    return digest.hexdigest()


def core_files(root: Folder) -> Sequence[str]:
    """The sources of the core, in a checkout; nothing where the package is installed."""
    build = os.path.join(root, "CMakeLists.txt")
    if not (os.path.exists(build) and os.path.exists(os.path.join(root, "native_functions.yaml"))):
        return ()
    return [build, *(file for folder in source_folders(root) for file in native_sources(folder))]


def source_folders(root: Folder) -> tuple[str, str]:
    """Where the sources of the core lie, in a checkout and where it is installed: the engine, and kernels."""
    runtime = os.path.join(root, "runtime")
    return os.path.join(runtime, "native", "src"), os.path.join(runtime, "operators", "kernels")


def _start(output: Folder) -> str | None:
    try:
        _, mark, rest = manifest_text(output).partition(_SOURCES)
    except OSError:
        return None
    return f"{PREFIX}{rest[:_DIGITS]}-" if mark else None
