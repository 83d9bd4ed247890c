"""What stands at a place of a file: an expression of a formula, an operator, an argument, a key, a function."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import yaml

from codegen.dispatch_keys import COMPOSITE_KEYS
from codegen.formula import typed
from codegen.lsp.analysis import State
from codegen.lsp.entries import Entry, FormulaAt, formula_at, read_entry, typed_at
from codegen.lsp.project import YAML, Role
from codegen.python_source import FunctionIndex, PythonFunction
from codegen.read.model import DerivativeEntry, Formula, NativeFunction
from codegen.read.yaml_text import YamlFile
from codegen.schema.types import FunctionSchema
from codegen.source import Diagnostics, Span, Text


@dataclass(frozen=True)
class Expression:
    """An expression of a formula; `value` is it with its type, None where it does not fit."""

    span: Span
    formula: FormulaAt
    value: typed.TypedExpr | None


@dataclass(frozen=True)
class Operator:
    """The name of an operator."""

    span: Span
    name: str


@dataclass(frozen=True)
class Argument:
    """The name of an argument or result, in a signature or before a formula."""

    span: Span
    function: NativeFunction
    name: str


@dataclass(frozen=True)
class Key:
    """A key of an entry."""

    span: Span
    name: str
    role: Role


@dataclass(frozen=True)
class Kernel:
    """The name of a function of Python that a dispatch key names."""

    span: Span
    name: str
    is_composite: bool
    function: NativeFunction


@dataclass(frozen=True)
class Function:
    """The definition of a function of Python."""

    span: Span
    function: PythonFunction
    role: Role


Subject = Expression | Operator | Argument | Key | Kernel | Function


def subject_at(state: State, path: Path, offset: int) -> Subject | None:
    """What stands at a place."""
    role = state.role(path)
    if role is None:
        return None
    if role not in YAML:
        return _function_at(state, path, offset, role)
    entry = read_entry(state, path, offset)
    return None if entry is None else in_entry(state, entry, offset, role)


def in_entry(state: State, entry: Entry, offset: int, role: Role) -> Subject | None:
    """What stands at a place of an entry."""
    found = formula_at(entry, offset)
    if found is not None:
        formula, index = found
        value = typed_at(state, formula, index)
        span = formula.text.span() if value is None else formula.text.span(value.start, value.end)
        return Expression(span, formula, value)
    for subject in _names(entry):
        if subject.span.start <= offset <= subject.span.end:
            return subject
    return _key_at(entry, offset, role)


def _names(entry: Entry) -> Iterator[Subject]:
    """The names in an entry, but for those in formulas and those of keys."""
    function = entry.function
    if entry.samples is not None:
        yield Operator(entry.samples.name.span(), entry.samples.name.value)
        return
    written = entry.derivative if entry.derivative is not None else function
    if written is None:
        return
    name_end = written.schema.name_end or len(str(written.schema.name))
    yield Operator(written.text.span(0, name_end), str(written.schema.name))
    if function is None:
        return
    for name, span in argument_places(written.text, written.schema):
        yield Argument(span, function, name)
    if entry.derivative is not None:
        for formula in all_formulas(entry.derivative):
            yield from (Argument(name.span(), function, name.value) for name in formula.names)
        return
    for line in function.dispatch:
        yield Kernel(line.kernel.span(), line.kernel.value, line.key in COMPOSITE_KEYS, function)
    yield from (Operator(span, str(name)) for name, span in function.autogen)
    if function.structured_delegate is not None:
        yield Operator(function.structured_delegate.span(), function.structured_delegate.value)


def all_formulas(entry: DerivativeEntry) -> Iterator[Formula]:
    """The formulas of an entry, those of dispatch keys included."""
    yield from entry.formulas
    for _, block in entry.dispatch:
        yield from block


def argument_places(text: Text, schema: FunctionSchema) -> Iterator[tuple[str, Span]]:
    """The names of arguments and results in a signature, with their places."""
    for argument in schema.all_arguments:
        written = text.value[argument.start : argument.end]
        start = argument.start + written.partition("=")[0].rstrip().rfind(argument.name)
        yield argument.name, text.span(start, start + len(argument.name))
    for result in schema.returns:
        if result.name is not None:
            start = text.value.rindex(result.name, result.start, result.end)
            yield result.name, text.span(start, start + len(result.name))


def _key_at(entry: Entry, offset: int, role: Role) -> Key | None:
    """The key of an entry's mapping, or of a mapping in it, at a place."""
    file = YamlFile(entry.file, Diagnostics(), entry.part)
    pending = [*file.entries()]
    while pending:
        node = pending.pop()
        if not isinstance(node, yaml.MappingNode):
            continue
        for key, value in node.value:
            if key.start_mark.index <= offset <= key.end_mark.index:
                return Key(file.span(key), key.value, role)
            if value.start_mark.index <= offset <= value.end_mark.index:
                pending.append(value)
    return None


def _function_at(state: State, path: Path, offset: int, role: Role) -> Function | None:
    index = functions_of(state, role)
    for function in index.functions.values() if index is not None else ():
        if state.project.path(function.span.file.path) == path:
            _, span = state.now(function.span)
            if span.start <= offset <= span.end:
                return Function(span, function, role)
    return None


def functions_of(state: State, role: Role) -> FunctionIndex | None:
    """The functions of Python of one kind."""
    checked = state.analysis.checked
    if checked is None:
        return None
    if role is Role.HELPERS:
        return checked.table.helpers.index
    return checked.kernels if role is Role.KERNELS else checked.composites
