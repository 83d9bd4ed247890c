"""The reference of all operators: schema, variants, formulas and what is kept for backward."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from codegen.paths import Paths
from codegen.plan.kinds import OperatorKind
from codegen.plan.operator import OperatorPlan
from codegen.plan.plan import Plan
from codegen.rules.table import Section
from codegen.targets.docs.explain import explained
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
    variants = [f"`{name}`" for name in (operator.python.inplace, operator.python.out) if name is not None]
    if variants:
        facts.append(f"variants: {', '.join(variants)}")
    if operator.view is not None:
        facts.append("a view: the result shares memory with its input")
    if operator.compute.promotion is not None:
        facts.append(f"promotion: `{operator.compute.promotion.text}`")
    if operator.source.dtypes is not None:
        facts.append(f"takes {', '.join(operator.source.dtypes.kinds)} element types")
    if operator.autograd.node is not None:
        kept = ", ".join(f"`{variable.name}`" for variable in operator.autograd.node.saved)
        facts.append(f"`{operator.autograd.node.class_name}` keeps {kept or 'nothing'}")
    return {
        "name": str(operator.name),
        "schema": str(operator.schema),
        "about": _ABOUT[operator.kind],
        "facts": facts,
        "formulas": operator.autograd.formula_texts,
    }


def explain(operator: OperatorPlan, plan: Plan, paths: Paths) -> str:
    """All that is known of an operator, as text."""
    return explained(operator)


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
