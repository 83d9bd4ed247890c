"""Plans: everything a target needs to know about an operator or a Node class, in no target's language.

All decisions lie here: what a Node saves and for which gradient, when a gradient is skipped, which outputs are
differentiable, which dtypes take the fast path, how views and in-place variants are made, which overload a packet
tries first.  A target prints plans; it decides nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from codegen.bind.backends import Backend
from codegen.bind.composites import ResolvedComposite
from codegen.bind.elementwise import ResolvedElementwise
from codegen.bind.entries import ResolvedEntry
from codegen.formula.typed import (
    Helper,
    HelperCall,
    TypedExpr,
    walk,
)
from codegen.paths import BASE
from codegen.plan.elementwise import direct_kernel, kernel_of, plan_elementwise
from codegen.plan.forward import plan_forward
from codegen.plan.names import FunctionNames
from codegen.plan.node import NodePlan, plan_nodes, takes_number
from codegen.plan.operator import Expression, Functions, OperatorPlan, plan_autograd, plan_operator
from codegen.plan.optimizers import OptimizerPlan
from codegen.plan.packet import PacketPlan, plan_packets
from codegen.plan.signs import SignPlan, plan_signs
from codegen.rules.checked import Checked
from codegen.schema.types import (
    SchemaKind,
)
from codegen.words import BUILT_IN_NAMESPACE


@dataclass(frozen=True, slots=True)
class Plan:
    operators: tuple[OperatorPlan, ...]
    nodes: tuple[NodePlan, ...]
    packets: tuple[PacketPlan, ...]
    signs: tuple[SignPlan, ...]
    formulas: int
    helpers: tuple[Helper, ...]  # that formulas call
    functions: FunctionNames
    namespace: str
    backends: tuple[Backend, ...] = ()
    optimizers: tuple[OptimizerPlan, ...] = ()
    rules: Mapping[str, str] | None = None  # a word for each operator, another one when its rules change
    base: Plan | None = None  # of the operators that these come beside, for a target that calls them in other ways


def make_plan(
    checked: Checked,
    entries: Iterable[ResolvedEntry],
    composite_formulas: Mapping[str, ResolvedComposite],
    elementwise: Mapping[str, ResolvedElementwise],
    package: str = BASE,
    base: FunctionNames | None = None,
) -> Plan:
    """Plan every operator, Node and packet of checked input.

    Args:
        checked: the operators, and the functions that they name.
        entries: of the operators; foreign ones with the forward formulas of others.
        composite_formulas: the composite operators that are formulas.
        elementwise: those that are expressions over elements.
        package: that the output is imported as.
        base: the names of functions of operators that there are already.
    """
    functions, table, linear, namespace = checked.functions, checked.table, checked.linear, checked.namespace
    kernels, composites = checked.kernels, checked.composites
    by_name = {str(entry.function.name): entry for entry in entries}
    nodes, keyed = plan_nodes(by_name)
    names = FunctionNames((function.name for function in functions), base)
    written = {
        function.variant_of: nodes.get(str(function.name))
        for function in functions
        if function.variant_of is not None and function.schema.kind is SchemaKind.INPLACE
    }
    of_tensors = {
        function.name.base: function.name
        for function in functions
        if function.numbers_as_tensors and function.variant_of is None and not takes_number(function.schema)
    }
    sources = Functions(kernels, composites, composite_formulas, names)
    operators = []
    for function in functions:
        if function.variant_of is not None:
            continue
        name = str(function.name)
        entry, node = by_name.get(name), nodes.get(name)
        differentiated = entry is not None and node is not None
        autograd = plan_autograd(
            entry,
            node,
            written.get(function.name),
            keyed.get(function.name, ()),
            plan_forward(entry, table) if entry is not None and node is not None else None,
            linear.factors(name) if differentiated and name in linear.entries else (),
        )
        expression = None
        if name in elementwise:
            # With what follows from its expression, such as that it takes real numbers alone.
            expression = _plan_expression(replace(elementwise[name], function=function), checked, names, package)
        twin = of_tensors.get(function.name.base) if takes_number(function.schema) else None
        operators.append(plan_operator(function, autograd, sources, expression, twin))
    formulas = sum(len(entry.backward) + len(entry.forward) for entry in by_name.values())
    every = tuple(node for operator in operators for node in operator.autograd.nodes)
    packets = plan_packets(operators, namespace)
    signs = plan_signs(packets, operators) if namespace == BUILT_IN_NAMESPACE else ()  # Tensors have theirs
    trees = [f.tree for entry in by_name.values() for f in (*entry.backward, *entry.forward) if f.tree is not None]
    trees += [each.compute.composite.tree for each in operators if each.compute.composite is not None]
    return Plan(tuple(operators), every, packets, signs, formulas, _helpers(trees), names, namespace)


def _plan_expression(resolved: ResolvedElementwise, checked: Checked, names: FunctionNames, package: str) -> Expression:
    """The kernel of an operator that is an expression over elements."""
    steps = plan_elementwise(resolved, checked.table.functions, checked.kernels)
    direct = direct_kernel(resolved, steps)
    if direct is not None:
        return Expression(None, direct)
    return Expression(steps, kernel_of(resolved, names[resolved.function.name], package))


def _helpers(trees: Iterable[TypedExpr]) -> tuple[Helper, ...]:
    helpers = {part.helper.name: part.helper for tree in trees for part in walk(tree) if isinstance(part, HelperCall)}
    return tuple(helpers[name] for name in sorted(helpers))
