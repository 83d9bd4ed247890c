"""What a C++ compiler says of generated code, for tests; skipped where there is none."""

from __future__ import annotations

import shutil
import subprocess
import sysconfig
from pathlib import Path

import numpy
import pytest

CORE = Path(__file__).parents[1] / "runtime/native/src"
COMPILER = shutil.which("g++") or shutil.which("clang++")
needs_compiler = pytest.mark.skipif(COMPILER is None, reason="there is no C++ compiler")


def compiled(source: Path, *more: str) -> subprocess.CompletedProcess[str]:
    """What a compiler says of one generated file."""
    assert COMPILER is not None
    includes = [f"-I{source.parent}", f"-I{CORE}", f"-I{sysconfig.get_paths()['include']}"]
    command = [COMPILER, "-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", *includes]
    command += ["-isystem", numpy.get_include(), *more, str(source)]
    return subprocess.run(command, capture_output=True, text=True, check=False)
