"""Entries of derivatives that follow from expressions, as they would stand in derivatives.yaml."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import replace

from codegen.bind.call_targets import OperatorTable
from codegen.bind.elementwise import ResolvedConvention, ResolvedElementwise
from codegen.bind.entries import ResolvedEntry, ResolvedFormula
from codegen.codes import Code
from codegen.derive.identities import Identities
from codegen.derive.kinks import Kinks, Trial, trials
from codegen.derive.linear import is_linear
from codegen.derive.numbers import Numbers, UnknownValueError
from codegen.derive.slopes import Calls, Slopes, UnderivableError, decided, is_written
from codegen.derive.wording import UnwritableError, Wording, derived_formula, standing_at
from codegen.formula.meaning import Meaning
from codegen.formula.printer import print_formula
from codegen.formula.typed import (
    BOOL,
    TENSOR,
    Conditional,
    Intrinsic,
    OperatorCall,
    TypedExpr,
    Variable,
    VariableKind,
    formula_type,
    rewrite,
    walk,
)
from codegen.read.model import DerivativeEntry, ElementTypes, Formula, FormulaKind, NativeFunction, Promotion
from codegen.schema.types import OptionalType
from codegen.signs import ADDITION, CHOICE, CONJUGATION, MULTIPLICATION, binary_sign
from codegen.source import Diagnostics
from codegen.words import DTYPE_ERRORS, DTYPE_GROUPS, PromotionKind

_RESULT = "result"
_GRAD = Variable(TENSOR, 0, 0, VariableKind.GRAD, "grad", 0)
_POINTS = 16  # at which formulas are compared
_DOMAIN = (-2.0, 2.0)
_ROUNDING = 1e-8
_REAL = "real"


class Derivation:
    """Derives the entries of operators that are expressions.

    Args:
        entries: gives the bound entry of an operator by its name, a derived one for one that is an expression.
        table: of all operators.
        numbers: computes what formulas give.
        diagnostics: where what can not be derived is reported.
    """

    def __init__(
        self,
        entries: Callable[[str], ResolvedEntry | None],
        table: OperatorTable,
        numbers: Numbers,
        diagnostics: Diagnostics,
    ) -> None:
        self.entries = entries
        self.table = table
        self.identities = Identities(table)
        self.numbers = numbers
        self.diagnostics = diagnostics

    def entry(self, known: ResolvedElementwise) -> DerivativeEntry | None:
        """The entry of an operator; None where something was reported."""
        function = known.function
        real = not self.is_complex(known)
        try:
            gradients = self.gradients(known, real)
            written = Kinks(known, list(gradients.values()), self.numbers, self.diagnostics).to_write()
            gradients = {
                name: self._with_conventions(tree, [(each, each.slopes[number]) for each in written], known.tensors[0])
                for number, (name, tree) in enumerate(gradients.items())
            }
            differentiable = [name for name, tree in gradients.items() if tree is not None]
            formulas = [
                self._formula(known, name, FormulaKind.NON_DIFFERENTIABLE)
                if tree is None and not (differentiable and self._is_number(known, name))
                else self._formula(known, name, FormulaKind.EXPRESSION, tree or self._zeros())
                for name, tree in gradients.items()
            ]
            if len(known.tensors) == 1 and differentiable:
                formulas.append(self._formula(known, _RESULT, FormulaKind.AUTO_ELEMENT_WISE))
            elif differentiable:
                tangent = self._tangent(known, differentiable, real)
                formulas.append(self._formula(known, _RESULT, FormulaKind.EXPRESSION, tangent))
        except UnderivableError as error:
            part = error.part if _stands_in(error.part, known) else known.tree
            span = known.text.span(part.start, part.end)
            hint = f"write the formulas of '{function.name}' in derivatives.yaml"
            self.diagnostics.error(Code.NOT_DERIVED, span, f"this can not be derived: {error.message}", hint)
            return None
        except UnwritableError as error:
            hint = f"write the formulas of '{function.name}' in derivatives.yaml"
            self.diagnostics.error(Code.NOT_DERIVED, known.text.span(), f"formulas have no words for {error}", hint)
            return None
        return DerivativeEntry(function.schema, function.text, tuple(formulas), None)

    def gradients(self, known: ResolvedElementwise, real: bool) -> dict[str, TypedExpr | None]:
        """The gradients of all Tensors; None for one that is zero everywhere.

        Raises:
            UnderivableError: a rule is missing.
        """
        slopes = Slopes(known.tree, self.entries, self.table, self.identities, real)
        linear = self._linear(known, real)
        return {
            name: _call_itself(known, name, _GRAD) if name in linear else slopes.through({name: _GRAD})
            for name in known.tensors
        }

    def _tangent(self, known: ResolvedElementwise, names: Sequence[str], real: bool) -> TypedExpr:
        slopes = Slopes(known.tree, self.entries, self.table, self.identities, real)
        conjugate = (lambda tree: tree) if real else (lambda tree: slopes.calls.sign(CONJUGATION, tree))
        tangents = {name: Variable(TENSOR, 0, 0, VariableKind.TANGENT, name) for name in names}
        linear = self._linear(known, real) & set(names)
        parts = [_call_itself(known, name, tangents[name]) for name in names if name in linear]
        through = slopes.through({name: conjugate(tangents[name]) for name in names if name not in linear})
        if through is not None:
            parts.append(conjugate(through))
        return functools.reduce(lambda one, other: slopes.calls.sign(ADDITION, one, other), parts)

    def _zeros(self) -> TypedExpr:
        return Calls(self.table).base("zeros_like", _GRAD)

    def _is_number(self, known: ResolvedElementwise, name: str) -> bool:
        """Whether elements of a Tensor are more than conditions, so that it may require grad."""
        choices = (part for part in walk(known.tree) if isinstance(part, OperatorCall))
        tests = (part.args[0][1] for part in choices if is_written(self.table, part, CHOICE))
        return not any(isinstance(test, Variable) and test.name == name for test in tests)

    def _linear(self, known: ResolvedElementwise, real: bool) -> frozenset[str]:
        """The Tensors whose gradients the operator itself gives: it is real, and linear in them, by several steps."""
        calls = sum(isinstance(part, OperatorCall) for part in walk(known.tree))
        if not real or calls < 2:
            return frozenset()
        return frozenset(name for name in known.tensors if is_linear(known.tree, name, self.table))

    def _with_conventions(
        self,
        tree: TypedExpr | None,
        conventions: Sequence[tuple[ResolvedConvention, TypedExpr]],
        first: str,
    ) -> TypedExpr | None:
        """A gradient that keeps to what is said of points where there is none."""
        if tree is None:
            return None
        calls = Calls(self.table)
        for convention, slope in conventions:
            variable, point = Variable(TENSOR, 0, 0, VariableKind.INPUT, first), convention.point
            known = replace(point, type=point.type.elem) if isinstance(point.type, OptionalType) else point
            there = calls.sign(binary_sign("=="), variable, known)
            kept = calls.sign(CHOICE, there, calls.sign(MULTIPLICATION, _GRAD, slope), tree)
            given = Intrinsic(BOOL, 0, 0, "defined", (point,))
            tree = kept if known is point else Conditional(TENSOR, 0, 0, given, kept, tree)
        return tree

    def _formula(
        self, known: ResolvedElementwise, name: str, kind: FormulaKind, tree: TypedExpr | None = None
    ) -> Formula:
        wording = Wording(self.table, name == _RESULT, known.function.schema)
        return derived_formula((name,), kind, None if tree is None else wording.written(decided(tree)), known.text)

    # -- what follows besides

    def completed(self, known: ResolvedElementwise, derived: ResolvedEntry | None) -> NativeFunction:
        """The operator with the promotion and the element types that its entry leaves out.

        Args:
            known: its expression.
            derived: the entry that follows from it; None where that is written, or there is none.
        """
        function = known.function
        if derived is not None and derived.differentiable_outputs and not self.is_complex(known):
            function = self._of_real(function, known)
        kind = self._kind_of_promotion(known)
        if kind is None:
            return function
        return replace(function, promotion=Promotion(kind, None, standing_at(known.text, kind.value)))

    def _of_real(self, function: NativeFunction, known: ResolvedElementwise) -> NativeFunction:
        """The operator for real numbers alone, of which its derivatives are, where it does not say what it takes."""
        if function.dtypes is not None:
            return function
        text = standing_at(known.text, _REAL)
        return replace(function, dtypes=ElementTypes(DTYPE_GROUPS[_REAL], None, DTYPE_ERRORS[0], text))

    def _kind_of_promotion(self, known: ResolvedElementwise) -> PromotionKind | None:
        """What follows of promotion; None where the entry says it, or nothing is to be brought together."""
        function = known.function
        if function.promotion is not None or (function.elementwise is not None and function.elementwise.as_is):
            return None
        calls = [part for part in walk(known.steps) if isinstance(part, OperatorCall)]
        kinds = [self._promotion(part) for part in calls]  # that of the last step first
        if kinds and kinds[0] is PromotionKind.ALWAYS_BOOL:
            return PromotionKind.ALWAYS_BOOL
        of_floats = function.dtypes is not None and not {"bool", "integer"} & set(function.dtypes.kinds)
        if of_floats and len(known.tensors) == 1:
            return None
        return PromotionKind.INT_TO_FLOAT if PromotionKind.INT_TO_FLOAT in kinds else PromotionKind.DEFAULT

    def _promotion(self, call: OperatorCall) -> PromotionKind | None:
        promotion = self.table.functions[str(call.schema.name)].promotion
        return None if promotion is None else promotion.kind

    def is_complex(self, known: ResolvedElementwise) -> bool:
        """Whether the operator takes complex numbers: its entry says so, or its expression is holomorphic."""
        if known.function.dtypes is not None:
            return known.function.takes_complex
        return all(self._is_holomorphic(part) for part in walk(known.tree) if isinstance(part, OperatorCall))

    def _is_holomorphic(self, call: OperatorCall) -> bool:
        """Whether the formulas of an operator say so: they multiply a gradient by the conjugate of something."""
        if not self.table.functions[str(call.schema.name)].takes_complex:
            return False
        entry = self.entries(str(call.schema.name))
        if entry is None:
            return False

        def outside(part: TypedExpr) -> TypedExpr | None:
            is_conjugate = isinstance(part, OperatorCall) and part.meaning is Meaning.CONJUGATE
            return _GRAD if is_conjugate else None

        trees = [formula.tree for formula in entry.backward if formula.tree is not None]
        return bool(trees) and not any(
            isinstance(part, Variable)
            and part.kind in (VariableKind.INPUT, VariableKind.OUTPUT)
            and part.type == TENSOR
            for tree in trees
            for part in walk(rewrite(tree, outside))
        )

    # -- entries that are written, too

    def check(self, known: ResolvedElementwise, entry: ResolvedEntry) -> None:
        """Compare the formulas that are written with those that are derived, at some points."""
        try:
            derived = self.gradients(known, real=True)
        except UnderivableError:
            return  # which is why they are written
        for formula in entry.backward:
            mine = derived.get(formula.names[0])
            if formula.tree is None or len(formula.names) != 1 or mine is None:
                continue
            for trial in trials(known):
                try:
                    found = self._difference(known, formula.tree, mine, trial)
                except UnknownValueError:
                    break
                if found is not None:
                    self._report(formula, mine, known, found)
                    break

    def _difference(
        self, known: ResolvedElementwise, written: TypedExpr, derived: TypedExpr, trial: Trial
    ) -> tuple[float, float, str] | None:
        """Two values that differ beyond rounding, and where; None where there are none."""
        import numpy as np

        low, high = known.function.domain or _DOMAIN
        points = np.linspace(low, high, _POINTS) + 0.0073 * (high - low)  # no round numbers, where kinks are
        given = trial.at(points[:-1])
        first, second = (self.numbers.values(tree, given, known.steps) for tree in (written, derived))
        differ = np.flatnonzero(np.abs(first - second) > _ROUNDING * (1 + np.abs(second)))
        if not len(differ):
            return None
        at = differ[0]
        values = {trial.first: points[at], **trial.others}
        where = ", ".join(
            f"{name}={f'{value:.4g}' if isinstance(value, float) else value}" for name, value in values.items()
        )
        return float(first[at]), float(second[at]), where

    def _report(
        self, formula: ResolvedFormula, mine: TypedExpr, known: ResolvedElementwise, found: tuple[float, float, str]
    ) -> None:
        written, derived, where = found
        try:
            hint = f"what follows is '{print_formula(Wording(self.table, False, known.function.schema).written(mine))}'"
        except UnwritableError:
            hint = "mend one of the two"
        self.diagnostics.error(
            Code.DERIVED_DIFFERS,
            formula.source.text.span(),
            f"the gradient of '{formula.names[0]}' of '{known.function.name}' is {written:.6g} at {where}, and what "
            f"follows from its expression {derived:.6g}",
            hint,
            ((known.text.span(), "the expression is here"),),
        )


def _call_itself(known: ResolvedElementwise, name: str, value: TypedExpr) -> TypedExpr:
    """A call of the operator with `value` in the place of one of its arguments, and the others as they are."""
    schema = known.function.schema
    args = tuple(
        (
            argument.name,
            value if argument.name == name
            else Variable(formula_type(argument.type), 0, 0, VariableKind.INPUT, argument.name),
        )
        for argument in schema.arguments
    )  # fmt: skip
    return OperatorCall(TENSOR, 0, 0, schema, args)


def _stands_in(part: TypedExpr, known: ResolvedElementwise) -> bool:
    return part.end > part.start and part.end <= len(known.text.value)
