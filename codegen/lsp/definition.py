"""Where things are: from a formula to an operator, helper or argument, on to kernels and generated code, and back."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from codegen.formula.typed import HelperCall, OperatorCall, TypedExpr, Variable, VariableKind, walk
from codegen.inputs import SAMPLES
from codegen.lsp.analysis import State
from codegen.lsp.entries import Entry, read_entry
from codegen.lsp.project import YAML, Role
from codegen.lsp.subjects import (
    Argument,
    Expression,
    Function,
    Kernel,
    Operator,
    Subject,
    argument_places,
    in_entry,
    subject_at,
)
from codegen.read.files import read_samples
from codegen.read.kernel_table import Row, cpp_file, read_rows
from codegen.read.model import DerivativeEntry, NativeFunction
from codegen.source import Diagnostics, SourceFile, Span, Text

# What generated code says of where it is from: a formula with its place, and an operator's signature.
_PLACE = re.compile(r"[#/]/? (\S+\.yaml):(\d+)  ")
_SIGNATURE = re.compile(r'(?:"""|// ?)([\w.]+)\(')
_BLOCK = re.compile(r"^(?:def|class) ", re.MULTILINE)


@dataclass(frozen=True)
class Location:
    """A place in a file as it is by now."""

    path: Path
    span: Span


def definition(state: State, path: Path, offset: int) -> list[Location]:
    """Where what stands at a place is declared; of a declaration, what it declares."""
    role = state.role(path)
    if role is None:
        return _of_other_file(state, path, offset)
    if role not in YAML:
        subject = subject_at(state, path, offset)
        return _now(state, _users(state, subject)) if isinstance(subject, Function) else []
    entry = read_entry(state, path, offset)
    subject = None if entry is None else in_entry(state, entry, offset, role)
    if entry is None or subject is None:
        return []
    return _now(state, _defined(state, entry, subject, role))


def implementation(state: State, path: Path, offset: int) -> list[Location]:
    """The kernels of what stands at a place, in Python and in C++, and the code that is generated for it."""
    subject = subject_at(state, path, offset)
    function = None if subject is None else _operator_of(state, subject)
    if function is None:
        return []
    found = _now(state, _kernels(state, function))
    names = {line.kernel.value for line in function.dispatch} or {function.name.python_name}
    found += [Location(file, row.span) for file, row in _rows(state) if row.name in names]
    return [*found, *_generated(state, function)]


def references(state: State, path: Path, offset: int) -> list[Location]:
    """Where what stands at a place is used: derivatives, samples and formulas of an operator, formulas of a helper."""
    subject = subject_at(state, path, offset)
    if subject is None:
        return []
    if isinstance(subject, Function):
        return _now(state, _users(state, subject))
    if isinstance(subject, Expression) and isinstance(subject.value, HelperCall):
        return _now(state, _calls_of_helper(state, subject.value.helper.name))
    function = _operator_of(state, subject)
    return [] if function is None else _now(state, _uses(state, str(function.name)))


def _now(state: State, spans: Iterable[Span]) -> list[Location]:
    return list(dict.fromkeys(Location(*state.now(span)) for span in spans))


# -- declarations


def _defined(state: State, entry: Entry, subject: Subject, role: Role) -> Iterator[Span]:
    match subject:
        case Expression(value=Variable() as variable):
            yield from _variable(entry, subject, variable)
        case Expression(value=OperatorCall() as call):
            yield from _declaration(state, str(call.schema.name))
        case Expression(value=HelperCall() as call):
            if call.helper.function is not None:
                yield call.helper.function.span
        case Operator() if (
            role is Role.OPERATORS and entry.function is not None and subject.name == str(entry.function.name)
        ):
            yield from _kernels(state, entry.function)
        case Operator():
            yield from _declaration(state, subject.name)
        case Argument():
            yield from _argument(state, entry, subject, role)
        case Kernel():
            function = state.analysis.python_function(subject.name, subject.is_composite)
            if function is not None:
                yield function.span


