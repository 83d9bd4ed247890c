"""What a C++ compiler says of generated code, for tests; skipped where there is none."""

from __future__ import annotations

import ctypes
import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterable
from pathlib import Path

import numpy
import pytest

from support.documents import ROOT

CORE = ROOT / "runtime/native/src"
KERNEL_SOURCES = ROOT / "runtime/operators/kernels"
COMPILER = shutil.which("g++") or shutil.which("clang++")
needs_compiler = pytest.mark.skipif(COMPILER is None, reason="there is no C++ compiler")


# Of the core, as CMakeLists.txt has them.
_HEADERS = ("composites", "formulas", "inplace", "layouts", "saved_state", "special")


def compiled(source: Path, *more: str) -> subprocess.CompletedProcess[str]:
    """What a compiler says of one generated file."""
    return _run(source.parent, "-fsyntax-only", *more, str(source))


def preprocessed(source: Path) -> str:
    """A file with all that it includes, and with macros expanded; on one line for each of the source."""
    done = _run(source.parent, "-E", "-P", '-DGRADWRIGHT_PREFIX=""', str(source))
    assert done.returncode == 0, done.stderr
    return done.stdout


def complaints(sources: Iterable[Path], scratch: Path) -> list[str]:
    """What a compiler says of those generated files in one folder that it does not take.

    Args:
        sources: the files.
        scratch: an empty folder, for the headers of the core, which are compiled once.
    """
    sources = list(sources)
    header = scratch / "headers.hpp"
    header.write_text("".join(f'#include "{name}.hpp"\n' for name in _HEADERS))
    done = _run(sources[0].parent, "-x", "c++-header", str(header), "-o", f"{header}.gch")
    assert done.returncode == 0, done.stderr
    finished = (_run(source.parent, "-fsyntax-only", "-include", str(header), str(source)) for source in sources)
    return [each.stderr for each in finished if each.returncode != 0]


def _run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    assert COMPILER is not None
    includes = [f"-I{folder}", f"-I{CORE}", f"-I{KERNEL_SOURCES}", f"-I{sysconfig.get_paths()['include']}"]
    command = [COMPILER, "-std=c++20", "-Wall", "-Wextra", "-Werror", *includes, "-isystem", numpy.get_include()]
    return subprocess.run([*command, *words], capture_output=True, text=True, check=False)


def loaded(folder: Path, program: str, *sources: str) -> ctypes.CDLL:
    """Functions written in C++ on top of some sources of the core, as a library. Calls leave the GIL to others."""
    if COMPILER is None or sys.platform == "win32":
        pytest.skip("needs a C++ compiler")
    source, library = folder / "program.cpp", folder / "program.so"
    source.write_text(program)
    includes = [CORE, KERNEL_SOURCES, sysconfig.get_paths()["include"], numpy.get_include()]
    command = [COMPILER, "-std=c++20", "-O2", "-fPIC", "-shared", "-pthread", *(f"-I{path}" for path in includes)]
    if sys.platform == "darwin":
        command += ["-undefined", "dynamic_lookup"]
    command += shlex.split(os.environ.get("CXXFLAGS", ""))  # a sanitizer's
    files = [
        source,
        *(folder / name for name in sources for folder in (CORE, KERNEL_SOURCES) if (folder / name).exists()),
    ]
    subprocess.run([*command, *map(str, files), "-o", str(library)], check=True)
    return ctypes.CDLL(str(library))
