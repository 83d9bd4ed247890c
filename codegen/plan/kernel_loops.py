"""The native loops of operators that are expressions over elements: one loop for each way that numbers choose.

A function of NumPy that has no form for single elements gets its operand in a block that stays in the cache; what lies
between two of them is one loop.

Where Tensors may be complex, and all steps can be computed of such numbers, the loop is for these, too; or there is
another one, where the steps have other forms: more of them are functions of NumPy.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

from codegen.formula.typed import TENSOR, Arithmetic, Literal, TypedExpr, Variable, VariableKind, walk
from codegen.plan.elementwise import ChoicePlan, ElementStep, Way
from codegen.plan.loops import (
    NUMBERS,
    ElementDomain,
    Form,
    KernelLoop,
    KernelLoops,
    Loop,
    LoopChoice,
    Operand,
    Step,
    StepResult,
)
from codegen.plan.native_kernels import Native, NativeKernels
from codegen.plan.operator import OperatorPlan
from codegen.read.kernel_table import Fact

_SIGNS = frozenset(("+", "-", "*", "/", "<", ">", "<=", ">=", "==", "!=", "&&", "||"))


def with_expressions(native: Native, operators: Iterable[OperatorPlan]) -> Native:
    """The kernels with loops for those of operators that are expressions over elements."""
    core: dict[str, KernelLoops] = {}
    own: dict[str, KernelLoops] = {}
    for operator in operators:
        if operator.compute.elementwise is None:
            continue
        kernel = operator.compute.implementation
        kernels = native.of(kernel.module)
        if kernels.functions.get(operator.name.base) == len(operator.python.parameters):
            continue  # a function that is written by hand chooses between loops
        way = operator.compute.elementwise.way
        loops = _by_hand(operator, kernels, native) or _of_way(operator, way, kernel.name, native)
        if loops is not None:
            (core if kernels is native.core else own)[kernel.name] = loops
    return Native(native.core.with_expressions(core), native.own.with_expressions(own))


def _by_hand(operator: OperatorPlan, kernels: NativeKernels, native: Native) -> KernelLoop | None:
    """The loop of the operator's own name that computes the expression in a faster way; of complex numbers it may be
    the expression that is computed.
    """
    name, parameters = operator.name.base, operator.python.parameters
    if kernels.functors.get(name) != len(parameters) or kernels.form(name) is not Form.ELEMENT:
        return None
    loop = loop_by_hand(operator, name, [parameter.name for parameter in parameters])
    assert operator.compute.elementwise is not None
    way = operator.compute.elementwise.way
    if isinstance(way, ChoicePlan) or kernels.says(name, Fact.ALSO_COMPLEX):
        return loop
    other = _of_complex(operator, way, operator.compute.implementation.name, native)
    if other is None or other.parameters != loop.parameters:
        return loop
    return replace(loop, of_complex=other)


def loop_by_hand(operator: OperatorPlan, name: str, arguments: Sequence[str]) -> KernelLoop:
    """The loop of a functor that is written by hand: it reads these arguments, Tensors first."""
    types = {parameter.name: parameter.type for parameter in operator.python.parameters}
    read = [Variable(types[argument], 0, 0, VariableKind.INPUT, argument) for argument in arguments]
    tensors = tuple(variable for variable in read if variable.type == TENSOR)
    return KernelLoop(name, Loop(tensors, tuple(read[len(tensors) :]), ()))


def _of_way(operator: OperatorPlan, way: Way, name: str, native: Native) -> KernelLoops | None:
    """The loop of each way to compute an expression; None where there is none of any."""
    if isinstance(way, ChoicePlan):
        then = _of_way(operator, way.then, f"{name}_1", native)
        orelse = _of_way(operator, way.orelse, f"{name}_2", native)
        return None if then is None and orelse is None else LoopChoice(way.test, then, orelse)
    loop = _loop(operator, [_real_step(step, step is way[-1], native) for step in way])
    if loop is None:
        return None
    assert operator.compute.elementwise is not None
    known = KernelLoop(name, loop, written=operator.compute.elementwise.written)
    other = _of_complex(operator, way, name, native)
    if other is None:
        return known
    if other.loop == loop and all(_is_of_any(operand) for step in loop.steps for operand in step.operands):
        return replace(known, elements=ElementDomain.ANY)
    return replace(known, of_complex=other)


def _of_complex(operator: OperatorPlan, way: Sequence[ElementStep], name: str, native: Native) -> KernelLoop | None:
    """The loop for complex numbers; None where there are none, or a step can not be computed of them."""
    assert operator.compute.elementwise is not None
    if not operator.compute.elementwise.of_complex:
        return None
    loop = _loop(operator, [_complex_step(step, step is way[-1], native) for step in way])
    written = operator.compute.elementwise.written
    return None if loop is None else KernelLoop(f"{name}_complex", loop, ElementDomain.COMPLEX, written)


def _real_step(step: ElementStep, is_last: bool, native: Native) -> Step | None:
    """A step on real numbers; None where there is no native kernel for it."""
    assert step.kernel is not None, "numbers have chosen before"
    name, kernels = step.kernel.name, native.of(step.kernel.module)
    count = kernels.functors.get(name)
    if count is None or step.given > count:
        return None
    if is_last and kernels.says(name, Fact.BOOLS):
        return None  # its numbers are to be bools
    form = kernels.form(name)
    if form is Form.BLOCK and (count != 1 or not kernels.is_ufunc(name) or step.kernel.gives_bools):
        return None
    return Step(step.kernel, step.operands[:count], form)


def _complex_step(step: ElementStep, is_last: bool, native: Native) -> Step | None:
    """A step on complex numbers, or on the real parts of such; None where there is no native kernel for it."""
    assert step.kernel is not None
    name, kernels = step.kernel.name, native.of(step.kernel.module)
    count = kernels.functors.get(name)
    if step.of_reals:
        real = _real_step(step, is_last, native)
        return None if real is None or real.form is Form.BLOCK else replace(real, of_reals=True)
    if count is None or step.given > count or (step.gives_real and is_last):
        return None
    if kernels.says(name, Fact.ALSO_COMPLEX):
        return Step(step.kernel, step.operands[:count], kernels.form(name))
    if kernels.says(name, Fact.UFUNC_COMPLEX) and count == 1 and not step.gives_real:
        return Step(step.kernel, step.operands[:count])
    return None


def _loop(operator: OperatorPlan, steps: Sequence[Step | None]) -> Loop | None:
    """The loop of some steps; None where one is missing, or reads what it can not.

    What it did not read would have no part in the shape of the result, so it reads all Tensors.
    """
    known = [step for step in steps if step is not None]
    numbers = [operand for step in known for operand in step.operands if not isinstance(operand, StepResult)]
    if len(known) < len(steps) or not all(map(_is_computable, numbers)) or not all(map(_gets_block, known)):
        return None
    read = {part.name: part for number in numbers for part in walk(number) if isinstance(part, Variable)}
    parameters = operator.python.parameters
    tensors = tuple(read[each.name] for each in parameters if each.name in read and read[each.name].type == TENSOR)
    others = tuple(read[each.name] for each in parameters if each.name in read and read[each.name].type in NUMBERS)
    whole = sum(parameter.type == TENSOR for parameter in parameters)
    if not tensors or len(tensors) + len(others) < len(read) or whole > len(tensors):
        return None
    return Loop(tensors, others, tuple(known))


def _gets_block(step: Step) -> bool:
    """Whether what computes a block gets one: an argument, or what has been made."""
    return step.form is not Form.BLOCK or isinstance(step.operands[0], StepResult | Variable)


def _is_computable(number: TypedExpr) -> bool:
    """Whether a loop can compute a number for each element."""
    match number:
        case Variable() | Literal(value=bool() | int() | float()):
            return True
        case Arithmetic(op="-", operands=(only,)):
            return _is_computable(only)
        case Arithmetic(operands=(left, right)):
            return number.op in _SIGNS and _is_computable(left) and _is_computable(right)
    return False


def _is_of_any(operand: Operand) -> bool:
    """Whether it is the same of real numbers and of complex ones: numbers are computed as real ones."""
    if isinstance(operand, Literal):
        return not isinstance(operand.value, float) or math.isfinite(operand.value)
    return isinstance(operand, StepResult | Variable)
