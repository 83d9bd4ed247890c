"""What `list` and `explain` say about an operator."""

from __future__ import annotations

from collections.abc import Sequence

from codegen.paths import Paths
from codegen.plan.operator import OperatorPlan
from codegen.plan.plan import Plan
from codegen.plan.saved import SavedVariable
from codegen.targets.cpp import target as cpp
from codegen.targets.python import target as python


def operator_rows(plan: Plan) -> list[dict[str, object]]:
    """One row per operator: name, kind of implementation, Node, forward mode, variants."""
    return [
        {
            "name": str(operator.name),
            "schema": str(operator.schema),
            "kind": _kind(operator),
            "node": operator.node.class_name if operator.node is not None else "-",
            "forward": "yes" if operator.forward is not None or operator.kind == "implicit" else "-",
            "variants": ", ".join(str(name) for name in (operator.inplace, operator.out) if name is not None) or "-",
        }
        for operator in plan.operators
    ]


def _kind(operator: OperatorPlan) -> str:
    return {
        "kernel": "kernel",
        "implicit": "composite",
        "explicit": "composite, own derivative",
        "declared": "declared",
    }[operator.kind]


def explain(operator: OperatorPlan, plan: Plan, paths: Paths, targets: Sequence[str] = ("python",)) -> str:
    """All that is known of an operator, as text: schema, dispatch table, formulas, saved state, code of the targets."""
    lines = [str(operator.schema), "", "dispatch"]
    lines += [f"  {key}: {function}" for key, function in operator.implementations]
    if operator.promotion is not None:
        lines.append(f"  dtypes: {operator.promotion.text}")
    if operator.batching is not None:
        lines.append(f"  vmap: {operator.batching.rule}")
    if operator.layout is not None:
        arguments = f"({', '.join(operator.layout.arguments)})" if operator.layout.arguments else ""
        lines.append(f"  memory: {operator.layout.kind}{arguments}")
    if operator.view is not None:
        lines.append(
            f"  view: {'each result' if operator.view == 'multi' else 'the result'} shares memory with its input"
        )
    if operator.out is not None:
        lines.append(f"  dtype of out=: {operator.out_dtype}")
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
    elif operator.kind == "implicit":
        lines += ["", "no formula: the derivative follows from the operators it calls"]
    else:
        lines += ["", "no formula: not differentiable"]
    if "python" in targets:
        lines += ["", python.operator_text(operator, plan.functions, paths.templates).strip()]
    if "cpp" in targets:
        lines += ["", cpp.operator_text(operator, plan, paths).strip()]
    return "\n".join(lines)


def _saved(variable: SavedVariable, gradients: tuple[object, ...]) -> str:
    what = {"value": "a value", "result": "an output", "list": "inputs"}.get(variable.shape, "an input")
    if not variable.needed_by:
        return f"{variable.name}: {what}"
    names = sorted({name for index in variable.needed_by for name in getattr(gradients[index], "names", ())})
    return f"{variable.name}: {what}, for the gradient of {', '.join(names)}"
