"""Functors of operators that are expressions over elements: one loop for the whole expression.

A function of NumPy that has no form for single elements gets its operand in a block that stays in the cache; what lies
between two of them is one loop.

Where Tensors may be complex, and C++ can do every step of such numbers, the functor is for these, too; or there is
another one, where the steps are to be written in another way: more of them are functions of NumPy.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from codegen.formula.typed import TENSOR, Arithmetic, Literal, TypedExpr, Variable, walk
from codegen.plan.elementwise import ChoicePlan, ElementStep, Made, Operand, Way
from codegen.plan.operator import OperatorPlan
from codegen.targets.cpp.headers import (
    NUMBERS,
    FunctorKind,
    Native,
    NativeKernels,
    Written,
    WrittenChoice,
    WrittenFunctor,
)
from codegen.targets.cpp.names import cpp
from codegen.targets.cpp.statements import Call, function_head
from codegen.targets.cpp.table import Fact

_STEP = "  "
_SAME_IN_CPP = frozenset(("+", "-", "*", "/", "<", ">", "<=", ">=", "==", "!=", "&&", "||"))


class _NoFunctorError(Exception):
    """C++ has no function for a step."""


def with_expressions(native: Native, operators: Iterable[OperatorPlan]) -> Native:
    """The kernels with functors for those of operators that are expressions over elements."""
    core: dict[str, Written] = {}
    own: dict[str, Written] = {}
    for operator in operators:
        if operator.compute.elementwise is None:
            continue
        kernel = operator.compute.implementation
        kernels = native.of(kernel.module)
        if kernels.functions.get(operator.name.base) == len(operator.python.parameters):
            continue  # a function that is written by hand chooses between loops
        way = operator.compute.elementwise.way
        written: Written | None = _by_hand(operator, kernels, native)
        if written is None:
            written = _written(operator, way, kernel.name, native)
        if written is not None:
            known = core if kernels is native.core else own
            known[kernel.name] = written
    return Native(native.core.with_written(core), native.own.with_written(own))


def _by_hand(operator: OperatorPlan, kernels: NativeKernels, native: Native) -> WrittenFunctor | None:
    """The functor of the operator's own name that computes the expression in a faster way; of complex numbers it may be
    the expression that is computed.
    """
    name, parameters = operator.name.base, operator.python.parameters
    if kernels.functors.get(name) != len(parameters) or kernels.kind(name) is not FunctorKind.APPLY:
        return None
    tensors = sum(parameter.type == TENSOR for parameter in parameters)
    written = WrittenFunctor(name, (), (name,), tuple(parameter.name for parameter in parameters), tensors)
    assert operator.compute.elementwise is not None
    way = operator.compute.elementwise.way
    if isinstance(way, ChoicePlan) or kernels.says(name, Fact.ALSO_COMPLEX):
        return written
    other = _of_complex(operator, way, operator.compute.implementation.name, native)
    if other is None or other.used != written.parameters:
        return written
    return replace(written, of_complex=other.written())


def _written(operator: OperatorPlan, way: Way, name: str, native: Native) -> Written | None:
    """The functor of each way to compute an expression; None where C++ has none of them."""
    if isinstance(way, ChoicePlan):
        then = _written(operator, way.then, f"{name}_1", native)
        orelse = _written(operator, way.orelse, f"{name}_2", native)
        return None if then is None and orelse is None else WrittenChoice(way.test, then, orelse)
    try:
        functor = _Functor(operator, way, name, native)
    except _NoFunctorError:
        return None
    other = _of_complex(operator, way, name, native)
    if other is None:
        return functor.written()
    if other.body == functor.body:
        return functor.written("for_complex")
    return replace(functor.written(), of_complex=other.written())


def _of_complex(operator: OperatorPlan, way: Sequence[ElementStep], name: str, native: Native) -> _Functor | None:
    """The functor for complex numbers; None where there are none, or C++ has no function of them for a step."""
    assert operator.compute.elementwise is not None
    if not operator.compute.elementwise.of_complex:
        return None
    try:
        return _ComplexFunctor(operator, way, f"{name}_complex", native)
    except _NoFunctorError:
        return None


class _Functor:
    """The functor of some steps.

    Raises:
        _NoFunctorError: there is none.
    """

    mark = ""  # what it says of the numbers that it is for

    def __init__(self, operator: OperatorPlan, steps: Sequence[ElementStep], name: str, native: Native) -> None:
        assert operator.compute.elementwise is not None
        self.name = cpp(name)
        self.text = operator.compute.elementwise.written
        self.steps = steps
        self.native = native
        self.used, self.tensors = _operands(operator, steps)
        self.parameters = list(map(cpp, self.used))
        self.uses: dict[str, None] = {}
        self.kinds = [self._kind(step) for step in steps]
        self.named = [step.kernel.name for step in steps if step.kernel is not None]
        self.body = self._apply() if FunctorKind.LOOP not in self.kinds else self._block()

    def written(self, mark: str = "") -> WrittenFunctor:
        """The functor, with a mark for the numbers that it is for."""
        lines = [f"// {self.text}", f"struct {self.name} {{"]
        if any(self.native.core.says(name, Fact.ONLY_FLOAT32) for name in self.named):
            lines.append(f"{_STEP}static constexpr bool only_float = true;")
        if mark or self.mark:
            lines.append(f"{_STEP}static constexpr bool {mark or self.mark} = true;")
        if self.tensors < len(self.parameters):
            lines.append(f"{_STEP}static constexpr int kLeading = {self.tensors};")
        hands_on = any(self.native.core.says(name, Fact.VECTORS) for name in self.uses)
        lines.append(f"{_STEP}template <class T{', class A = Baseline' if hands_on else ''}>")
        return WrittenFunctor(self.name, (*lines, *self.body, "};"), tuple(self.uses), self.used, self.tensors)

    def _kind(self, step: ElementStep) -> FunctorKind:
        assert step.kernel is not None, "numbers have chosen before"
        kernels = self.native.of(step.kernel.module)
        count = kernels.functors.get(step.kernel.name)
        if count is None or step.given > count:
            raise _NoFunctorError
        if kernels.says(step.kernel.name, Fact.BOOLS) and step is self.steps[-1]:
            raise _NoFunctorError  # its numbers are to be bools
        kind = kernels.kind(step.kernel.name)
        if kind is FunctorKind.LOOP and (count != 1 or not self._is_ufunc(step) or step.kernel.gives_bools):
            raise _NoFunctorError
        return kind

    def _is_ufunc(self, step: ElementStep) -> bool:
        """Whether it is a function of NumPy, which a block can be given to."""
        assert step.kernel is not None
        return self.native.of(step.kernel.module).is_ufunc(step.kernel.name)

    # -- one function of elements

    def _apply(self) -> list[str]:
        parameters = [f"T {name}" for name in self.parameters]
        lines = [f"{_STEP}{function_head('static T', 'apply', parameters)} {{"]
        *steps, last = range(len(self.steps))
        names = dict(enumerate(f"step_{number}" for number in steps))
        lines += [self._statement(f"const T {names[number]} = ", number, names, {}, 2) for number in steps]
        lines.append(self._statement("return ", last, names, {}, 2))
        return [*lines, f"{_STEP}}}"]

    def _statement(
        self, head: str, number: int, names: Mapping[int, str], arguments: Mapping[str, str], depth: int
    ) -> str:
        step, indent = self.steps[number], _STEP * depth
        values = [self._operand(operand, names, arguments) for operand in step.operands]
        assert step.kernel is not None
        kernels = self.native.of(step.kernel.module)
        kept = values[: kernels.functors[step.kernel.name]]
        self.uses[step.kernel.name] = None
        return self._called(f"{indent}{head}", number, kept, kernels.says(step.kernel.name, Fact.VECTORS))

    def _called(self, head: str, number: int, values: Sequence[str], hands_on: bool) -> str:
        """The call of the function of a step."""
        return f"{head}{Call(self._function(number, 'T', hands_on), values)};"

    def _function(self, number: int, numbers: str, hands_on: bool) -> str:
        kernel = self.steps[number].kernel
        assert kernel is not None
        return f"{kernel.name}::{self.kinds[number].value}{f'<{numbers}, A>' if hands_on else ''}"

    def _operand(self, operand: Operand, names: Mapping[int, str], arguments: Mapping[str, str]) -> str:
        return names[operand.step] if isinstance(operand, Made) else _number(operand, arguments)

    # -- functions of NumPy on blocks, and loops between them

    def _block(self) -> list[str]:
        parameters = [*(f"const T* {name}" for name in self.parameters), "T* out", "npy_intp size"]
        lines = [f"{_STEP}{function_head('static GRADWRIGHT_INLINE void', 'block', parameters)} {{"]
        last = len(self.steps) - 1
        arrays: dict[int, str] = {}
        for number, kind in enumerate(self.kinds):
            if kind is not FunctorKind.LOOP:
                continue
            step = self.steps[number]
            assert step.kernel is not None
            array = "out" if number == last else f"step_{number}"
            if number != last:
                lines.append(f"{_STEP * 2}T {array}[kBlock<T>];")
            source = self._array(step.operands[0], arrays)
            if source is None:
                lines += self._loop(step.operands[0], array, arrays)
                source = array
            self.uses[step.kernel.name] = None
            functor = self.native.of(step.kernel.module).numpy.get(step.kernel.name)
            name = step.kernel.name if functor is None else functor.name
            lines.append(f"{_STEP * 2}by_numpy<{name}>({source}, {array}, size);")
            arrays[number] = array
        if self.kinds[last] is not FunctorKind.LOOP:
            lines += self._loop(Made(last), "out", arrays)
        return [*lines, f"{_STEP}}}"]

    def _array(self, operand: Operand, arrays: Mapping[int, str]) -> str | None:
        """The array that an operand is in already; None where it has to be computed."""
        if isinstance(operand, Made):
            return arrays.get(operand.step)
        return cpp(operand.name) if isinstance(operand, Variable) else None

    def _loop(self, operand: Operand, target: str, arrays: Mapping[int, str]) -> list[str]:
        """The loop that computes an operand out of arguments and arrays."""
        arguments = {name: f"{name}[i]" for name in self.parameters}
        names = {number: f"{array}[i]" for number, array in arrays.items()}
        lines = [f"{_STEP * 2}for (npy_intp i = 0; i < size; ++i) {{"]
        if not isinstance(operand, Made):
            raise _NoFunctorError
        *before, last = self._needed(operand, arrays)
        for number in before:
            names[number] = f"value_{number}"
            lines.append(self._statement(f"const T {names[number]} = ", number, names, arguments, 3))
        lines.append(self._statement(f"{target}[i] = ", last, names, arguments, 3))
        return [*lines, f"{_STEP * 2}}}"]

    def _needed(self, operand: Operand, arrays: Mapping[int, str]) -> Sequence[int]:
        """The steps that an operand is made by, as far as they are in no array."""
        needed: set[int] = set()
        pending = [operand]
        while pending:
            part = pending.pop()
            if isinstance(part, Made) and part.step not in arrays and part.step not in needed:
                needed.add(part.step)
                pending += self.steps[part.step].operands
        return sorted(needed)


class _ComplexFunctor(_Functor):
    """The same for complex numbers. Steps of real numbers are computed of the real parts."""

    mark = "only_complex"

    def _kind(self, step: ElementStep) -> FunctorKind:
        assert step.kernel is not None
        name, kernels = step.kernel.name, self.native.of(step.kernel.module)
        count = kernels.functors.get(name)
        if step.of_reals:
            kind = super()._kind(step)
            if kind is FunctorKind.LOOP:
                raise _NoFunctorError
            return kind
        if count is None or step.given > count or (step.gives_real and step is self.steps[-1]):
            raise _NoFunctorError
        if kernels.says(name, Fact.ALSO_COMPLEX):
            return kernels.kind(name)
        if kernels.says(name, Fact.UFUNC_COMPLEX) and count == 1 and not step.gives_real:
            return FunctorKind.LOOP
        raise _NoFunctorError

    def _called(self, head: str, number: int, values: Sequence[str], hands_on: bool) -> str:
        if not self.steps[number].of_reals:
            return super()._called(head, number, values, hands_on)
        parts = [f"real_part({value})" for value in values]
        return f"{head}T({Call(self._function(number, 'Real<T>', hands_on), parts)});"

    def _operand(self, operand: Operand, names: Mapping[int, str], arguments: Mapping[str, str]) -> str:
        if isinstance(operand, Made | Variable) or (isinstance(operand, Literal) and _is_plain(operand)):
            return super()._operand(operand, names, arguments)
        parts = {name: f"real_part({arguments.get(name, name)})" for name in self.parameters}
        return f"T({_number(operand, parts, 'Real<T>')})"


def _is_plain(number: Literal) -> bool:
    """Whether it is a finite number."""
    return not isinstance(number.value, float) or math.isfinite(number.value)


def _operands(operator: OperatorPlan, steps: Sequence[ElementStep]) -> tuple[tuple[str, ...], int]:
    """The parameters that steps read: Tensors, whose number is the second result, and numbers behind them."""
    numbers = [operand for step in steps for operand in step.operands if not isinstance(operand, Made)]
    read = {part.name: part.type for number in numbers for part in walk(number) if isinstance(part, Variable)}
    tensors = [parameter.name for parameter in operator.python.parameters if read.get(parameter.name) == TENSOR]
    others = [parameter.name for parameter in operator.python.parameters if read.get(parameter.name) in NUMBERS]
    whole = {parameter.name for parameter in operator.python.parameters if parameter.type == TENSOR}
    if not tensors or len(tensors) + len(others) < len(read) or not whole <= set(tensors):
        raise _NoFunctorError  # what it does not read would have no part in the shape
    return (*tensors, *others), len(tensors)


def _number(expr: TypedExpr, arguments: Mapping[str, str], numbers: str = "T") -> str:
    """An argument, or a number that is computed from some; of a type."""
    match expr:
        case Variable():
            name = cpp(expr.name)
            return arguments.get(name, name)
        case Literal(value=bool()):
            return str(expr.value).lower()
        case Literal(value=float() as value) if value == math.inf:
            return f"std::numeric_limits<{numbers}>::infinity()"
        case Literal(value=float() as value) if math.isnan(value):
            return f"std::numeric_limits<{numbers}>::quiet_NaN()"
        case Literal(value=int() | float()):
            return f"{numbers}({expr.value!r})"
        case Arithmetic(op="-", operands=(only,)):
            return f"-{_number(only, arguments, numbers)}"
        case Arithmetic(operands=(left, right)) if expr.op in _SAME_IN_CPP:
            return f"({_number(left, arguments, numbers)} {expr.op} {_number(right, arguments, numbers)})"
    raise _NoFunctorError
