"""Node classes in Python: what is recorded, and the backward."""

from __future__ import annotations

from dataclasses import dataclass

from codegen.formula.typed import VariableKind, walk
from codegen.plan.kinds import SavedKind
from codegen.plan.names import FunctionNames
from codegen.plan.node import EdgePlan, GradientPlan, NodePlan
from codegen.plan.operator import OperatorPlan
from codegen.plan.saved import SavedVariable
from codegen.targets.literals import literal, tuple_of
from codegen.targets.python.names import argument, local, slot
from codegen.targets.python.text import PythonPrinter, plain


@dataclass(frozen=True, slots=True)
class NodeView:
    """What the template of a Node class prints."""

    class_name: str
    operator: str
    schema: str
    function: str
    slots: str
    edges: str
    num_outputs: str
    apply_parameter: str
    apply: tuple[str, ...]
    release: tuple[str, ...]
    properties: tuple[tuple[str, str], ...]  # name, body
    record_parameters: str
    record: tuple[str, ...]


def node_view(operator: OperatorPlan, node: NodePlan, function: str, printer: PythonPrinter) -> NodeView:
    """A Node class of an operator, which its callable `function` makes."""
    parameters = operator.parameters
    attributes = [name for variable in node.saved for name in _attributes(variable)]
    edges = [_edge_slot(edge) for edge in node.edges]
    return NodeView(
        node.class_name,
        node.operator,
        str(node.schema),
        function,
        literal((*edges, *attributes)),
        tuple_of([f"{'*' if edge.is_list else ''}self.{_edge_slot(edge)}" for edge in node.edges]),
        "None" if node.dynamic else str(len(node.outputs)),
        "grad_0" if node.single else "grads",
        tuple(_apply_lines(node, printer)),
        tuple(_release_lines(node)),
        tuple(_properties(node)),
        plain(parameters),
        (*_check_lines(operator, node), *_record_lines(node)),
    )


def _attributes(variable: SavedVariable) -> list[str]:
    name = slot(variable.name)
    if variable.kind in (SavedKind.TENSOR, SavedKind.OPTIONAL, SavedKind.LIST):
        return [name, f"{name}_version"]
    if variable.kind is SavedKind.RESULT:
        return [name, f"{name}_version", f"{name}_at"]
    return [name]


def _release_lines(node: NodePlan) -> list[str]:
    """Drop the Tensors that were saved; a Node that saved none stays usable, and other values stay readable."""
    lines = []
    for variable in node.saved:
        if not variable.is_freed:
            continue
        attribute = f"self.{slot(variable.name)}"
        if variable.kind is SavedKind.OPTIONAL or _condition(variable, node) is not None:
            lines += [f"    if {attribute} is not None:", f"        del {attribute}"]
        else:
            lines.append(f"    del {attribute}")
    return ["try:", *lines, "except AttributeError:", "    pass  # another thread was first"] if lines else []


# -- recording


def _edge_name(edge: EdgePlan) -> str:
    return f"{argument(edge.name)}_edge{'s' if edge.is_list else ''}"


def _edge_slot(edge: EdgePlan) -> str:
    return f"{slot(edge.name)}_edge{'s' if edge.is_list else ''}"


def _is_needed(edge: EdgePlan) -> str:
    return f"{argument(edge.name)}_needed" if edge.is_list else f"{_edge_name(edge)} is not None"


def _condition(variable: SavedVariable, node: NodePlan) -> str | None:
    """When a saved variable is worth keeping: some gradient that reads it is asked for."""
    return " or ".join(map(_is_needed, node.edges_needing(variable))) or None


def _record_lines(node: NodePlan) -> list[str]:
    """Make the Node of the call whose result is `out` and whose arguments are locals under their own names."""
    lines = [f"node = {node.class_name}()"]
    for edge in node.edges:
        name, given = _edge_name(edge), argument(edge.name)
        if edge.is_list:
            tensors = f"[None if t is None else t if t._edge is LEAF else t._edge for t in {given} or ()]"
            lines.append(f"{name} = {tensors}")
            if any(_condition(variable, node) for variable in node.saved):
                lines.append(f"{_is_needed(edge)} = any(edge is not None for edge in {name})")
            lines.append(f"node.{_edge_slot(edge)} = tuple({name})")
        else:
            found = f"None if {given} is None else {given}._edge" if edge.is_optional else f"{given}._edge"
            lines += [f"{name} = {found}", f"node.{_edge_slot(edge)} = {given} if {name} is LEAF else {name}"]
    lines += ["node.sequence_nr = next_sequence_nr()", "node._extra = None"]
    lines += _output_lines(node)
    printer = PythonPrinter(FunctionNames(), in_method=False, result=lambda index: _result(node, index))
    for variable in node.saved:
        lines += _save_lines(variable, node, printer)
    return lines


