"""What a C++ compiler says of generated code, for tests; skipped where there is none."""

from __future__ import annotations

import ctypes
import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import numpy
import pytest

from support.documents import ROOT

CORE = ROOT / "runtime/native/src"
COMPILER = shutil.which("g++") or shutil.which("clang++")
needs_compiler = pytest.mark.skipif(COMPILER is None, reason="there is no C++ compiler")


def compiled(source: Path, *more: str) -> subprocess.CompletedProcess[str]:
    """What a compiler says of one generated file."""
    assert COMPILER is not None
    includes = [f"-I{source.parent}", f"-I{CORE}", f"-I{sysconfig.get_paths()['include']}"]
    command = [COMPILER, "-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", *includes]
    command += ["-isystem", numpy.get_include(), *more, str(source)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def loaded(folder: Path, program: str, *sources: str) -> ctypes.CDLL:
    """Functions written in C++ on top of some sources of the core, as a library. Calls leave the GIL to others."""
    if COMPILER is None or sys.platform == "win32":
        pytest.skip("needs a C++ compiler")
    source, library = folder / "program.cpp", folder / "program.so"
    source.write_text(program)
    includes = [CORE, sysconfig.get_paths()["include"], numpy.get_include()]
    command = [COMPILER, "-std=c++20", "-O2", "-fPIC", "-shared", "-pthread", *(f"-I{path}" for path in includes)]
    if sys.platform == "darwin":
        command += ["-undefined", "dynamic_lookup"]
    command += shlex.split(os.environ.get("CXXFLAGS", ""))  # a sanitizer's
    files = [source, *(CORE / name for name in sources)]
    subprocess.run([*command, *map(str, files), "-o", str(library)], check=True)
    return ctypes.CDLL(str(library))
