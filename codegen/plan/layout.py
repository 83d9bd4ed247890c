"""How results lie in memory: a rule of each operator, which both targets apply where results are made.

An entry names its rule with `layout:`; for the others the schema tells: element-wise operators lay results out as their
operands lie, views have no memory of their own, and all other results are contiguous.
"""

from __future__ import annotations

from dataclasses import dataclass

from codegen.formula.typed import formula_type, is_tensor_like
from codegen.plan.kinds import OperatorKind
from codegen.read.implied import layout_rule
from codegen.read.model import NativeFunction
from codegen.schema.types import FunctionSchema, ListType, OptionalType
from codegen.words import LayoutKind


@dataclass(frozen=True, slots=True)
class LayoutPlan:
    """The rule, the arguments by which it goes, and the results that follow it; the others are contiguous."""

    kind: LayoutKind
    arguments: tuple[str, ...]
    results: tuple[int, ...]


def plan_layout(function: NativeFunction, kind: OperatorKind) -> LayoutPlan | None:
    """The rule of an operator; None where no kernel makes its results, or they are views."""
    schema = function.schema
    if (
        kind is not OperatorKind.KERNEL
        or schema.is_view
        or not all(is_tensor_like(formula_type(r.type)) for r in schema.returns)
    ):
        return None
    rule = layout_rule(function)
    layout, names = rule.kind, rule.names
    every = tuple(range(len(schema.returns)))
    if layout is LayoutKind.OWN:
        return None
    if layout is LayoutKind.CONTIGUOUS:
        return LayoutPlan(layout, (), every)
    if layout is LayoutKind.COLUMNS:
        return LayoutPlan(layout, (), every if names is None else tuple(i for i in every if _name(schema, i) in names))
    return LayoutPlan(layout, tensor_arguments(schema) if names is None else names, every)


def tensor_arguments(schema: FunctionSchema) -> tuple[str, ...]:
    """The names of the arguments that are Tensors, or lists of them."""
    names = []
    for argument in schema.arguments:
        type = formula_type(argument.type)
        inner = type.elem if isinstance(type, OptionalType) else type
        if is_tensor_like(inner.elem if isinstance(inner, ListType) else inner):
            names.append(argument.name)
    return tuple(names)


def _name(schema: FunctionSchema, index: int) -> str | None:
    return schema.returns[index].name
