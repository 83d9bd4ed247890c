"""Precedence of the operators of formulas: that of C++.  A higher number binds tighter."""

from __future__ import annotations

BINARY = {
    "||": 2,
    "&&": 3,
    "|": 4,
    "^": 5,
    "&": 6,
    "==": 7,
    "!=": 7,
    "<": 8,
    "<=": 8,
    ">": 8,
    ">=": 8,
    "<<": 9,
    ">>": 9,
    "+": 10,
    "-": 10,
    "*": 11,
    "/": 11,
    "%": 11,
}
UNARY = frozenset("-+!~*&")

CONDITIONAL_PRECEDENCE = 1
UNARY_PRECEDENCE = 12
POSTFIX_PRECEDENCE = 13
