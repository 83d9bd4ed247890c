"""Node classes in Python: what is recorded, and the backward."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from codegen.formula.typed import Variable, VariableKind, walk
from codegen.plan.kinds import SavedKind
from codegen.plan.names import FunctionNames
from codegen.plan.node import EdgePlan, GradientPlan, NodePlan
from codegen.plan.operator import OperatorPlan
from codegen.plan.saved import SavedVariable
from codegen.targets.environment import docstring
from codegen.targets.literals import literal, tuple_of
from codegen.targets.python.code import Lines, any_of, call, choice, comprehension, function_head
from codegen.targets.python.names import argument, local, slot
from codegen.targets.python.text import PythonPrinter, in_schema_order


@dataclass(frozen=True, slots=True)
class NodeView:
    """What the template of a Node class prints; bodies are indented."""

    class_name: str
    shown: str
    operator: str
    docstring: str
    slots: str
    edges: str
    num_outputs: str
    apply_parameter: str
    apply: str
    release: str
    properties: str
    record: str  # the head of the function
    record_body: str


def node_view(operator: OperatorPlan, node: NodePlan, function: str, printer: PythonPrinter) -> NodeView:
    """A Node class of an operator, which its callable `function` makes."""
    attributes = [name for variable in node.saved for name in _attributes(variable)]
    edges = [_edge_slot(edge) for edge in node.edges]
    nowhere = ["None"] * node.numbers
    targets = tuple_of([*(f"{_star(edge)}self.{_edge_slot(edge)}" for edge in node.edges), *nowhere])
    apply, release, properties, record = Lines(2), Lines(2), Lines(1), Lines(1)
    _write_apply(node, printer, apply)
    _write_release(node, release)
    _write_properties(node, properties)
    _write_check(operator, node, record)
    _write_record(node, record)
    return NodeView(
        node.class_name,
        node.shown,
        node.operator,
        docstring(str(node.schema)),
        f"__slots__ = {literal((*edges, *attributes))}",
        f"return {targets}",
        "None" if node.dynamic else str(len(node.outputs)),
        "grad_0" if node.single else "grads",
        apply.text,
        release.text,
        properties.text,
        function_head(f"record_{function}", ["out", *in_schema_order(operator.python.parameters)]),
        record.text,
    )


def _star(edge: EdgePlan) -> str:
    return "*" if edge.is_list else ""


def _attributes(variable: SavedVariable) -> list[str]:
    name = slot(variable.name)
    if variable.kind in (SavedKind.TENSOR, SavedKind.OPTIONAL, SavedKind.LIST):
        return [name, f"{name}_version"]
    if variable.kind is SavedKind.RESULT:
        return [name, f"{name}_version", f"{name}_at"]
    return [name]


def _write_release(node: NodePlan, out: Lines) -> None:
    """Drop the Tensors that were saved; a Node that saved none stays usable, and other values stay readable."""
    freed = [variable for variable in node.saved if variable.is_freed]
    if not freed:
        return
    with out.block("try:"):
        for variable in freed:
            attribute = f"self.{slot(variable.name)}"
            optional = variable.kind is SavedKind.OPTIONAL or _condition(variable, node) is not None
            with out.when([f"{attribute} is not None"] if optional else []):
                out.add(f"del {attribute}")
    with out.block("except AttributeError:"):
        out.add("pass  # another thread was first")


# -- recording


def _edge_name(edge: EdgePlan) -> str:
    return f"{argument(edge.name)}_edge{'s' if edge.is_list else ''}"


def _edge_slot(edge: EdgePlan) -> str:
    return f"{slot(edge.name)}_edge{'s' if edge.is_list else ''}"


def _is_needed(edge: EdgePlan) -> str:
    return f"{argument(edge.name)}_needed" if edge.is_list else f"{_edge_name(edge)} is not None"


def _condition(variable: SavedVariable, node: NodePlan) -> str | None:
    """When a saved variable is worth keeping: some gradient that reads it is asked for."""
    tests = [_is_needed(edge) for edge in node.edges_needing(variable)]
    return any_of(tests) if tests else None


def _write_record(node: NodePlan, out: Lines) -> None:
    """Make the Node of the call whose result is `out` and whose arguments are locals under their own names."""
    out.add(f"node = {node.class_name}()")
    for edge in node.edges:
        name, source = _edge_name(edge), argument(edge.name)
        if edge.is_list:
            element = choice("None", "t is None", choice("t", "t._edge is LEAF", "t._edge"))
            out.assign([name], comprehension(element, "t", f"{source} or ()"))
            if any(_condition(variable, node) for variable in node.saved):
                out.add(f"{_is_needed(edge)} = any(edge is not None for edge in {name})")
            out.add(f"node.{_edge_slot(edge)} = tuple({name})")
        else:
            edge_of = choice("None", f"{source} is None", f"{source}._edge") if edge.is_optional else f"{source}._edge"
            out.assign([name], edge_of)
            out.assign([f"node.{_edge_slot(edge)}"], choice(source, f"{name} is LEAF", name))
    out.add("node.sequence_nr = next_sequence_nr()", "node._extra = None")
    _write_outputs(node, out)
    printer = PythonPrinter(FunctionNames(), in_method=False, result=lambda index: _result(node, index))
    for variable in node.saved:
        _write_saved(variable, node, printer, out)


def _result(node: NodePlan, index: int) -> str:
    return "out" if len(node.schema.returns) == 1 else f"out[{index}]"


def _write_check(operator: OperatorPlan, node: NodePlan, out: Lines) -> None:
    """Nothing is recorded where the result has a dtype without derivatives."""
    if node.single and operator.may_lack_gradient(node):
        with out.when([f'{_result(node, node.outputs[0])}._array.dtype.kind not in "fcV"']):
            out.add("return")


def _write_outputs(node: NodePlan, out: Lines) -> None:
    if node.dynamic:
        out.add(
            "arrays = [tensor._array for tensor in out]",
            "node.shape = tuple([array.shape for array in arrays])",
            "node.dtype = tuple([array.dtype for array in arrays])",
            "set_edges(out, node)",
        )
        return
    results = [_result(node, index) for index in node.outputs]
    if node.single:
        out.add(f"array = {results[0]}._array", "node.shape = array.shape", "node.dtype = array.dtype")
        out.add(f"{results[0]}._edge = node")
    elif node.schema.masks_outputs:
        out.assign(["outputs"], tuple_of(results))
        out.add("node.shape, node.dtype = shapes_of(outputs)", "set_edges(outputs, node)")
    else:
        for attribute in ("shape", "dtype"):
            out.assign([f"node.{attribute}"], tuple_of([f"{result}._array.{attribute}" for result in results]))
        out.add(call("set_edges", (tuple_of(results), "node")))


def _write_saved(variable: SavedVariable, node: NodePlan, printer: PythonPrinter, out: Lines) -> None:
    kept = f"node.{slot(variable.name)}"
    if variable.kind is SavedKind.RESULT:
        result = _result(node, variable.result_index)
        # The result is kept without its history, which would be a cycle; the version list is shared with it.
        out.add(
            f"{kept} = {result}._array",
            f"{kept}_version = {result}._writes = {result}._writes or [0]",
            f"{kept}_at = {kept}_version[0]",
        )
        return
    value = printer.bare(variable.expr)
    if variable.kind is SavedKind.VALUE:
        out.assign([kept], value)
        return
    condition = _condition(variable, node)
    saved = f"tuple({value})" if variable.kind is SavedKind.LIST else value
    out.assign([kept], saved if condition is None else choice(saved, condition, "None"))
    if variable.kind is SavedKind.LIST:
        out.add(f"{kept}_version = versions_of({value})")
        return
    writes = f"{value}._writes"
    optional = variable.kind is SavedKind.OPTIONAL
    out.assign(["version"], choice("None", f"{value} is None", writes) if optional else writes)
    out.add(f"{kept}_version = 0 if version is None else version[0]")


# -- backward


def _write_apply(node: NodePlan, printer: PythonPrinter, out: Lines) -> None:
    if len(node.edges) > 1:  # which gradients of lists are asked for; with a single edge it is that one
        for edge in node.edges:
            if edge.is_list:
                out.add(f"{_is_wanted(edge)} = any(edge is not None for edge in self.{_edge_slot(edge)})")
    if node.saved:
        with out.block("try:"):
            for variable in node.saved:
                out.add(f"{local(variable.name)} = self.{slot(variable.name)}")
        with out.block("except AttributeError:"):
            out.add("raise freed_error(self) from None")
        for variable in node.saved:
            _write_unpacked(variable, node, out)
    if not node.single and not node.dynamic:
        out.assign([f"grad_{index}" for index in range(len(node.outputs))], "grads")
    for gradient in node.gradients:
        _write_gradient(gradient, node, printer, out)
    gradients = [f"{_star(edge)}{_grad_name(edge)}" for edge in node.edges]
    out.add(f"return {tuple_of([*gradients, *['None'] * node.numbers])}")


def _grad_name(edge: EdgePlan) -> str:
    return f"{argument(edge.name)}_gradient"


def _is_wanted(edge: EdgePlan) -> str:
    """The test in `apply` for an edge whose gradient is asked for."""
    return _is_needed(edge) if edge.is_list else f"self.{_edge_slot(edge)} is not None"


def _write_unpacked(variable: SavedVariable, node: NodePlan, out: Lines) -> None:
    name, attribute, shown = local(variable.name), f"self.{slot(variable.name)}", literal(variable.name)
    version = f"{attribute}_version"
    if variable.kind in (SavedKind.TENSOR, SavedKind.OPTIONAL):
        is_kept = f"{name} is not None"
        modified = (f"{name}._writes is not None", f"{name}._writes[0] != {version}")
        error = f"raise modified_error(self, {shown}, {name}, {version})"
        edge = next((f"self.{_edge_slot(e)}" for e in node.edges if e.name == variable.name), None)
        if edge is None:
            with out.when([is_kept, *modified]):
                out.add(error)
            return
        with out.when([is_kept]):
            with out.when(modified):
                out.add(error)
            with out.when([f"{name}._edge is None", f"{edge} is not None"]):
                out.add(f"check_attached(self, {edge})")
    elif variable.kind is SavedKind.LIST:
        out.add(call("check_versions", ("self", shown, name, version)))
    elif variable.kind is SavedKind.RESULT:
        values = ("self", shown, name, version, f"{attribute}_at", str(node.output_nr(variable)))
        out.assign([name], call("unpack_result", values))


def _write_gradient(gradient: GradientPlan, node: NodePlan, printer: PythonPrinter, out: Lines) -> None:
    edges = [node.edges[index] for index in gradient.edges]
    names = [_grad_name(edge) for edge in edges]
    conditions = []
    if len(node.edges) > len(edges):
        conditions.append(any_of([_is_wanted(edge) for edge in edges]))
    if gradient.reads and not node.single and not node.dynamic:
        conditions.append(any_of([f"grad_{index} is not None" for index in gradient.reads]))
    out.comment(gradient.source)
    with out.when(conditions):
        _write_formula(gradient, edges, names, printer, out)
    if conditions:
        absent = [_absent(edge) for edge in edges]
        with out.block("else:"):
            if len(set(absent)) == 1 and len(absent) <= 3:
                out.add(" = ".join((*names, absent[0])))
            else:
                out.assign(names, ", ".join(absent))


def _absent(edge: EdgePlan) -> str:
    """What an edge gets whose gradient is not asked for: nothing for each Tensor, so that the next ones have theirs."""
    return f"(None,) * len(self.{_edge_slot(edge)})" if edge.is_list else "None"


def _write_formula(
    gradient: GradientPlan, edges: Sequence[EdgePlan], names: Sequence[str], printer: PythonPrinter, out: Lines
) -> None:
    if gradient.tree is None:
        out.add(f"raise not_implemented_error(self, {literal(gradient.names[0])}, {literal(gradient.reason)})")
        return
    for index in gradient.materialize:
        out.add(f"defined_{index} = zeros_for(self, {index}) if grad_{index} is None else grad_{index}")
    uses = {part.kind for part in walk(gradient.tree) if isinstance(part, Variable)}
    if VariableKind.MASK in uses:
        out.assign(["mask"], tuple_of([_is_wanted(edge) if len(edges) > 1 else "True" for edge in edges]))
    out.assign(names, printer.formula(gradient.tree, out))


_PROPERTIES = {
    SavedKind.TENSOR: "saved_tensor",
    SavedKind.OPTIONAL: "saved_tensor",
    SavedKind.LIST: "saved_list",
    SavedKind.RESULT: "saved_result",
    SavedKind.VALUE: "saved_value",
}


def _write_properties(node: NodePlan, out: Lines) -> None:
    """`_saved_self` and the like: what PyTorch shows of a Node."""
    for variable in node.saved:
        if variable.is_hidden:
            continue
        kept = slot(variable.name)
        parts = [literal(variable.name)]
        if variable.kind is SavedKind.RESULT:
            parts.append(str(node.output_nr(variable)))
        if kept != f"_{variable.name}":
            parts.append(literal(kept))
        out.assign([f"_saved_{variable.name}"], call(_PROPERTIES[variable.kind], parts))
