"""The reference of all operators: schema, variants, formulas and what is kept for backward."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from codegen.paths import Paths
from codegen.plan.operator import OperatorPlan
from codegen.plan.plan import Plan
from codegen.rules.judge import Section
from codegen.targets.environment import environment

_ABOUT = {
    "kernel": "A kernel on arrays.",
    "implicit": "Composite: made of other operators, and differentiated through them.",
    "explicit": "Composite, with a derivative of its own.",
    "declared": "Declared only: a call raises NotImplementedError.",
}


def emit(plan: Plan, templates: Path) -> Iterator[tuple[str, str]]:
    """reference.md."""
    operators = [_entry(operator) for operator in sorted(plan.operators, key=lambda operator: str(operator.name))]
    yield (
        "reference.md",
        environment(templates, "docs")
        .get_template("reference.md.j2")
        .render(
            operators=operators,
            differentiable=len(plan.nodes),
            composite=sum(operator.kind == "implicit" for operator in plan.operators),
        ),
    )


def _entry(operator: OperatorPlan) -> Mapping[str, Any]:
    facts = []
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


def judgement_text(sections: Sequence[Section], paths: Paths, entries: int) -> str:
    """What the checks find in somebody's derivative formulas, as Markdown."""
    template = environment(paths.templates, "docs").get_template("judgement.md.j2")
    rows = [
        {
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
