"""Kernels in CUDA C++ that a C++ compiler compiles, for the stand-in: `RawModule` as CuPy has it."""

from __future__ import annotations

import ctypes
import functools
import hashlib
import itertools
import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

HEADER = Path(__file__).with_name("cuda_on_cpu.hpp")
# What all kernels are compiled for at once: a compiler takes longer to start than for one of them.
STORED = ("float", "double", "elements::half_t", "long long")


def compiler() -> str | None:
    """The C++ compiler of this machine."""
    return os.environ.get("CXX") or shutil.which("g++") or shutil.which("clang++")


class RawModule:
    """Text with kernels, of which those that are named are compiled."""

    def __init__(self, code: str, options: Sequence[str] = (), name_expressions: Sequence[str] = ()) -> None:
        self._code = code
        self._names = tuple(name_expressions)

    def get_function(self, name: str) -> Any:
        assert name in self._names
        return functools.partial(_launch, _library(self._code, self._names), name)


def expressions() -> list[str]:
    """All kernels for the types that they are compiled for."""
    from gradwright_cupy._generated.cuda.kernels import KERNELS
    from gradwright_cupy.fused import expression

    return [
        expression(kernel, stored, "bool" if gives_bools else stored, flat)
        for (kernel, (_, _, gives_bools, takes_integers)), stored in itertools.product(KERNELS.items(), STORED)
        if stored != "long long" or takes_integers
        for flat in (False, True)
    ]


def _library(code: str, names: tuple[str, ...]) -> ctypes.CDLL:
    """The library with kernels: all of the package's, or these of another text."""
    from gradwright_cupy._generated.cuda.kernels import launch

    return _compiled(code, tuple(expressions()) if code == launch.source else names)


@functools.cache
def _compiled(code: str, names: tuple[str, ...]) -> ctypes.CDLL:
    """Kernels as a library that is compiled once for a text."""
    runs = [
        f'extern "C" void run_{place}(unsigned blocks, unsigned threads, void** arguments) '
        f"{{ run(&{name}, blocks, threads, arguments); }}"
        for place, name in enumerate(names)
    ]
    text = "\n".join((HEADER.read_text(), code, *runs))
    folder = Path(tempfile.gettempdir()) / f"gradwright_cuda_on_cpu_{os.getuid()}"
    folder.mkdir(exist_ok=True)
    library = folder / f"{hashlib.sha256(text.encode()).hexdigest()[:16]}.so"
    if not library.exists():
        found = compiler()
        assert found is not None
        source, made = library.with_suffix(".cpp"), library.with_suffix(f".{os.getpid()}")
        source.write_text(text)
        command = [found, "-std=c++17", "-O0", "-shared", "-fPIC", "-w", str(source), "-o", str(made)]
        subprocess.run(command, check=True)
        made.replace(library)
    loaded = ctypes.CDLL(str(library))
    loaded.names = {name: place for place, name in enumerate(names)}
    return loaded


def _launch(library: Any, name: str, grid: tuple[int, ...], block: tuple[int, ...], arguments: Sequence[Any]) -> None:
    """Run a kernel: arrays are pointers to their memory, numbers are of the types that NumPy says."""
    kept: list[Any] = []
    for each in arguments:
        memory = getattr(each, "_memory", None)
        if memory is None:
            assert isinstance(each, np.generic), "a number of Python has no type in CUDA"
            kept.append(np.array([each]))
        else:
            kept.append(np.array([memory.ctypes.data], np.uintp))
    pointers = (ctypes.c_void_p * len(kept))(*(each.ctypes.data for each in kept))
    getattr(library, f"run_{library.names[name]}")(grid[0], block[0], pointers)