def _result(node: NodePlan, index: int) -> str:
    return "out" if len(node.schema.returns) == 1 else f"out[{index}]"


def _check_lines(operator: OperatorPlan, node: NodePlan) -> list[str]:
    """Nothing is recorded where the result has a dtype without derivatives."""
    if not node.single or not operator.may_lack_gradient(node):
        return []
    return [f'if {_result(node, node.outputs[0])}._array.dtype.kind not in "fcV":', "    return"]


def _output_lines(node: NodePlan) -> list[str]:
    if node.dynamic:
        return [
            "arrays = [tensor._array for tensor in out]",
            "node.shape = tuple([array.shape for array in arrays])",
            "node.dtype = tuple([array.dtype for array in arrays])",
            "set_edges(out, node)",
        ]
    if node.single:
        result = _result(node, node.outputs[0])
        lines = [f"array = {result}._array"]
        return [*lines, "node.shape = array.shape", "node.dtype = array.dtype", f"{result}._edge = node"]
    if node.schema.masks_outputs:
        outputs = tuple_of([f"out[{index}]" for index in node.outputs])
        return [f"outputs = {outputs}", "node.shape, node.dtype = shapes_of(outputs)", "set_edges(outputs, node)"]
    arrays = [f"out[{index}]._array" for index in node.outputs]
    return [
        f"node.shape = {tuple_of([f'{array}.shape' for array in arrays])}",
        f"node.dtype = {tuple_of([f'{array}.dtype' for array in arrays])}",
        f"set_edges({tuple_of([f'out[{index}]' for index in node.outputs])}, node)",
    ]


def _save_lines(variable: SavedVariable, node: NodePlan, printer: PythonPrinter) -> list[str]:
    name = slot(variable.name)
    if variable.kind is SavedKind.RESULT:
        result = _result(node, variable.result_index)
        # The result is kept without its history, which would be a cycle; the version list is shared with it.
        return [
            f"node.{name} = {result}._array",
            f"node.{name}_version = {result}._writes = {result}._writes or [0]",
            f"node.{name}_at = node.{name}_version[0]",
        ]
    value = printer.bare(variable.expr)
    if variable.kind is SavedKind.VALUE:
        return [f"node.{name} = {value}"]
    condition = _condition(variable, node)
    if variable.kind is SavedKind.LIST:
        kept = f"tuple({value})" if condition is None else f"tuple({value}) if {condition} else None"
        return [f"node.{name} = {kept}", f"node.{name}_version = versions_of({value})"]
    kept = value if condition is None else f"{value} if {condition} else None"
    version = (
        f"{value}._writes" if variable.kind is SavedKind.TENSOR else f"None if {value} is None else {value}._writes"
    )
    return [
        f"node.{name} = {kept}",
        f"version = {version}",
        f"node.{name}_version = 0 if version is None else version[0]",
    ]


# -- backward


def _apply_lines(node: NodePlan, printer: PythonPrinter) -> list[str]:
    lines = _edge_lines(node)
    if node.saved:
        lines.append("try:")
        for variable in node.saved:
            lines += [f"    {local(variable.name)} = self.{slot(variable.name)}"]
        lines += ["except AttributeError:", "    raise freed_error(self) from None"]
        for variable in node.saved:
            lines += _unpack_lines(variable, node)
    if not node.single and not node.dynamic:
        lines.append(
            f"{', '.join(f'grad_{i}' for i in range(len(node.outputs)))}{',' if len(node.outputs) == 1 else ''} = grads"
        )
    for gradient in node.gradients:
        lines += _gradient_lines(gradient, node, printer)
    results = [f"*{_grad_name(edge)}" if edge.is_list else _grad_name(edge) for edge in node.edges]
    return [*lines, f"return {tuple_of(results)}"]


def _grad_name(edge: EdgePlan) -> str:
    return f"{argument(edge.name)}_gradient"


