"""`python -m codegen build`: compiles the native core with CMake, incrementally."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path


class BuildError(Exception):
    """The core cannot be built; the text says why in one line, and `output` is what the compiler said."""

    def __init__(self, text: str, output: str = "") -> None:
        super().__init__(text)
        self.output = output


def build(root: Path) -> Path:
    """Compile what has changed since the last time, and put the module into runtime/native/.

    Args:
        root: the checkout.

    Returns:
        The module.

    Raises:
        BuildError: there is no CMake or no compiler, or something does not compile.
    """
    if not (root / "CMakeLists.txt").exists():
        raise BuildError(f"{root} is no checkout: there is nothing to build the native core of")
    if shutil.which("cmake") is None:
        raise BuildError(
            "the native core needs CMake, which is not installed; everything works without it, more slowly"
        )
    folder = root / "build" / "native"
    configure = ["cmake", "-S", str(root), "-B", str(folder), f"-DPython_EXECUTABLE={sys.executable}"]
    if shutil.which("ninja") is not None:
        configure += ["-G", "Ninja"]
    if not (folder / "CMakeCache.txt").exists() or str(sys.executable) not in _configured_for(folder):
        shutil.rmtree(folder, ignore_errors=True)
        _run(configure, "the native core cannot be configured: is there a C++20 compiler?")
    _run(["cmake", "--build", str(folder), "--parallel"], "the native core does not compile")
    (made,) = folder.glob("_native*.so")
    target = root / "runtime" / "native" / made.name
    if not target.exists() or target.read_bytes() != made.read_bytes():
        fresh = target.with_suffix(".new")
        shutil.copy2(made, fresh)
        fresh.replace(target)  # a process that has the old one open keeps it
    target.touch()
    return target


def _configured_for(folder: Path) -> str:
    return (folder / "CMakeCache.txt").read_text(encoding="utf-8")


def _run(command: list[str], failure: str) -> None:
    finished = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if finished.returncode != 0:
        raise BuildError(failure, finished.stdout)