def _declaration(state: State, name: str) -> Iterator[Span]:
    function = state.analysis.functions.get(name)
    if function is not None:
        yield function.text.span(0, function.schema.name_end)


def _variable(entry: Entry, subject: Expression, variable: Variable) -> Iterator[Span]:
    """The argument of the entry's signature that a variable is, or the result."""
    written = entry.derivative if entry.derivative is not None else entry.function
    assert written is not None  # the formula is one of it
    text, schema = written.text, written.schema
    places = dict(argument_places(text, schema))
    if variable.kind in (VariableKind.INPUT, VariableKind.TANGENT) and variable.name in places:
        yield places[variable.name]
    elif variable.kind in (VariableKind.OUTPUT, VariableKind.GRAD, VariableKind.GRADS):
        outputs = subject.formula.scope.differentiable_outputs
        index = variable.index if variable.kind is VariableKind.OUTPUT else outputs[variable.index]
        result = schema.returns[index]
        yield text.span(result.start, result.end)


def _argument(state: State, entry: Entry, subject: Argument, role: Role) -> Iterator[Span]:
    """From the name before a formula to the signature, and from one signature to the other one."""
    written: DerivativeEntry | NativeFunction | None = entry.derivative
    if written is not None:
        place = dict(argument_places(written.text, written.schema)).get(subject.name)
        if place is not None and place != subject.span:
            yield place
            return
        written = state.analysis.functions.get(str(written.schema.name))
    else:
        written = _derivative(state, str(subject.function.name))
    if written is not None:
        places = dict(argument_places(written.text, written.schema))
        yield from (span for name, span in places.items() if name == subject.name)


def _derivative(state: State, name: str) -> DerivativeEntry | None:
    return next((entry for entry in state.analysis.result.entries if str(entry.schema.name) == name), None)


def _kernels(state: State, function: NativeFunction) -> Iterator[Span]:
    """The functions of Python that compute an operator, or the formula that it is."""
    if function.composite is not None:
        yield function.composite.text.span()
    elif function.elementwise is not None:
        yield function.elementwise.text.span()
    names = [line.kernel.value for line in function.dispatch] or [function.name.python_name]
    for name in names:
        for is_composite in (False, True):
            definition = state.analysis.python_function(name, is_composite)
            if definition is not None:
                yield definition.span


def _operator_of(state: State, subject: Subject) -> NativeFunction | None:
    match subject:
        case Operator():
            return state.analysis.functions.get(subject.name)
        case Expression(value=OperatorCall() as call):
            return state.analysis.functions.get(str(call.schema.name))
        case Kernel():
            return subject.function
    return None


# -- uses


def _users(state: State, subject: Function) -> Iterator[Span]:
    """The lines of YAML that name a function, or the formulas that call it."""
    name = subject.function.name
    if subject.role is Role.HELPERS:
        yield from _calls_of_helper(state, name)
        return
    for user in state.analysis.kernel_users.get(name, ()):
        lines = [line.kernel.span() for line in user.dispatch if line.kernel.value == name]
        yield from lines or [user.text.span(0, user.schema.name_end)]


def _calls_of_helper(state: State, name: str) -> Iterator[Span]:
    return _calls(state, lambda part: isinstance(part, HelperCall) and part.helper.name == name)


def _uses(state: State, name: str) -> Iterator[Span]:
    """The declaration of an operator, its derivatives, its samples, and the formulas that call it."""
    yield from _declaration(state, name)
    entry = _derivative(state, name)
    if entry is not None:
        yield entry.text.span(0, entry.schema.name_end)
    for path in state.paths.samples:
        file = SourceFile(state.paths.shown(path), state.analysis.text(path))
        yield from (each.name.span() for each in read_samples(file, Diagnostics()) if each.name.value == name)
    yield from _calls(state, lambda part: isinstance(part, OperatorCall) and str(part.schema.name) == name)


