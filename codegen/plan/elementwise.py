"""Plans of operators that are expressions over elements: kernels of other operators, in the order of computation."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass

from codegen.bind.elementwise import ResolvedElementwise
from codegen.bind.substitution import arguments
from codegen.formula.structure import structure
from codegen.formula.typed import TENSOR, Conditional, OperatorCall, TypedExpr, Variable
from codegen.plan.node import with_names, with_place
from codegen.python_source import FunctionIndex, Parameter, PythonFunction
from codegen.read.model import NativeFunction
from codegen.schema.names import python
from codegen.source import Text

KEY = "CPU"
MODULE = "kernels"  # of the generated package


@dataclass(frozen=True, slots=True)
class Made:
    """What an earlier step made, by its number."""

    step: int


Operand = Made | TypedExpr  # an expression is an argument, or a number


@dataclass(frozen=True, slots=True)
class ElementStep:
    """A kernel on arrays and numbers; None: the first operand, a number, chooses between the other two.

    The last operands may be left to the defaults of the kernel: there are `given` of them.
    """

    call: OperatorCall | Conditional
    kernel: PythonFunction | None
    operands: tuple[Operand, ...]
    given: int


@dataclass(frozen=True, slots=True)
class ElementwisePlan:
    """The steps of a kernel, of which the last one makes the result."""

    steps: tuple[ElementStep, ...]
    text: Text

    @property
    def written(self) -> str:
        """The expression as it is written: `elementwise: self / (1 + abs(self))`."""
        return with_names(["elementwise"], self.text)

    @property
    def source(self) -> str:
        """The same after its place."""
        return with_place(["elementwise"], self.text)


def plan_elementwise(
    known: ResolvedElementwise, functions: Mapping[str, NativeFunction], kernels: FunctionIndex
) -> ElementwisePlan:
    """The steps of an expression; what is the same in several places is computed once.

    Args:
        known: the operator.
        functions: all operators by name.
        kernels: the functions on arrays by name.
    """
    steps: list[ElementStep] = []
    made: dict[Hashable, Made] = {}

    def operand(expr: TypedExpr) -> Operand:
        if expr.type != TENSOR or isinstance(expr, Variable):
            return expr
        key = structure(expr)
        if key not in made:
            steps.append(step(expr))
            made[key] = Made(len(steps) - 1)
        return made[key]

    def step(expr: TypedExpr) -> ElementStep:
        if isinstance(expr, Conditional):
            return ElementStep(expr, None, (expr.test, operand(expr.then), operand(expr.orelse)), 3)
        assert isinstance(expr, OperatorCall), "expressions over elements are calls and arguments"
        line = next(line for line in functions[str(expr.schema.name)].dispatch if line.key == KEY)
        kernel = kernels.get(str(line.kernel))
        assert kernel is not None, "the kernels of all operators are there"
        values = arguments(expr)
        given = [name for name, _ in expr.args]
        operands = tuple(operand(values[argument.name]) for argument in expr.schema.arguments)
        count = len(operands)
        optional = [p.has_default for p in kernel.parameters] if kernel.parameters is not None else []
        while count and count <= len(optional) and optional[count - 1]:
            if expr.schema.arguments[count - 1].name in given:
                break
            count -= 1
        return ElementStep(expr, kernel, operands, count)

    result = operand(known.steps)
    assert isinstance(result, Made), "an argument alone is no kernel"
    return ElementwisePlan(tuple(steps), known.text)


def kernel_of(known: ResolvedElementwise, function: str, package: str) -> PythonFunction:
    """The kernel of an operator in the generated package, as other kernels are known."""
    schema = known.function.schema
    parameters = [
        Parameter(python(argument.name), "", argument.default is not None, keyword_only=False)
        for argument in schema.arguments
    ]
    about = f"`{' '.join(known.text.value.split())}`, element by element."
    return PythonFunction(function, f"{package}.{MODULE}", tuple(parameters), "", known.text.span(), about=about)
