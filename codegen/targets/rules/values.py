"""Pieces of the code that is printed: an expression with its type, and why there may be none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum

from codegen.formula.typed import ValueType
from codegen.source import Span


class NotPortable(Exception):
    """What can not be written as functions over the array API.

    Attributes:
        reason: what is missing.
        place: where it is asked for, if that is known.
    """

    def __init__(self, reason: str, place: Span | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.place = place


class Binding(IntEnum):
    """How tightly the outermost operator of an expression binds."""

    CHOICE = 0
    OR = 1
    AND = 2
    NOT = 3
    COMPARISON = 4
    BITS = 5
    SUM = 6
    PRODUCT = 7
    SIGN = 8
    POWER = 9
    CALL = 10


# Of Python's signs between two operands.
BINDINGS: Mapping[str, Binding] = {
    "or": Binding.OR, "and": Binding.AND, **dict.fromkeys(("==", "!=", "<", "<=", ">", ">="), Binding.COMPARISON),
    **dict.fromkeys("|^&", Binding.BITS), **dict.fromkeys("+-", Binding.SUM),
    **dict.fromkeys(("*", "/", "//", "%", "@"), Binding.PRODUCT), "**": Binding.POWER,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Value:
    """An expression of Python.

    `type` is None where it is not known; `constant` is its truth where that is known when the code is written.
    """

    text: str
    type: ValueType | None = None
    binding: Binding = Binding.CALL
    constant: bool | None = None

    def within(self, binding: Binding) -> str:
        """The text as an operand of an operator that binds so tightly."""
        return self.text if self.binding >= binding else f"({self.text})"


def infix(sign: str, left: Value, right: Value, type: ValueType | None) -> Value:
    """Two operands with a sign between them: comparisons can not be chained, and powers are taken from the right."""
    binding = BINDINGS[sign]
    before = Binding(binding + 1) if binding in (Binding.COMPARISON, Binding.POWER) else binding
    after = binding if binding is Binding.POWER else Binding(binding + 1)
    return Value(f"{left.within(before)} {sign} {right.within(after)}", type, binding)
