"""Another name for an argument, everywhere: in both YAML files, in samples, and in the functions that compute it.

Functions of Python take an operator's arguments by their names, so operators that share a function, and the variants of
one operator, get the new name together.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import yaml

from codegen.bind.call_targets import OperatorTable
from codegen.bind.scope import BEFORE_WRITE
from codegen.formula import syntax
from codegen.formula.typed import Variable, VariableKind
from codegen.lsp.analysis import State
from codegen.lsp.definition import Location
from codegen.lsp.edits import Edit
from codegen.lsp.entries import Entry, FormulaAt, formulas, read_entry, read_part
from codegen.lsp.project import Role
from codegen.lsp.subjects import Argument, Expression, all_formulas, argument_places, subject_at
from codegen.python_source import PythonFunction
from codegen.read.keys import FORMER_NAMES, KEYS, Arguments
from codegen.read.model import NativeFunction
from codegen.read.sample_file import SampleEntry
from codegen.read.samples import parse_sample, place_in_sample
from codegen.read.yaml_text import YamlFile, entry_around
from codegen.schema.names import python
from codegen.schema.variants import variant_key
from codegen.source import Diagnostics, SourceFile, Span, Text

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z_0-9]*")
_ARGUMENTS = {key.name: key.arguments for key in KEYS if key.arguments is not Arguments.NOWHERE}
_PARENTHESES = re.compile(r"\(([^()]*)\)")


class RenameError(Exception):
    """It can not be renamed; the message says why."""


@dataclass(frozen=True)
class _Occurrence:
    """A place of the old name; `before` and `behind` stay around it: `self_t`."""

    path: Path
    span: Span
    before: str = ""
    behind: str = ""


def renamable(state: State, path: Path, offset: int) -> Span | None:
    """The name of an argument at a place; None where none stands."""
    found = _argument_at(state, path, offset)
    return None if found is None else found[2]


def rename(state: State, path: Path, offset: int, new: str) -> list[Edit]:
    """The changes by which an argument gets another name.

    Raises:
        RenameError: there is no argument, or it can not have this name.
    """
    found = _argument_at(state, path, offset)
    if found is None:
        raise RenameError("only arguments of operators have their names changed here")
    function, old, _ = found
    if _IDENTIFIER.fullmatch(new) is None:
        raise RenameError(f"'{new}' is no name")
    if old == "self":
        raise RenameError("'self' is what methods are called on, and stays")
    occurrences = list(dict.fromkeys(_occurrences(state, function, old, new)))
    edits = [Edit(each.path, each.span, each.before + new + each.behind) for each in occurrences]
    _check(state, edits)
    return edits


def occurrences_of(state: State, path: Path, offset: int) -> list[Location]:
    """Where the argument at a place is named."""
    found = _argument_at(state, path, offset)
    if found is None:
        return []
    function, old, _ = found
    return [Location(each.path, each.span) for each in dict.fromkeys(_occurrences(state, function, old, old))]


def _argument_at(state: State, path: Path, offset: int) -> tuple[NativeFunction, str, Span] | None:
    match subject_at(state, path, offset):
        case Argument(span=span, function=function, name=name):
            pass
        case Expression(value=Variable(kind=VariableKind.INPUT | VariableKind.TANGENT, name=name)) as subject:
            function, span = subject.formula.function, subject.span
        case _:
            return None
    if all(argument.name != name for argument in function.schema.all_arguments):
        return None
    return function, name, span


def _occurrences(state: State, function: NativeFunction, old: str, new: str) -> Iterator[_Occurrence]:
    family = _family(state, function, old)
    names = {str(each.name) for each in family}
    for each in family:
        if any(argument.name == new != old for argument in each.schema.all_arguments):
            raise RenameError(f"'{each.name}' has an argument '{new}' already")
        path, span = state.now(each.text.span())
        if state.role(path) is not Role.OPERATORS:
            raise RenameError(f"'{each.name}' is no operator of this project")
        entry = read_entry(state, path, span.start)
        if entry is None or entry.function is None or entry.function.name != each.name:
            raise RenameError(f"the entry of '{each.name}' can not be read as it is")
        yield from _in_operator(path, entry, entry.function, old)
    for derivative in state.analysis.result.entries:
        if str(derivative.schema.name) in names:
            path, span = state.now(derivative.text.span())
            entry = read_entry(state, path, span.start)
            if entry is None or entry.derivative is None:
                raise RenameError(f"the derivatives of '{derivative.schema.name}' can not be read as they are")
            yield from _in_derivative(path, entry, old)
    for path in state.paths.samples:
        yield from _in_sample_file(state, path, names, old)
    for definition in _functions(state, family, old):
        yield from _in_python(state, definition, python(old))


def _family(state: State, function: NativeFunction, name: str) -> list[NativeFunction]:
    """The operators whose argument it is, from one to the next: variants, those that share a function or an entry."""
    found = {str(function.name): function}
    pending = [function]
    variants: dict[object, list[NativeFunction]] = {}
    entries: dict[Span, list[NativeFunction]] = {}
    for each in state.analysis.functions.values():
        variants.setdefault(variant_key(each.schema), []).append(each)
        entries.setdefault(each.span, []).append(each)
    while pending:
        each = pending.pop()
        users = (user for kernel in _kernel_names(each) for user in state.analysis.kernel_users.get(kernel, ()))
        for other in (*variants[variant_key(each.schema)], *entries[each.span], *users):
            has_it = any(argument.name == name for argument in other.schema.arguments)
            if has_it and str(other.name) not in found:
                found[str(other.name)] = other
                pending.append(other)
    return list(found.values())


def _kernel_names(function: NativeFunction) -> set[str]:
    return {line.kernel.value for line in function.dispatch} or {function.name.python_name}


def _functions(state: State, family: Iterable[NativeFunction], name: str) -> Iterator[PythonFunction]:
    """The functions of Python that take the argument."""
    names = {kernel for function in family for kernel in _kernel_names(function)}
    for kernel in sorted(names):
        for is_composite in (False, True):
            definition = state.analysis.python_function(kernel, is_composite)
            parameters = () if definition is None else definition.parameters or ()
            if definition is not None and any(each.name == python(name) for each in parameters):
                yield definition


# -- YAML


def _in_operator(path: Path, entry: Entry, function: NativeFunction, old: str) -> Iterator[_Occurrence]:
    places = argument_places(function.text, function.schema)
    yield from (_Occurrence(path, span) for name, span in places if name == old)
    for formula in formulas(entry):
        yield from _in_formula(path, formula, old, ())
    file = YamlFile(entry.file, Diagnostics(), entry.part)
    for node in file.entries():
        for key, value in node.value if isinstance(node, yaml.MappingNode) else ():
            where = _ARGUMENTS.get(FORMER_NAMES.get(key.value, key.value))
            if where is not None:
                yield from _in_values(path, file, value, old, where is Arguments.IN_PARENTHESES)
    yield from _in_samples(path, function.samples, old)


def _in_values(path: Path, file: YamlFile, node: yaml.Node, old: str, parentheses: bool) -> Iterator[_Occurrence]:
    if isinstance(node, yaml.SequenceNode):
        for each in node.value:
            yield from _in_values(path, file, each, old, parentheses)
    elif isinstance(node, yaml.ScalarNode):
        text = file.text(node)
        everything = [(0, len(text.value))]
        inside = [match.span(1) for match in _PARENTHESES.finditer(text.value)]
        for start, stop in inside if parentheses else everything:
            yield from _words(path, text, old, start, stop)


def _words(path: Path, text: Text, old: str, start: int, stop: int) -> Iterator[_Occurrence]:
    for match in re.compile(rf"(?<!\w){re.escape(old)}(?!\w)").finditer(text.value, start, stop):
        yield _Occurrence(path, text.span(*match.span()))


def _in_derivative(path: Path, entry: Entry, old: str) -> Iterator[_Occurrence]:
    derivative = entry.derivative
    assert derivative is not None
    places = argument_places(derivative.text, derivative.schema)
    yield from (_Occurrence(path, span) for name, span in places if name == old)
    for formula in all_formulas(derivative):
        yield from (_Occurrence(path, name.span()) for name in formula.names if name.value == old)
    for condition in derivative.output_differentiability or ():
        if isinstance(condition, Text):
            yield from _words(path, condition, old, 0, len(condition.value))
    for each in formulas(entry):
        yield from _in_formula(path, each, old, () if each.is_backward else ("_p", "_t"))


def _in_formula(path: Path, formula: FormulaAt, old: str, endings: tuple[str, ...]) -> Iterator[_Occurrence]:
    """The names in a formula; in one for tangents also those of its value and its tangent."""
    taken = {argument.name for argument in formula.function.schema.all_arguments}
    forms = {old: ("", "")}
    for ending in endings:
        forms |= {f"{front}{old}{ending}": (front, ending) for front in ("", BEFORE_WRITE)}
    for node in _names_in(formula.tree, old):
        if node.id in forms and (node.id == old or node.id not in taken):
            yield _Occurrence(path, formula.text.span(node.start, node.end), *forms[node.id])


def _names_in(tree: syntax.Expr, old: str) -> Iterator[syntax.Name]:
    """The names in an expression, but for those that are parameters of a lambda."""
    if isinstance(tree, syntax.Name):
        yield tree
    if isinstance(tree, syntax.Lambda) and any(parameter.name == old for parameter in tree.parameters):
        return
    parts = tree.args if isinstance(tree, syntax.Call) else syntax.children(tree)
    for part in parts:
        yield from _names_in(part, old)


def _in_sample_file(state: State, path: Path, names: set[str], old: str) -> Iterator[_Occurrence]:
    file = state.file(path)
    for name in names:
        for match in re.finditer(rf"^- {re.escape(name)} *:", file.text, re.MULTILINE):
            entry = read_part(state, file, Role.SAMPLES, entry_around(file.text, match.start()))
            samples: SampleEntry | None = None if entry is None else entry.samples
            if samples is not None:
                yield from _in_samples(path, samples.samples, old)
            if samples is not None and samples.reference is not None:
                for parentheses in _PARENTHESES.finditer(samples.reference.value):
                    yield from _words(path, samples.reference, old, *parentheses.span(1))


def _in_samples(path: Path, samples: Iterable[Text], old: str) -> Iterator[_Occurrence]:
    for text in samples:
        for keyword in parse_sample(text.value).keywords:
            if keyword.arg == old:
                start = place_in_sample(text.value, keyword)
                yield _Occurrence(path, text.span(start, start + len(old)))


# -- Python


def _in_python(state: State, function: PythonFunction, old: str) -> Iterator[_Occurrence]:
    """The parameter of a function, and where the function reads it."""
    path, _ = state.now(function.span)
    file = state.file(path)
    try:
        tree = ast.parse(file.text)
    except SyntaxError:
        raise RenameError(f"{file.path} does not parse") from None
    for statement in tree.body:
        if isinstance(statement, ast.FunctionDef) and statement.name == function.name:
            if state.role(path) is None:
                raise RenameError(f"'{function.name}' is no function of this project")
            for node in ast.walk(statement):
                if isinstance(node, ast.FunctionDef | ast.Lambda) and node is not statement:
                    if any(argument.arg == old for argument in ast.walk(node.args) if isinstance(argument, ast.arg)):
                        raise RenameError(f"a function inside of '{function.name}' has a parameter '{old}', too")
                elif (isinstance(node, ast.arg) and node.arg == old) or (isinstance(node, ast.Name) and node.id == old):
                    yield _Occurrence(path, _python_span(file, node.lineno, node.col_offset, old))


def _python_span(file: SourceFile, line: int, column: int, name: str) -> Span:
    """The place of a name; columns of Python count bytes of UTF-8."""
    start = file.line_starts[line - 1] + len(file.line(line).encode()[:column].decode())
    return Span(file, start, start + len(name))


# -- what comes of it


def _check(state: State, edits: Iterable[Edit]) -> None:
    """Refuse what leaves an entry with a mistake that it did not have.

    Raises:
        RenameError: with the message of the mistake.
    """
    by_path: dict[Path, list[Edit]] = {}
    for edit in edits:
        by_path.setdefault(edit.path, []).append(edit)
    changed = state
    for path, here in by_path.items():
        text = state.file(path).text
        for edit in sorted(here, key=lambda each: -each.span.start):
            text = text[: edit.span.start] + edit.text + text[edit.span.end :]
        changed = changed.with_text(path, text)
    pairs = list(_entries(state, changed, by_path))
    functions = {str(new.function.name): new.function for _, new in pairs if new.function is not None and _is_own(new)}
    changed = _with_operators(changed, functions)
    for before, new in pairs:
        read = read_part(changed, new.file, state.role(state.project.path(new.file.path)), new.part)
        if read is not None and read.diagnostics and not before.diagnostics:
            raise RenameError(read.diagnostics.sorted()[0].message)


def _is_own(entry: Entry) -> bool:
    return entry.derivative is None and entry.samples is None


def _entries(state: State, changed: State, edits: Mapping[Path, Iterable[Edit]]) -> Iterator[tuple[Entry, Entry]]:
    """The entries that are changed, before and after."""
    for path, here in edits.items():
        moved = 0
        for edit in sorted(here, key=lambda each: each.span.start):
            before = read_entry(state, path, edit.span.start)
            new = read_entry(changed, path, edit.span.start + moved)
            moved += len(edit.text) - (edit.span.end - edit.span.start)
            if before is not None and new is not None:
                yield before, new


def _with_operators(state: State, functions: Mapping[str, NativeFunction]) -> State:
    """The state with some operators in the place of those that have their names."""
    checked = state.analysis.checked
    if checked is None:
        return state
    table = OperatorTable({**checked.table.functions, **functions}.values(), checked.table.helpers)
    return replace(state, analysis=replace(state.analysis, checked=replace(checked, table=table)))
