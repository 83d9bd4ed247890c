"""A typed tree as a person would write it: the syntax tree that binds to it again."""

from __future__ import annotations

import math
from collections.abc import Sequence

from codegen.bind.call_targets import OperatorTable
from codegen.bind.scope import BEFORE_WRITE, CONSTANTS
from codegen.bind.substitution import arguments
from codegen.formula import syntax
from codegen.formula.intrinsics import INTRINSICS, SCALAR_INTRINSICS, TENSOR_INTRINSICS
from codegen.formula.meaning import Meaning
from codegen.formula.operators import BINARY
from codegen.formula.printer import print_formula
from codegen.formula.typed import (
    STR,
    TENSOR,
    Arithmetic,
    Conditional,
    Element,
    HelperCall,
    Intrinsic,
    ListDisplay,
    Literal,
    OperatorCall,
    TypedExpr,
    Variable,
    VariableKind,
)
from codegen.read.model import Formula, FormulaKind
from codegen.schema.types import FunctionSchema, OptionalType
from codegen.signs import CONJUGATION, Form, Notation, SignUse
from codegen.source import Text

_NO_NUMBERS = {"inf": "INFINITY", "nan": "NAN"}


class UnwritableError(Exception):
    """There are no words for a part of an expression."""


def derived_formula(names: Sequence[str], kind: FormulaKind, tree: syntax.Expr | None, place: Text) -> Formula:
    """A formula that stands nowhere, and has the place of what it follows from."""
    words = kind.value if tree is None else print_formula(tree)
    return Formula(tuple(standing_at(place, name) for name in names), kind, standing_at(place, words), tree)


def standing_at(place: Text, value: str) -> Text:
    """A text that stands nowhere, and has the place of another one."""
    span = place.span()
    middle = (max(span.end - 1, span.start),) * max(len(value) - 1, 0)
    return Text(value, place.file, (span.start, *middle, span.end))


