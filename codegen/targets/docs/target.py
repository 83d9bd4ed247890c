"""The reference of all operators: schema, variants, formulas and what is kept for backward."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from codegen.paths import Paths
from codegen.plan.kinds import OperatorKind, SavedKind, ViewKind
from codegen.plan.operator import OperatorPlan
from codegen.plan.plan import Plan
from codegen.plan.saved import SavedVariable
from codegen.rules.table import Section
from codegen.targets.environment import environment

_ABOUT = {
    OperatorKind.KERNEL: "A kernel on arrays.",
    OperatorKind.IMPLICIT: "Composite: made of other operators, and differentiated through them.",
    OperatorKind.EXPLICIT: "Composite, with a derivative of its own.",
    OperatorKind.DECLARED: "Declared only: a call raises NotImplementedError.",
}


name = "docs"


def emit(plan: Plan, paths: Paths) -> Iterator[tuple[str, str]]:
    """reference.md."""
    operators = [_entry(operator) for operator in sorted(plan.operators, key=lambda operator: str(operator.name))]
    yield (
        "reference.md",
        environment(paths.templates, name)
        .get_template("reference.md.j2")
        .render(
            operators=operators,
            differentiable=len(plan.nodes),
            composite=sum(operator.kind is OperatorKind.IMPLICIT for operator in plan.operators),
        ),
    )


def _entry(operator: OperatorPlan) -> Mapping[str, Any]:
    facts = []
    if operator.source.signs:
        facts.append(f"written as {', '.join(f'`{use.text}`' for use in operator.source.signs)}")
    variants = [f"`{name}`" for name in (operator.inplace, operator.out) if name is not None]
    if variants:
        facts.append(f"variants: {', '.join(variants)}")
    if operator.view is not None:
        facts.append("a view: the result shares memory with its input")
    if operator.promotion is not None:
        facts.append(f"promotion: `{operator.promotion.text}`")
    if operator.source.dtypes is not None:
        facts.append(f"takes {', '.join(operator.source.dtypes.kinds)} element types")
    if operator.node is not None:
        kept = ", ".join(f"`{variable.name}`" for variable in operator.node.saved)
        facts.append(f"`{operator.node.class_name}` keeps {kept or 'nothing'}")
    return {
        "name": str(operator.name),
        "schema": str(operator.schema),
        "about": _ABOUT[operator.kind],
        "facts": facts,
        "formulas": operator.formula_texts,
    }


def explain(operator: OperatorPlan, plan: Plan, paths: Paths) -> str:
    """All that is known of an operator, as text: schema, dispatch table, formulas, saved state."""
    lines = [str(operator.schema), "", "dispatch"]
    lines += [f"  {key}: {function}" for key, function in operator.implementations]
    if operator.promotion is not None:
        lines.append(f"  dtypes: {operator.promotion.text}")
    if operator.batching is not None:
        lines.append(f"  vmap: {operator.batching.rule}")
    if operator.layout is not None:
        arguments = f"({', '.join(operator.layout.arguments)})" if operator.layout.arguments else ""
        lines.append(f"  memory: {operator.layout.kind.value}{arguments}")
    if operator.view is not None:
        lines.append(
            f"  view: {'each result' if operator.view is ViewKind.MULTI else 'the result'} shares memory with its input"
        )
    if operator.out is not None:
        lines.append(f"  dtype of out=: {operator.out_dtype.value}")
    variants = [str(name) for name in (operator.inplace, operator.out) if name is not None]
    if variants:
        lines.append(f"  variants: {', '.join(variants)}")
    node = operator.node
    if node is not None:
        lines += ["", "formulas"]
        for entry in operator.formula_texts:
            lines.append(f"  {entry}")
        lines += ["", f"saved by {node.class_name}"]
        lines += [f"  {_saved(variable, node.gradients)}" for variable in node.saved] or ["  nothing"]
    elif operator.kind is OperatorKind.IMPLICIT:
        lines += ["", "no formula: the derivative follows from the operators it calls"]
    else:
        lines += ["", "no formula: not differentiable"]
    return "\n".join(lines)


def _saved(variable: SavedVariable, gradients: tuple[object, ...]) -> str:
    what = {SavedKind.VALUE: "a value", SavedKind.RESULT: "an output", SavedKind.LIST: "inputs"}.get(
        variable.kind, "an input"
    )
    if not variable.needed_by:
        return f"{variable.name}: {what}"
    names = sorted({name for index in variable.needed_by for name in getattr(gradients[index], "names", ())})
    return f"{variable.name}: {what}, for the gradient of {', '.join(names)}"


def judgement_text(sections: Sequence[Section], paths: Paths, entries: int) -> str:
    """What the checks find in foreign derivative formulas, as Markdown."""
    template = environment(paths.templates, name).get_template("judgement.md.j2")
    rows = [
        {
            "code": section.code,
            "title": section.title,
            "meaning": section.meaning,
            "findings": [
                {"line": line, "column": column, "message": finding.message}
                for finding in section.findings
                for line, column in [finding.span.file.position(finding.span.start)]
            ],
        }
        for section in sections
    ]
    return template.render(name=paths.derivatives.name, entries=entries, sections=rows)
