"""Backward Nodes in C++: a struct for each, with what it saves and how it records."""

from __future__ import annotations

from dataclasses import dataclass

from codegen.formula.typed import Variable, VariableKind, walk
from codegen.plan.kinds import SavedKind
from codegen.plan.node import NodePlan
from codegen.plan.operator import OperatorPlan
from codegen.plan.saved import SavedVariable
from codegen.targets.cpp.backward import Backward
from codegen.targets.cpp.loops import LoopTable
from codegen.targets.cpp.names import cpp
from codegen.targets.cpp.needs import Needs
from codegen.targets.cpp.statements import Call, Statements, function_head, row
from codegen.targets.cpp.text import CppPrinter, Library
from codegen.targets.environment import quoted

# The types of the slots of what is saved.
_SLOTS = {
    SavedKind.TENSOR: "SavedInput", SavedKind.OPTIONAL: "SavedInput", SavedKind.RESULT: "SavedResult",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class NodeView:
    """What the template of a Node prints."""

    class_name: str
    schema: str
    operator: str
    edges: int
    members: tuple[str, ...]
    record_head: str  # what its definition begins with
    record_declaration: str
    record: tuple[str, ...]
    fused: tuple[LoopTable, ...]  # of formulas that are one loop
    apply_head: str
    apply: tuple[str, ...]
    leads_back: frozenset[int]  # the lines of it before which the compiler is led back from a formula
    uses_node: bool  # whether apply looks at the Node at all
    slots: tuple[str, ...]  # the table of what it saves
    table: tuple[str, ...]  # the NodeClass
    arguments: tuple[str, ...]  # of record, after the result: parameter names of the operator


def node_view(operator: OperatorPlan, node: NodePlan, library: Library, needs: Needs) -> NodeView:
    """The struct of a Node.

    Raises:
        UnprintableError: a formula needs something that C++ leaves to Python.
    """
    mine = Needs(needs.package)
    names = [f"saved_{variable.name}" for variable in node.saved]
    arguments = _arguments(operator, node)
    record = _record_lines(operator, node, library, mine)
    backward = Backward(node, library, mine)
    head = ["PyObject* const* outs" if _several(node) else "PyObject* out"]
    head += [f"PyObject* {cpp(name)}" for name in arguments]
    view = NodeView(
        node.class_name,
        str(node.schema),
        node.operator,
        len(node.edges),
        tuple(f"{_type(variable)} {name};" for variable, name in zip(node.saved, names, strict=True)),
        function_head("bool", f"{node.class_name}::record", head),
        function_head("static bool", "record", head),
        tuple(record),
        tuple(backward.tables),
        function_head("bool", f"{node.class_name}::apply", backward.parameters.declared()),
        tuple(backward.out.lines),
        frozenset(backward.out.leads_back),
        backward.uses_node,
        tuple(_slot(variable, node) for variable in node.saved),
        tuple(_table(node)),
        arguments,
    )
    needs.update(mine)
    return view


def _several(node: NodePlan) -> bool:
    return len(node.schema.returns) > 1


def _type(variable: SavedVariable) -> str:
    return _SLOTS.get(variable.kind, "PyObject*")


def _arguments(operator: OperatorPlan, node: NodePlan) -> tuple[str, ...]:
    """The arguments of the call that recording looks at."""
    used = {edge.name for edge in node.edges}
    for variable in node.saved:
        parts = (part for part in walk(variable.expr) if isinstance(part, Variable))
        used |= {part.name for part in parts if part.kind is VariableKind.INPUT}
    return tuple(parameter.name for parameter in operator.python.parameters if parameter.name in used)


def _table(node: NodePlan) -> list[str]:
    name = node.class_name
    saved = f"gradwright::table({name}_saved)" if node.saved else "{}"
    texts = [quoted(text) for text in (name, node.shown, str(node.schema), node.operator)]
    return [*texts, f"sizeof({name})", str(len(node.edges)), str(node.numbers), "apply", saved]


def _slot(variable: SavedVariable, node: NodePlan) -> str:
    """A row of the table of what is saved."""
    kind = _SLOTS.get(variable.kind, "PyObject*").removeprefix("Saved").replace("PyObject*", "Value")
    history = "WithoutHistory" if node.is_without_history(variable) else ""
    shown = "nullptr" if variable.is_hidden else quoted(f"_saved_{variable.name}")
    place = f"offsetof({node.class_name}, saved_{variable.name})"
    return row(shown, place, f"SlotKind::k{kind}{history}")


# -- recording


def _record_lines(operator: OperatorPlan, node: NodePlan, library: Library, needs: Needs) -> list[str]:
    out = Statements()
    result = f"outs[{node.outputs[0]}]" if _several(node) else "out"
    if operator.may_lack_gradient(node):
        out.add(f"if (!is_differentiable({result})) return true;")
    out.assign("Node* base", Call("new_node", [f"&{node.class_name}::table", result]))
    out.add("if (base == nullptr) return false;")
    if node.saved:
        out.add(f"auto* node = static_cast<{node.class_name}*>(base);")
    for index, edge in enumerate(node.edges):
        setter = "set_optional_edge" if edge.is_optional else "set_edge"
        out.add(f"{setter}(base, {index}, {cpp(edge.name)});")

    def spell(variable: Variable) -> str:
        if variable.kind is VariableKind.OUTPUT:
            return f"outs[{variable.index}]" if _several(node) else "out"
        return cpp(variable.name)

    printer = CppPrinter(library, needs, spell, out)
    for variable in node.saved:
        _save(variable, node, printer, out)
    out.add("return true;")
    return out.lines


def _save(variable: SavedVariable, node: NodePlan, printer: CppPrinter, out: Statements) -> None:
    slot = f"node->saved_{variable.name}"
    if variable.kind is SavedKind.VALUE and not isinstance(variable.expr, Variable):
        value = str(printer.owned(variable.expr))
    else:
        value = printer.value(variable.expr)
    save = "save_optional" if variable.kind is SavedKind.OPTIONAL else "save"
    needed = [f"has_edge(base, {node.edges.index(edge)})" for edge in node.edges_needing(variable)]
    if needed and variable.kind in (SavedKind.TENSOR, SavedKind.OPTIONAL):
        asked = f"({' || '.join(needed)})" if len(needed) > 1 else needed[0]
        out.when([asked, f"!{save}({slot}, {value})"], "return false;")
    else:
        out.unless(Call(save, (slot, value)), "return false;")
