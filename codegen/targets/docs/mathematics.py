"""Formulas as mathematics: typed trees printed as MathML.

A gradient is the symbol of its value with a bar, a tangent the symbol with a dot.  A call that a gradient or a tangent
enters, of an operator that is an expression over elements, is shown as that expression.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import assert_never

from codegen.bind.entries import ResolvedFormula
from codegen.bind.substitution import applied
from codegen.formula.typed import (
    Arithmetic,
    Conditional,
    Element,
    HelperCall,
    Intrinsic,
    ListDisplay,
    Literal,
    Mapped,
    OperatorCall,
    TupleDisplay,
    TypedExpr,
    Variable,
    VariableKind,
    variables,
)
from codegen.read.model import FormulaKind
from codegen.schema.types import Argument, FunctionSchema
from codegen.targets.docs.mathml import (
    MINUS,
    Binding,
    Term,
    application,
    bracketed,
    choice,
    element,
    formula,
    fraction,
    identifier,
    infix,
    listed,
    negative,
    number,
    operator,
    root,
    row,
    subscript,
    words,
)
from codegen.targets.docs.notation import (
    CONJUGATE,
    GREEK,
    HELPERS,
    INFIX,
    INTRINSICS,
    ONE,
    OPERATORS,
    TRANSPOSED,
    TWO,
    Notation,
    conjugate_transposed,
    product,
    total,
    with_bar,
    with_dot,
)

_SHORT = {"self": "x", "input": "x", "other": "z"}
_RESULT = "y"
_GRADIENTS = frozenset((VariableKind.GRAD, VariableKind.GRAD_OR_ZEROS, VariableKind.GRADS, VariableKind.TANGENT))
_PI = Term(identifier("π"))
_CONSTANTS = (
    (math.pi, _PI),
    (math.pi / 2, fraction(_PI, TWO)),
    (math.sqrt(2), root(TWO)),
    (1 / math.sqrt(2), fraction(ONE, root(TWO))),
    (2 / math.sqrt(math.pi), fraction(TWO, root(_PI))),
    (math.sqrt(2 / math.pi), root(fraction(TWO, _PI))),
    (1 / math.sqrt(2 * math.pi), fraction(ONE, root(product(TWO, _PI)))),
    (math.log(2), application(identifier("ln"), [number("2")])),
    (1 / math.log(2), fraction(ONE, application(identifier("ln"), [number("2")]))),
    (1 / math.log(10), fraction(ONE, application(identifier("ln"), [number("10")]))),
)


class Symbols:
    """The symbols of an operator's arguments and results, and what stands for what.

    One letter stays as it is; `self` is x, `other` is z, the result is y, where no argument is called so.
    """

    def __init__(self, schema: FunctionSchema) -> None:
        self._schema = schema
        names = {argument.name for argument in schema.all_arguments}
        self._short = {name: letter for name, letter in _SHORT.items() if name in names and letter not in names}
        if {"self", "input"} <= names:
            del self._short["input"]
        self._result = _RESULT if _RESULT not in names else "result"

    def argument(self, name: str) -> str:
        """The symbol of an argument."""
        if name in self._short:
            return identifier(self._short[name])
        return _symbol(name)

    def result(self, index: int) -> str:
        """The symbol of a result: its own name where it has one of several, else y."""
        returns = self._schema.returns
        if len(returns) <= 1:
            return identifier(self._result)
        own = returns[index].name if index < len(returns) else None
        return subscript(identifier(self._result), number(str(index))) if own is None else _symbol(own)

    def legend(self) -> Sequence[tuple[str, str]]:
        """What symbols stand for, as markup and words, where a symbol is not the name."""
        rows = [(identifier(letter), f"`{name}`") for name, letter in self._short.items()]
        if len(self._schema.returns) == 1:
            rows.append((identifier(self._result), "the result"))
        return rows


class MathPrinter:
    """Prints the formulas of one operator.

    Args:
        schema: of the operator.
        expressions: the operators that are expressions over elements, by name.
    """

    def __init__(self, schema: FunctionSchema, expressions: Mapping[str, TypedExpr]) -> None:
        self._schema = schema
        self._expressions = expressions
        self.symbols = Symbols(schema)

    def value(self, tree: TypedExpr) -> str:
        """The equation of the result: y = ..."""
        return self._equation([self.symbols.result(i) for i in range(len(self._schema.returns))], self.term(tree))

    def call(self) -> str | None:
        """The same for a call of the operator with its own arguments; None where mathematics has no other way to write
        it.
        """
        notation = OPERATORS.get(self._schema.name.base)
        required = [each for each in self._schema.arguments if each.default is None or _is_shown(each)]
        if notation is None or not required or len(self._schema.returns) != 1:
            return None
        term = _written(notation, {each.name: Term(self.symbols.argument(each.name)) for each in required})
        return None if term is None else self._equation([self.symbols.result(0)], term)

    def derivative(self, resolved: ResolvedFormula, is_forward: bool) -> str | None:
        """The equation of a gradient, or of a tangent; None for a word instead of a formula."""
        if resolved.kind is not FormulaKind.EXPRESSION or resolved.tree is None:
            return None
        if is_forward:
            left = [with_dot(self.symbols.result(i)) for i in self._results(resolved.names)]
        else:
            left = [with_bar(self.symbols.argument(name)) for name in resolved.names]
        return self._equation(left, self.term(resolved.tree))

    def _results(self, names: Sequence[str]) -> Sequence[int]:
        known = {each.name: index for index, each in enumerate(self._schema.returns) if each.name is not None}
        known.update({f"result{index}": index for index in range(len(self._schema.returns))})
        return [known.get(name, 0) for name in names]

    def _equation(self, left: Sequence[str], right: Term) -> str:
        sides = left[0] if len(left) == 1 else bracketed(listed(left))
        return formula(sides, operator("="), right.markup)

    def term(self, tree: TypedExpr) -> Term:
        """An expression as a term."""
        match tree:
            case Variable():
                return Term(self._variable(tree))
            case Literal():
                return _literal(tree.value)
            case OperatorCall():
                return self._call(tree)
            case HelperCall():
                given = {name: self.term(value) for name, value in tree.args}
                return _notated(HELPERS.get(tree.helper.name), given, tree.helper.name)
            case Intrinsic():
                given = {str(index): self.term(value) for index, value in enumerate(tree.args)}
                return _notated(INTRINSICS.get(tree.name), given, tree.spelling or tree.name)
            case Arithmetic():
                return self._arithmetic(tree)
            case Conditional():
                return self._choice(tree)
            case ListDisplay() | TupleDisplay():
                return Term(bracketed(listed([self.term(item).markup for item in tree.items])))
            case Element():
                return Term(subscript(self.term(tree.receiver).at(Binding.ATOM), self.term(tree.index).markup))
            case Mapped():
                body = bracketed(self.term(tree.body).markup, left="[", right="]")
                members = row(identifier(tree.parameter), operator("∈"), self.term(tree.source).markup)
                return Term(subscript(body, members))
            case _:
                assert_never(tree)

    def _variable(self, variable: Variable) -> str:
        match variable.kind:
            case VariableKind.INPUT:
                return self.symbols.argument(variable.name)
            case VariableKind.OUTPUT:
                return self.symbols.result(variable.index)
            case VariableKind.GRAD | VariableKind.GRAD_OR_ZEROS:
                return with_bar(self.symbols.result(variable.index))
            case VariableKind.GRADS:
                return with_bar(identifier(_RESULT))
            case VariableKind.TANGENT:
                return with_dot(self.symbols.argument(variable.name))
            case _:
                return _symbol(variable.name)

    def _call(self, call: OperatorCall) -> Term:
        base = call.schema.name.base
        inner = call.args[0][1] if len(call.args) == 1 else None
        notation = OPERATORS.get(base)
        within = OPERATORS.get(inner.schema.name.base) if isinstance(inner, OperatorCall) else None
        if notation is CONJUGATE and within is TRANSPOSED and isinstance(inner, OperatorCall):
            return conjugate_transposed(self.term(inner.args[0][1]))
        expression = self._expressions.get(str(call.schema.name))
        if expression is not None and any(each.kind in _GRADIENTS for each in variables(call)):
            return self.term(applied(expression, call))
        given = {name: self.term(value) for name, value in call.args}
        return _notated(notation, given, base)

    def _arithmetic(self, tree: Arithmetic) -> Term:
        operands = [self.term(operand) for operand in tree.operands]
        if len(operands) == 1:
            if tree.op == "-":
                return negative(operands[0])
            sign = {"!": "¬", "~": "¬"}.get(tree.op, tree.op)
            return Term(row(operator(sign), operands[0].at(Binding.PREFIX)), Binding.PREFIX)
        left, right = operands
        if tree.op == "*":
            return product(left, right)
        if tree.op == "/":
            return fraction(left, right)
        if tree.op in ("+", "-"):
            return total(left, right, "+" if tree.op == "+" else MINUS)
        sign, binding = INFIX[tree.op]
        return infix(sign, left, right, binding, groups=tree.op in ("&&", "||"))

    def _choice(self, tree: Conditional) -> Term:
        """Cases; those of the other side are further cases of the same brace."""
        branches: list[tuple[str, str]] = []
        rest: TypedExpr = tree
        while isinstance(rest, Conditional):
            branches.append((self.term(rest.then).markup, self.term(rest.test).markup))
            rest = rest.orelse
        return choice(branches, self.term(rest).markup)


def _is_shown(argument: Argument) -> bool:
    return argument.name == "alpha"


def _notated(notation: Notation | None, given: Mapping[str, Term], name: str) -> Term:
    term = None if notation is None else _written(notation, given)
    return application(_symbol(name), [each.markup for each in given.values()]) if term is None else term


def _written(notation: Notation, given: Mapping[str, Term]) -> Term | None:
    """A call in the notation of its operator; None where the arguments are not those that it is for."""
    try:
        return notation(given)
    except KeyError:
        return None


def _symbol(name: str) -> str:
    """A name as a symbol: Greek letters by their names, a digit at the end as an index."""
    if name in GREEK:
        return identifier(GREEK[name])
    stem = name.rstrip("0123456789")
    if len(stem) == 1 and stem != name:
        return subscript(identifier(stem), number(name[len(stem) :]))
    return element("mi", name)


def _literal(value: bool | int | float | str | None) -> Term:
    match value:
        case None:
            return Term(words("none"))
        case bool():
            return Term(words(str(value).lower()))
        case str():
            return Term(words(f"“{value}”"))
    if isinstance(value, float):
        if math.isinf(value) or math.isnan(value):
            sign = operator("∞") if math.isinf(value) else words("NaN")
            return Term(sign) if not value < 0 else negative(Term(sign))
        for constant, term in _CONSTANTS:
            if math.isclose(abs(value), constant, rel_tol=1e-15):
                return negative(term) if value < 0 else term
        if value.is_integer() and abs(value) < 1e15:
            value = int(value)
    text = repr(abs(value))
    mantissa, _, exponent = text.partition("e")
    term = Term(number(mantissa), is_number=True)
    if exponent:
        times = element("msup", number("10"), number(str(int(exponent)).replace("-", MINUS)))
        term = Term(row(number(mantissa), operator("⋅"), times), Binding.PRODUCT)
    return negative(term) if value < 0 else term
