"""Whether an expression over elements is linear in one of its Tensors, decided on its typed tree."""

from __future__ import annotations

from codegen.bind.call_targets import OperatorTable
from codegen.derive.slopes import is_written
from codegen.formula.typed import Conditional, Literal, OperatorCall, TypedExpr, Variable, variables
from codegen.signs import ADDITION, CHOICE, DIVISION, MULTIPLICATION, binary_sign, prefix_sign

_SUMS = (ADDITION, binary_sign("-"))
_NEGATION = prefix_sign("-")


def is_linear(tree: TypedExpr, name: str, table: OperatorTable) -> bool:
    """Whether it is linear in `name` for sure: where this says no, it may still be."""

    def linear(expr: TypedExpr) -> bool:
        if isinstance(expr, Variable):
            return expr.name == name
        if isinstance(expr, Conditional):
            return linear(expr.then) and linear(expr.orelse)
        if not isinstance(expr, OperatorCall):
            return False
        first, *rest = (value for _, value in expr.args)
        if is_written(table, expr, *_SUMS):
            return linear(first) and linear(rest[0]) and not any(map(has, rest[1:]))
        if is_written(table, expr, MULTIPLICATION):
            return (linear(first) and not has(rest[0])) or (linear(rest[0]) and not has(first))
        if is_written(table, expr, DIVISION, _NEGATION):
            return linear(first) and not any(map(has, rest))
        if is_written(table, expr, CHOICE):
            return not has(first) and all(linear(side) or _is_zero(side) for side in rest)
        return False

    def has(expr: TypedExpr) -> bool:
        return any(variable.name == name for variable in variables(expr))

    return linear(tree)


def _is_zero(expr: TypedExpr) -> bool:
    return isinstance(expr, Literal) and expr.value == 0
