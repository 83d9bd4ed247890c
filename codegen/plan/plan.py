"""Plans: everything a target needs to know about an operator or a Node class, in no target's language.

All decisions lie here: what a Node saves and for which gradient, when a gradient is skipped, which outputs are
differentiable, which dtypes take the fast path, how views and in-place variants are made, which overload a packet
tries first.  A target prints plans; it decides nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

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
from codegen.plan.names import FunctionNames
from codegen.plan.native import NativePlan
from codegen.plan.node import NodePlan, plan_nodes, takes_number
from codegen.plan.operator import OperatorPlan
from codegen.plan.optimizers import OptimizerPlan
from codegen.plan.packet import PacketPlan, plan_packets
from codegen.plan.planning import OperatorPlanner
from codegen.plan.signs import SignPlan, plan_signs
from codegen.rules.checked import Checked
from codegen.schema.types import OperatorName, SchemaKind
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
    left_out: tuple[str, ...] = ()  # what entries that are wrong are of, where the rest is generated without them
    base: Plan | None = None  # of the operators that these come beside, for a target that calls them in other ways
    native: NativePlan | None = None  # for a target that calls native kernels


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
    by_name = {str(entry.function.name): entry for entry in entries}
    nodes, keyed_nodes = plan_nodes(by_name)
    names = FunctionNames((function.name for function in checked.functions), base)
    planner = OperatorPlanner(
        checked, by_name, nodes, keyed_nodes, _inplace_nodes(checked, nodes), composite_formulas, elementwise, names,
        package, _overloads_of_tensors(checked),
    )  # fmt: skip
    operators = tuple(planner.plan(function) for function in checked.functions if function.variant_of is None)
    packets = plan_packets(operators, checked.namespace)
    signs = plan_signs(packets, operators) if checked.namespace == BUILT_IN_NAMESPACE else ()  # Tensors have theirs
    trees = [f.tree for entry in by_name.values() for f in (*entry.backward, *entry.forward) if f.tree is not None]
    trees += [each.compute.composite.tree for each in operators if each.compute.composite is not None]
    return Plan(
        operators, tuple(node for operator in operators for node in operator.autograd.nodes), packets, signs,
        sum(len(entry.backward) + len(entry.forward) for entry in by_name.values()), _helpers(trees), names,
        checked.namespace,
    )  # fmt: skip


def _inplace_nodes(checked: Checked, nodes: Mapping[str, NodePlan]) -> Mapping[OperatorName, NodePlan | None]:
    """The Nodes of variants in place that have formulas of their own, by the operators that these are of."""
    return {
        function.variant_of: nodes.get(str(function.name))
        for function in checked.functions
        if function.variant_of is not None and function.schema.kind is SchemaKind.INPLACE
    }


def _overloads_of_tensors(checked: Checked) -> Mapping[str, OperatorName]:
    """The overloads of two Tensors that PyTorch calls where one is a number, by the names without overloads."""
    return {
        function.name.base: function.name
        for function in checked.functions
        if function.numbers_as_tensors and function.variant_of is None and not takes_number(function.schema)
    }


def _helpers(trees: Iterable[TypedExpr]) -> tuple[Helper, ...]:
    helpers = {part.helper.name: part.helper for tree in trees for part in walk(tree) if isinstance(part, HelperCall)}
    return tuple(helpers[name] for name in sorted(helpers))
