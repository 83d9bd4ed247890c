"""The entry of a YAML file that is being edited, read and bound alone, and its formulas."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from codegen.bind.composites import resolve_composite
from codegen.bind.entries import formula_scope, resolve_entries
from codegen.bind.formulas import FormulaResolver
from codegen.bind.scope import Scope
from codegen.codes import Code
from codegen.formula import syntax, typed
from codegen.lsp.analysis import State
from codegen.lsp.positions import index_in
from codegen.lsp.project import YAML, Role
from codegen.read.files import read_derivatives, read_native_functions, read_samples
from codegen.read.model import DerivativeEntry, NativeFunction
from codegen.read.sample_file import SampleEntry
from codegen.read.yaml_text import entry_around
from codegen.source import Diagnostics, SourceFile, Text
from codegen.words import did_you_mean


@dataclass(frozen=True)
class Entry:
    """One entry as it stands in its file by now; of the three kinds it is one, or none where it can not be read.

    Attributes:
        file: the whole of it.
        part: the characters of the entry.
        function: the operator that it declares, or that its derivatives are of.
        derivative: the formulas.
        samples: the calls.
        diagnostics: what is wrong with it, as far as reading and binding tell.
    """

    file: SourceFile
    part: range
    function: NativeFunction | None
    derivative: DerivativeEntry | None
    samples: SampleEntry | None
    diagnostics: Diagnostics


@dataclass(frozen=True)
class FormulaAt:
    """A formula of an entry: its text, its tree, and the names that it may use."""

    text: Text
    tree: syntax.Expr
    scope: Scope
    function: NativeFunction
    is_backward: bool = False


def read_entry(state: State, path: Path, offset: int) -> Entry | None:
    """The entry in which a character of a YAML file stands."""
    file = state.file(path)
    return read_part(state, file, state.role(path), entry_around(file.text, offset), offset)


def read_part(
    state: State, file: SourceFile, role: Role | None, part: range, offset: int | None = None
) -> Entry | None:
    """An entry, of which the characters are known; None where there is none, or in a file of another kind.

    Of an entry with several operators it is the one whose signature stands at `offset`, or else the first.
    """
    if role not in YAML or not file.text.startswith("-", part.start):
        return None
    diagnostics = Diagnostics()
    function = derivative = samples = None
    if role is Role.OPERATORS:
        functions = read_native_functions(file, diagnostics, state.analysis.tags, part)
        if (table := state.analysis.table) is not None:
            for each in functions:
                resolve_composite(each, table, diagnostics)
        here = (each for each in functions if offset is not None and _stands_in(each.text, offset))
        function = next(here, next(iter(functions), None))
    elif role is Role.DERIVATIVES:
        derivative = next(iter(read_derivatives(file, diagnostics, part)), None)
        function = _bound(state, derivative, diagnostics)
    else:
        samples = next(iter(read_samples(file, diagnostics, part)), None)
        function = _sampled(state, samples, diagnostics)
    return Entry(file, part, function, derivative, samples, diagnostics)


def _stands_in(text: Text, offset: int) -> bool:
    return text.offsets[0] <= offset <= text.offsets[-1]


def _bound(state: State, entry: DerivativeEntry | None, diagnostics: Diagnostics) -> NativeFunction | None:
    table = state.analysis.table
    if entry is None or table is None:
        return None
    resolve_entries([entry], table, diagnostics)
    return table.functions.get(str(entry.schema.name))


def _sampled(state: State, samples: SampleEntry | None, diagnostics: Diagnostics) -> NativeFunction | None:
    if samples is None:
        return None
    functions = state.analysis.functions
    name = samples.name.value
    if functions and name not in functions:
        diagnostics.error(
            Code.UNKNOWN_OPERATOR, samples.name.span(), f"no operator '{name}' in native_functions.yaml",
            did_you_mean(name, functions),
        )  # fmt: skip
    return functions.get(name)


def formulas(entry: Entry) -> Iterator[FormulaAt]:
    """The formulas of an entry that parse."""
    function = entry.function
    if function is None:
        return
    if entry.derivative is None:
        yield from _formulas_of_operator(function)
        return
    blocks = (entry.derivative.formulas, *(block for _, block in entry.derivative.dispatch))
    for formula in (each for block in blocks for each in block):
        if formula.tree is not None:
            names = [name.value for name in formula.names]
            scope = formula_scope(entry.derivative, function, names)
            backward = "grad_input_mask" in scope.variables
            yield FormulaAt(formula.text, formula.tree, scope, function, backward)


def _formulas_of_operator(function: NativeFunction) -> Iterator[FormulaAt]:
    composite, elementwise = function.composite, function.elementwise
    # One that follows from the signature stands nowhere else.
    if composite is not None and not _stands_in(function.text, composite.text.offsets[0]):
        scope = Scope(function, (), knows_results=False, of_elements=composite.of_elements)
        yield FormulaAt(composite.text, composite.tree, scope, function)
    written = list(function.kinks)
    if elementwise is not None:
        scope = Scope(function, (), knows_results=False, by_choice=True)
        yield FormulaAt(elementwise.text, elementwise.tree, scope, function)
        for convention in elementwise.conventions:
            written += (convention.point, *convention.slopes)
        for requirement in elementwise.requirements:
            written += (requirement.condition, *requirement.values)
    scope = Scope(function, (), knows_results=False, by_choice=True)
    for each in written:
        yield FormulaAt(each.text, each.tree, scope, function)


def formula_at(entry: Entry, offset: int) -> tuple[FormulaAt, int] | None:
    """The formula in which a character of the file stands, and which of its characters that is."""
    for formula in formulas(entry):
        index = index_in(formula.text, offset)
        if index is not None:
            return formula, index
    return None


def typed_at(state: State, formula: FormulaAt, index: int) -> typed.TypedExpr | None:
    """The smallest expression around a character of a formula, typed.

    Where the formula as a whole does not fit, it is the smallest one that does.
    """
    table = state.analysis.table
    if table is None:
        return None
    around = syntax_at(formula.tree, index)
    for node in (around[0], *reversed(around)):
        tree = FormulaResolver(table, formula.scope, formula.text, Diagnostics()).resolve(node)
        if tree is not None:
            return _smallest(tree, index)
    return None


def syntax_at(tree: syntax.Expr, index: int) -> list[syntax.Expr]:
    """The expressions around a character, the outermost first. The name of what is called is no expression."""
    found = [tree]
    while True:
        node = found[-1]
        parts = node.args if isinstance(node, syntax.Call) else syntax.children(node)
        inner = [part for part in parts if part.start <= index <= part.end]
        if not inner:
            return found
        found.append(next((part for part in inner if index < part.end), inner[-1]))


def _smallest(tree: typed.TypedExpr, index: int) -> typed.TypedExpr:
    while True:
        inner = [part for part in typed.children(tree) if part.start <= index <= part.end and part.end > part.start]
        inner = [part for part in inner if (part.start, part.end) != (tree.start, tree.end) or part is inner[-1]]
        chosen = next((part for part in inner if index < part.end), inner[-1] if inner else None)
        if chosen is None or (chosen.start, chosen.end) == (tree.start, tree.end):
            return tree
        tree = chosen
