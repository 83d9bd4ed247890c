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
from codegen.plan.elementwise import ElementwisePlan, direct_kernel, kernel_of, plan_elementwise
from codegen.plan.forward import plan_forward
from codegen.plan.names import FunctionNames
from codegen.plan.node import NodePlan, plan_nodes, takes_number
from codegen.plan.operator import OperatorPlan, plan_operator, unimplemented
from codegen.plan.optimizers import OptimizerPlan
from codegen.plan.packet import PacketPlan, plan_packets
from codegen.plan.signs import SignPlan, plan_signs
from codegen.python_source import PythonFunction
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
    operators = []
    for function in functions:
        if function.variant_of is not None:
            continue
        entry = by_name.get(str(function.name))
        node = nodes.get(str(function.name))
        forward = plan_forward(entry, table) if entry is not None and node is not None else None
        inplace_node = written.get(function.name)
        formula = composite_formulas.get(str(function.name))
        expression: tuple[ElementwisePlan | None, PythonFunction] | None = None
        if str(function.name) in elementwise:
            # With what follows from its expression, such as that it takes real numbers alone.
            resolved = replace(elementwise[str(function.name)], function=function)
            steps = plan_elementwise(resolved, table.functions, kernels)
            direct = direct_kernel(resolved, steps)
            own = (steps, kernel_of(resolved, names[function.name], package))
            expression = own if direct is None else (None, direct)
        operator = plan_operator(
            function, entry, node, inplace_node, forward, names, kernels, composites, formula, expression
        )
        if entry is not None:
            known = node is not None and str(function.name) in linear.entries
            operator = replace(
                operator,
                unimplemented=unimplemented(entry) if node is not None else (),
                factors=linear.factors(str(function.name)) if known else (),
                keyed_nodes=keyed.get(function.name, ()),
            )
        if takes_number(function.schema):
            operator = replace(operator, of_tensors=of_tensors.get(function.name.base))
        operators.append(operator)
    formulas = sum(len(entry.backward) + len(entry.forward) for entry in by_name.values())
    every = tuple(node for operator in operators for node in operator.nodes)
    packets = plan_packets(operators, namespace)
    signs = plan_signs(packets, operators) if namespace == BUILT_IN_NAMESPACE else ()  # Tensors have theirs
    trees = [f.tree for entry in by_name.values() for f in (*entry.backward, *entry.forward) if f.tree is not None]
    trees += [operator.composite.tree for operator in operators if operator.composite is not None]
    return Plan(tuple(operators), every, packets, signs, formulas, _helpers(trees), names, namespace)


def _helpers(trees: Iterable[TypedExpr]) -> tuple[Helper, ...]:
    helpers = {part.helper.name: part.helper for tree in trees for part in walk(tree) if isinstance(part, HelperCall)}
    return tuple(helpers[name] for name in sorted(helpers))