class Wording:
    """Writes formulas.

    Args:
        table: of the operators, with their signs.
        forward: whether it is a formula of forward mode, where the value of `self` is `self_p`.
        schema: of the operator whose formula it is.
    """

    def __init__(self, table: OperatorTable, forward: bool, schema: FunctionSchema) -> None:
        self.table = table
        self.forward = forward
        self.optional = {each.name for each in schema.arguments if isinstance(each.type, OptionalType)}

    def written(self, expr: TypedExpr) -> syntax.Expr:
        """The syntax tree of an expression.

        Raises:
            UnwritableError: it has a part that formulas do not write.
        """
        match expr:
            case Variable(kind=VariableKind.GRAD, name=name) if name.endswith("]"):
                return syntax.Index(0, 0, _name("grads"), syntax.IntLiteral(0, 0, expr.index))
            case Variable():
                written = _name(self._variable(expr))
                narrowed = expr.name in self.optional and not isinstance(expr.type, OptionalType)
                return _method(written, "value", ()) if narrowed and expr.kind is VariableKind.INPUT else written
            case Literal():
                return _literal(expr)
            case OperatorCall():
                return self._call(expr)
            case HelperCall():
                return syntax.Call(0, 0, _name(str(expr.helper.name)), (), self._all([value for _, value in expr.args]))
            case Arithmetic(operands=(only,)):
                return syntax.Unary(0, 0, expr.op, self.written(only))
            case Arithmetic(operands=(left, right)):
                return syntax.Binary(0, 0, expr.op, 0, self.written(left), self.written(right))
            case Conditional():
                parts = self._all((expr.test, expr.then, expr.orelse))
                return syntax.Conditional(0, 0, *parts)
            case ListDisplay(items=items):
                return syntax.BraceList(0, 0, None, self._all(items))
            case Element():
                return syntax.Index(0, 0, self.written(expr.receiver), self.written(expr.index))
            case Intrinsic(name="defined", args=(asked,)) if isinstance(asked.type, OptionalType):
                return _method(self.written(asked), "has_value", ())
            case Intrinsic() if expr.name in INTRINSICS and expr.args:
                return self._intrinsic(expr)
        raise UnwritableError(type(expr).__name__)

    def _all(self, parts: Sequence[TypedExpr]) -> tuple[syntax.Expr, ...]:
        return tuple(self.written(part) for part in parts)

    def _variable(self, variable: Variable) -> str:
        match variable.kind:
            case VariableKind.INPUT:
                return f"{variable.name}_p" if self.forward and variable.type == TENSOR else variable.name
            case VariableKind.OUTPUT:
                return variable.name
            case VariableKind.GRAD:
                return variable.name
            case VariableKind.TANGENT if not variable.name.startswith(BEFORE_WRITE):
                return f"{variable.name}_t"
        raise UnwritableError(variable.kind.value)

    def _intrinsic(self, expr: Intrinsic) -> syntax.Expr:
        spellings = INTRINSICS[expr.name].spellings
        spelling = expr.spelling or (spellings[0] if spellings else "")
        if not spelling:
            raise UnwritableError(expr.name)
        parts = self._all(expr.args)
        if INTRINSICS[expr.name] in (*TENSOR_INTRINSICS, *SCALAR_INTRINSICS):
            return _method(parts[0], spelling, parts[1:])
        return syntax.Call(0, 0, _name(spelling), (), parts)

    def _call(self, call: OperatorCall) -> syntax.Expr:
        base = call.schema.name.base
        parts = self._all(self._given(call))
        if call.meaning is Meaning.CONJUGATE:
            return _method(parts[0], CONJUGATION.text, ())
        for use in self._signs(base):
            if use.sign.notation is Notation.PREFIX and len(parts) == 1:
                return syntax.Unary(0, 0, use.sign.text, parts[0])
            if use.sign.text in BINARY and len(parts) == 2 and use.form is not Form.INVERSE:
                left, right = parts if use.form is Form.DIRECT else parts[::-1]
                return syntax.Binary(0, 0, use.sign.text, 0, left, right)
        function = self.table.functions[str(call.schema.name)]
        if "function" in function.variants:
            return syntax.Call(0, 0, _name(base), (), parts)
        return _method(parts[0], base, parts[1:])

    def _signs(self, base: str) -> Sequence[SignUse]:
        return [use for function in self.table.overloads(base) for use in function.signs]

    def _given(self, call: OperatorCall) -> list[TypedExpr]:
        """The arguments up to the last one that is not what it would be by default."""
        known, given = arguments(call), dict(call.args)
        defaults = {a.name: known.get(a.name) for a in call.schema.arguments if a.name not in given}
        values = [known[argument.name] for argument in call.schema.arguments if argument.name in known]
        names = [argument.name for argument in call.schema.arguments if argument.name in known]
        while names and names[-1] in defaults:
            names.pop()
            values.pop()
        return values


def _name(text: str) -> syntax.Name:
    return syntax.Name(0, 0, text)


def _method(receiver: syntax.Expr, name: str, args: tuple[syntax.Expr, ...]) -> syntax.Expr:
    return syntax.MethodCall(0, 0, receiver, name, 0, False, (), args)


def _literal(literal: Literal) -> syntax.Expr:
    value = literal.value
    if isinstance(value, bool):
        return syntax.BoolLiteral(0, 0, value)
    if isinstance(value, int):
        number: syntax.Expr = syntax.IntLiteral(0, 0, abs(value))
        return number if value >= 0 else syntax.Unary(0, 0, "-", number)
    if isinstance(value, float):
        text = repr(abs(value))
        number = syntax.FloatLiteral(0, 0, abs(value), text) if math.isfinite(value) else _name(_NO_NUMBERS[text])
        return number if str(value)[0] != "-" else syntax.Unary(0, 0, "-", number)
    if isinstance(value, str) and literal.type != STR:
        constant = next((name for name, known in CONSTANTS.items() if known == (literal.type, value)), None)
        if constant is None:
            raise UnwritableError(value)
        return _name(constant)
    if isinstance(value, str):
        return syntax.StringLiteral(0, 0, value)
    return _name("::std::nullopt")
