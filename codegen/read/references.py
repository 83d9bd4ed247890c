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
    library = text.value.partition(".")[0].strip()
    if library not in REFERENCE_LIBRARIES:
        message, known = f"'{library}' is no library that values are compared with", ", ".join(REFERENCE_LIBRARIES)
        hint = did_you_mean(library, REFERENCE_LIBRARIES) or f"they are {known}"
        diagnostics.error(Code.UNKNOWN_WORD, text.span(), message, hint)
        return None
    names = [argument.name for argument in schema.arguments]
    for each in (*call.args, *(keyword.value for keyword in call.keywords)):
        if isinstance(each, ast.Name) and each.id not in names:
            message = f"'{schema.name}' has no argument '{each.id}'"
            diagnostics.error(Code.UNKNOWN_NAME, text.span(), message, did_you_mean(each.id, names) or HINT)
            return None
        if not (isinstance(each, ast.Name) or _is_literal(each)):
            message = f"'{ast.unparse(each)}' is neither an argument of '{schema.name}' nor a number or word"
            diagnostics.error(Code.MALFORMED, text.span(), message, HINT)
            return None
    keywords = [keyword.arg for keyword in call.keywords]
    if None in keywords or len(set(keywords)) < len(keywords):
        message = "each argument of a reference has a name of its own"
        diagnostics.error(Code.MALFORMED, text.span(), message, HINT)
        return None
    return " ".join(text.value.split())


def _call(text: str) -> ast.Call | None:
    """The call of a function by its whole name; without parentheses it has no arguments."""
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # a null character, or a text that is too deep
        return None
    call = tree if isinstance(tree, ast.Call) else ast.Call(tree, [], [])
    function: ast.expr = call.func
    if not isinstance(function, ast.Attribute):
        return None
    while isinstance(function, ast.Attribute):
        function = function.value
    return call if isinstance(function, ast.Name) else None


def _is_literal(node: ast.expr) -> bool:
    """Whether it is a number with or without a sign, a word in quotes, True, False or None."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        node = node.operand
        return isinstance(node, ast.Constant) and type(node.value) in (int, float, complex)
    return isinstance(node, ast.Constant) and isinstance(node.value, bool | int | float | complex | str | None)
