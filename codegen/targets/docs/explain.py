"""All that is known of an operator, as text: schema, kernels, what is special, formulas, saved state."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from codegen.dispatch_keys import CPU_ORDER
from codegen.plan.kinds import OperatorKind, SavedKind, ViewKind
from codegen.plan.memory import Array, arrays_kept, arrays_of, kept
from codegen.plan.node import NodePlan
from codegen.plan.operator import OperatorPlan
from codegen.plan.saved import SavedVariable
from codegen.source import Span

Shapes = Sequence[tuple[Array, ...]]


def explained(operator: OperatorPlan, shapes: Shapes | None = None) -> str:
    """The text; with `shapes` of its Tensors it says how much memory its Nodes keep.

    Raises:
        ValueError: it can not have Tensors of these shapes.
    """
    return "\n".join(_lines(operator, shapes))


def _lines(operator: OperatorPlan, shapes: Shapes | None) -> Iterator[str]:
    yield str(operator.schema)
    if operator.compute.implementations and operator.compute.implementation.about:
        yield f"  {operator.compute.implementation.about}"
    yield f"  declared in {_place(operator.source.text.span())}"
    yield from ("", "kernels")
    yield from _kernels(operator)
    facts = list(_facts(operator))
    if facts:
        yield from ("", "facts", *facts)
    if operator.autograd.node is not None or operator.autograd.formula_texts:
        yield from ("", "formulas", *_formulas(operator))
    if operator.autograd.node is None:
        if operator.kind is OperatorKind.IMPLICIT:
            yield from ("", "no formula: the derivative follows from the operators it calls")
        else:
            yield from (
                "",
                "no formula: not differentiable" if not operator.autograd.formula_texts else "not differentiable",
            )
    for node in operator.autograd.nodes:
        yield from ("", f"saved by {node.class_name}", *_saved(operator, node, shapes))


def _kernels(operator: OperatorPlan) -> Iterator[str]:
    """Which kernel serves the CPU, and what else there is; the first key in the order of precedence wins."""
    rows = [(key, str(function), _place(function.span)) for key, function in operator.compute.implementations]
    if operator.compute.elementwise is not None:
        text = operator.compute.elementwise.text
        rows[0] = (rows[0][0], " ".join(text.value.split()), _place(text.span()))
    if operator.compute.composite is not None:
        text = operator.compute.composite.text
        rows.append((operator.compute.composite.key, " ".join(text.value.split()), _place(text.span())))
    width = max((len(key) for key, _, _ in rows), default=0)
    names = max((len(name) for _, name, _ in rows), default=0)
    for number, (key, name, place) in enumerate(rows):
        if key not in CPU_ORDER:
            verdict = f"serves {key} alone"
        elif number:
            verdict = f"hidden by {rows[0][0]}"
        else:
            verdict = "wins"
        yield f"  {key + ':':<{width + 1}} {name:<{names}}  {place}  {verdict}"
    here = {key for key, _, _ in rows}
    missing = [f"{line.key}: {line.kernel}" for line in operator.source.dispatch if line.key not in here]
    if missing:
        yield f"  not here: {', '.join(missing)}"
    if not rows:
        yield "  none: a call raises NotImplementedError"
    yield f"  precedence: one registered for Autograd at run time, then {', '.join(CPU_ORDER)}"


def _facts(operator: OperatorPlan) -> Iterator[str]:
    if operator.compute.promotion is not None:
        yield f"  dtypes: {operator.compute.promotion.text}"
    if operator.compute.batching is not None:
        yield f"  vmap: {operator.compute.batching.rule}"
    if operator.compute.layout is not None:
        arguments = f"({', '.join(operator.compute.layout.arguments)})" if operator.compute.layout.arguments else ""
        yield f"  memory: {operator.compute.layout.kind.value}{arguments}"
    if operator.view is not None:
        whose = "each result" if operator.view is ViewKind.MULTI else "the result"
        yield f"  view: {whose} shares memory with its input"
    if operator.python.out is not None:
        yield f"  dtype of out=: {operator.compute.out_dtype.value}"
    variants = [str(name) for name in (operator.python.inplace, operator.python.out) if name is not None]
    if variants:
        yield f"  variants: {', '.join(variants)}"


def _formulas(operator: OperatorPlan) -> Iterator[str]:
    rows = [(_place(formula.span()), text) for formula, text in operator.autograd.formulas]
    if operator.autograd.inplace_node is not None:
        for gradient in operator.autograd.inplace_node.gradients:
            assert gradient.text is not None
            text = f"{', '.join(gradient.names)}: {gradient.text}"
            rows.append((_place(gradient.text.span()), f"{operator.python.inplace}  {text}"))
    width = max((len(place) for place, _ in rows), default=0)
    for place, text in rows:
        yield f"  {place:<{width}}  {' '.join(text.split())}"


def _saved(operator: OperatorPlan, node: NodePlan, shapes: Shapes | None) -> Iterator[str]:
    if not node.saved:
        yield "  nothing"
        return
    if shapes is None:
        yield from (f"  {saved_as(variable, node)}" for variable in node.saved)
        return
    arrays = arrays_of(operator, shapes)
    unknown = False
    for variable in node.saved:
        found = arrays_kept(variable, arrays)
        unknown = unknown or found is None
        if found is None:
            size = "its shape is not known before the call"
        else:
            size = ", ".join(f"{array}, {array.bytes:,} bytes" for array in found)
        yield f"  {saved_as(variable, node)}{f': {size}' if size else ''}"
    total = sum(array.bytes for array in kept(node.saved, arrays))
    more = " and what is not known here" if unknown else ""
    yield f"  together {total:,} bytes{more}; inputs and outputs are kept alive, not copied"


def saved_as(variable: SavedVariable, node: NodePlan) -> str:
    """What is kept, as what, and for which gradients."""
    what = {SavedKind.VALUE: "a value", SavedKind.RESULT: "an output", SavedKind.LIST: "inputs"}.get(
        variable.kind, "an input"
    )
    if not variable.needed_by:
        return f"{variable.name}: {what}"
    names = sorted({name for index in variable.needed_by for name in node.gradients[index].names})
    return f"{variable.name}: {what}, for the gradient of {', '.join(names)}"


def _place(span: Span) -> str:
    return f"{span.file.path}:{span.line}"
