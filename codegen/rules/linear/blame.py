"""Why a formula is not linear: the innermost part that is to blame, and the place in Python where it comes about."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from codegen.bind.entries import ResolvedEntry
from codegen.formula.typed import (
    Conditional,
    HelperCall,
    ListDisplay,
    OperatorCall,
    TypedExpr,
    children,
)
from codegen.read.model import FormulaKind, NativeFunction
from codegen.rules.linear.calls import Argument, Cause, Why
from codegen.rules.linear.degree import Degree, flat, varies
from codegen.rules.linear.formulas import Degrees, Linearity, by_parameter, composite_of


@dataclass(frozen=True, slots=True)
class Finding:
    """A part of a formula that is not linear, why, and the place in Python where that comes about, if there is one.

    `declaration`: what stands above a helper that is linear all the same.
    """

    expr: TypedExpr
    why: Why
    cause: Cause | None = None
    declaration: str | None = None

    @property
    def innermost(self) -> Why:
        """The reason where it comes about."""
        return self.why if self.cause is None else self.cause.why


class Blame:
    """Finds out why what is nonlinear is so."""

    def __init__(self, linearity: Linearity) -> None:
        self.linearity = linearity

    def of_formula(self, expr: TypedExpr, degrees: Degrees) -> Finding:
        """The innermost part of a nonlinear expression that is so by itself."""
        of = self.linearity.of
        for child in children(expr):
            if flat(of(child, degrees)) is Degree.NONLINEAR:
                return self.of_formula(child, degrees)
        match expr:
            case Conditional():
                for side in (expr.then, expr.orelse):
                    if flat(of(side, degrees)) is Degree.CONSTANT:
                        return Finding(side, Why("one side of '?:' does not depend on it and is not zero"))
            case ListDisplay():
                for item in expr.items:
                    if flat(of(item, degrees)) is Degree.CONSTANT:
                        return Finding(item, Why("this does not depend on it and is not zero, and other items do"))
            case OperatorCall():
                return self._of_operator(expr, degrees)
            case HelperCall() if expr.helper.function is not None:
                values = {name: of(value, degrees) for name, value in expr.args}
                names = [name for name, value in values.items() if varies(flat(value))]
                cause = self.linearity.python.cause(expr.helper.function, values, self.of_base)
                why = Why(f"helper '{expr.helper.name}' is not linear in {_listed(names)}")
                declaration = ", ".join(f'"{name}"' for name in names)
                return Finding(expr, why, cause, f"@linear_in({declaration})")
        return Finding(expr, Why("it is not linear"))

    def _of_operator(self, expr: OperatorCall, names: Degrees) -> Finding:
        function = self.linearity.function_of(expr)
        degrees = {name: flat(self.linearity.of(value, names)) for name, value in expr.args}
        why = self.of_call(function, degrees)
        place = next((value for name, value in expr.args if name == why.adding), expr)
        composite = composite_of(function, self.linearity.composites)
        if composite is None:  # kernels, or a formula
            return Finding(place, why)
        arguments = by_parameter(function, composite, degrees)
        return Finding(place, why, self.linearity.python.cause(composite, arguments, self.of_base))

    def of_base(
        self, base: str, overload: str | None, args: Sequence[Argument], keywords: Mapping[str, Argument]
    ) -> Why:
        """Why a call of an operator by its base name is not linear."""
        calls = self.linearity.calls(base, overload, args, keywords)
        return next((self.of_call(*call) for call in calls), Why(f"'{base}' is not linear"))

    def of_call(self, function: NativeFunction, degrees: Mapping[str, Degree]) -> Why:
        """Why a call of an operator is not linear."""
        base, name = function.name.base, str(function.name)
        linear = [argument for argument, degree in degrees.items() if degree is Degree.LINEAR]
        entry = self.linearity.entries.get(name)
        not_linear = Why(f"'{base}' is not linear in {_listed(linear)}")
        if entry is None or composite_of(function, self.linearity.composites) is not None:
            return not_linear
        if not entry.differentiable_outputs:
            return Why(f"'{name}' is not differentiable")
        differentiable = self.linearity.facts.differentiable_arguments(name)
        for argument in linear:
            if argument not in differentiable:
                index = argument if _is_declared_constant(entry, argument) else None
                return Why(f"'{name}' is not differentiable in '{argument}'", index=index)
        number = self.linearity.facts.added_number(entry, degrees)
        if number is not None:
            return Why(f"'{base}' adds something that does not depend on it", adding=number)
        derivatives = dict(self.linearity.derivatives(name, frozenset(linear)))
        if any(varies(derivatives[argument]) for argument in linear):
            if len(linear) > 1:
                return Why(f"'{base}' multiplies {_listed(linear, ' and ')}, which both depend on it")
            return not_linear
        for argument, degree in degrees.items():
            if degree is Degree.CONSTANT and derivatives.get(argument) is Degree.CONSTANT:
                return Why(f"'{base}' adds something that does not depend on it", adding=argument)
        return not_linear


def _is_declared_constant(entry: ResolvedEntry, argument: str) -> bool:
    """Whether an entry says that there is no derivative in an argument, and not only fails to say anything."""
    return any(f.kind is FormulaKind.NON_DIFFERENTIABLE and argument in f.names for f in entry.backward)


def _listed(names: Iterable[str], word: str = ", ") -> str:
    return word.join(f"'{name}'" for name in names)
