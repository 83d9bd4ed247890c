"""The table of kernels in C++ is held against Python: a row stands for the function of its name there.

One that stands for none, or whose twin no operator takes, is never called, and what it was written for would run in
Python without a word.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from codegen.codes import Code
from codegen.plan.kinds import OperatorKind
from codegen.plan.plan import Plan
from codegen.python_source import FunctionIndex, PythonFunction
from codegen.read.kernel_table import COMPOSITES, FUNCTIONS, HELPERS, KERNELS, WRITERS, Fact, Row, read_rows, row_text
from codegen.source import Diagnostics, SourceFile, Span
from codegen.words import counted, did_you_mean

# By namespace, and by name: the functions that operators or formulas take, with the number of their operands.
Taken = Mapping[str, Mapping[str, Sequence[tuple[int | None, PythonFunction]]]]

_STRUCT = re.compile(r"\bstruct\s+(\w+)\s*[:{]")
_FUNCTION = re.compile(r"\b(Ref|bool)\s+(\w+)\s*\(\s*PyObject\b")


def check_table(
    plan: Plan,
    kernels: FunctionIndex,
    composites: FunctionIndex,
    helpers: FunctionIndex,
    files: Sequence[SourceFile],
    is_own: Callable[[PythonFunction], bool],
    diagnostics: Diagnostics,
) -> None:
    """Report rows that nothing takes up, or that do not fit, and kernels that have no row.

    Args:
        plan: operators, and the helpers that their formulas call.
        kernels, composites, helpers: the functions of Python.
        files: the C++.
        is_own: whether a function of Python is of those that the C++ may stand for.
        diagnostics: gets the errors.
    """
    twins = {KERNELS: kernels, WRITERS: kernels, COMPOSITES: composites, HELPERS: helpers}
    taken = _taken(plan, is_own)
    rows: dict[tuple[str, str, bool], Row] = {}
    for file in files:
        for row in read_rows(file, diagnostics):
            other = rows.setdefault((row.namespace, row.name, row.is_functor), row)
            if other is not row:
                note = ((other.span, "the other one"),)
                diagnostics.error(Code.GIVEN_TWICE, row.span, f"'{row.name}' has two rows", notes=note)
            elif row.is_functor and file.path.endswith(".cpp"):
                message = f"'{row.name}' is a struct, and files that make loops of it can not include {file.path}"
                diagnostics.error(Code.CONTRADICTION, row.span, message, "write it in a header")
    for row in rows.values():
        twin = twins[row.namespace].get(row.name)
        known = taken[row.namespace].get(row.name)
        if known is not None:
            # A functor may have the first operands alone, where a function of its name looks at the others.
            if not (row.is_functor and (row.namespace, row.name, False) in rows):
                _check_operands(row, known, diagnostics)
        elif twin is None or not is_own(twin):
            message = f"'{row.name}' stands for no function in Python of the project's own: it is never called"
            hint = did_you_mean(row.name, taken[row.namespace])
            diagnostics.error(Code.NO_FUNCTION, row.span, message, hint or "it has the name of the function in Python")
        else:
            message = f"no operator takes '{row.name}': it is never called"
            note = ((twin.span, f"'{row.name}' in Python"),)
            diagnostics.error(Code.NO_FUNCTION, row.span, message, notes=note)
    for file in files:
        for span, line in _undeclared(file, taken, rows):
            message = f"'{file.text[span.start : span.end]}' has no row in the table of kernels: it is never called"
            diagnostics.error(Code.NO_FUNCTION, span, message, f"write behind it: {line}")


def _taken(plan: Plan, is_own: Callable[[PythonFunction], bool]) -> Taken:
    taken: dict[str, dict[str, list[tuple[int | None, PythonFunction]]]] = {
        space: {} for space in (KERNELS, WRITERS, COMPOSITES, HELPERS)
    }

    def add(space: str, function: PythonFunction, arguments: int = 0, name: str = "") -> None:
        if is_own(function):
            count = arguments if function.takes_rest else _operands(function)
            taken[space].setdefault(name or function.name, []).append((count, function))

    for operator in plan.operators:
        compute = operator.compute
        is_kernel = operator.kind is OperatorKind.KERNEL
        count = len(operator.source.kernel_parameters if is_kernel else operator.schema.arguments)
        for _, function in compute.implementations:
            add(KERNELS if is_kernel else COMPOSITES, function, count)
            if compute.written is not None:
                add(WRITERS, function, count)
        if compute.elementwise is not None:  # the kernel that is made of it has a longer name
            for space in (KERNELS, WRITERS):
                add(space, compute.implementation, name=operator.name.base)
    for helper in plan.helpers:
        if helper.function is not None:
            add(HELPERS, helper.function)
    return taken


def _operands(function: PythonFunction) -> int | None:
    return function.arity if function.parameters is None else len(function.parameters)


def _check_operands(row: Row, known: Sequence[tuple[int | None, PythonFunction]], diagnostics: Diagnostics) -> None:
    if row.operands in (count for count, _ in known):
        return
    count, function = known[0]
    message = f"'{row.name}' has {counted(row.operands, 'operand')}, and '{function.signature}' in Python {count}"
    note = ((function.span, f"'{row.name}' is defined here"),)
    diagnostics.error(Code.KERNEL_PARAMETERS, row.span, message, row_text(row.name, count or 0, *row.facts), note)


def _undeclared(file: SourceFile, taken: Taken, rows: Collection[tuple[str, str, bool]]) -> Iterator[tuple[Span, str]]:
    """What has the name of a function that is taken, and no row; with the row."""
    meant = [(Span(file, *match.span(1)), Fact.ELEMENTS) for match in _STRUCT.finditer(file.text)]
    meant += [
        (Span(file, *match.span(2)), fact)
        for match in _FUNCTION.finditer(file.text)
        for fact, space in FUNCTIONS.items()
        if (fact is Fact.IN_PLACE) == (match[1] == "bool") and (space == KERNELS or f"{space} {{" in file.text)
    ]
    for span, fact in meant:
        name, space = file.text[span.start : span.end], FUNCTIONS.get(fact, KERNELS)
        known = taken[space].get(name)
        if known is not None and not {(space, name, True), (space, name, False)} & set(rows):
            yield span, row_text(name, known[0][0] or 0, fact)