def _edge_lines(node: NodePlan) -> list[str]:
    """Which gradients of lists are asked for; with a single edge it is that one."""
    if len(node.edges) == 1:
        return []
    lists = [edge for edge in node.edges if edge.is_list]
    return [f"{_is_wanted(edge)} = any(edge is not None for edge in self.{_edge_slot(edge)})" for edge in lists]


def _is_wanted(edge: EdgePlan) -> str:
    """The test in `apply` for an edge whose gradient is asked for."""
    return _is_needed(edge) if edge.is_list else f"self.{_edge_slot(edge)} is not None"


def _unpack_lines(variable: SavedVariable, node: NodePlan) -> list[str]:
    name, attribute = local(variable.name), f"self.{slot(variable.name)}"
    if variable.kind in (SavedKind.TENSOR, SavedKind.OPTIONAL):
        version = f"{name}._writes is not None and {name}._writes[0] != {attribute}_version"
        modified = f"raise modified_error(self, {literal(variable.name)}, {name}, {attribute}_version)"
        edge = next((f"self.{_edge_slot(e)}" for e in node.edges if e.name == variable.name), None)
        if edge is None:
            return [f"if {name} is not None and {version}:", f"    {modified}"]
        return [
            f"if {name} is not None:",
            f"    if {version}:",
            f"        {modified}",
            f"    if {name}._edge is None and {edge} is not None:",
            f"        check_attached(self, {edge})",
        ]
    if variable.kind is SavedKind.LIST:
        return [f"check_versions(self, {literal(variable.name)}, {name}, {attribute}_version)"]
    if variable.kind is SavedKind.RESULT:
        values = [name, f"{attribute}_version", f"{attribute}_at", str(node.output_nr(variable))]
        return [f"{name} = unpack_result(self, {literal(variable.name)}, {', '.join(values)})"]
    return []


def _gradient_lines(gradient: GradientPlan, node: NodePlan, printer: PythonPrinter) -> list[str]:
    edges = [node.edges[index] for index in gradient.edges]
    names = [_grad_name(edge) for edge in edges]
    absent = ["()" if edge.is_list else "None" for edge in edges]
    conditions = []
    if len(node.edges) > len(edges):
        conditions.append(" or ".join(map(_is_wanted, edges)))
    if gradient.reads and not node.single and not node.dynamic:
        conditions.append(" or ".join(f"grad_{index} is not None" for index in gradient.reads))
    body = []
    if gradient.tree is None:
        body.append(f"raise not_implemented_error(self, {literal(gradient.names[0])}, {literal(gradient.reason)})")
    else:
        body += [
            f"defined_{index} = zeros_for(self, {index}) if grad_{index} is None else grad_{index}"
            for index in gradient.materialize
        ]
        uses = {part.kind for part in walk(gradient.tree) if hasattr(part, "kind")}
        if VariableKind.MASK in uses:
            body.append(f"mask = {tuple_of([_is_wanted(edge) if len(edges) > 1 else 'True' for edge in edges])}")
        body.append(f"{', '.join(names)} = {printer.bare(gradient.tree)}")
    comment = [f"# {gradient.source}"]
    if not conditions:
        return comment + body
    if len(conditions) > 1:
        conditions = [f"({condition})" if " or " in condition else condition for condition in conditions]
    test = " and ".join(conditions)
    same = len(set(absent)) == 1 and len(absent) <= 3
    otherwise = " = ".join((*names, absent[0])) if same else f"{', '.join(names)} = {', '.join(absent)}"
    return [*comment, f"if {test}:", *(f"    {line}" for line in body), "else:", f"    {otherwise}"]


def _properties(node: NodePlan) -> list[tuple[str, str]]:
    """`_saved_self` and the like: what PyTorch shows of a Node."""
    found = []
    for variable in node.saved:
        if variable.is_hidden:
            continue
        maker = {
            SavedKind.TENSOR: "saved_tensor",
            SavedKind.OPTIONAL: "saved_tensor",
            SavedKind.LIST: "saved_list",
            SavedKind.RESULT: "saved_result",
            SavedKind.VALUE: "saved_value",
        }
        kept = slot(variable.name)
        parts = [literal(variable.name)]
        if variable.kind is SavedKind.RESULT:
            parts.append(str(node.output_nr(variable)))
        if kept != f"_{variable.name}":
            parts.append(literal(kept))
        text = f"{maker[variable.kind]}({', '.join(parts)})"
        found.append((f"_saved_{variable.name}", text))
    return found
