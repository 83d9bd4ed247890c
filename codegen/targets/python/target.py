"""The Python target: Node classes, operators, packets, methods, the registry."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace

from codegen import editor_schemas
from codegen.inputs import DOCSTRING_END, DOCSTRINGS, INTERFACE
from codegen.paths import Paths
from codegen.plan.documentation import plan_documentation
from codegen.plan.kinds import OperatorKind
from codegen.plan.operator import OperatorPlan
from codegen.plan.plan import Plan
from codegen.plan.signs import SignPlan
from codegen.python_source import SourcePart
from codegen.read.examples import read_results
from codegen.source import Diagnostics
from codegen.targets.environment import environment
from codegen.targets.literals import literal
from codegen.targets.python import backends, kernels, stubs
from codegen.targets.python.docstrings import packet_docstring
from codegen.targets.python.examples import example
from codegen.targets.python.nodes import NodeView, node_view
from codegen.targets.python.operators import operator_view
from codegen.targets.python.packets import packet_view, sign_view
from codegen.targets.python.text import PythonPrinter, import_lines
from codegen.words import BUILT_IN_NAMESPACE, COMMON_KINDS, CUDA

name = "python"


def emit(plan: Plan, paths: Paths) -> Iterator[tuple[str, str]]:
    """The generated files: path below the output folder, and text."""
    env = environment(paths.templates, name)

    def render(template: str, **values: object) -> str:
        return env.get_template(template).render(**values)

    node_printer, forward_printer = PythonPrinter(plan.functions), PythonPrinter(plan.functions, in_method=False)
    nodes = [view for operator in plan.operators for view in _nodes(operator, node_printer)]
    signs: dict[str, list[SignPlan]] = {}
    for sign in plan.signs:
        if sign.tensor is not None:
            signs.setdefault(sign.tensor, []).append(sign)
    operators = [
        operator_view(o, forward_printer, plan.namespace, signs.get(o.python.function, ())) for o in plan.operators
    ]
    packets = list(map(packet_view, plan.packets))
    based = plan.functions.base is not None
    yield "nodes.py", render("nodes.py.j2", nodes=nodes, imports=import_lines(node_printer.modules), based=based)
    yield (
        "operators.py",
        render(
            "operators.py.j2",
            operators=operators,
            imports=import_lines(_modules(plan) | forward_printer.modules),
            based=based,
        ),
    )
    yield from kernels.emit(plan, env)
    yield "packets.py", render("packets.py.j2", packets=packets, docstrings=DOCSTRINGS)
    yield DOCSTRINGS, "".join(f"{text}{DOCSTRING_END}" for text in _docstrings(plan, paths))
    methods = [
        (packet.base, view.identifier, packet.self_at, view.method)
        for packet, view in zip(plan.packets, packets, strict=True)
        if packet.is_method
    ]
    yield "methods.py", render("methods.py.j2", signs=[sign_view(sign) for sign in plan.signs], methods=methods)
    package = None if plan.namespace == BUILT_IN_NAMESPACE else paths.package
    yield "registry.py", render("registry.py.j2", operators=[_registry_entry(o, package) for o in plan.operators])
    yield "guards.py", render("guards.py.j2", operators=[_guards(o) for o in plan.operators if o.compute.guards])
    yield (
        "__init__.py",
        render(
            "init.py.j2",
            package=package,
            based=based,
            namespace=plan.namespace,
            interface=INTERFACE,
            backends=[backends.module_of(backend) for backend in plan.backends],
            offers=CUDA in paths.targets and not any(backend.elementwise for backend in plan.backends),
        ),
    )
    if package is not None:  # the YAML of a package names them by where they lie in its own folder
        yield from editor_schemas.texts()
    yield from backends.emit(plan, paths, env)
    yield from stubs.emit(plan, env, _hidden(paths))


def _docstrings(plan: Plan, paths: Paths) -> Iterator[str]:
    """The docstrings of packets.  Of operators declared by others there are no examples: most can not be called."""
    with_examples = paths.library is None
    results = read_results(paths.examples) if with_examples else {}
    hidden = _hidden(paths) if with_examples else frozenset()
    operators = {operator.python.function: operator for operator in plan.operators}
    for packet in plan.packets:
        overloads = plan_documentation(packet, operators)
        called = [each.operator for each in overloads if with_examples and not each.is_variant]
        examples = [example(operator, packet.base, plan.namespace, hidden) for operator in called]
        yield packet_docstring(overloads, [lines for lines in examples if lines], results)


def _hidden(paths: Paths) -> frozenset[str]:
    """The names of the public API that are no packets: functions that are written by hand, and modules."""
    functions = SourcePart(paths.functions_by_hand, Diagnostics()).functions
    return frozenset(functions).union(path.stem for path in paths.public_package.glob("*"))


def _nodes(operator: OperatorPlan, printer: PythonPrinter) -> Iterator[NodeView]:
    if operator.autograd.node is not None:
        yield node_view(operator, operator.autograd.node, operator.python.function, printer)
    if operator.autograd.inplace_node is not None and operator.python.inplace_function is not None:
        yield node_view(operator, operator.autograd.inplace_node, operator.python.inplace_function, printer)
    for key, node in operator.autograd.keyed_nodes:
        yield node_view(operator, node, f"{operator.python.function}_{key}", printer)


def _modules(plan: Plan) -> set[str]:
    return {function.module for operator in plan.operators for _, function in operator.compute.implementations}


def _guards(operator: OperatorPlan) -> str:
    guards = tuple((guard.kind.value, *guard.arguments) for guard in operator.compute.guards)
    return f"{literal(operator.python.function)}: {literal(guards)},"


def _registry_entry(operator: OperatorPlan, package: str | None) -> SimpleNamespace:
    """A line for each field of OperatorInfo."""
    source = operator.source
    fields = {
        "name": str(operator.name),
        "schema": str(operator.schema),
        "function": operator.python.function,
        "differentiable": operator.autograd.differentiable,
        "composite": operator.kind is OperatorKind.IMPLICIT,
        "node": None if operator.autograd.node is None else operator.autograd.node.class_name,
        "inplace": None if operator.python.inplace is None else str(operator.python.inplace),
        "out": None if operator.python.out is None else str(operator.python.out),
        "forward": operator.autograd.forward is not None,
        "pointwise": "pointwise" in source.tags,
        "random": source.is_random,
        "may_alias": "maybe_aliasing_or_mutating" in source.tags,
        "dtypes": COMMON_KINDS if source.dtypes is None else tuple(k for k in source.dtypes.kinds if k in COMMON_KINDS),
        "samples": operator.samples,
        **({} if source.unique_part is None else {"determined": (_result_names(operator), source.unique_part)}),
        **({} if source.reference is None else {"reference": source.reference}),
        **({"unproven": source.unproven} if source.unproven else {}),
        **({} if source.not_a_derivative_because is None else {"convention": source.not_a_derivative_because}),
        **({"joint": joint} if (joint := _joint_arguments(operator)) else {}),
        **({} if package is None else {"package": package}),
    }
    return SimpleNamespace(
        name=str(operator.name), fields=[f"{name}={literal(value)}" for name, value in fields.items()]
    )


def _joint_arguments(operator: OperatorPlan) -> tuple[tuple[str, ...], ...]:
    gradients = () if operator.autograd.node is None else operator.autograd.node.gradients
    return tuple(each.names for each in gradients if len(each.names) > 1)


def _result_names(operator: OperatorPlan) -> tuple[str, ...]:
    return tuple(str(each.name) for each in operator.schema.returns)


def explain(operator: OperatorPlan, plan: Plan, paths: Paths) -> str:
    """The generated code of one operator: its Node and its callable."""
    env = environment(paths.templates, name)
    macros = env.get_template("parts.py.j2").module
    nodes = _nodes(operator, PythonPrinter(plan.functions))
    parts = [str(macros.node_class(node)) for node in nodes]  # type: ignore[attr-defined]
    view = operator_view(operator, PythonPrinter(plan.functions, in_method=False), plan.namespace)
    parts.append(str(macros.operator(view)))  # type: ignore[attr-defined]
    return "\n\n\n".join(part.strip("\n") for part in parts)
