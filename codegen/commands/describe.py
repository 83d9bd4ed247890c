"""What `list` says about operators."""

from __future__ import annotations

from codegen.plan.kinds import OperatorKind
from codegen.plan.operator import OperatorPlan
from codegen.plan.plan import Plan


def operator_rows(plan: Plan) -> list[dict[str, object]]:
    """One row per operator: name, kind of implementation, Node, forward mode, variants."""
    return [
        {
            "name": str(operator.name),
            "schema": str(operator.schema),
            "kind": _kind(operator),
            "node": operator.node.class_name if operator.node is not None else "-",
            "forward": "yes" if operator.forward is not None or operator.kind is OperatorKind.IMPLICIT else "-",
            "variants": ", ".join(str(name) for name in (operator.inplace, operator.out) if name is not None) or "-",
        }
        for operator in plan.operators
    ]


def _kind(operator: OperatorPlan) -> str:
    return {
        OperatorKind.KERNEL: "kernel",
        OperatorKind.IMPLICIT: "composite",
        OperatorKind.EXPLICIT: "composite, own derivative",
        OperatorKind.DECLARED: "declared",
    }[operator.kind]
