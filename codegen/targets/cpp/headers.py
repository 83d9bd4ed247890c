"""Headers of the native core as the generator reads them: which functions there are."""

from __future__ import annotations

import re
from collections.abc import Mapping
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
