"""What each operator's rules are made of, as one word, which changes when a formula, helper, kernel or sample does."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence

from codegen.bind.entries import ResolvedEntry
from codegen.formula.typed import Helper, HelperCall, TypedExpr, children
from codegen.python_source import FunctionIndex, PythonModule
from codegen.read.implied import samples_of
from codegen.read.model import NativeFunction

_DIGITS = 10


class _Sources:
    """The text of Python functions, with that of those that they call."""

    def __init__(self, indexes: Iterable[FunctionIndex]) -> None:
        self._modules: dict[str, PythonModule] = {}
        for index in indexes:
            self._modules |= index.modules
        self._known: dict[tuple[str, str], tuple[str, frozenset[tuple[str, str]]]] = {}

    def texts(self, module: str, name: str) -> Iterator[str]:
        """A function and all that it reaches in these modules."""
        seen = {(module, name)}
        waiting = [(module, name)]
        while waiting:
            text, called = self._function(*waiting.pop())
            yield text
            waiting += sorted(called - seen)
            seen |= called

    def _function(self, module: str, name: str) -> tuple[str, frozenset[tuple[str, str]]]:
        if (module, name) not in self._known:
            self._known[module, name] = self._read(module, name)
        return self._known[module, name]

    def _read(self, module: str, name: str) -> tuple[str, frozenset[tuple[str, str]]]:
        source = self._modules.get(module)
        function = None if source is None else source.functions.get(name)
        if source is None or function is None:
            return f"{module}.{name}", frozenset()  # an alias of a function of NumPy
        first = min(function.lineno, *(each.lineno for each in function.decorator_list), function.lineno)
        starts = source.file.line_starts
        end = function.end_lineno or function.lineno
        text = source.file.text[starts[first - 1] : starts[end] if end < len(starts) else None]
        names = {node.id for node in ast.walk(function) if isinstance(node, ast.Name)}
        return text, frozenset(self._named(source, names - {name}))

    def _named(self, source: PythonModule, names: Iterable[str]) -> Iterator[tuple[str, str]]:
        for each in names:
            module, other = source.imports.get(each, (source.name, each))
            if other is not None and module in self._modules and other in self._modules[module].functions:
                yield module, other


def fingerprints(
    functions: Sequence[NativeFunction], entries: Mapping[str, ResolvedEntry], indexes: Sequence[FunctionIndex]
) -> Mapping[str, str]:
    """A word for each operator that has samples.

    Args:
        functions: the operators of the file.
        entries: the derivatives of those that have some, by their names.
        indexes: kernels, composites and helpers.
    """
    sources = _Sources(indexes)
    kernels, composites = indexes[0], indexes[1]
    found = {}
    for function in functions:
        samples = samples_of(function)
        if not samples or function.variant_of is not None or function.late_bound:
            continue
        parts = [str(function.schema), *samples, *(f"{name}: {why}" for name, why in function.unproven)]
        if function.composite is not None:
            parts.append(str(function.composite.text))
        if function.elementwise is not None:
            parts.append(str(function.elementwise.text))
        for entry in function.dispatch:
            name = str(entry.kernel)
            implementation = kernels.get(name) or composites.get(name)
            parts.append(name)
            if implementation is not None:
                parts += sources.texts(implementation.module, implementation.name)
        resolved = entries.get(str(function.name))
        if resolved is not None:
            for formula in (*resolved.backward, *resolved.forward):
                parts += [*formula.names, str(formula.source.text)]
                for helper in _helpers(formula.tree):
                    parts += sources.texts(helper.function.module, helper.function.name) if helper.function else ()
        found[str(function.name)] = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:_DIGITS]
    return found


def _helpers(tree: TypedExpr | None) -> Iterator[Helper]:
    if tree is None:
        return
    if isinstance(tree, HelperCall):
        yield tree.helper
    for child in children(tree):
        yield from _helpers(child)
