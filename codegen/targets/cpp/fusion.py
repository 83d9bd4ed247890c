"""Element-wise formulas as one loop: every step is the loop of a kernel on a block that stays in the cache.

The statements of the formula remain beside it: the loop declines where it would have to broadcast, record or promote.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from codegen.formula.meaning import Meaning
from codegen.formula.structure import structure
from codegen.formula.typed import (
    BOOL,
    TENSOR,
    HelperCall,
    OperatorCall,
    TypedExpr,
    Variable,
    VariableKind,
    walk,
)
from codegen.plan.operator import OperatorPlan, ParameterPlan
from codegen.schema.types import OperatorName
from codegen.targets.cpp.headers import NO_KERNELS, NUMBERS, Native, NativeKernels, WrittenFunctor

# What a loop of formulas.hpp has room for; the build checks that it is the same there.
MOST_STEPS = 16
MOST_SLOTS = 16
MOST_TEMPORARIES = 6

_Key = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class Step:
    """One kernel: its name, the slots of its operands, the slot of its result, and whose kernel it is."""

    kernel: str
    operands: tuple[int, ...]
    result: int
    kernels: NativeKernels = field(default=NO_KERNELS, repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class FusedFormula:
    """A formula as steps, the last of which makes the result. Slots: the Tensors, the numbers, and temporaries."""

    steps: tuple[Step, ...]
    tensors: tuple[Variable, ...]
    numbers: tuple[TypedExpr | ParameterPlan, ...]  # expressions, and parameters left at their defaults

    @property
    def gradient(self) -> int:
        """The slot of the gradient; -1 where the formula does not read it."""
        kinds = [tensor.kind for tensor in self.tensors]
        return kinds.index(VariableKind.GRAD) if VariableKind.GRAD in kinds else -1


def fuse(tree: TypedExpr, operators: Mapping[OperatorName, OperatorPlan], kernels: Native) -> FusedFormula | None:
    """The steps of a formula that is made of element-wise kernels and of nothing else.

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
    numbers: dict[_Key, TypedExpr | ParameterPlan] = field(default_factory=dict)
    # In the order of computation: the kernel, whose it is, and its operands.
    calls: dict[_Key, tuple[str, NativeKernels, tuple[_Key, ...]]] = field(default_factory=dict)

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
            kernels = self.kernels.helpers(function.module)
            fits = kernels.functors.get(function.name) == len(operands)
            return self._call(function.name, kernels, operands) if fits else None
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
        name = operator.compute.implementation.name
        kernels = self.kernels.of(operator.compute.implementation.module)
        count = kernels.functors.get(name)
        if count is None or (operator.compute.elementwise is not None and operator.compute.elementwise.requirements):
            return None
        by_name = dict(expr.args)
        written, parameters = kernels.written.get(name), operator.python.parameters
        if isinstance(written, WrittenFunctor):  # the others have no part in the result
            by_parameter = {parameter.name: parameter for parameter in parameters}
            read = tuple(by_parameter[parameter] for parameter in written.parameters)
        elif any(parameter.name in by_name for parameter in parameters[count:]):
            return None
        else:
            read = parameters[:count]
        operands: list[TypedExpr | ParameterPlan] = []
        for parameter in read:
            if parameter.type not in (TENSOR, *NUMBERS) or (
                parameter.name not in by_name and parameter.default is None
            ):
                return None
            operands.append(by_name.get(parameter.name, parameter))
        return self._call(name, kernels, operands)

    def _call(self, kernel: str, kernels: NativeKernels, operands: Sequence[TypedExpr | ParameterPlan]) -> _Key | None:
        keys = []
        for operand in operands:
            if isinstance(operand, ParameterPlan):
                key: _Key | None = ("default", operand.default)
                self.numbers.setdefault(("default", operand.default), operand)
            else:
                key = self.visit(operand)
            if key is None:
                return None
            keys.append(key)
        if all(key in self.numbers for key in keys):
            return None
        call: _Key = ("call", kernel, *keys)
        self.calls.setdefault(call, (kernel, kernels, tuple(keys)))
        return call

    def fused(self) -> FusedFormula | None:
        """Slots for all values; the slot of a temporary is reused after its last read."""
        slots = {key: slot for slot, key in enumerate((*self.tensors, *self.numbers))}
        first = len(slots)
        last_use = {key: index for index, (_, _, keys) in enumerate(self.calls.values()) for key in keys}
        free: list[int] = []
        most = first
        steps = []
        for index, (call, (kernel, kernels, keys)) in enumerate(self.calls.items()):
            if free:
                slots[call] = free.pop()
            else:
                slots[call] = most
                most += 1
            steps.append(Step(kernel, tuple(slots[key] for key in keys), slots[call], kernels))
            free += {slots[key] for key in keys if key in self.calls and last_use[key] == index}
        if len(steps) > MOST_STEPS or most > MOST_SLOTS or most - first > MOST_TEMPORARIES:
            return None
        return FusedFormula(tuple(steps), tuple(self.tensors.values()), tuple(self.numbers.values()))
