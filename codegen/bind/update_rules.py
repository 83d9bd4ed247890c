"""Update rules of optimizers as statements that any target can print: what Python functions of elements become.

A rule is what `complete` does with it, with the helpers that it calls in their place: assignments, `if`, arithmetic,
comparisons, a few functions of NumPy, and results. Conditional expressions are variables that are set before.

Expressions are those of formulas. Numbers, which are options and what is made of these, are told from arrays: a target
computes numbers once for a step.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from codegen.formula.typed import (
    BOOL,
    FLOAT,
    TENSOR,
    Arithmetic,
    Intrinsic,
    Literal,
    TypedExpr,
    ValueType,
    Variable,
    VariableKind,
)
from codegen.schema.types import BaseType

MASK = BaseType("Mask")  # an array of bools
# What a value is: a number, what is true or false, an array, a mask.
KINDS: dict[ValueType, str] = {
    FLOAT: "a number", BOOL: "true or false", TENSOR: "an array", MASK: "an array of bools",
}  # fmt: skip
OF_ELEMENTS = frozenset((TENSOR, MASK))


COMPARISONS = frozenset(("==", "!=", "<", "<=", ">", ">="))
# Functions of NumPy for elements by signs of Python and the number of operands.
FUNCTIONS = {
    ("-", 1): "negative", ("+", 2): "add", ("-", 2): "subtract", ("*", 2): "multiply", ("/", 2): "divide",
    ("==", 2): "equal", ("!=", 2): "not_equal", ("<", 2): "less", ("<=", 2): "less_equal", (">", 2): "greater",
    (">=", 2): "greater_equal",
}  # fmt: skip


def variable(name: str, type: ValueType) -> Variable:
    """A value with a name, which is unique in its rule."""
    return Variable(type, 0, 0, VariableKind.INPUT, name)


def constant(value: float | bool) -> Literal:
    return Literal(BOOL if isinstance(value, bool) else FLOAT, 0, 0, value)


def of_signs(sign: str, *operands: TypedExpr) -> Arithmetic | Intrinsic:
    """Arithmetic, or a comparison: of numbers, or a function of NumPy where there is an array."""
    compares = sign in COMPARISONS
    if all(operand.type == FLOAT for operand in operands):
        return Arithmetic(BOOL if compares else FLOAT, 0, 0, sign, operands)
    return Intrinsic(MASK if compares else TENSOR, 0, 0, FUNCTIONS[sign, len(operands)], operands)


@dataclass(frozen=True, slots=True)
class Given:
    """Whether the array of this number is there, or whether it is not."""

    array: int
    wanted: bool


Condition: TypeAlias = TypedExpr | Given


@dataclass(frozen=True, slots=True)
class Assign:
    target: Variable
    value: TypedExpr


@dataclass(frozen=True, slots=True)
class If:
    condition: Condition
    then: tuple[Statement, ...]
    otherwise: tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class Return:
    """The end of each way through a rule: new values of all arrays but the first, None for one that is not there."""

    values: tuple[TypedExpr | None, ...]


Statement: TypeAlias = Assign | If | Return


@dataclass(frozen=True, slots=True)
class Option:
    """A number, or what is true or false; `default` is None for one that must be given."""

    name: str
    variable: Variable
    default: float | None


@dataclass(frozen=True, slots=True)
class UpdateRule:
    """A rule with all that optimizers share.

    `arrays` are the variables of the gradient, of the parameter and of what is kept, `optional` the numbers of those
    that may be left out.
    """

    name: str
    arrays: tuple[Variable, ...]
    optional: frozenset[int]
    options: tuple[Option, ...]
    body: tuple[Statement, ...]
