"""What it takes to build the native core: a C++ compiler, Python's headers, CMake and something that it runs.

The build backend imports this before anything is installed, so it imports nothing but the standard library.
"""

from __future__ import annotations

import functools
import os
import shlex
import shutil
import subprocess
import sysconfig
from dataclasses import dataclass
from pathlib import Path

COMPILERS = ("c++", "g++", "clang++")
NO_COMPILER = "there is no C++ compiler (g++ or clang++, or what CXX names)"


class MissingError(Exception):
    """Something is not there; the message says what, in a line."""


@dataclass(frozen=True, slots=True)
class Toolchain:
    """Commands.  `compiler` may have words of its own, as CXX may; `ninja` is None where make does its work."""

    cmake: str
    compiler: str
    ninja: str | None


def find() -> Toolchain:
    """What this machine has.

    Raises:
        MissingError: It can not build an extension.
    """
    works = find_compiler()
    cmake = _program("cmake")
    if cmake is None:
        raise MissingError("there is no cmake (pip install cmake, or the package cmake)")
    ninja = _program("ninja")
    if ninja is None and shutil.which("make") is None:
        raise MissingError("there is neither ninja nor make (pip install ninja)")
    return Toolchain(cmake, works, ninja)


def find_compiler() -> str:
    """The command of a compiler for modules of this Python.

    Raises:
        MissingError: there is none, or it has no headers.
    """
    works = compiler()
    if works is None:
        raise MissingError(NO_COMPILER)
    if not Path(sysconfig.get_path("include"), "Python.h").exists():
        raise MissingError("the headers of Python are not there (the package python3-dev)")
    return works


@functools.cache
def compiler() -> str | None:
    """The command of a C++ compiler that runs, if there is one: what CXX says, else one of the usual names."""
    chosen = os.environ.get("CXX")
    for command in [chosen] if chosen else COMPILERS:
        try:
            words = shlex.split(command)
            answer = subprocess.run([*words, "--version"], stdin=subprocess.DEVNULL, capture_output=True, check=False)
        except (OSError, ValueError):
            continue
        if answer.returncode == 0:
            return command
    return None


def _program(name: str) -> str | None:
    """A program that pip has installed beside this Python, or the machine's own."""
    return shutil.which(name, path=sysconfig.get_path("scripts")) or shutil.which(name)
