"""Kernels of operators that are expressions: a statement for each step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from jinja2 import Environment

from codegen.plan.elementwise import ElementStep, ElementwisePlan, RequirementPlan
from codegen.plan.loops import Operand, StepResult
from codegen.plan.names import module_alias
from codegen.plan.operator import OperatorPlan
from codegen.plan.plan import Plan
from codegen.targets.literals import default_text, literal
from codegen.targets.python.code import Lines, bracketed, call, choice, function_head
from codegen.targets.python.names import argument
from codegen.targets.python.text import PythonPrinter, import_lines


@dataclass(frozen=True, slots=True)
class KernelView:
    """What the template of a kernel prints."""

    head: str
    body: str
    copies: bool  # whether it has to look whether the result is an argument


def emit(plan: Plan, env: Environment) -> Iterator[tuple[str, str]]:
    """The module of kernels; nothing where no operator is an expression."""
    operators = [operator for operator in plan.operators if operator.compute.elementwise is not None]
    if not operators:
        return
    used = [step.kernel for operator in operators for step in _steps(operator) if step.kernel is not None]
    modules = {kernel.module for kernel in used if not kernel.alias}
    views = [kernel_view(operator, PythonPrinter(plan.functions, in_method=False)) for operator in operators]
    text = env.get_template("kernels.py.j2").render(
        kernels=views, numpy=any(kernel.alias for kernel in used), imports=import_lines(modules)
    )
    yield "kernels.py", text


def kernel_view(operator: OperatorPlan, printer: PythonPrinter) -> KernelView:
    """The kernel of an operator that is an expression."""
    assert operator.compute.elementwise is not None
    parameters = [
        f"{argument(each.name)}: Any" + ("" if each.default is None else f" = {default_text(each)}")
        for each in operator.python.parameters
    ]
    head = function_head(operator.compute.implementation.name, parameters, "Any")
    body = _Body(operator.compute.elementwise, printer).text()
    return KernelView(head, body, _may_be_an_argument(_steps(operator)))


def _steps(operator: OperatorPlan) -> tuple[ElementStep, ...]:
    assert operator.compute.elementwise is not None
    return operator.compute.elementwise.steps


def _may_be_an_argument(steps: Sequence[ElementStep]) -> bool:
    """Whether choices between numbers may give an argument as it is for the result."""
    pending: list[Operand] = [StepResult(len(steps) - 1)]
    while pending:
        operand = pending.pop()
        if not isinstance(operand, StepResult):
            return True
        if steps[operand.step].kernel is None:
            pending += steps[operand.step].operands[1:]
    return False


class _Body:
    """Writes the statements of one kernel; what stands on one side of a choice is computed there alone."""

    def __init__(self, plan: ElementwisePlan, printer: PythonPrinter) -> None:
        self.plan = plan
        self.printer = printer
        self.out = Lines()

    def text(self) -> str:
        self.out.comment(self.plan.source)
        for requirement in self.plan.requirements:
            with self.out.block(f"if not {self.printer.print(requirement.condition)}:"):
                self.out.add(call("raise RuntimeError", [self._message(requirement)]))
        self._statements(None, len(self.plan.steps) - 1, "return ")
        return self.out.text

    def _message(self, requirement: RequirementPlan) -> str:
        if not requirement.values:
            return literal("".join(requirement.words))
        template = "{}".join(word.replace("{", "{{").replace("}", "}}") for word in requirement.words)
        return call(f"{literal(template)}.format", [self.printer.bare(value) for value in requirement.values])

    def _statements(self, side: tuple[int, bool] | None, last: int, head: str) -> None:
        """The steps of one side of a choice, or those that are on none; `head` says what becomes of the last one."""
        for number in self._on(side):
            if number != last:
                self._statement(number, f"step_{number} = ")
        self._statement(last, head)

    def _statement(self, number: int, head: str) -> None:
        if self._is_expression(number):
            self.out.add(f"{head}{self._value(number)}")
            return
        test, then, orelse = self.plan.steps[number].operands
        with self.out.block(f"if {self._operand(test)}:"):
            self._side(then, (number, True), head)
        with self.out.block("else:"):
            self._side(orelse, (number, False), head)

    def _side(self, operand: Operand, side: tuple[int, bool], head: str) -> None:
        if isinstance(operand, StepResult) and operand.step in self._on(side):
            self._statements(side, operand.step, head)
        else:
            self.out.add(f"{head}{self._operand(operand)}")

    def _on(self, side: tuple[int, bool] | None) -> list[int]:
        """The steps whose innermost side this is, in the order of computation."""
        return [number for number in range(len(self.plan.steps)) if self.plan.sides.get(number) == side]

    def _is_expression(self, number: int) -> bool:
        """Whether a step is one expression: a call, or a choice between such and what is there already."""
        sides = [self._on((number, holds)) for holds in (True, False)]
        return all(len(side) <= 1 and all(map(self._is_expression, side)) for side in sides)

    def _value(self, number: int) -> str:
        step = self.plan.steps[number]
        values = [self._operand(operand) for operand in step.operands[: step.given]]
        if step.kernel is None:
            test, then, orelse = values
            return choice(then, test, orelse)
        alias = step.kernel.alias
        function = f"np.{alias}" if alias else f"{module_alias(step.kernel.module)}.{step.kernel.name}"
        return call(function, values)

    def _operand(self, operand: Operand) -> str:
        """An argument, a number, an earlier step; one that a choice alone needs is computed in its place."""
        if not isinstance(operand, StepResult):
            return self.printer.bare(operand)
        side = self.plan.sides.get(operand.step)
        if side is None or not self._is_expression(side[0]):
            return f"step_{operand.step}"
        value = self._value(operand.step)
        return value if self.plan.steps[operand.step].kernel is not None else bracketed(value)
