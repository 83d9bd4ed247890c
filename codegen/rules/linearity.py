"""Formulas are linear in the gradient or the tangents, and what follows from how they depend on them."""

from __future__ import annotations

from codegen.bind.entries import ResolvedEntry, ResolvedFormula
from codegen.codes import Code
from codegen.formula.typed import TypedExpr, VariableKind, variables
from codegen.read.model import FormulaKind
from codegen.rules.checked import Checked
from codegen.rules.linear.blame import Blame
from codegen.rules.linear.degree import Degree, flat
from codegen.rules.linear.formulas import Degrees, Linearity
from codegen.source import Diagnostics

_LINEAR = "a derivative formula is a linear map of what comes in"


def check_linear(entry: ResolvedEntry, checked: Checked, diagnostics: Diagnostics) -> None:
    """A backward formula is linear in the gradient, a forward formula in the tangents."""
    for formulas, what, degrees in (
        (entry.backward, "gradient", Degrees(gradient=Degree.LINEAR)),
        (entry.forward, "tangents", Degrees(tangent=Degree.LINEAR)),
    ):
        for formula in formulas:
            if formula.tree is not None:
                _check_linear(formula, formula.tree, what, degrees, checked.linear, diagnostics)


def _check_linear(
    formula: ResolvedFormula,
    tree: TypedExpr,
    what: str,
    degrees: Degrees,
    linearity: Linearity,
    diagnostics: Diagnostics,
) -> None:
    text = formula.source.text
    value = linearity.of_tree(tree, degrees)
    if flat(value) is Degree.NONLINEAR:
        finding = Blame(linearity).of_formula(tree, degrees)
        diagnostics.error(
            Code.NOT_LINEAR,
            text.span(finding.expr.start, finding.expr.end),
            f"not linear in the {what}: {finding.why.message}",
            hint=_LINEAR
            if finding.declaration is None
            else f"{_LINEAR}; a helper that is one, and whose source does not show it, is declared so: "
            f"'{finding.declaration}'",
            notes=() if finding.cause is None else ((finding.cause.span, finding.cause.why.message),),
        )
    elif Degree.CONSTANT in (value if isinstance(value, tuple) else (value,)):
        diagnostics.error(
            Code.NOT_LINEAR,
            text.span(), f"this formula never uses the {what}, and is not zero",
            hint="multiply by 'grad', or write zeros_like(...)" if what == "gradient" else None,
        )  # fmt: skip


def check_automatic(entry: ResolvedEntry, checked: Checked, diagnostics: Diagnostics) -> None:
    """`auto_linear` stands at linear operators, `auto_element_wise` at point-wise ones of one Tensor."""
    differentiable = checked.linear.facts.differentiable_arguments(str(entry.function.name))
    listed = ", ".join(f"'{name}'" for name in differentiable)
    for formula in entry.forward:
        place = formula.source.text.span()
        if formula.kind is FormulaKind.AUTO_LINEAR:
            if checked.linear.is_linear(str(entry.function.name), frozenset(differentiable)) is False:
                diagnostics.error(
                    Code.AUTOMATIC,
                    place, f"auto_linear, and '{entry.function.name}' is not linear in {listed}",
                    hint="its own backward formulas say so: write the formula of the tangents",
                )  # fmt: skip
        elif formula.kind is FormulaKind.AUTO_ELEMENT_WISE:
            if len(differentiable) != 1:
                diagnostics.error(
                    Code.AUTOMATIC,
                    place, f"auto_element_wise, and '{entry.function.name}' is differentiable in {listed or 'nothing'}",
                    hint="it serves operators of one Tensor: write the formula of the tangents",
                )  # fmt: skip
            elif "pointwise" not in entry.function.tags:
                diagnostics.error(
                    Code.AUTOMATIC,
                    place, f"auto_element_wise, and '{entry.function.name}' has no tag 'pointwise'",
                    hint="each element of the result must depend on the same element of the argument alone: "
                    "tag it so, or write the formula of the tangents",
                    notes=((entry.function.text.span(), "declared here"),),
                )  # fmt: skip


def check_tangents(entry: ResolvedEntry, checked: Checked, diagnostics: Diagnostics) -> None:
    """The forward formulas of an operator use the tangent of each argument on which it depends."""
    trees = [formula.tree for formula in entry.forward if formula.tree is not None]
    if not trees or len(trees) < len(entry.forward):  # the automatic ones use all
        return
    used = {part.name for tree in trees for part in variables(tree) if part.kind is VariableKind.TANGENT}
    if not used:  # that is not linear
        return
    for formula in entry.backward:
        if formula.kind is not FormulaKind.EXPRESSION:
            continue
        for name in formula.names:
            if name not in used and not checked.linear.vanishes(str(entry.function.name), name):
                first = entry.forward[0].source.text
                diagnostics.error(
                    Code.TANGENT_FORGOTTEN,
                    first.span(), f"the tangent of '{name}' is forgotten: '{name}_t' is in no formula of the results",
                    notes=((formula.source.text.span(), f"the gradient of '{name}' is not zero"),),
                )  # fmt: skip


def check_differentiable_outputs(entry: ResolvedEntry, checked: Checked, diagnostics: Diagnostics) -> None:
    """A result by which formulas index has no gradient."""
    count = len(entry.function.schema.returns)
    for formula in entry.backward:
        for output in entry.differentiable_outputs if formula.tree is not None else ():
            degrees = Degrees(outputs=tuple(Degree.LINEAR if i == output else Degree.CONSTANT for i in range(count)))
            if formula.tree is None or flat(checked.linear.of_tree(formula.tree, degrees)) is not Degree.NONLINEAR:
                continue
            why = Blame(checked.linear).of_formula(formula.tree, degrees).innermost
            if why.index is not None:
                name = entry.function.schema.returns[output].name or f"result{output}"
                diagnostics.error(
                    Code.INDEX_OUTPUT,
                    entry.entry.output_differentiability_span or entry.entry.text.span(),
                    f"'{name}' of '{entry.function.name}' can not be differentiable: its formulas take it for an index",
                    hint="output_differentiability says which results have gradients, in their order",
                    notes=((formula.source.text.span(), why.message),),
                )  # fmt: skip
                return
