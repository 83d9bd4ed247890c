"""What of operators and Nodes is computed natively, and by what: functions, loops of kernels, formulas as one loop."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from codegen.formula.typed import TupleType
from codegen.plan.fusion import Fusion
from codegen.plan.kernel_loops import loop_by_hand, with_expressions
from codegen.plan.kinds import SavedKind
from codegen.plan.loops import KernelLoops, LoopPart, of_reals
from codegen.plan.native_kernels import NO_KERNELS, Functions, Native, NativeKernels
from codegen.plan.node import NodePlan
from codegen.plan.operator import OperatorPlan
from codegen.plan.sharing import shared_parts
from codegen.plan.steps import Asked, FastPathPlan
from codegen.schema.types import OperatorName

# How many inputs a Node of the core has room for; the build checks that it is the same there.
MOST_EDGES = 16


@dataclass(frozen=True, slots=True)
class NativeOperator:
    """What computes an operator natively, as far as something does.

    Attributes:
        kernels: those among which its own may be.
        function: of these, which takes Tensors and gives an array or nothing.
        writer: of these, which writes in place.
        loop: over the arguments, for where there is no function.
        writing_loop: of the variant in place, for where there is no writer.
        is_composite: whether the function that it is traced through is written in C++, too.
        parts: of its formula that run as one loop.
    """

    kernels: NativeKernels = NO_KERNELS
    function: str | None = None
    writer: str | None = None
    loop: KernelLoops | None = None
    writing_loop: KernelLoops | None = None
    is_composite: bool = False
    parts: tuple[LoopPart, ...] = ()


@dataclass(frozen=True, slots=True)
class NativeNode:
    """A Node: why it is left to Python, or the loops of each of its formulas."""

    reason: str | None
    parts: tuple[tuple[LoopPart, ...], ...] = ()

    @property
    def takes_turns(self) -> bool:
        """Whether loops of several formulas run block by block."""
        return any(part.takes_turns for parts in self.parts for part in parts)


@dataclass(frozen=True, slots=True)
class NativePlan:
    """The operators of a plan and of its base, and what is native of them; the Nodes by the names of their classes."""

    kernels: Native
    operators: Mapping[OperatorName, OperatorPlan]
    computed: Mapping[OperatorName, NativeOperator]
    nodes: Mapping[str, NativeNode]


def plan_native(operators: Sequence[OperatorPlan], base: Sequence[OperatorPlan], kernels: Native) -> NativePlan:
    """Decide what is native.

    Args:
        operators: those of the plan.
        base: those beside which they come.
        kernels: that are written by hand.
    """
    by_name = {operator.name: operator for operator in (*base, *operators)}
    kernels = with_expressions(kernels.with_numpy(by_name.values()), by_name.values())
    fusion = Fusion(by_name, kernels)
    computed = {operator.name: _plan_operator(operator, kernels, None) for operator in base}
    computed |= {operator.name: _plan_operator(operator, kernels, fusion) for operator in operators}
    nodes = {}
    for operator in operators:
        for node in operator.autograd.nodes:
            reason = _why_python(operator, node)
            nodes[node.class_name] = NativeNode(reason, fusion.of_node(node) if reason is None else ())
    return NativePlan(kernels, by_name, computed, nodes)


def _plan_operator(operator: OperatorPlan, native: Native, fusion: Fusion | None) -> NativeOperator:
    """`fusion` is None where the operator's own entry is not asked for."""
    compute = operator.compute
    if compute.composite is not None:
        return NativeOperator(parts=() if fusion is None else fusion.of_composite(compute.composite.tree))
    if not compute.implementations:
        return NativeOperator()
    kernels = native.of(compute.implementation.module)
    if compute.fast_path is None:
        count = kernels.composites.get(compute.implementation.name)
        traced = compute.traced is not None and bool(compute.traced.guards)
        return NativeOperator(kernels, is_composite=traced and count == len(operator.python.parameters))
    function = _function(operator, compute.fast_path, kernels.functions)
    writer = _function(operator, compute.fast_path, kernels.writers)
    loop = _kernel_loop(operator, compute.fast_path, kernels) if len(operator.schema.returns) == 1 else None
    # What is in blocks, as other loops of complex numbers are, does not write in place.
    return NativeOperator(kernels, function, writer, loop, of_reals(loop) if compute.written is not None else None)


def _function(operator: OperatorPlan, fast_path: FastPathPlan, functions: Functions) -> str | None:
    """The name of the function of these that computes the operator. The kernel of an expression has the name of the
    operator where one computes it in a faster way, or chooses between two ways.
    """
    names = [operator.compute.implementation.name]
    if operator.compute.elementwise is not None:
        names.insert(0, operator.name.base)
    count = len(fast_path.kernel.arguments)
    return next((name for name in names if functions.get(name) == count), None)


def _kernel_loop(operator: OperatorPlan, fast_path: FastPathPlan, kernels: NativeKernels) -> KernelLoops | None:
    """The loop over the arguments: Tensors come first, then numbers."""
    name, arguments = operator.compute.implementation.name, fast_path.kernel.arguments
    known = kernels.expressions.get(name)
    if known is not None:
        return known
    asked = [argument.asked for argument in arguments]
    tensors = asked.count(Asked.TENSOR)
    if kernels.functors.get(name) != len(arguments):
        return None
    if not tensors or asked != [Asked.TENSOR] * tensors + [Asked.NUMBER] * (len(asked) - tensors):
        return None
    return loop_by_hand(operator, name, [argument.name for argument in arguments])


def _why_python(operator: OperatorPlan, node: NodePlan) -> str | None:
    """Why a Node is left to Python, unless C++ can not say its formulas; None if it is not."""
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
    if operator.compute.fast_path is None or operator.autograd.node is not node:
        return "only the general path records it"
    trees = [gradient.tree for gradient in node.gradients if gradient.tree is not None]
    if any(isinstance(part.type, TupleType) for tree in trees for part in shared_parts(tree)):
        return "takes several results of one call"
    return None
