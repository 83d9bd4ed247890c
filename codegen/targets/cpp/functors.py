"""Functors of the loops of kernels: a function of elements, or of blocks, with loops between functions of NumPy."""

from __future__ import annotations

import math
from collections.abc import Mapping

from codegen.formula.typed import Arithmetic, Literal, TypedExpr, Variable
from codegen.plan.loops import ElementDomain, Form, KernelLoop, Operand, Step, StepResult
from codegen.plan.native_kernels import Native
from codegen.read.kernel_table import Fact
from codegen.targets.cpp.names import cpp, numpy_functor
from codegen.targets.cpp.statements import Call, function_head

_STEP = "  "
_FUNCTIONS = {Form.ELEMENT: "apply", Form.CHOICE: "choose"}
_MARKS = {ElementDomain.COMPLEX: "only_complex", ElementDomain.ANY: "for_complex"}


def is_functor_of(name: str, loop: KernelLoop) -> bool:
    """Whether a functor of this name is the loop's own, and not that of all numbers."""
    return name == cpp(loop.name)


def functor_lines(name: str, loop: KernelLoop, kernels: Native) -> list[str]:
    """The definition of a functor: the loop's own, or one for real numbers and for complex ones."""
    if is_functor_of(name, loop):
        return _Functor(loop, kernels).lines()
    assert loop.of_complex is not None
    real = loop.name if loop.is_by_hand else cpp(loop.name)
    return [f"using {name} = WithComplex<{real}, {cpp(loop.of_complex.name)}>;"]


class _Functor:
    def __init__(self, loop: KernelLoop, kernels: Native) -> None:
        self.known = loop
        self.loop = loop.loop
        self.kernels = kernels
        self.parameters = list(map(cpp, loop.parameters))

    def lines(self) -> list[str]:
        steps = self.loop.steps
        lines = [f"// {self.known.written}", f"struct {cpp(self.known.name)} {{"]
        if any(self._says(step, Fact.ONLY_FLOAT32) for step in steps):
            lines.append(f"{_STEP}static constexpr bool only_float = true;")
        if self.known.elements in _MARKS:
            lines.append(f"{_STEP}static constexpr bool {_MARKS[self.known.elements]} = true;")
        if self.loop.numbers:
            lines.append(f"{_STEP}static constexpr int kLeading = {len(self.loop.tensors)};")
        hands_on = any(self._says(step, Fact.VECTORS) for step in steps)
        lines.append(f"{_STEP}template <class T{', class A = Baseline' if hands_on else ''}>")
        has_blocks = any(step.form is Form.BLOCK for step in steps)
        return [*lines, *(self._block() if has_blocks else self._apply()), "};"]

    def _says(self, step: Step, fact: Fact) -> bool:
        return self.kernels.of(step.kernel.module).says(step.kernel.name, fact)

    # -- one function of elements

    def _apply(self) -> list[str]:
        parameters = [f"T {name}" for name in self.parameters]
        lines = [f"{_STEP}{function_head('static T', 'apply', parameters)} {{"]
        *steps, last = range(len(self.loop.steps))
        names = dict(enumerate(f"step_{number}" for number in steps))
        lines += [self._statement(f"const T {names[number]} = ", number, names, {}, 2) for number in steps]
        lines.append(self._statement("return ", last, names, {}, 2))
        return [*lines, f"{_STEP}}}"]

    def _statement(
        self, head: str, number: int, names: Mapping[int, str], arguments: Mapping[str, str], depth: int
    ) -> str:
        """What a step becomes of its operands."""
        step = self.loop.steps[number]
        values = [self._operand(operand, names, arguments) for operand in step.operands]
        numbers, head = "T", f"{_STEP * depth}{head}"
        if step.of_reals and self.known.elements is ElementDomain.COMPLEX:
            numbers, values = "Real<T>", [f"real_part({value})" for value in values]
        types = f"<{numbers}, A>" if self._says(step, Fact.VECTORS) else ""
        call = Call(f"{step.kernel.name}::{_FUNCTIONS[step.form]}{types}", values)
        return f"{head}T({call});" if numbers != "T" else f"{head}{call};"

    def _operand(self, operand: Operand, names: Mapping[int, str], arguments: Mapping[str, str]) -> str:
        """What an earlier step made, an argument, or a number, which is computed as a real one."""
        if isinstance(operand, StepResult):
            return names[operand.step]
        if self.known.elements is not ElementDomain.COMPLEX or isinstance(operand, Variable) or _is_plain(operand):
            return _number(operand, arguments)
        parts = {name: f"real_part({arguments.get(name, name)})" for name in self.parameters}
        return f"T({_number(operand, parts, 'Real<T>')})"

    # -- functions of NumPy on blocks, and loops between them

    def _block(self) -> list[str]:
        parameters = [*(f"const T* {name}" for name in self.parameters), "T* out", "npy_intp size"]
        lines = [f"{_STEP}{function_head('static GRADWRIGHT_INLINE void', 'block', parameters)} {{"]
        last = len(self.loop.steps) - 1
        arrays: dict[int, str] = {}
        for number, step in enumerate(self.loop.steps):
            if step.form is not Form.BLOCK:
                continue
            array = "out" if number == last else f"step_{number}"
            if number != last:
                lines.append(f"{_STEP * 2}T {array}[kBlock<T>];")
            source = self._array(step.operands[0], arrays)
            if source is None:
                lines += self._loop(step.operands[0], array, arrays)
                source = array
            functor = self.kernels.of(step.kernel.module).numpy.get(step.kernel.name)
            name = step.kernel.name if functor is None else numpy_functor(functor)
            lines.append(f"{_STEP * 2}by_numpy<{name}>({source}, {array}, size);")
            arrays[number] = array
        if self.loop.steps[last].form is not Form.BLOCK:
            lines += self._loop(StepResult(last), "out", arrays)
        return [*lines, f"{_STEP}}}"]

    def _array(self, operand: Operand, arrays: Mapping[int, str]) -> str | None:
        """The array that an operand is in already; None where it has to be computed."""
        if isinstance(operand, StepResult):
            return arrays.get(operand.step)
        assert isinstance(operand, Variable), "what computes a block gets one"
        return cpp(operand.name)

    def _loop(self, operand: Operand, target: str, arrays: Mapping[int, str]) -> list[str]:
        """The loop that computes an operand out of arguments and arrays."""
        arguments = {name: f"{name}[i]" for name in self.parameters}
        names = {number: f"{array}[i]" for number, array in arrays.items()}
        lines = [f"{_STEP * 2}for (npy_intp i = 0; i < size; ++i) {{"]
        *before, last = self.loop.needed(operand, frozenset(arrays))
        for number in before:
            names[number] = f"value_{number}"
            lines.append(self._statement(f"const T {names[number]} = ", number, names, arguments, 3))
        lines.append(self._statement(f"{target}[i] = ", last, names, arguments, 3))
        return [*lines, f"{_STEP * 2}}}"]


def _is_plain(number: TypedExpr) -> bool:
    """Whether it is a finite number that is written down."""
    return isinstance(number, Literal) and (not isinstance(number.value, float) or math.isfinite(number.value))


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
        case Literal():
            return f"{numbers}({expr.value!r})"
        case Arithmetic(operands=(only,)):
            return f"{expr.op}{_number(only, arguments, numbers)}"
        case Arithmetic(operands=(left, right)):
            return f"({_number(left, arguments, numbers)} {expr.op} {_number(right, arguments, numbers)})"
    raise AssertionError(expr)
