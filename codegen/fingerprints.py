"""What each operator's rules are made of, as one word, which changes when a formula, helper, kernel or sample does."""

from __future__ import annotations

import ast
import dataclasses
import functools
import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Enum
from typing import Any

from codegen.bind.entries import ResolvedEntry
from codegen.formula.typed import Helper, HelperCall, TypedExpr, children
from codegen.python_source import FunctionIndex, PythonModule, parts_of
from codegen.read.implied import samples_of
from codegen.read.model import NativeFunction
from codegen.schema.types import FunctionSchema, OperatorName
from codegen.source import Span, Text

_DIGITS = 10
# Parts of an entry that are places of others, or follow from these.
_NOT_SAID = frozenset(("text", "span", "tree", "dispatch", "samples", "former_keys"))


class _Sources:
    """The text of what modules of Python define, with that of what it names."""

    def __init__(self, indexes: Iterable[FunctionIndex]) -> None:
        self._modules: dict[str, PythonModule] = {}
        for index in indexes:
            self._modules |= index.modules
        self._known: dict[tuple[str, str], tuple[str, frozenset[tuple[str, str]]]] = {}

    def texts(self, module: str, name: str) -> Iterator[str]:
        """A definition and all that it reaches in these modules."""
        seen = {(module, name)}
        waiting = [(module, name)]
        while waiting:
            text, named = self._definition(*waiting.pop())
            yield text
            waiting += sorted(named - seen)
            seen |= named

    def _definition(self, module: str, name: str) -> tuple[str, frozenset[tuple[str, str]]]:
        if (module, name) not in self._known:
            self._known[module, name] = self._read(module, name)
        return self._known[module, name]

    def _read(self, module: str, name: str) -> tuple[str, frozenset[tuple[str, str]]]:
        source = self._modules.get(module)
        definition = None if source is None else source.definitions.get(name)
        if source is None or definition is None:
            return f"{module}.{name}", frozenset()
        decorators = getattr(definition, "decorator_list", ())
        first = min(definition.lineno, *(each.lineno for each in decorators), definition.lineno)
        starts = source.file.line_starts
        end = definition.end_lineno or definition.lineno
        text = source.file.text[starts[first - 1] : starts[end] if end < len(starts) else None]
        return text, frozenset(self._named(source, definition)) - {(module, name)}

    def _named(self, source: PythonModule, definition: ast.stmt) -> Iterator[tuple[str, str]]:
        for node in parts_of(definition):
            if isinstance(node, ast.Name):
                module, name = source.imports.get(node.id, (source.name, node.id))
            elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                package, part = source.imports.get(node.value.id, ("", None))
                module, name = package if part is None else f"{package}.{part}", node.attr
            else:
                continue
            if name is not None and module in self._modules and name in self._modules[module].definitions:
                yield module, name


def fingerprints(
    functions: Sequence[NativeFunction], entries: Mapping[str, ResolvedEntry], indexes: Sequence[FunctionIndex]
) -> Mapping[str, str]:
    """A word for each operator that has samples.

    Args:
        functions: the operators of the file.
        entries: the derivatives of those that have some, by their names.
        indexes: kernels, composites, helpers, rules of batching, and functions on arrays that these share.
    """
    sources = _Sources(indexes)
    kernels, composites, _, batching, _ = indexes
    found = {}
    for function in functions:
        samples = samples_of(function)
        if not samples or function.variant_of is not None or function.late_bound:
            continue
        parts = [*_said(function), *samples]
        named = [str(entry.kernel) for entry in function.dispatch]
        implementations = [kernels.get(name) or composites.get(name) for name in named]
        if function.batching is not None:
            implementations.append(batching.get(str(function.batching)))
        parts += named
        for implementation in implementations:
            if implementation is not None:
                parts += sources.texts(implementation.module, implementation.name)
        resolved = entries.get(str(function.name))
        if resolved is not None:
            parts.append(str(resolved.differentiable_outputs))
            for formula in (*resolved.backward, *resolved.forward):
                parts += [*formula.names, str(formula.source.text)]
                for helper in _helpers(formula.tree):
                    parts += sources.texts(helper.function.module, helper.function.name) if helper.function else ()
        found[str(function.name)] = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:_DIGITS]
    return found


def _said(value: Any) -> Iterator[str]:
    """What an entry of an operator says, wherever it stands."""
    if isinstance(value, Text | FunctionSchema | OperatorName):
        yield str(value)
    elif isinstance(value, Enum):
        yield value.name
    elif isinstance(value, frozenset):
        yield from sorted(map(str, value))
    elif isinstance(value, tuple):
        for each in value:
            yield from _said(each)
    elif dataclasses.is_dataclass(value):
        if not isinstance(value, NativeFunction | Span):
            yield from _said(getattr(value, "text", ""))
        for name, default in _fields(value.__class__) if not isinstance(value, Span) else ():
            part = getattr(value, name)
            # What is not said changes no word, so that a key that is new to the YAML changes none.
            if part != default:
                yield name
                yield from _said(part)
    else:
        yield str(value)


@functools.cache
def _fields(kind: Any) -> Sequence[tuple[str, Any]]:
    """The parts of an entry that are said, each with its default."""
    fields = [field for field in dataclasses.fields(kind) if field.name not in _NOT_SAID]
    factory = dataclasses.MISSING
    return [(f.name, f.default if f.default_factory is factory else f.default_factory()) for f in fields]


def _helpers(tree: TypedExpr | None) -> Iterator[Helper]:
    if tree is None:
        return
    if isinstance(tree, HelperCall):
        yield tree.helper
    for child in children(tree):
        yield from _helpers(child)
