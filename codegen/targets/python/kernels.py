"""Kernels of operators that are expressions: a statement for each step."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from jinja2 import Environment

from codegen.plan.elementwise import ElementStep, Made, Operand
from codegen.plan.names import module_alias
from codegen.plan.operator import OperatorPlan
from codegen.plan.plan import Plan
from codegen.targets.literals import default_text
from codegen.targets.python.document import Brackets, Joined, call, choice, laid_out
from codegen.targets.python.lines import Lines
from codegen.targets.python.names import argument
from codegen.targets.python.text import PythonPrinter, import_lines


@dataclass(frozen=True, slots=True)
class KernelView:
    """What the template of a kernel prints."""

    head: str
    body: str


def emit(plan: Plan, env: Environment) -> Iterator[tuple[str, str]]:
    """The module of kernels; nothing where no operator is an expression."""
    operators = [operator for operator in plan.operators if operator.elementwise is not None]
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
    assert operator.elementwise is not None
    parameters = [
        f"{argument(each.name)}: Any" + ("" if each.default is None else f" = {default_text(each)}")
        for each in operator.parameters
    ]
    out = Lines()
    out.comment(operator.elementwise.source)
    *steps, last = _steps(operator)
    for number, step in enumerate(steps):
        out.add(Joined(f"step_{number} = ", _value(step, printer)))
    out.add(Joined("return ", _value(last, printer)))
    return KernelView(laid_out(Brackets(f"def {operator.implementation.name}(", parameters, ") -> Any:")), out.text)


def _steps(operator: OperatorPlan) -> tuple[ElementStep, ...]:
    assert operator.elementwise is not None
    return operator.elementwise.steps


def _value(step: ElementStep, printer: PythonPrinter) -> str:
    values = [_operand(operand, printer) for operand in step.operands[: step.given]]
    if step.kernel is None:
        test, then, orelse = values
        return choice(then, test, orelse)
    alias = step.kernel.alias
    function = f"np.{alias}" if alias else f"{module_alias(step.kernel.module)}.{step.kernel.name}"
    return call(function, values)


def _operand(operand: Operand, printer: PythonPrinter) -> str:
    return f"step_{operand.step}" if isinstance(operand, Made) else printer.bare(operand)
