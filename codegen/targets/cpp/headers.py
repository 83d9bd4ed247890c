"""Headers of the native core as the generator reads them: which functions and functors there are."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

Functions = Mapping[str, frozenset[int]]  # names, with the numbers of arguments they take


def functions_in(path: Path, namespace: str, result: str = "Ref") -> Functions:
    """The functions on Python objects that a header of the native core declares; none if there is no such file."""
    functions: dict[str, set[int]] = {}
    declared = rf"^(?:inline )?{result} (\w+)\(([^)]*)\)"
    for name, parameters in re.findall(declared, inside(path, namespace), re.MULTILINE):
        functions.setdefault(name, set()).add(parameters.count("PyObject*"))
    return {name: frozenset(arities) for name, arities in functions.items()}


def inside(path: Path, namespace: str) -> str:
    """The text of a namespace in a C++ file, which may be missing."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError:
        return ""
    parts = text.split(f"\nnamespace {namespace} {{\n")[1:]  # it may be opened several times
    return "\n".join(part.partition(f"\n}}  // namespace {namespace}")[0] for part in parts)


@dataclass(frozen=True, slots=True)
class NativeKernels:
    """What headers have, read from their text: functors with their numbers of operands, and functions."""

    functors: Mapping[str, int]
    functions: Functions
    writers: Functions = field(default_factory=dict)  # those that write in place
    composites: Functions = field(default_factory=dict)  # operators that are made of others

    @classmethod
    def read(cls, *paths: Path) -> NativeKernels:
        """Of files that may be missing: a missing one has no native kernels."""
        functors: dict[str, int] = {}
        functions: dict[str, frozenset[int]] = {}
        writers: dict[str, frozenset[int]] = {}
        composites: dict[str, frozenset[int]] = {}
        for path in paths:
            for name, base, body in _FUNCTOR.findall(inside(path, "kernels")):
                operands = functors.get(base) if base else _operands(body)
                if operands is not None:
                    functors[name] = operands
            for name, arities in functions_in(path, "kernels").items():
                functions[name] = arities | functions.get(name, frozenset())
            writers.update(functions_in(path, "writers", result="bool"))
            composites.update(functions_in(path, "composites"))
        return cls(functors, functions, writers, composites)


_FUNCTOR = re.compile(r"^struct (\w+)(?: : (\w+))? \{(?:\};|\n(.*?)^\};)", re.MULTILINE | re.DOTALL)


def _operands(body: str) -> int | None:
    """How many operands a functor has: the parameters of its function, without result and size for one of blocks."""
    function = re.search(r"static (?:T apply|GRADWRIGHT_INLINE void (block))\(([^)]*)\)", body)
    if function is not None:
        return function[2].count(",") + (-1 if function[1] else 1)
    said = re.search(r'Ufunc ufunc\{"\w+", (\d)|constexpr int operands = (\d)', body)
    return int(said[1] or said[2]) if said is not None else None
