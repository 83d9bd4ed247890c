"""Literals of Python, and defaults of parameters, which C++ hands to Python, too."""

from __future__ import annotations

import ast
import contextlib
import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass

from codegen.plan.operator import ParameterPlan
from codegen.schema.defaults import items_of
from codegen.schema.types import DTYPE, ListType, Type, base_type, required

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
    """The value of a literal; None for a name that is no number."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        pass
    for number in (int, float):  # with zeros in front; infinity
        with contextlib.suppress(ValueError):
            return number(text)
    return None


def default_value(parameter: ParameterPlan) -> object:
    """A schema's default in Python: `[0, 1]` is a tuple, `0` for an `int[2]` is `(0, 0)`, a dtype is a Name."""
    text = parameter.default
    assert text is not None
    if text.startswith("["):
        return tuple([_single(base_type(parameter.type), item) for item in items_of(text)])
    value = _single(required(parameter.type), text)
    if isinstance(required(parameter.type), ListType) and isinstance(value, int | float | Name):
        return (value,) * (parameter.size or 1)
    return value


def _single(type: Type, text: str) -> object:
    if base_type(type) == DTYPE and text != "None":
        return Name(f"dtypes.{text}")
    if text in _ENUMS:
        return _ENUMS[text]
    if text in ("True", "False"):
        return text == "True"
    value = _value(text)
    return text if value is None else value


def default_text(parameter: ParameterPlan) -> str:
    """A schema's default as Python prints it."""
    return literal(default_value(parameter))
