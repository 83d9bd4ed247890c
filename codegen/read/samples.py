"""The `samples:` key: calls in Python syntax that an operator is tested with."""

from __future__ import annotations

import ast
import warnings
from functools import cache

from codegen.source import ParseError

_PREFIX = "_("


@cache
def parse_sample(text: str) -> ast.Call:
    """The call whose inside `text` is, the same object for the same text; raises `ParseError`."""
    if "\n" in text:
        # A newline is white space here, as inside any parentheses; as a blank it keeps offsets simple.
        text = text.replace("\n", " ")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(f"{_PREFIX}{text})", mode="eval").body
    except SyntaxError as error:
        size = len(text)
        start = min(max((error.offset or 1) - 1 - len(_PREFIX), 0), size)
        reason = "a closing ')' too many" if "unmatched" in error.msg else error.msg
        raise ParseError(f"the sample is not the inside of a Python call: {reason}", start) from None
    except (ValueError, RecursionError, MemoryError):
        raise ParseError("the sample is not the inside of a Python call", 0, len(text)) from None
    if not (isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name) and tree.func.id == "_"):
        raise ParseError("the sample is not the inside of a Python call", 0, len(text), "check its parentheses")
    return tree


def place_in_sample(text: str, node: ast.expr | ast.keyword) -> int:
    """Which character of a sample a part of its call begins with."""
    before = f"{_PREFIX}{text}".replace("\n", " ").encode()[: node.col_offset]  # columns of Python count bytes
    return len(before.decode()) - len(_PREFIX)
