"""Expressions put in the place of variables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from codegen.formula.typed import (
    BOOL,
    FLOAT,
    INT,
    NONE,
    STR,
    Literal,
    OperatorCall,
    TypedExpr,
    ValueType,
    Variable,
    VariableKind,
    rewrite,
)
from codegen.schema.defaults import default_value
from codegen.schema.types import Argument, OptionalType

_TYPES: Mapping[type, ValueType] = {bool: BOOL, int: INT, float: FLOAT, str: STR, type(None): NONE}


def applied(tree: TypedExpr, call: OperatorCall) -> TypedExpr:
    """An expression over the arguments of an operator as one over those of a call of it."""
    values = arguments(call)

    def change(part: TypedExpr) -> TypedExpr | None:
        if isinstance(part, Variable) and part.kind is VariableKind.INPUT:
            return in_place_of(part, values)
        return None

    return rewrite(tree, change)


def in_place_of(variable: Variable, values: Mapping[str, TypedExpr]) -> TypedExpr | None:
    """What is put in the place of an argument: read as given where the argument is."""
    value = values.get(variable.name)
    if isinstance(value, Variable) and isinstance(value.type, OptionalType):
        return value if isinstance(variable.type, OptionalType) else replace(value, type=value.type.elem)
    return value


def arguments(call: OperatorCall) -> Mapping[str, TypedExpr]:
    """What each argument of an operator is in a call of it, those that are left at their defaults included."""
    given = dict(call.args)
    values = {
        argument.name: given[argument.name] if argument.name in given else _default(argument, call)
        for argument in call.schema.arguments
    }
    return {name: value for name, value in values.items() if value is not None}


def _default(argument: Argument, call: OperatorCall) -> Literal | None:
    if argument.default is None:
        return None
    value = default_value(argument)
    if isinstance(value, bool | int | float | str | None):
        return Literal(_TYPES[type(value)], call.start, call.end, value)
    return None
