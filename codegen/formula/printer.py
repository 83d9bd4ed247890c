"""Syntax tree -> formula text, with the parentheses that precedence asks for and no others."""

from __future__ import annotations

from typing import assert_never

from codegen.formula.literals import quote
from codegen.formula.operators import BINARY, CONDITIONAL_PRECEDENCE, POSTFIX_PRECEDENCE, UNARY_PRECEDENCE
from codegen.formula.syntax import (
    Attribute,
    Binary,
    BoolLiteral,
    BraceList,
    Call,
    Conditional,
    Expr,
    FloatLiteral,
    Index,
    IntLiteral,
    Lambda,
    MethodCall,
    Name,
    StringLiteral,
    Unary,
)

_ATOM_PRECEDENCE = POSTFIX_PRECEDENCE + 1

# A comparison as the left side of a comparison keeps its parentheses: `a < b > (c)` calls the template `a<b>`.
_COMPARISONS = frozenset(("<", "<=", ">", ">="))


def print_formula(expr: Expr) -> str:
    """The formula that parses to `expr`."""
    return _print(expr, 0)


def precedence(expr: Expr) -> int:
    """How tightly the outermost operator of `expr` binds."""
    match expr:
        case Conditional():
            return CONDITIONAL_PRECEDENCE
        case Binary():
            return BINARY[expr.op]
        case Unary():
            return UNARY_PRECEDENCE
        case IntLiteral() | FloatLiteral():
            return POSTFIX_PRECEDENCE - 1  # `2.sum()` would read the point as part of the number
        case _:
            return _ATOM_PRECEDENCE


def _print(expr: Expr, wanted: int) -> str:
    """`expr`, in parentheses if it binds less tightly than `wanted`."""
    text = _text(expr)
    return f"({text})" if precedence(expr) < wanted else text


def _text(expr: Expr) -> str:
    match expr:
        case Name():
            return expr.id
        case IntLiteral():
            return str(expr.value)
        case FloatLiteral():
            return expr.text
        case StringLiteral():
            return quote(expr.value)
        case BoolLiteral():
            return "true" if expr.value else "false"
        case Call():
            return f"{_print(expr.function, POSTFIX_PRECEDENCE)}{_template(expr.template)}({_list(expr.args)})"
        case MethodCall():
            member = f"{'->' if expr.arrow else '.'}{expr.name}{_template(expr.template)}"
            return f"{_print(expr.receiver, POSTFIX_PRECEDENCE)}{member}({_list(expr.args)})"
        case Attribute():
            return f"{_print(expr.receiver, POSTFIX_PRECEDENCE)}{'->' if expr.arrow else '.'}{expr.name}"
        case Index():
            return f"{_print(expr.receiver, POSTFIX_PRECEDENCE)}[{_print(expr.index, 0)}]"
        case Unary():
            return f"{expr.op}{_operand(expr)}"
        case Binary():
            power = BINARY[expr.op]
            left = power + 1 if expr.op in _COMPARISONS else power
            return f"{_print(expr.left, left)} {expr.op} {_print(expr.right, power + 1)}"
        case Conditional():
            test = _print(expr.test, CONDITIONAL_PRECEDENCE + 1)
            return f"{test} ? {_print(expr.then, 0)} : {_print(expr.orelse, 0)}"
        case BraceList():
            return f"{expr.type_name or ''}{{{_list(expr.items)}}}"
        case Lambda():
            return f"[{expr.captures}]{_parameters(expr)}{{ return {_print(expr.body, 0)}; }}"
        case _:
            assert_never(expr)


def _operand(expr: Unary) -> str:
    """`- -x` and `& &x` keep apart what would read as another operator."""
    doubled = isinstance(expr.operand, Unary) and expr.operand.op == expr.op and expr.op in "-+&*"
    return _print(expr.operand, _ATOM_PRECEDENCE if doubled else UNARY_PRECEDENCE)


def _list(items: tuple[Expr, ...]) -> str:
    texts = [_print(item, 0) for item in items]
    for i, item in enumerate(items[:-1]):
        # `f(a < b, c > (d))` passes the result of the template `a<b, c>`; `f((a < b), c > (d))` compares twice.
        if _ends_with_less(item) and any(map(_begins_with_greater, items[i + 1 :])):
            texts[i] = f"({texts[i]})"
    return ", ".join(texts)


def _ends_with_less(expr: Expr) -> bool:
    while isinstance(expr, Binary | Conditional):
        if isinstance(expr, Binary) and expr.op == "<":
            return True
        expr = expr.right if isinstance(expr, Binary) else expr.orelse
    return False


def _begins_with_greater(expr: Expr) -> bool:
    while isinstance(expr, Binary | Conditional):
        if isinstance(expr, Binary) and expr.op == ">":
            return True
        expr = expr.left if isinstance(expr, Binary) else expr.test
    return False


def _template(arguments: tuple[str, ...]) -> str:
    return f"<{', '.join(arguments)}>" if arguments else ""


def _parameters(expr: Lambda) -> str:
    if not expr.parameters:
        return " "
    return f"({', '.join([f'{parameter.type} {parameter.name}' for parameter in expr.parameters])}) "
