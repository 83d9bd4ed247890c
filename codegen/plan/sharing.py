"""Parts of a formula that stand in it more than once, and are computed once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator
from typing import TypeGuard

from codegen.formula.structure import structure
from codegen.formula.typed import (
    TENSOR,
    Arithmetic,
    Conditional,
    HelperCall,
    Mapped,
    OperatorCall,
    TupleType,
    TypedExpr,
    children,
    walk,
)


def shared_parts(tree: TypedExpr) -> tuple[TypedExpr, ...]:
    """The calls that give a Tensor, or several values, and stand in a formula several times, inner ones first.

    What only one side of a choice computes is not among them: the other side does not need it.
    """
    calls = Counter(_called(part) for part in walk(tree) if isinstance(part, OperatorCall | HelperCall))

    def may_repeat(part: TypedExpr) -> TypeGuard[OperatorCall | HelperCall]:
        return is_shareable(part) and calls[_called(part)] > 1

    always = {structure(part) for part in _always(tree) if may_repeat(part)}
    counts: dict[Hashable, int] = {}
    order: list[tuple[Hashable, TypedExpr]] = []

    def visit(part: TypedExpr) -> None:
        if isinstance(part, Mapped):
            return  # its body is over elements, which differ
        key = structure(part) if may_repeat(part) else None
        if key in always:
            counts[key] = counts.get(key, 0) + 1
            if counts[key] > 1:
                return  # what it is made of is computed with it
        for child in children(part):
            visit(child)
        if key in always:
            order.append((key, part))

    if always:
        visit(tree)
    return tuple(part for key, part in order if counts[key] > 1)


def is_shareable(part: TypedExpr) -> TypeGuard[OperatorCall | HelperCall]:
    """Whether it is worth a name."""
    return isinstance(part, OperatorCall | HelperCall) and (part.type == TENSOR or isinstance(part.type, TupleType))


def _called(call: OperatorCall | HelperCall) -> Hashable:
    return call.schema.name if isinstance(call, OperatorCall) else call.helper.name


def _always(tree: TypedExpr) -> Iterator[TypedExpr]:
    """The parts that are computed whatever the numbers are."""
    yield tree
    match tree:
        case Mapped():
            return
        case Conditional():
            yield from _always(tree.test)
        case Arithmetic(op="&&" | "||"):
            yield from _always(tree.operands[0])
        case _:
            for child in children(tree):
                yield from _always(child)
