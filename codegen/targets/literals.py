"""Literals of Python, and defaults of parameters, which C++ hands to Python, too."""

from __future__ import annotations

import ast
import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass

from codegen.formula.typed import DTYPE, INT
from codegen.plan.operator import ParameterPlan
from codegen.schema.types import is_list_of, required

_ENUMS = {"Mean": 1, "Sum": 2, "None": None, "contiguous_format": None}


@dataclass(frozen=True, slots=True)
class Name:
    """A name of Python in the place of a value."""

    text: str


def literal(value: object) -> str:
    """A value as Python prints it, with double quotes around strings."""
    match value:
        case str():
            text = repr(value)
            return text if text.startswith('"') or '"' in value else f'"{text[1:-1]}"'
        case tuple():
            return tuple_of([literal(item) for item in value])
        case list():
            return f"[{', '.join(map(literal, value))}]"
        case Name():
            return value.text
        case dict():
            return f"{{{', '.join(f'{literal(key)}: {literal(item)}' for key, item in value.items())}}}"
        case float() if not math.isfinite(value):
            return f'float("{value}")'
        case _:
            return repr(value)


def tuple_of(parts: Sequence[str]) -> str:
    """A tuple display."""
    return f"({', '.join(parts)}{',' if len(parts) == 1 else ''})"


@functools.cache
def _value(text: str) -> object:
    """The value of a literal; None for a name."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return None


def default_value(parameter: ParameterPlan) -> object:
    """A schema's default in Python: `[0, 1]` is a tuple, `0` for an `int[2]` is `(0, 0)`, a dtype is a Name."""
    text = parameter.default
    assert text is not None
    if required(parameter.type) == DTYPE and text != "None":
        return Name(f"dtypes.{text}")
    if text in _ENUMS:
        return _ENUMS[text]
    if text in ("True", "False"):
        return text == "True"
    value = _value(text)
    if value is None:
        return text
    if isinstance(value, list):
        return tuple(value)
    if is_list_of(parameter.type, INT) and isinstance(value, int):
        return (value,) * (parameter.size or 1)
    return value


def default_text(parameter: ParameterPlan) -> str:
    """A schema's default as Python prints it."""
    return literal(default_value(parameter))
