"""References: functions of other libraries that give the values which an operator has."""

from __future__ import annotations

import ast

from codegen.codes import Code
from codegen.schema.types import FunctionSchema
from codegen.source import Diagnostics, Text
from codegen.words import REFERENCE_LIBRARIES, did_you_mean

HINT = "write 'scipy.special.erf', or with the arguments of that function 'scipy.special.eval_legendre(n, x)'"


def read_reference(text: Text, schema: FunctionSchema, diagnostics: Diagnostics) -> str | None:
    """The call of a function of NumPy, SciPy or mpmath, or its name alone; None after an error."""
    call = _call(text.value)
    if call is None:
        diagnostics.error(Code.MALFORMED, text.span(), "'reference' names no function", HINT)
        return None
    library = ast.unparse(call.func).partition(".")[0]
    if library not in REFERENCE_LIBRARIES:
        message, known = f"'{library}' is no library that values are compared with", ", ".join(REFERENCE_LIBRARIES)
        hint = did_you_mean(library, REFERENCE_LIBRARIES) or f"they are {known}"
        diagnostics.error(Code.UNKNOWN_WORD, text.span(), message, hint)
        return None
    names = [argument.name for argument in schema.arguments]
    for each in (*call.args, *(keyword.value for keyword in call.keywords)):
        for node in ast.walk(each):
            if isinstance(node, ast.Name) and node.id not in names:
                message = f"'{schema.name}' has no argument '{node.id}'"
                diagnostics.error(Code.UNKNOWN_NAME, text.span(), message, did_you_mean(node.id, names) or HINT)
                return None
    return " ".join(text.value.split())


def _call(text: str) -> ast.Call | None:
    """The call of a function by its whole name, of names and literals; without parentheses it has no arguments."""
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except SyntaxError:
        return None
    call = tree if isinstance(tree, ast.Call) else ast.Call(tree, [], [])
    function: ast.expr = call.func
    if not isinstance(function, ast.Attribute):
        return None
    while isinstance(function, ast.Attribute):
        function = function.value
    parts = (*call.args, *(keyword.value for keyword in call.keywords))
    is_plain = all(isinstance(each, ast.Name | ast.Constant) for each in parts)
    return call if isinstance(function, ast.Name) and is_plain else None
