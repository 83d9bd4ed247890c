"""The derivative of an expression over elements, by the chain rule on its typed tree.

The Jacobian of an element-wise operator is diagonal. So a gradient passes through a chain of them in any order: where
`f` takes a gradient `g` to `g * conj(f')`, `f(u(x))` takes it to what `f` makes of what `u` makes of it. The rules of
the operators that are called are their entries in derivatives.yaml; what they say of `grad` is said of what came
before.

Source: A. Griewank, A. Walther, "Evaluating Derivatives", 2nd ed., SIAM 2008, chapter 3.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import replace
from types import MappingProxyType

from codegen.bind.call_targets import OperatorTable
from codegen.bind.entries import ResolvedEntry
from codegen.bind.overloads import Overloads
from codegen.bind.substitution import arguments, in_place_of
from codegen.derive.identities import Identities
from codegen.formula import syntax
from codegen.formula.meaning import Meaning
from codegen.formula.structure import structure
from codegen.formula.typed import (
    BOOL,
    INT,
    NONE,
    NUMBERS,
    TENSOR,
    Arithmetic,
    Conditional,
    Intrinsic,
    Literal,
    OperatorCall,
    TypedExpr,
    Variable,
    VariableKind,
    formula_type,
    rewrite,
    rewrite_parts,
    variables,
    walk,
)
from codegen.read.model import FormulaKind
from codegen.signs import ADDITION, CHOICE, Sign, binary_sign, prefix_sign
from codegen.source import Diagnostics, Text
from codegen.words import PromotionKind

_ORDERS = tuple(binary_sign(text) for text in ("<", "<=", ">", ">="))
# What makes no infinity of finite numbers, unless they are huge.
_FINITE = (*_ORDERS, ADDITION, binary_sign("-"), binary_sign("*"), prefix_sign("-"), CHOICE)


class UnderivableError(Exception):
    """An expression calls something whose derivative is not known; `part` is the call."""

    def __init__(self, message: str, part: TypedExpr) -> None:
        super().__init__(message)
        self.message = message
        self.part = part


class Calls:
    """Makes calls of operators, as formulas would be bound to them."""

    def __init__(self, table: OperatorTable) -> None:
        self.table = table
        self._overloads = Overloads(Text.literal(""), Diagnostics())

    def sign(self, sign: Sign | None, *args: TypedExpr) -> TypedExpr:
        """What a sign makes of Tensors and numbers."""
        function = self.table.written(sign)
        assert function is not None, "the operators that derivatives are made of have their signs"
        return self.base(function.name.base, *args)

    def base(self, base: str, *args: TypedExpr) -> TypedExpr:
        """A call of the overload of a name that fits."""
        node = syntax.Name(0, 0, base)
        made = self._overloads.choose(base, self.table.targets(base), list(args), 0, 0, node)
        assert made is not None, f"'{base}' takes {args}"
        return made


class Slopes:
    """The derivatives of one expression.

    Args:
        root: the expression.
        entries: the derivatives of operators, by their names.
        table: of all operators.
        identities: by which what comes out is simplified.
        real: whether it takes real numbers alone, which are their own conjugates.
    """

    def __init__(
        self,
        root: TypedExpr,
        entries: Callable[[str], ResolvedEntry | None],
        table: OperatorTable,
        identities: Identities,
        real: bool,
    ) -> None:
        self.root = root
        self.entries = entries
        self.table = table
        self.real = real
        self.calls = Calls(table)
        self.identities = identities
        self._result = structure(root)

    def through(self, seeds: Mapping[str, TypedExpr]) -> TypedExpr | None:
        """What comes out where `seeds` come in at the arguments; None for zero.

        Raises:
            UnderivableError: a rule is missing.
        """
        known: dict[Hashable, TypedExpr | None] = {}

        def of(expr: TypedExpr) -> TypedExpr | None:
            key = structure(expr)
            if key not in known:
                known[key] = self._of(expr, seeds, of)
            return known[key]

        made = of(self.root)
        return None if made is None else self._with_result(self.identities.simplified(made))

    def _of(
        self, expr: TypedExpr, seeds: Mapping[str, TypedExpr], of: Callable[[TypedExpr], TypedExpr | None]
    ) -> TypedExpr | None:
        match expr:
            case Variable(kind=VariableKind.INPUT):
                return seeds.get(expr.name) if expr.type == TENSOR else None
            case Conditional() if expr.type == TENSOR:
                then, orelse = of(expr.then), of(expr.orelse)
                if then is None or orelse is None:
                    if then is not orelse:
                        raise UnderivableError("one side of it is constant", expr)
                    return None
                return replace(expr, then=then, orelse=orelse)
            case OperatorCall():
                return self._of_call(expr, of)
        return None

    def _of_call(self, call: OperatorCall, of: Callable[[TypedExpr], TypedExpr | None]) -> TypedExpr | None:
        values = arguments(call)
        if is_written(self.table, call, CHOICE):
            return self._of_choice(call, of)
        total: TypedExpr | None = None
        for argument in call.schema.arguments:
            value = values.get(argument.name)
            if value is None or formula_type(argument.type) != TENSOR:
                continue
            comes = of(value)
            if comes is None:
                continue
            goes = self._rule(call, argument.name, comes, values)
            if goes is not None:
                total = goes if total is None else self.calls.sign(ADDITION, total, goes)
        return total

    def _of_choice(self, call: OperatorCall, of: Callable[[TypedExpr], TypedExpr | None]) -> TypedExpr | None:
        """Each side by itself, and the choice between them: what a side is not chosen for is not multiplied by zero."""
        (_, test), (_, then), (_, orelse) = call.args
        sides = [of(then), of(orelse)]
        if sides == [None, None]:
            return None
        zero = Literal(INT, 0, 0, 0)
        kept = [
            zero if side is None else self._guarded(side, test, holds)
            for side, holds in zip(sides, (True, False), strict=True)
        ]
        if structure(kept[0]) == structure(kept[1]):
            return kept[0]
        return self.calls.sign(CHOICE, test, *kept)

    def _guarded(self, side: TypedExpr, test: TypedExpr, holds: bool) -> TypedExpr:
        """The derivative on one side of a comparison with a number, without values that lie beyond it.

        What overflows there is not chosen, but its own derivative would be multiplied by zero, and that is no number.
        """
        if not isinstance(test, OperatorCall) or len(test.args) != 2 or not self._can_overflow(side):
            return side
        (_, compared), (_, bound) = test.args
        if not is_written(self.table, test, *_ORDERS) or bound.type == TENSOR:
            return side
        kept = (compared, bound) if holds else (bound, compared)
        inside = self.calls.sign(CHOICE, test, *kept)
        wanted = structure(compared)
        return rewrite(side, lambda part: inside if structure(part) == wanted else None)

    def _can_overflow(self, side: TypedExpr) -> bool:
        """Whether it calls anything but sums, differences, products and choices."""
        calls = (part for part in walk(side) if isinstance(part, OperatorCall))
        return any(not is_written(self.table, call, *_FINITE) for call in calls)

    def _rule(
        self, call: OperatorCall, name: str, comes: TypedExpr, values: Mapping[str, TypedExpr]
    ) -> TypedExpr | None:
        """What the entry of an operator makes of what comes in for one of its arguments; None for zero."""
        entry = self.entries(str(call.schema.name))
        if entry is None or not entry.differentiable_outputs:
            if self._promotes(call, PromotionKind.ALWAYS_BOOL) or entry is not None:
                return None
            raise UnderivableError(f"'{call.schema.name}' has no derivative", call)
        formula = next((each for each in entry.backward if name in each.names), None)
        if formula is None or formula.kind is FormulaKind.NON_DIFFERENTIABLE:
            return None
        if formula.tree is None or formula.names != (name,):
            raise UnderivableError(f"'{call.schema.name}' has no formula for '{name}' alone", call)
        if isinstance(formula.tree, OperatorCall) and formula.tree.meaning is Meaning.ZEROS:
            return None
        if not self.real and (_is_antilinear(formula.tree) or self._promotes(call, PromotionKind.COMPLEX_TO_FLOAT)):
            raise UnderivableError(f"'{call.schema.name}' is not holomorphic in '{name}'", call)

        def change(part: TypedExpr) -> TypedExpr | None:
            match part:
                case Variable(kind=VariableKind.GRAD):
                    return comes
                case Variable(kind=VariableKind.OUTPUT):
                    return call
                case Variable(kind=VariableKind.INPUT):
                    return in_place_of(part, values)
                case OperatorCall(meaning=Meaning.CONJUGATE) if self.real:
                    return rewrite(part.args[0][1], change)
                case Intrinsic(name="conjugate"):
                    number = rewrite(part.args[0], change)
                    return number if self.real or isinstance(number, Literal) else replace(part, args=(number,))
                case Variable():
                    raise UnderivableError(f"the formula of '{call.schema.name}' is not over elements alone", call)
            return None

        return folded(rewrite(formula.tree, change))

    def _promotes(self, call: OperatorCall, kind: PromotionKind) -> bool:
        promotion = self.table.functions[str(call.schema.name)].promotion
        return promotion is not None and promotion.kind is kind

    def _with_result(self, made: TypedExpr) -> TypedExpr:
        """The result in the place of the expression that it is."""

        def change(part: TypedExpr) -> TypedExpr | None:
            if isinstance(part, OperatorCall | Conditional) and structure(part) == self._result:
                return Variable(TENSOR, part.start, part.end, VariableKind.OUTPUT, "result", 0)
            return None

        return rewrite(made, change)


def is_written(table: OperatorTable, call: OperatorCall, *signs: Sign | None) -> bool:
    """Whether calls of this name are written with one of these signs."""
    uses = (use.sign for function in table.overloads(call.schema.name.base) for use in function.signs)
    return any(sign in signs for sign in uses)


def _is_antilinear(formula: TypedExpr) -> bool:
    """Whether a formula conjugates its gradient: then it may not change places with those of other operators."""
    return any(
        variable.kind is VariableKind.GRAD
        for call in walk(formula)
        if isinstance(call, OperatorCall) and call.meaning is Meaning.CONJUGATE
        for variable in variables(call)
    )


def folded(expr: TypedExpr) -> TypedExpr:
    """The same with what its numbers decide decided."""

    def change(part: TypedExpr) -> TypedExpr | None:
        if isinstance(part, Conditional):
            test = _number(part.test)
            if isinstance(test, bool):
                return folded(part.then if test else part.orelse)
        return None

    return rewrite(expr, change)


def decided(expr: TypedExpr, known: Mapping[Hashable, bool] = MappingProxyType({})) -> TypedExpr:
    """The same without choices between numbers that a choice around them has made; `known` has their tests."""
    if not isinstance(expr, Conditional):
        return rewrite_parts(expr, lambda part: decided(part, known))
    key = structure(expr.test)
    if key in known:
        return decided(expr.then if known[key] else expr.orelse, known)
    then, orelse = (decided(side, {**known, key: holds}) for side, holds in ((expr.then, True), (expr.orelse, False)))
    return then if structure(then) == structure(orelse) else replace(expr, then=then, orelse=orelse)


def _number(expr: TypedExpr) -> bool | int | float | None:
    """The value of a number that is written there, of a comparison of two, or of whether one is there; None if it is
    not known.
    """
    match expr:
        case Literal(value=bool() | int() | float()):
            assert isinstance(expr.value, bool | int | float)
            return expr.value
        case Intrinsic(name="defined", args=(asked,)) if asked.type in (*NUMBERS, NONE):
            return asked.type != NONE
        case Arithmetic(op=op, operands=(left, right)) if expr.type == BOOL and op in _COMPARISONS:
            first, second = _number(left), _number(right)
            return None if first is None or second is None else _COMPARISONS[op](first, second)
    return None


_COMPARISONS: Mapping[str, Callable[[float, float], bool]] = {
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}
