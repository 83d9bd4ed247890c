"""The syntax tree of a formula.  Every node knows its place (`start`, `end`) in the formula's text.

Places take no part in comparison: two trees are equal when they say the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

# No tree is deeper than this, so functions that walk a tree may recurse.
MAX_DEPTH = 64


@dataclass(frozen=True, slots=True)
class Node:
    start: int = field(compare=False)
    end: int = field(compare=False)


@dataclass(frozen=True, slots=True)
class Name(Node):
    """`grad`, `self`, `at::sum_to`, `std::nullopt`: `id` is the whole qualified name as written, without blanks."""

    id: str


@dataclass(frozen=True, slots=True)
class IntLiteral(Node):
    """Never negative: `-1` is a Unary."""

    value: int

    def __post_init__(self) -> None:
        if self.value < 0:
            raise ValueError(f"a literal has no sign: {self.value}")


@dataclass(frozen=True, slots=True)
class FloatLiteral(Node):
    """`text` is kept, so that the number prints back as it was written."""

    value: float
    text: str


@dataclass(frozen=True, slots=True)
class StringLiteral(Node):
    value: str


@dataclass(frozen=True, slots=True)
class BoolLiteral(Node):
    value: bool


@dataclass(frozen=True, slots=True)
class Call(Node):
    """`function<template>(args)`; function is a Name, or a Lambda called at once."""

    function: Expr
    template: tuple[str, ...]
    args: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class MethodCall(Node):
    """`receiver.name<template>(args)` or `receiver->name(args)` (`arrow`).  name_start: place of `name`."""

    receiver: Expr
    name: str
    name_start: int = field(compare=False)
    arrow: bool
    template: tuple[str, ...]
    args: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Attribute(Node):
    receiver: Expr
    name: str
    name_start: int = field(compare=False)
    arrow: bool


@dataclass(frozen=True, slots=True)
class Index(Node):
    receiver: Expr
    index: Expr


@dataclass(frozen=True, slots=True)
class Unary(Node):
    """op: one of `-` `+` `!` `~` `*` `&`."""

    op: str
    operand: Expr


@dataclass(frozen=True, slots=True)
class Binary(Node):
    """op: arithmetic, comparison, `&&`, `||`, `&`, `|`, `^`, `<<`, `>>`, `%`.  op_start: place of the operator."""

    op: str
    op_start: int = field(compare=False)
    left: Expr
    right: Expr


@dataclass(frozen=True, slots=True)
class Conditional(Node):
    test: Expr
    then: Expr
    orelse: Expr


@dataclass(frozen=True, slots=True)
class BraceList(Node):
    """`{a, b}`, or `IntArrayRef{a, b}` with `type_name`."""

    type_name: str | None
    items: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Parameter:
    type: str
    name: str


@dataclass(frozen=True, slots=True)
class Lambda(Node):
    """`[&](const Tensor& x) { return body; }` or `[&] { return body; }`."""

    captures: str
    parameters: tuple[Parameter, ...]
    body: Expr


Expr = (
    Name
    | IntLiteral
    | FloatLiteral
    | StringLiteral
    | BoolLiteral
    | Call
    | MethodCall
    | Attribute
    | Index
    | Unary
    | Binary
    | Conditional
    | BraceList
    | Lambda
)


def children(expr: Expr) -> tuple[Expr, ...]:
    """The expressions directly inside of `expr`, in the order in which they stand in the text."""
    match expr:
        case Call():
            return (expr.function, *expr.args)
        case MethodCall():
            return (expr.receiver, *expr.args)
        case Attribute():
            return (expr.receiver,)
        case Index():
            return (expr.receiver, expr.index)
        case Unary():
            return (expr.operand,)
        case Binary():
            return (expr.left, expr.right)
        case Conditional():
            return (expr.test, expr.then, expr.orelse)
        case BraceList():
            return expr.items
        case Lambda():
            return (expr.body,)
        case _:
            return ()


def walk(expr: Expr) -> Iterator[Expr]:
    """`expr` and everything inside of it, each before its children, from left to right."""
    waiting = [expr]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(reversed(children(node)))
