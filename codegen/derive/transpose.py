"""Backward formulas that follow from forward ones, by transposing their typed trees.

A forward formula is a linear map of the tangents: a chain of operators, each of which is linear in what comes along it.
The gradient goes the same way back, through each of them by its own backward formula, which is its adjoint.

Source: R. Frostig, M. Johnson, D. Maclaurin, A. Paszke, A. Radul, "Decomposing reverse-mode automatic differentiation",
LAFI 2021.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from codegen.bind.call_targets import OperatorTable
from codegen.bind.composites import ResolvedComposite
from codegen.bind.entries import ResolvedEntry, ResolvedFormula, output_names, resolve_entries
from codegen.bind.substitution import applied, arguments
from codegen.codes import Code
from codegen.derive.identities import Identities
from codegen.derive.slopes import Calls, UnderivableError, folded
from codegen.derive.wording import UnwritableError, Wording, derived_formula
from codegen.formula.meaning import Meaning
from codegen.formula.structure import structure
from codegen.formula.typed import (
    BOOL,
    BOOL_LIST,
    INT,
    INT_LIST,
    TENSOR,
    Conditional,
    Element,
    HelperCall,
    Intrinsic,
    ListDisplay,
    Literal,
    OperatorCall,
    TypedExpr,
    ValueType,
    Variable,
    VariableKind,
    children,
    formula_type,
    rewrite,
    variables,
)
from codegen.read.model import DerivativeEntry, Formula, FormulaKind
from codegen.schema.types import OptionalType
from codegen.signs import ADDITION
from codegen.source import Diagnostics

_BROADCAST = "broadcast_sizes"


@dataclass(frozen=True, slots=True)
class _Tangent:
    """The tangent of an argument; `once`: whether the forward formulas name it in one place alone."""

    name: str
    once: bool

    def is_in(self, expr: TypedExpr) -> bool:
        """Whether the numbers of an expression depend on it."""
        match expr:
            case Variable():
                return expr.kind is VariableKind.TANGENT and expr.name == self.name
            case Intrinsic():  # a fact of a shape or an element type
                return False
        return any(self.is_in(part) for part in children(expr))


class Transposition:
    """Completes entries that say how tangents go forward, and not how gradients come back.

    Args:
        entries: gives the bound entry of an operator by its name.
        composites: the composite operators that are formulas, by name.
        table: of all operators.
        diagnostics: where a step that can not be transposed is reported.
    """

    def __init__(
        self,
        entries: Callable[[str], ResolvedEntry | None],
        composites: Mapping[str, ResolvedComposite],
        table: OperatorTable,
        diagnostics: Diagnostics,
    ) -> None:
        self.entries = entries
        self.composites = composites
        self.table = table
        self.diagnostics = diagnostics
        self.calls = Calls(table)
        self.identities = Identities(table)

    def completed(self, entry: ResolvedEntry) -> ResolvedEntry:
        """The entry with the backward formulas that follow from its forward ones; itself where none is missing."""
        names = _without_gradient(entry)
        if not names:
            return entry
        followed = [(name, self._formula(entry, name)) for name in names]
        texts = tuple(formula for _, formula in followed if formula.tree is not None)
        schema, own = entry.function.schema, entry.entry
        alone = DerivativeEntry(schema, own.text, texts, own.output_differentiability)
        bound = [each for made in resolve_entries([alone], self.table, self.diagnostics) for each in made.backward]
        bound += [
            ResolvedFormula((name,), FormulaKind.EXPRESSION, None, formula)  # which was reported
            for name, formula in followed
            if formula.tree is None
        ]
        order = {argument.name: place for place, argument in enumerate(schema.arguments)}
        backward = sorted((*entry.backward, *bound), key=lambda formula: min(order[name] for name in formula.names))
        return replace(entry, backward=tuple(backward), entry=replace(own, formulas=(*own.formulas, *texts)))

    def _formula(self, entry: ResolvedEntry, name: str) -> Formula:
        """The formula of the gradient of one argument, without a tree where something was reported."""
        total: TypedExpr | None = None
        trees = [formula.tree for formula in entry.forward if formula.tree is not None]
        places = [part for tree in trees for part in variables(tree) if part.kind is VariableKind.TANGENT]
        tangent = _Tangent(name, sum(part.name == name for part in places) == 1)
        places_of_results = output_names(entry.function.schema)
        for forward in entry.forward:
            assert forward.tree is not None
            place = entry.differentiable_outputs.index(places_of_results[forward.names[0]])
            text = forward.source.text
            try:
                back = self._through(forward.tree, _gradient(entry, place), False, tangent)
                total = self._sum(total, back, forward.tree)
            except UnderivableError as error:
                self._report(entry, name, forward, error)
                return derived_formula((name,), FormulaKind.EXPRESSION, None, text)
        forward = entry.forward[0]
        assert forward.tree is not None
        try:
            if total is None:  # it stands there, and what it is multiplied by is zero
                total = self._zeros(name, forward.tree)
            simple = self.identities.simplified(rewrite(total, _as_value))
            tree = Wording(self.table, False, entry.function.schema).written(simple)
        except UnwritableError as error:
            self._report(entry, name, forward, UnderivableError(f"formulas have no words for {error}", forward.tree))
            tree = None
        except UnderivableError as error:
            self._report(entry, name, forward, error)
            tree = None
        return derived_formula((name,), FormulaKind.EXPRESSION, tree, forward.source.text)

    def _report(self, entry: ResolvedEntry, name: str, forward: ResolvedFormula, error: UnderivableError) -> None:
        self.diagnostics.error(
            Code.NOT_DERIVED,
            forward.source.text.span(error.part.start, error.part.end),
            f"'{name}' of '{entry.function.name}' has no formula, and this step can not be transposed: {error.message}",
            hint=f"write '{name}: <formula>', or this step otherwise",
        )

    def _through(self, expr: TypedExpr, gradient: TypedExpr, is_loose: bool, tangent: _Tangent) -> TypedExpr | None:
        """What an expression sends back to the tangent of an argument; None for nothing.

        Args:
            expr: of the forward formula.
            gradient: that of the expression.
            is_loose: whether it may have a shape that broadcasting made larger than that of the expression.
            tangent: of the argument.
        """
        if not tangent.is_in(expr):
            return None
        match expr:
            case Variable():  # what comes from one place is fitted to the argument by the Node
                return self._fitted(gradient, expr) if is_loose and not tangent.once else gradient
            case Conditional():
                return self._through_condition(expr, gradient, is_loose, tangent)
            case OperatorCall():
                return self._through_call(expr, gradient, is_loose, tangent)
            case HelperCall():
                raise UnderivableError(f"'{expr.helper.name}' is a helper, whose adjoint is not known", expr)
        raise UnderivableError("it is made of several Tensors", expr)

    def _fitted(self, gradient: TypedExpr, expr: TypedExpr) -> TypedExpr:
        return self._call("sum_to_size", expr, gradient, self._sizes(expr))

    def _sizes(self, expr: TypedExpr) -> TypedExpr:
        """The sizes of an expression: of what goes from element to element those of its parts, without computing it."""
        if isinstance(expr, OperatorCall) and self._is_by_element(expr) and _BROADCAST in self.table.helpers:
            tensors = [value for value in arguments(expr).values() if value.type == TENSOR]
            return functools.reduce(self._broadcast, map(self._sizes, tensors))
        return Intrinsic(INT_LIST, 0, 0, "sizes", (rewrite(expr, _as_value),), "sym_sizes")

    def _broadcast(self, sizes: TypedExpr, others: TypedExpr) -> TypedExpr:
        if structure(sizes) == structure(others):
            return sizes
        (helper,) = self.table.helpers.overloads(_BROADCAST, self.diagnostics)
        names = [name for name, _ in helper.parameters]
        return HelperCall(INT_LIST, 0, 0, helper, tuple(zip(names, (sizes, others), strict=True)))

    def _is_by_element(self, call: OperatorCall) -> bool:
        return "pointwise" in self.table.functions[str(call.schema.name)].tags

    def _zeros(self, name: str, part: TypedExpr) -> TypedExpr:
        return self._call("zeros_like", part, Variable(TENSOR, 0, 0, VariableKind.INPUT, name))

    def _sum(self, total: TypedExpr | None, back: TypedExpr | None, part: TypedExpr) -> TypedExpr | None:
        if total is None or back is None:
            return back if total is None else total
        added = self.table.written(ADDITION)
        return self._call("add" if added is None else added.name.base, part, total, back)

    def _call(self, base: str, part: TypedExpr, *args: TypedExpr) -> TypedExpr:
        """A call of an operator that may be missing, where a part of the forward formula needs it."""
        if base not in self.table.by_base:
            raise UnderivableError(f"it takes '{base}', which is no operator here", part)
        return self.calls.base(base, *args)

    def _through_condition(
        self, expr: Conditional, gradient: TypedExpr, is_loose: bool, tangent: _Tangent
    ) -> TypedExpr | None:
        sides = [self._through(side, gradient, is_loose, tangent) for side in (expr.then, expr.orelse)]
        if sides == [None, None]:
            return None
        zeros = self._zeros(tangent.name, expr)
        then, orelse = (zeros if side is None else side for side in sides)
        return Conditional(TENSOR, expr.start, expr.end, expr.test, then, orelse)

    def _through_call(
        self, call: OperatorCall, gradient: TypedExpr, is_loose: bool, tangent: _Tangent
    ) -> TypedExpr | None:
        composite = self.composites.get(str(call.schema.name))
        if composite is not None:
            return self._through(applied(composite.tree, call), gradient, is_loose, tangent)
        values = arguments(call)
        tensors = [each.name for each in call.schema.arguments if _is_tensor(formula_type(each.type))]
        # From element to element a gradient may stay as large as it is; others go by the shape.
        by_element = self._is_by_element(call)
        if is_loose and not by_element:
            gradient, is_loose = self._fitted(gradient, call), False
        total: TypedExpr | None = None
        for name, value in values.items():
            if not tangent.is_in(value):
                continue
            sent = self._adjoint(call, name, gradient, values)
            if sent is None:
                continue
            sent_loose = is_loose or not by_element or len(tensors) > 1
            for part, share in _shares(name, value, sent):
                total = self._sum(total, self._through(part, share, sent_loose, tangent), call)
        return total

    def _adjoint(
        self, call: OperatorCall, argument: str, gradient: TypedExpr, values: Mapping[str, TypedExpr]
    ) -> TypedExpr | None:
        """What the operator that is called makes of a gradient, for one of its arguments; None for zero."""
        name = call.schema.name
        entry = self.entries(str(name))
        if entry is None and self.table.functions[str(name)].is_composite_implicit:
            raise UnderivableError(f"'{name}' is composite: write what it calls", call)
        if entry is not None and not entry.differentiable_outputs:
            return None
        if len(call.schema.returns) != 1:
            raise UnderivableError(f"'{name}' has several results", call)
        backward = () if entry is None else entry.backward
        formula = next((each for each in backward if argument in each.names), None)
        if formula is not None and formula.kind is FormulaKind.NON_DIFFERENTIABLE:
            return None
        if formula is None or formula.tree is None:
            raise UnderivableError(f"'{name}' has no formula for '{argument}'", call)
        if isinstance(formula.tree, OperatorCall) and formula.tree.meaning is Meaning.ZEROS:
            return None
        wanted = tuple(Literal(BOOL, 0, 0, each == argument) for each in formula.names)

        def change(part: TypedExpr) -> TypedExpr | None:
            match part:
                case Variable(kind=VariableKind.GRAD):
                    return gradient
                case Variable(kind=VariableKind.OUTPUT):
                    return call
                case Variable(kind=VariableKind.INPUT):
                    return values.get(part.name)
                case Element(receiver=Variable(kind=VariableKind.MASK), index=Literal(value=int() as place)):
                    return wanted[place]
                case Variable(kind=VariableKind.MASK):
                    return ListDisplay(BOOL_LIST, 0, 0, wanted)
                case Intrinsic(name="sizes"):
                    return self._sizes(rewrite(part.args[0], change))
                case Intrinsic(name="conjugate"):
                    number = rewrite(part.args[0], change)
                    return number if isinstance(number, Literal) else replace(part, args=(number,))
            return None

        made = folded(rewrite(formula.tree, change))
        if len(formula.names) == 1:
            return made
        return Element(TENSOR, 0, 0, made, Literal(INT, 0, 0, formula.names.index(argument)))


def _shares(name: str, value: TypedExpr, gradient: TypedExpr) -> Sequence[tuple[TypedExpr, TypedExpr]]:
    """The Tensors that an argument is, each with what is its gradient."""
    if isinstance(value, ListDisplay):
        places = (Literal(INT, 0, 0, place) for place in range(len(value.items)))
        return [(item, Element(TENSOR, 0, 0, gradient, place)) for item, place in zip(value.items, places, strict=True)]
    if not _is_tensor(value.type):
        raise UnderivableError(f"'{name}' is {value.type}, which nothing is sent back through", value)
    return [(value, gradient)]


def _without_gradient(entry: ResolvedEntry) -> Sequence[str]:
    """The Tensors among the arguments that have a tangent in the forward formulas and no formula of their own."""
    trees = [formula.tree for formula in entry.forward]
    places = output_names(entry.function.schema)
    covered = {places[name] for formula in entry.forward for name in formula.names}
    if not trees or None in trees or covered != set(entry.differentiable_outputs):
        return ()
    written = {name for formula in entry.backward for name in formula.names}
    return [
        argument.name
        for argument in entry.function.schema.arguments
        if argument.name not in written
        and _is_tensor(formula_type(argument.type))
        and any(_Tangent(argument.name, False).is_in(tree) for tree in trees if tree is not None)
    ]


def _gradient(entry: ResolvedEntry, place: int) -> Variable:
    """The gradient of one of the differentiable results, as the formulas of the entry call it."""
    schema = entry.function.schema
    named = any(
        part.kind is VariableKind.GRAD and part.name.startswith("grad_")
        for formula in entry.backward
        if formula.tree is not None
        for part in variables(formula.tree)
    )
    if named:
        name = f"grad_{schema.returns[entry.differentiable_outputs[place]].name}"
    elif len(entry.differentiable_outputs) > 1 or any(argument.name == "grad" for argument in schema.arguments):
        name = f"grads[{place}]"
    else:
        name = "grad"
    return Variable(TENSOR, 0, 0, VariableKind.GRAD, name, place)


def _as_value(part: TypedExpr) -> TypedExpr | None:
    """An argument in the place of its tangent: of what the map is linear in, only shape and element type are asked."""
    if isinstance(part, Variable) and part.kind is VariableKind.TANGENT:
        return replace(part, kind=VariableKind.INPUT)
    return None


def _is_tensor(type: ValueType) -> bool:
    return type == TENSOR or (isinstance(type, OptionalType) and type.elem == TENSOR)