def _calls(state: State, is_one: Callable[[TypedExpr], bool]) -> Iterator[Span]:
    """The calls in all formulas of the project."""
    for text, tree in _trees(state):
        for part in walk(tree):
            if is_one(part):
                yield text.span(part.start, part.end)


def _trees(state: State) -> Iterator[tuple[Text, TypedExpr]]:
    """The formulas that are written in the project's files."""
    checked = state.analysis.checked
    if checked is None:
        return
    for entry in checked.entries:
        for each in (entry, *(other for _, other in entry.keyed)):
            for formula in (*each.backward, *each.forward):
                if formula.tree is not None and formula.source.tree is not None:
                    yield formula.source.text, formula.tree
    for function in checked.written:
        composite = checked.linear.composite_formulas.get(str(function.name)) if function.composite else None
        if composite is not None:
            yield composite.text, composite.tree


# -- C++ and generated code


def _rows(state: State) -> Iterator[tuple[Path, Row]]:
    """The rows of the table of kernels in C++, with their files."""
    paths = state.paths
    for path in dict.fromkeys((*paths.own_kernels, *paths.native_kernels)):
        open_file = state.texts.get(path)
        file = cpp_file(path, paths.shown(path)) if open_file is None else open_file
        yield from ((path, row) for row in read_rows(file, Diagnostics()))


def _generated(state: State, function: NativeFunction) -> Iterator[Location]:
    """What the output in Python has for an operator: its function, and its Nodes."""
    plan = state.analysis.operators.get(str(function.name))
    if plan is None:
        return
    names = {"operators.py": [f"def {plan.python.function}("]}
    names["nodes.py"] = [f"class {node.class_name}(" for node in plan.autograd.nodes]
    for module, heads in names.items():
        path = state.paths.output / module
        file = state.file(path)
        for head in heads:
            found = re.search(rf"^{re.escape(head)}", file.text, re.MULTILINE)
            if found is not None:
                start = found.start() + head.index(" ") + 1
                yield Location(path, Span(file, start, found.end() - 1))


def _of_other_file(state: State, path: Path, offset: int) -> list[Location]:
    """From generated code to the YAML that it is made of, and from a row of C++ to the operators of its kernel."""
    if path.is_relative_to(state.paths.output):
        return _now(state, _sources(state, path, offset))
    for file, row in _rows(state):
        if file == path and row.span.start <= offset <= row.span.end:
            users = state.analysis.kernel_users.get(row.name, ())
            return _now(state, (user.text.span(0, user.schema.name_end) for user in users))
    return []


def _sources(state: State, path: Path, offset: int) -> Iterator[Span]:
    text = state.file(path).text
    start = text.rfind("\n", 0, offset) + 1
    end = text.find("\n", offset)
    place = _PLACE.search(text[start : len(text) if end == -1 else end])
    if place is not None:
        yield from _line(state, place[1], int(place[2]))
        return
    heads = [match.start() for match in _BLOCK.finditer(text, 0, offset + 1)]
    if text.startswith(("def ", "class "), start):
        heads.append(start)
    signature = _SIGNATURE.search(text, heads[-1]) if heads else None
    if signature is not None:
        yield from _declaration(state, signature[1])
        entry = _derivative(state, signature[1])
        if entry is not None:
            yield entry.text.span(0, entry.schema.name_end)


def _line(state: State, shown: str, number: int) -> Iterator[Span]:
    """A line of one of the project's YAML files, as it was generated from."""
    for path in state.paths.inputs:
        if shown in (state.paths.shown(path), path.name) and path.name != SAMPLES:
            file = SourceFile(state.paths.shown(path), state.analysis.text(path))
            if number <= len(file.line_starts):
                start = file.line_starts[number - 1]
                yield Span(file, start, start + len(file.line(number)))
                return
