"""Signs: how Python and formulas write a call of an operator, `self + other`.

What Python says of its signs stands here; which operator one of them calls is said by the operator's entry in
native_functions.yaml (`python_operator: self + other`).
"""

from __future__ import annotations

import enum
import re
from dataclasses import dataclass

from codegen.source import Text


class Notation(enum.Enum):
    ARITHMETIC = "arithmetic"  # between two operands; the right one may answer by `__radd__`, and there is `+=`
    COMPARISON = "comparison"  # between two operands; the right one may answer by the mirrored sign
    PREFIX = "prefix"  # before its only operand
    CALL = "call"  # a function of its only operand
    CHOICE = "choice"  # between two operands, by a condition before them


@dataclass(frozen=True, slots=True)
class Sign:
    """One sign.

    `method` is what stands between the underscores of Python's method, None for a sign of formulas alone; `slot` is
    what follows `nb_` in CPython's name of it, None where there is no such slot.
    """

    text: str
    notation: Notation
    method: str | None = None
    slot: str | None = None

    @property
    def is_binary(self) -> bool:
        """Whether it stands between two operands."""
        return self.notation in (Notation.ARITHMETIC, Notation.COMPARISON)

    @property
    def is_augmented(self) -> bool:
        """Whether Python has a form of it that writes the left operand, `+=`."""
        return self.notation is Notation.ARITHMETIC

    def written(self, *operands: str) -> str:
        """The sign with its operands: `self + other`, `-self`, `abs(self)`."""
        if self.is_binary:
            return f" {self.text} ".join(operands)
        if self.notation is Notation.CHOICE:
            condition, then, otherwise = operands
            return f"{condition} ? {then} : {otherwise}"
        (operand,) = operands
        return f"{self.text}({operand})" if self.notation is Notation.CALL else f"{self.text}{operand}"


ADDITION = Sign("+", Notation.ARITHMETIC, "add", "add")
MULTIPLICATION = Sign("*", Notation.ARITHMETIC, "mul", "multiply")
DIVISION = Sign("/", Notation.ARITHMETIC, "truediv", "true_divide")
POWER = Sign("**", Notation.ARITHMETIC, "pow", "power")
CONJUGATION = Sign("conj", Notation.CALL)
CHOICE = Sign("?:", Notation.CHOICE)
INVERSION = Sign("~", Notation.PREFIX, "invert", "invert")
EQUALITIES = (Sign("==", Notation.COMPARISON, "eq"), Sign("!=", Notation.COMPARISON, "ne"))

SIGNS = (
    ADDITION,
    Sign("-", Notation.ARITHMETIC, "sub", "subtract"),
    MULTIPLICATION,
    DIVISION,
    Sign("//", Notation.ARITHMETIC, "floordiv", "floor_divide"),
    Sign("%", Notation.ARITHMETIC, "mod", "remainder"),
    POWER,
    Sign("@", Notation.ARITHMETIC, "matmul", "matrix_multiply"),
    Sign("&", Notation.ARITHMETIC, "and", "and"),
    Sign("|", Notation.ARITHMETIC, "or", "or"),
    Sign("^", Notation.ARITHMETIC, "xor", "xor"),
    *EQUALITIES,
    Sign("<", Notation.COMPARISON, "lt"),
    Sign("<=", Notation.COMPARISON, "le"),
    Sign(">", Notation.COMPARISON, "gt"),
    Sign(">=", Notation.COMPARISON, "ge"),
    Sign("<<", Notation.ARITHMETIC, "lshift", "lshift"),
    Sign(">>", Notation.ARITHMETIC, "rshift", "rshift"),
    Sign("-", Notation.PREFIX, "neg", "negative"),
    Sign("+", Notation.PREFIX, "pos", "positive"),
    INVERSION,
    Sign("!", Notation.PREFIX),
    Sign("abs", Notation.CALL, "abs", "absolute"),
    CONJUGATION,
    CHOICE,
)

_BINARY = {sign.text: sign for sign in SIGNS if sign.is_binary}
_PREFIX = {sign.text: sign for sign in SIGNS if sign.notation is Notation.PREFIX}
_CALLS = {sign.text: sign for sign in SIGNS if sign.notation is Notation.CALL}

_BETWEEN = re.compile(r"(\w+)\s*([^\w\s()]+)\s*(\w+)", re.ASCII)
_BEFORE = re.compile(r"([^\w\s()]+)\s*(\w+)", re.ASCII)
_CHOICE = re.compile(r"(\w+)\s*\?\s*(\w+)\s*:\s*(\w+)", re.ASCII)
_CALL = re.compile(r"(\w+)\s*\(\s*(\w+)\s*\)", re.ASCII)


def binary_sign(text: str) -> Sign | None:
    """The sign that stands between two operands under this text."""
    return _BINARY.get(text)


def prefix_sign(text: str) -> Sign | None:
    """The sign that stands before one operand under this text."""
    return _PREFIX.get(text)


class Form(enum.Enum):
    """Which operand of a sign the first argument of the operator is."""

    DIRECT = "direct"  # the left one, or the only one
    REFLECTED = "reflected"  # the right one
    INVERSE = "inverse"  # the right one, and the left one is 1: `1 / self`


@dataclass(frozen=True, slots=True)
class SignUse:
    """One way in which calls of an operator are written; `text` is what its entry says."""

    sign: Sign
    form: Form
    text: Text


@dataclass(frozen=True, slots=True)
class SplitSign:
    """A sign and its operands as they were read; `sign` is None where there is no such sign as `text`."""

    text: str
    sign: Sign | None
    operands: tuple[str, ...]


def split_sign(text: str) -> SplitSign | None:
    """Take `self + other` apart; None if it is no sign with its operands."""
    if (match := _CHOICE.fullmatch(text)) is not None:
        return SplitSign(CHOICE.text, CHOICE, match.groups())
    if (match := _BETWEEN.fullmatch(text)) is not None:
        return SplitSign(match[2], _BINARY.get(match[2]), (match[1], match[3]))
    if (match := _BEFORE.fullmatch(text)) is not None:
        return SplitSign(match[1], _PREFIX.get(match[1]), (match[2],))
    if (match := _CALL.fullmatch(text)) is not None:
        return SplitSign(match[1], _CALLS.get(match[1]), (match[2],))
    return None


def known_signs() -> str:
    """The signs that there are, for a hint."""
    return " ".join(dict.fromkeys(sign.text for sign in SIGNS))
