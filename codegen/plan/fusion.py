"""Which parts of formulas run as one loop: every step is the loop of a kernel on a block that stays in the cache.

The statements of the formula remain beside it: the loop declines where it would have to broadcast, record or promote.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from codegen.bind.substitution import arguments
from codegen.formula.meaning import Meaning
from codegen.formula.structure import structure
from codegen.formula.typed import (
    BOOL,
    TENSOR,
    Conditional,
    HelperCall,
    Literal,
    Mapped,
    OperatorCall,
    TypedExpr,
    Variable,
    VariableKind,
    children,
    walk,
)
from codegen.plan.loops import NUMBERS, Donation, FusedLoop, KernelLoop, Loop, LoopPart, Operand, Step, StepResult
from codegen.plan.native_kernels import Native
from codegen.plan.node import GradientPlan, NodePlan
from codegen.plan.operator import OperatorPlan
from codegen.python_source import PythonFunction
from codegen.schema.types import OperatorName

# What a loop of formulas.hpp has room for; the build checks that it is the same there.
MOST_STEPS = 16
MOST_SLOTS = 16
MOST_TEMPORARIES = 6

_Key = tuple[object, ...]


def fuse(tree: TypedExpr, operators: Mapping[OperatorName, OperatorPlan], kernels: Native) -> FusedLoop | None:
    """The loop of a formula that is made of element-wise kernels and of nothing else.

    Args:
        tree: the formula.
        operators: the operators by name.
        kernels: the native loops by the names of Python kernels and helpers.
    """
    formula = _Formula(operators, kernels)
    last = formula.visit(tree)
    if last is None or not formula.calls:
        return None
    return formula.fused()


@dataclass
class _Formula:
    operators: Mapping[OperatorName, OperatorPlan]
    kernels: Native
    tensors: dict[_Key, Variable] = field(default_factory=dict)
    numbers: dict[_Key, TypedExpr] = field(default_factory=dict)
    # In the order of computation: the kernel, and its operands.
    calls: dict[_Key, tuple[PythonFunction, tuple[_Key, ...]]] = field(default_factory=dict)

    def visit(self, expr: TypedExpr) -> _Key | None:
        """What stands for the value of a part; None if it cannot be in such a loop."""
        if expr.type in NUMBERS:
            return self._number(expr)
        if isinstance(expr, Variable) and expr.type == TENSOR:
            key: _Key = ("tensor", expr.kind, expr.name, expr.index)
            self.tensors.setdefault(key, expr)
            return key
        if isinstance(expr, HelperCall):
            function = expr.helper.function
            if function is None:
                return None
            operands = [value for _, value in expr.args]
            fits = self.kernels.helpers(function.module).functors.get(function.name) == len(operands)
            return self._call(function, operands) if fits else None
        if isinstance(expr, OperatorCall):
            return self._operator(expr)
        return None

    def _number(self, expr: TypedExpr) -> _Key | None:
        if any(part.type == TENSOR or part.type == BOOL for part in walk(expr)):
            return None
        key: _Key = ("number", structure(expr))
        self.numbers.setdefault(key, expr)
        return key

    def _operator(self, expr: OperatorCall) -> _Key | None:
        if expr.meaning is Meaning.CONJUGATE:  # of real numbers, and only these come here
            return self.visit(expr.args[0][1])
        operator = self.operators.get(expr.schema.name)
        if operator is None or operator.compute.fast_path is None or len(operator.schema.returns) != 1:
            return None
        kernel = operator.compute.implementation
        kernels = self.kernels.of(kernel.module)
        count = kernels.functors.get(kernel.name)
        if count is None or (operator.compute.elementwise is not None and operator.compute.elementwise.requirements):
            return None
        known, parameters = kernels.expressions.get(kernel.name), operator.python.parameters
        if isinstance(known, KernelLoop):  # the others have no part in the result
            by_name = {parameter.name: parameter for parameter in parameters}
            read = tuple(by_name[name] for name in known.parameters)
        else:
            read = parameters[:count]
            passed = {name for name, _ in expr.args}
            if any(parameter.name in passed for parameter in parameters[count:]):
                return None
        if any(parameter.type not in (TENSOR, *NUMBERS) for parameter in read):
            return None
        values = arguments(expr)
        operands = [values[parameter.name] for parameter in read if parameter.name in values]
        return self._call(kernel, operands) if len(operands) == len(read) else None

    def _call(self, kernel: PythonFunction, operands: Sequence[TypedExpr]) -> _Key | None:
        keys = []
        for operand in operands:
            key = self.visit(operand)
            if key is None:
                return None
            keys.append(key)
        if all(key in self.numbers for key in keys):
            return None
        call: _Key = ("call", kernel.name, *keys)
        self.calls.setdefault(call, (kernel, tuple(keys)))
        return call

    def fused(self) -> FusedLoop | None:
        """The loop, with slots for all values; None where these are too many."""
        steps = {call: StepResult(number) for number, call in enumerate(self.calls)}
        operands: dict[_Key, Operand] = {**self.tensors, **self.numbers, **steps}
        loop = Loop(
            tuple(self.tensors.values()),
            tuple(self.numbers.values()),
            tuple(Step(kernel, tuple(operands[key] for key in keys)) for kernel, keys in self.calls.values()),
        )
        first = most = len(loop.tensors) + len(loop.numbers)
        last_use = {key: index for index, (_, keys) in enumerate(self.calls.values()) for key in keys}
        free: list[int] = []
        slots: dict[_Key, int] = {}
        for index, (call, (_, keys)) in enumerate(self.calls.items()):
            if free:
                slots[call] = free.pop()
            else:
                slots[call] = most
                most += 1
            free += {slots[key] for key in keys if key in slots and last_use[key] == index}
        if len(slots) > MOST_STEPS or most > MOST_SLOTS or most - first > MOST_TEMPORARIES:
            return None
        return FusedLoop(loop, tuple(slots.values()))


# -- the formulas of operators and Nodes


@dataclass(frozen=True, slots=True)
class Fusion:
    """Finds the loops of formulas.

    Attributes:
        operators: by name.
        kernels: the native loops.
    """

    operators: Mapping[OperatorName, OperatorPlan]
    kernels: Native

    def of_composite(self, tree: TypedExpr) -> tuple[LoopPart, ...]:
        """The loops of a formula over operators."""
        return tuple(self._parts(tree))

    def of_node(self, node: NodePlan) -> tuple[tuple[LoopPart, ...], ...]:
        """The loops of each formula of a Node.

        The last formula that reads the gradient may take its memory. Where the whole formulas of several edges are
        loops that read the gradient, these take turns.
        """
        whole = {
            index: fuse(gradient.tree, self.operators, self.kernels)
            for index, gradient in enumerate(node.gradients)
            if gradient.tree is not None and len(gradient.edges) == 1
        }
        takes_turns = sum(loop is not None and _gradient(loop) is not None for loop in whole.values()) > 1
        parts: list[tuple[LoopPart, ...]] = []
        for index, gradient in enumerate(node.gradients):
            if gradient.tree is None:
                parts.append(())
            elif index in whole:
                readers = _later_readers(node, gradient)
                parts.append(tuple(self._of_edge(gradient.tree, whole[index], readers, takes_turns)))
            else:
                parts.append(tuple(self._parts(gradient.tree)))
        return tuple(parts)

    def _of_edge(
        self, tree: TypedExpr, loop: FusedLoop | None, readers: tuple[int, ...] | None, takes_turns: bool
    ) -> Iterator[LoopPart]:
        """The loops of a formula, or of a side of it, that makes the gradient of one edge."""
        if isinstance(tree, Conditional):
            yield from self._parts(tree.test)
            for side in (tree.then, tree.orelse):
                yield from self._of_edge(side, fuse(side, self.operators, self.kernels), readers, takes_turns)
        elif loop is None:
            yield from self._inner(tree)
        else:
            slot = _gradient(loop)
            donated = None if slot is None or readers is None else Donation(slot, readers)
            # One kernel has its statement; as a loop it can reuse the memory of the gradient, or take turns.
            if len(loop.slots) > 1 or donated is not None or takes_turns:
                yield LoopPart(tree, loop, donated, takes_turns)

    def _parts(self, expr: TypedExpr) -> Iterator[LoopPart]:
        """The largest parts of an expression that are loops of several kernels: they are computed at once."""
        if isinstance(expr, Variable | Literal | Mapped):
            return
        loop = fuse(expr, self.operators, self.kernels)
        if loop is None:
            yield from self._inner(expr)
        elif len(loop.slots) > 1:
            yield LoopPart(expr, loop)

    def _inner(self, expr: TypedExpr) -> Iterator[LoopPart]:
        for child in children(expr):
            yield from self._parts(child)


def _gradient(loop: FusedLoop) -> int | None:
    """The slot of the gradient; None where the formula does not read it."""
    kinds = [tensor.kind for tensor in loop.loop.tensors]
    return kinds.index(VariableKind.GRAD) if VariableKind.GRAD in kinds else None


def _later_readers(node: NodePlan, gradient: GradientPlan) -> tuple[int, ...] | None:
    """The edges with which a formula after this one reads the gradient; None if one does with any edges."""
    later = node.gradients[node.gradients.index(gradient) + 1 :]
    readers = [other for other in later if other.tree is not None and _reads_gradient(other.tree)]
    if any(len(other.edges) == len(node.edges) for other in readers):
        return None
    return tuple(sorted({index for other in readers for index in other.edges}))


def _reads_gradient(tree: TypedExpr) -> bool:
    return any(isinstance(part, Variable) and part.kind is VariableKind.GRAD for part in walk(tree))
