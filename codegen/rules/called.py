"""The operators that helpers and composite functions name exist."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from codegen.codes import Code
from codegen.python_source import PythonModule, parts_of
from codegen.python_syntax import OPERATORS, chain_of
from codegen.rules.checked import Checked
from codegen.source import Diagnostics, Span
from codegen.words import did_you_mean


def check_called(checked: Checked, diagnostics: Diagnostics) -> None:
    """Each call `ops.name(...)`, or one in the namespace of the project, is of an operator that there is."""
    functions = checked.table.functions.values()
    known = {name.base for function in functions for name in (function.name, *(made for made, _ in function.autogen))}
    unread = diagnostics.unread_bases
    for module in checked.modules:
        for name, place in _called(module, checked.namespace):
            if name not in known and name not in unread:
                diagnostics.error(
                    Code.UNKNOWN_FUNCTION, place, f"there is no operator '{name}'", did_you_mean(name, known)
                )


def _called(module: PythonModule, namespace: str) -> Iterator[tuple[str, Span]]:
    """The operators that a module calls by their names, with their places."""
    for definition in module.functions.values():
        for node in parts_of(definition):
            if isinstance(node, ast.Call) and (called := called_operator(module, node, namespace)) is not None:
                whole = module.span(called)
                yield called.attr, Span(whole.file, whole.end - len(called.attr), whole.end)


def called_operator(module: PythonModule, call: ast.Call, namespace: str) -> ast.Attribute | None:
    """The name of an operator that a call is of, `ops.name`; None if it is of something else."""
    first, attributes = chain_of(call.func) or (None, [])
    if first is None or module.imports.get(first.id) not in OPERATORS:
        return None
    *before, called = attributes
    # With more before it, it is of another package, or one overload.
    return called if [each.attr for each in before] in ([], [namespace]) else None
