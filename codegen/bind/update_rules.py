"""Update rules of optimizers as statements that any target can print: what Python functions of elements become.

A rule is what `complete` does with it, with the helpers that it calls in their place: assignments, `if`, arithmetic,
comparisons, a few functions of NumPy, and results. Conditional expressions are variables that are set before.

Numbers, which are options and what is made of these, are told from arrays: a target computes numbers once for a step.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias


class Kind(enum.Enum):
    """What a value is."""

    NUMBER = "a number"
    FLAG = "true or false"
    ARRAY = "an array"
    MASK = "an array of bools"


@dataclass(frozen=True, slots=True)
class Constant:
    value: float

    @property
    def kind(self) -> Kind:
        return Kind.NUMBER


@dataclass(frozen=True, slots=True)
class Variable:
    """A value with a name, which is unique in its rule."""

    name: str
    kind: Kind


@dataclass(frozen=True, slots=True)
class Negative:
    operand: Expression
    kind: Kind


@dataclass(frozen=True, slots=True)
class Binary:
    """Arithmetic; `sign` is Python's."""

    sign: str
    left: Expression
    right: Expression
    kind: Kind


@dataclass(frozen=True, slots=True)
class Comparison:
    sign: str
    left: Expression
    right: Expression
    kind: Kind


@dataclass(frozen=True, slots=True)
class Call:
    """A function of NumPy."""

    function: str
    arguments: tuple[Expression, ...]
    kind: Kind = Kind.ARRAY


@dataclass(frozen=True, slots=True)
class Given:
    """Whether the array of this number is there, or whether it is not."""

    array: int
    wanted: bool
    kind: Kind = Kind.FLAG


Expression: TypeAlias = Constant | Variable | Negative | Binary | Comparison | Call | Given


@dataclass(frozen=True, slots=True)
class Assign:
    target: Variable
    value: Expression


@dataclass(frozen=True, slots=True)
class If:
    condition: Expression
    then: tuple[Statement, ...]
    otherwise: tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class Return:
    """The end of each way through a rule: new values of all arrays but the first, None for one that is not there."""

    values: tuple[Expression | None, ...]


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


def parts_of(expression: Expression) -> Iterator[Expression]:
    """An expression and all that it is made of."""
    yield expression
    for operand in operands_of(expression):
        yield from parts_of(operand)


def operands_of(expression: Expression) -> tuple[Expression, ...]:
    """What an expression is made of at once."""
    match expression:
        case Negative(operand=operand):
            return (operand,)
        case Binary(left=left, right=right) | Comparison(left=left, right=right):
            return left, right
        case Call(arguments=arguments):
            return arguments
    return ()
