"""The key `sign` of native_functions.yaml: how Python and formulas write a call."""

from __future__ import annotations

from collections.abc import Iterable

from codegen.codes import Code
from codegen.read.model import NativeFunction
from codegen.schema.types import BaseType, FunctionSchema
from codegen.signs import DIVISION, Form, Sign, SignUse, known_signs, split_sign
from codegen.source import Diagnostics, Text
from codegen.words import did_you_mean

_TENSOR = BaseType("Tensor")
_ONE = "1"


def read_sign(text: Text, schema: FunctionSchema, diagnostics: Diagnostics) -> SignUse | None:
    """One way of writing a call of the operator, `other + self`; None where something was reported."""
    parts = split_sign(text.value)
    if parts is None:
        hint = "write a call as Python does: 'self + other', '-self', 'abs(self)'"
        diagnostics.error(Code.SIGN, text.span(), f"'{text}' is no sign with its operands", hint)
        return None
    if parts.sign is None:
        start = text.value.index(parts.text)
        diagnostics.error(
            Code.SIGN,
            text.span(start, start + len(parts.text)),
            f"unknown sign '{parts.text}'",
            f"the signs are {known_signs()}",
        )
        return None
    form = _form(parts.sign, parts.operands, schema)
    if form is None:
        _report_operands(text, parts.sign, parts.operands, schema, diagnostics)
        return None
    return SignUse(parts.sign, form, text)


def check_signs(functions: Iterable[NativeFunction], diagnostics: Diagnostics) -> None:
    """No two operators are written in the same way."""
    seen: dict[tuple[Sign, Form], tuple[NativeFunction, SignUse]] = {}
    for function in functions:
        for use in function.signs:
            first, known = seen.setdefault((use.sign, use.form), (function, use))
            if known is not use:
                note = (known.text.span(), f"'{first.name}' is written like this, too")
                diagnostics.error(Code.SIGN, use.text.span(), f"'{use.text}' calls two operators", None, (note,))


def _form(sign: Sign, operands: tuple[str, ...], schema: FunctionSchema) -> Form | None:
    """Where the arguments of the operator stand; None if these are not all that it needs."""
    count = len(operands) - operands.count(_ONE)
    arguments = schema.positional[:count]
    if any(argument.type != _TENSOR for argument in arguments):
        return None
    if any(argument.default is None for argument in schema.arguments[count:]):
        return None
    names = tuple(argument.name for argument in arguments)
    if operands == names:
        return Form.DIRECT
    if operands == names[::-1]:
        return Form.REFLECTED
    return Form.INVERSE if sign is DIVISION and operands == (_ONE, *names) else None


def _report_operands(
    text: Text, sign: Sign, operands: tuple[str, ...], schema: FunctionSchema, diagnostics: Diagnostics
) -> None:
    tensors = [argument.name for argument in schema.arguments if argument.type == _TENSOR]
    for operand in operands:
        if operand not in tensors and operand != _ONE:
            start = text.value.rindex(operand)
            diagnostics.error(
                Code.SIGN,
                text.span(start, start + len(operand)), f"'{schema.name}' has no Tensor argument '{operand}'",
                did_you_mean(operand, tensors) or f"its Tensors: {', '.join(tensors) or 'none'}",
            )  # fmt: skip
            return
    first = ", ".join(f"'{argument.name}'" for argument in schema.positional[: len(operands)])
    hint = f"the operands of '{sign.text}' are all that it needs, its first arguments: {first or 'none'}"
    diagnostics.error(Code.SIGN, text.span(), f"'{schema.name}' can not be called as '{text}'", hint)
