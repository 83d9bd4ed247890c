"""Backward Nodes in C++: a struct for each, with what it saves, how it records and its backward."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from codegen.formula.typed import Intrinsic, TypedExpr, Variable, VariableKind, walk
from codegen.plan.kinds import SavedKind
from codegen.plan.node import EdgePlan, GradientPlan, NodePlan
from codegen.plan.operator import OperatorPlan, ParameterPlan
from codegen.plan.saved import SavedVariable
from codegen.targets.cpp.fusion import FusedFormula, fuse
from codegen.targets.cpp.names import cpp
from codegen.targets.cpp.needs import Needs
from codegen.targets.cpp.statements import COLUMNS, Statements, quoted_lines, wrapped
from codegen.targets.cpp.text import LINE_HERE, CppPrinter, Library, UnprintableError
from codegen.targets.environment import commented, quoted

# kMostEdges of the core.
MOST_EDGES = 16

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
    record_head: tuple[str, ...]  # lines up to the body
    record_declaration: tuple[str, ...]
    record: tuple[str, ...]
    fused: tuple[str, ...]  # the tables of formulas that are one loop
    apply_head: tuple[str, ...]
    apply: tuple[str, ...]
    uses_node: bool  # whether apply looks at the Node at all
    release: tuple[str, ...]
    traverse: tuple[str, ...]
    properties: tuple[str, ...]
    table: tuple[str, ...]  # the NodeClass
    arguments: tuple[str, ...]  # of record, after the result: parameter names of the operator


def why_python(operator: OperatorPlan, node: NodePlan) -> str | None:
    """Why a Node is left to Python for other reasons than its formulas; None if it is not."""
    if node.dynamic:
        return "its results are a list"
    if not node.single:
        return "it has several outputs"
    if any(edge.is_list for edge in node.edges):
        return "one of its inputs is a list"
    if any(variable.kind is SavedKind.LIST for variable in node.saved):
        return "it saves a list"
    if len(node.edges) > MOST_EDGES:
        return "it has too many inputs"
    if operator.straight is None or operator.node is not node:
        return "only the general path records it"
    return None


def node_view(operator: OperatorPlan, node: NodePlan, library: Library, needs: Needs) -> NodeView:
    """The struct of a Node.

    Raises:
        UnprintableError: a formula needs something that C++ leaves to Python.
    """
    mine = Needs()
    names = [f"saved_{variable.name}" for variable in node.saved]
    slots = [f"node->{name}" for name in names]
    arguments = _arguments(operator, node)
    record = _record_lines(operator, node, library, mine)
    fused, apply = _apply_lines(node, library, mine)
    uses_node = _uses(apply, "node")
    given = [
        f"Node*{' base' if uses_node else ''}",
        f"PyObject*{' grad' if _uses(apply, 'grad') else ''}",
        f"PyObject**{' results' if _uses(apply, 'results') else ''}",
    ]
    head = ["PyObject* const* outs" if _several(node) else "PyObject* out"]
    head += [f"PyObject* {cpp(name)}" for name in arguments]
    view = NodeView(
        node.class_name,
        str(node.schema),
        node.operator,
        len(node.edges),
        tuple(f"{_type(variable)} {name};" for variable, name in zip(node.saved, names, strict=True)),
        tuple(wrapped(f"bool {node.class_name}::record(", head, ") {")),
        tuple(wrapped("  static bool record(", head, ");")),
        tuple(record),
        tuple(fused),
        tuple(wrapped(f"bool {node.class_name}::apply(", given, ") {")),
        tuple(apply),
        uses_node,
        tuple(wrapped("  release_all(", ["all", *slots], ");")) if slots else (),
        tuple(wrapped("  return visit_all(", ["visit", "arg", *slots], ");")) if slots else (),
        tuple(line for variable in node.saved for line in _property_lines(variable, node)),
        tuple(_table(node)),
        arguments,
    )
    needs.update(mine)
    return view


def _uses(lines: Sequence[str], name: str) -> bool:
    return any(re.search(rf"\b{name}\b", line) for line in lines if not line.lstrip().startswith("//"))


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
    return tuple(parameter.name for parameter in operator.parameters if parameter.name in used)


def _table(node: NodePlan) -> list[str]:
    name = node.class_name
    slots = ["release", "traverse"] if node.saved else ["drop_nothing", "visit_nothing"]
    properties = any(not variable.is_hidden for variable in node.saved)
    fields = [quoted(node.operator), f"sizeof({name})", str(len(node.edges)), "apply", *slots]
    fields.append("properties" if properties else "nullptr")
    lines = [*quoted_lines(name), *quoted_lines(str(node.schema))]
    return [*lines, *(f"    {field}," for field in fields)]


def _property_lines(variable: SavedVariable, node: NodePlan) -> list[str]:
    """An entry of the table of `_saved_NAME`."""
    if variable.is_hidden:
        return []
    without = variable.kind is SavedKind.RESULT and node.output_nr(variable) is None
    member = f"&{node.class_name}::saved_{variable.name}{', false' if without else ''}"
    parts = [quoted(f"_saved_{variable.name}"), quoted(variable.name)]
    whole = wrapped(f"    saved_property<{member}>(", parts, "),")
    if all(len(line) <= COLUMNS for line in whole):
        return whole
    return [f"    saved_property<{member}>(", f"        {', '.join(parts)}),"]


# -- recording


def _record_lines(operator: OperatorPlan, node: NodePlan, library: Library, needs: Needs) -> list[str]:
    out = Statements()
    result = f"outs[{node.outputs[0]}]" if _several(node) else "out"
    if operator.may_lack_gradient(node):
        out.add(f"if (!is_differentiable({result})) return true;")
    out.add(f"Node* base = new_node(&{node.class_name}::table, {result});")
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
        call = printer.owned(variable.expr)
        value = f"{call.head}{', '.join(call.parts)}{call.tail}"
    else:
        value = printer.value(variable.expr)
    save = "save_optional" if variable.kind is SavedKind.OPTIONAL else "save"
    needed = [f"has_edge(base, {node.edges.index(edge)})" for edge in node.edges_needing(variable)]
    if needed and variable.kind in (SavedKind.TENSOR, SavedKind.OPTIONAL):
        asked = f"({' || '.join(needed)})" if len(needed) > 1 else needed[0]
        out.when([asked, f"!{save}({slot}, {value})"], lambda: out.add("return false;"))
    else:
        out.unless(f"!{save}", (slot, value), "return false;")


# -- backward


def _apply_lines(node: NodePlan, library: Library, needs: Needs) -> tuple[list[str], list[str]]:
    """The tables of fused formulas, and the body of apply."""
    out = Statements()
    tables: list[str] = []
    names: dict[str, str] = {}
    for variable in node.saved:
        name = names[variable.name] = cpp(variable.name)
        without = variable.kind is SavedKind.RESULT and node.output_nr(variable) is None
        function = "saved_without_history" if without else "saved"
        parts = ["node", quoted(variable.name), f"node->saved_{variable.name}"]
        out.assign(f"Ref {name}", f"{function}(", parts, ");")
        out.add(f"if (!{name}) return false;")

    def spell(variable: Variable) -> str:
        if variable.kind is VariableKind.GRAD:
            return "grad"
        return f"{names[variable.name]}.get()"

    for gradient in node.gradients:
        tables += _gradient(gradient, node, CppPrinter(library, needs, spell, out, gradient.text), out)
        if gradient.tree is None and len(gradient.edges) == len(node.edges):
            return tables, out.lines  # it always raises
    for index, edge in enumerate(node.edges):
        out.add(f"results[{index}] = gradient({_grad_name(edge)});")
    out.add("return true;")
    return tables, out.lines


def _grad_name(edge: EdgePlan) -> str:
    return f"{cpp(edge.name)}gradient"


def _gradient(gradient: GradientPlan, node: NodePlan, printer: CppPrinter, out: Statements) -> list[str]:
    """Statements for one formula; the table of it where it is one loop."""
    edges = [node.edges[index] for index in gradient.edges]
    for line in commented(gradient.source, COLUMNS - 2):
        out.add(line)
    if gradient.tree is not None or len(node.edges) > len(edges):
        for edge in edges:
            out.add(f"Ref {_grad_name(edge)};")
    if len(node.edges) > len(edges):
        out.test([f"has_edge(node, {index})" for index in gradient.edges], "||", " {")
        with out.block():
            return _formula(gradient, node, edges, printer, out)
    return _formula(gradient, node, edges, printer, out)


def _formula(
    gradient: GradientPlan, node: NodePlan, edges: Sequence[EdgePlan], printer: CppPrinter, out: Statements
) -> list[str]:
    if gradient.tree is None:
        error = printer.needs.name("runtime.graph.recording", "not_implemented_error")
        parts = ["node", error, quoted(gradient.names[0]), quoted(gradient.reason or "")]
        out.call("return raise_not_implemented", parts, ";")
        return []
    tree = list(walk(gradient.tree))
    if any(isinstance(part, Variable) and part.kind is VariableKind.MASK for part in tree):
        asked = [f"boolean(has_edge(node, {index}))" for index in gradient.edges]
        out.assign("Ref mask", "make_tuple(", asked, ");")
        out.add("if (!mask) return false;")
    if any(isinstance(part, Intrinsic) and part.name.startswith("list_") for part in tree):
        raise UnprintableError("asks for the elements of a list")
    names = [_grad_name(edge) for edge in edges]
    formula = fuse(gradient.tree, printer.library.operators, printer.library.loops) if len(names) == 1 else None
    spent = "-1" if formula is None else _spent(formula, gradient, node)
    # One kernel has its statement; as a loop it can reuse the memory of the gradient, and nothing else.
    if formula is not None and (len(formula.steps) > 1 or spent != "-1"):
        table = f"{node.class_name}_{edges[0].name}"
        _run_fused(formula, table, names[0], spent, printer, out)
        out.add(f"if (!{names[0]}) {{")
        with out.block():
            out.add("if (PyErr_Occurred()) return false;")
            printer.assign(names[0], gradient.tree)
        _lead_back(out)
        return _fused_table(formula, table)
    if len(names) == 1:
        printer.assign(names[0], gradient.tree)
    else:
        together = printer.value(gradient.tree)
        out.unless("!unpack_into", [together, *names], "return false;")
    _lead_back(out)
    return []


def _lead_back(out: Statements) -> None:
    """Let the compiler name lines of the generated file again."""
    if any(line.startswith("#line") for line in out.lines):
        out.lines.append(LINE_HERE)


def _spent(formula: FusedFormula, gradient: GradientPlan, node: NodePlan) -> str:
    """The slot of the gradient if no formula reads it after this one, which may depend on the edges that there are."""
    later = node.gradients[node.gradients.index(gradient) + 1 :]
    readers = [other for other in later if other.tree is not None and _reads_gradient(other.tree)]
    if any(len(other.edges) == len(node.edges) for other in readers) or formula.gradient < 0:
        return "-1"
    edges = sorted({index for other in readers for index in other.edges})
    asked = " || ".join(f"has_edge(node, {index})" for index in edges)
    return f"{asked} ? -1 : {formula.gradient}" if asked else str(formula.gradient)


def _reads_gradient(tree: TypedExpr) -> bool:
    return any(isinstance(part, Variable) and part.kind is VariableKind.GRAD for part in walk(tree))


def _run_fused(formula: FusedFormula, table: str, name: str, spent: str, printer: CppPrinter, out: Statements) -> None:
    given = [printer.value(tensor) for tensor in formula.tensors]
    given += [printer.default(n) if isinstance(n, ParameterPlan) else printer.value(n) for n in formula.numbers]
    out.assign(name, f"fused<{len(formula.tensors)}>(", [table, spent, *given], ");")


def _fused_table(formula: FusedFormula, name: str) -> list[str]:
    lines = [f"constexpr Step {name}[] = {{"]
    for step in formula.steps:
        slots = ", ".join(map(str, (step.result, *step.operands)))
        lines.append(f"    step<struct kernels::{step.kernel}>({slots}),")
    return [*lines, "};"]
