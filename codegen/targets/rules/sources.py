"""The Python that rules take along: kernels over the array API, helpers of formulas, composite functions."""

from __future__ import annotations

import ast
import enum
from collections.abc import Mapping
from dataclasses import dataclass

from codegen.paths import ARRAY_API, PartKind, Paths, PythonPart
from codegen.python_source import PythonModule, SourcePart
from codegen.source import Diagnostics


class Origin(enum.Enum):
    """What a module's functions work on."""

    TENSORS = "tensors"  # operators are called: these become functions over `xp`
    ARRAYS = "arrays"  # arrays, numbers and sizes: these are taken as they are


@dataclass(frozen=True, slots=True)
class Sources:
    """The modules by name, and where functions that formulas name are."""

    modules: Mapping[str, tuple[PythonModule, Origin]]
    kernels: Mapping[str, str]  # functions over the array API, and the modules in which they are
    helpers: frozenset[str]  # the modules of helpers


def read_sources(paths: Paths) -> Sources:
    """Read them, those of a package included. What does not parse is reported where it is bound."""
    quiet = Diagnostics()
    modules: dict[str, tuple[PythonModule, Origin]] = {}
    kernels: dict[str, str] = {}
    helpers: set[str] = set()

    def read(part: PythonPart, origin: Origin) -> SourcePart:
        source = SourcePart(part, quiet)
        for name, module in source.modules.items():
            modules.setdefault(name, (module, origin))
        return source

    for kind in (PartKind.COMPOSITES, PartKind.HELPERS):
        for part in paths.functions(kind):
            source = read(part, Origin.TENSORS)
            if kind is PartKind.HELPERS:
                helpers.update(source.modules)
    generic = read(paths.operators_part(ARRAY_API), Origin.ARRAYS)
    for name, module in generic.modules.items():
        kernels |= {each: name for each in module.functions if not each.startswith("__")}
    for part in (*paths.functions(PartKind.KERNELS), paths.array_functions):
        read(part, Origin.ARRAYS)
    return Sources(modules, kernels, frozenset(helpers))


def segment(module: PythonModule, node: ast.AST) -> str:
    """The text of a part of a module."""
    start, end = extent(module, node)
    return module.file.text[start:end]


def extent(module: PythonModule, node: ast.AST) -> tuple[int, int]:
    """Where a part of a module stands in its text."""
    assert isinstance(node, ast.expr | ast.stmt | ast.arg | ast.keyword | ast.excepthandler)
    assert node.end_lineno is not None
    assert node.end_col_offset is not None
    return _offset(module, node.lineno, node.col_offset), _offset(module, node.end_lineno, node.end_col_offset)


def _offset(module: PythonModule, line: int, column: int) -> int:
    """`column` counts bytes, as `ast` does."""
    start = module.file.line_starts[line - 1]
    text = module.file.line(line)
    return start + (column if text.isascii() else len(text.encode()[:column].decode()))
