"""The Python target: Node classes, operators, packets, methods, the registry."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

from codegen.paths import Paths
from codegen.plan.kinds import OperatorKind
from codegen.plan.names import module_alias
from codegen.plan.operator import OperatorPlan
from codegen.plan.plan import Plan
from codegen.plan.signs import SignPlan
from codegen.targets.environment import environment
from codegen.targets.literals import literal
from codegen.targets.python import stubs
from codegen.targets.python.folding import folded
from codegen.targets.python.nodes import NodeView, node_view
from codegen.targets.python.operators import operator_view
from codegen.targets.python.packets import packet_view, sign_view
from codegen.targets.python.text import PythonPrinter, import_lines
from codegen.words import DTYPE_KINDS

name = "python"


def emit(plan: Plan, paths: Paths) -> Iterator[tuple[str, str]]:
    """The generated files: path below the output folder, and text."""
    env = environment(paths.templates, name)

    def render(template: str, **values: Any) -> str:
        return folded(env.get_template(template).render(**values))

    node_printer, forward_printer = PythonPrinter(plan.functions), PythonPrinter(plan.functions, in_method=False)
    nodes = [view for operator in plan.operators for view in _nodes(operator, node_printer)]
    operators = [
        _operator(operator, forward_printer, [sign for sign in plan.signs if sign.tensor == operator.function])
        for operator in plan.operators
    ]
    packets = [packet_view(packet) for packet in plan.packets]
    yield "nodes.py", render("nodes.py.j2", nodes=nodes, imports=import_lines(node_printer.modules))
    yield (
        "operators.py",
        render(
            "operators.py.j2",
            operators=operators,
            imports=import_lines(_modules(plan) | forward_printer.modules),
        ),
    )
    yield "packets.py", render("packets.py.j2", packets=packets)
    methods = [
        (packet.base, view.identifier, packet.self_at, view.method)
        for packet, view in zip(plan.packets, packets, strict=True)
        if packet.is_method
    ]
    signs = [sign_view(sign) for sign in plan.signs]
    yield "methods.py", render("methods.py.j2", signs=signs, methods=methods)
    yield "registry.py", render("registry.py.j2", operators=[_registry_entry(operator) for operator in plan.operators])
    yield "guards.py", render("guards.py.j2", operators=[(o.function, _guards(o)) for o in plan.operators if o.guards])
    yield "__init__.py", render("init.py.j2")
    yield from stubs.emit(plan, env)


def _fields(view: Any) -> Mapping[str, Any]:
    return {name: getattr(view, name) for name in view.__slots__}


def _nodes(operator: OperatorPlan, printer: PythonPrinter) -> Iterator[NodeView]:
    if operator.node is not None:
        yield node_view(operator, operator.node, operator.function, printer)
    if operator.inplace_node is not None and operator.inplace_function is not None:
        yield node_view(operator, operator.inplace_node, operator.inplace_function, printer)
    for key, node in operator.keyed_nodes:
        yield node_view(operator, node, f"{operator.function}_{key}", printer)


def _modules(plan: Plan) -> set[str]:
    return {function.module for operator in plan.operators for _, function in operator.implementations}


def _operator(operator: OperatorPlan, printer: PythonPrinter, signs: Sequence[SignPlan] = ()) -> SimpleNamespace:
    view = operator_view(operator, printer, signs)
    kernel = None
    if operator.straight is not None:
        function = operator.implementation
        kernel = f"{module_alias(function.module)}.{function.name}"
    return SimpleNamespace(**_fields(view), kernel=kernel)


def _guards(operator: OperatorPlan) -> str:
    return literal(tuple((guard.kind.value, *guard.arguments) for guard in operator.guards))


def _registry_entry(operator: OperatorPlan) -> SimpleNamespace:
    source = operator.source
    return SimpleNamespace(
        name=str(operator.name),
        schema=str(operator.schema),
        function=operator.function,
        differentiable=operator.differentiable,
        composite=operator.kind is OperatorKind.IMPLICIT,
        node=None if operator.node is None else literal(operator.node.class_name),
        inplace=None if operator.inplace is None else literal(str(operator.inplace)),
        out=None if operator.out is None else literal(str(operator.out)),
        forward=operator.forward is not None,
        pointwise="pointwise" in source.tags,
        random="nondeterministic_seeded" in source.tags,
        dtypes=literal(DTYPE_KINDS if source.dtypes is None else source.dtypes.kinds),
        samples=literal(operator.samples),
    )


def explain(operator: OperatorPlan, plan: Plan, paths: Paths) -> str:
    """The generated code of one operator: its Node and its callable."""
    env = environment(paths.templates, name)
    macros = env.get_template("parts.py.j2").module
    nodes = _nodes(operator, PythonPrinter(plan.functions))
    parts = [str(macros.node_class(node)) for node in nodes]  # type: ignore[attr-defined]
    view = _operator(operator, PythonPrinter(plan.functions, in_method=False))
    parts.append(str(macros.operator(view)))  # type: ignore[attr-defined]
    return folded("\n\n\n".join(part.strip("\n") for part in parts))
