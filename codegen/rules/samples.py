"""Samples are calls that their operators take."""

from __future__ import annotations

import ast

from codegen.codes import Code
from codegen.python_source import parts_of
from codegen.read.samples import parse_sample
from codegen.rules.checked import Checked
from codegen.schema.names import python
from codegen.source import Diagnostics, ParseError
from codegen.words import did_you_mean

_NAMES = frozenset(("inf", "nan"))
_DTYPES = frozenset((
    "bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64", "complex64",
    "complex128",
))  # fmt: skip
_MAKERS = frozenset(("T", "D", "I", "B", "P", "V", "C", "dtype", "float"))


def check_samples(checked: Checked, diagnostics: Diagnostics) -> None:
    """A sample gives arguments that the operator has, made by the functions that samples know."""
    for function in checked.written:
        names = [argument.name for argument in function.schema.positional]
        keywords = {python(argument.name) for argument in function.schema.arguments}
        for sample in function.samples:
            try:
                call = parse_sample(sample.value)
            except ParseError:
                continue  # reported when it was read
            if len(call.args) > len(names):
                diagnostics.error(
                    Code.SAMPLE,
                    sample.span(),
                    f"{len(call.args)} positional arguments, '{function.name}' takes {len(names)}",
                )
            for keyword_ in call.keywords:
                if keyword_.arg not in keywords:
                    diagnostics.error(
                        Code.SAMPLE,
                        sample.span(), f"'{function.name}' has no argument '{keyword_.arg}'",
                        did_you_mean(str(keyword_.arg), keywords),
                    )  # fmt: skip
            functions = {id(node.func) for node in parts_of(call) if isinstance(node, ast.Call)}
            for node in parts_of(call):
                if isinstance(node, ast.Name) and id(node) not in functions and node.id not in _NAMES:
                    hint = f'a dtype is written dtype("{node.id}")' if node.id in _DTYPES else "quote what is a text"
                    diagnostics.error(Code.SAMPLE, sample.span(), f"samples know no '{node.id}'", hint=hint)
                if isinstance(node, ast.Call) and node is not call:
                    maker = node.func.id if isinstance(node.func, ast.Name) else ast.unparse(node.func)
                    if maker not in _MAKERS:
                        diagnostics.error(
                            Code.SAMPLE,
                            sample.span(),
                            f"samples know no '{maker}'",
                            hint=f"there are: {', '.join(sorted(_MAKERS))}",
                        )
                        continue
                    for given in (*node.args, *(keyword_.value for keyword_ in node.keywords)):
                        if not _is_literal(given):
                            diagnostics.error(
                                Code.SAMPLE,
                                sample.span(),
                                f"'{maker}' takes literals, and '{ast.unparse(given)}' is none",
                                hint="infinity is 1e999",
                            )


def _is_literal(node: ast.expr) -> bool:
    try:
        ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return False
    return True
