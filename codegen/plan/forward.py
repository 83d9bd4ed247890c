"""Plans of forward mode: a formula for each differentiable result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from codegen.bind.call_targets import OperatorTable
from codegen.bind.entries import ResolvedEntry, ResolvedFormula
from codegen.formula.meaning import Meaning
from codegen.formula.typed import (
    TENSOR,
    OperatorCall,
    TypedExpr,
    Variable,
    VariableKind,
    formula_type,
    rewrite,
)
from codegen.plan.node import EdgePlan, with_place
from codegen.read.model import FormulaKind
from codegen.schema.types import (
    ListType,
    OptionalType,
)
from codegen.signs import CONJUGATION


@dataclass(frozen=True, slots=True)
class TangentPlan:
    """One forward formula: the results whose tangents it gives, and the formula with its place."""

    outputs: tuple[int, ...]
    tree: TypedExpr
    source: str


@dataclass(frozen=True, slots=True)
class ForwardPlan:
    """The forward-mode rule of one operator: which arguments have tangents, and the formulas that are implemented."""

    tangents: tuple[EdgePlan, ...]
    formulas: tuple[TangentPlan, ...]


def plan_forward(entry: ResolvedEntry, table: OperatorTable) -> ForwardPlan | None:
    if not entry.forward:
        return None
    schema = entry.function.schema
    differentiable = {name for f in entry.backward if f.kind is not FormulaKind.NON_DIFFERENTIABLE for name in f.names}
    tangents = []
    for argument in schema.arguments:
        if argument.name in differentiable:
            type = formula_type(argument.type)
            inner = type.elem if isinstance(type, OptionalType) else type
            tangents.append(EdgePlan(argument.name, isinstance(inner, ListType), isinstance(type, OptionalType)))
    names = {result.name: index for index, result in enumerate(schema.returns) if result.name}
    names |= {f"result{index}": index for index in range(len(schema.returns))} | {"result": 0}
    formulas = []
    for formula in entry.forward:
        tree = _forward_tree(formula, entry, tangents, table)
        if tree is not None:
            outputs = tuple(names[name] for name in formula.names)
            formulas.append(TangentPlan(outputs, tree, with_place(formula.names, formula.source.text)))
    return ForwardPlan(tuple(tangents), tuple(formulas)) if formulas else None


def _forward_tree(
    formula: ResolvedFormula, entry: ResolvedEntry, tangents: Sequence[EdgePlan], table: OperatorTable
) -> TypedExpr | None:
    schema = entry.function.schema
    if formula.kind is FormulaKind.EXPRESSION:
        return formula.tree
    if formula.kind is FormulaKind.AUTO_LINEAR:
        linear = {tangent.name for tangent in tangents}
        args = []
        for argument in schema.arguments:
            kind = VariableKind.TANGENT if argument.name in linear else VariableKind.INPUT
            args.append((argument.name, Variable(formula_type(argument.type), 0, 0, kind, argument.name)))
        return OperatorCall(formula_type(schema.returns[0].type), 0, 0, schema, tuple(args))
    if formula.kind is FormulaKind.AUTO_ELEMENT_WISE:
        # The Jacobian is diagonal, d.  Backward gives grad * conj(d), forward is tangent * d, and that is
        # conj(conj(tangent) * conj(d)).
        backward = entry.backward[0].tree
        if backward is None:
            return None
        conjugate = table.written(CONJUGATION)
        tangent = Variable(TENSOR, 0, 0, VariableKind.TANGENT, tangents[0].name)

        def conj(expr: TypedExpr) -> TypedExpr:
            if conjugate is None:
                return expr
            name = conjugate.schema.arguments[0].name
            return OperatorCall(TENSOR, 0, 0, conjugate.schema, ((name, expr),), Meaning.CONJUGATE)

        def change(part: TypedExpr) -> TypedExpr | None:
            return conj(tangent) if isinstance(part, Variable) and part.kind is VariableKind.GRAD else None

        return conj(rewrite(backward, change))
    return None
