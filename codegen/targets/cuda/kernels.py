"""CUDA C++ of expressions over elements: one kernel for each way to compute an operator.

What only numbers are computed of is computed before, in Python, and is an argument of the kernel.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from codegen.formula.typed import TENSOR, Arithmetic, Literal, TypedExpr, Variable
from codegen.plan.elementwise import ElementStep, ElementwisePlan
from codegen.plan.loops import Operand, StepResult
from codegen.plan.operator import OperatorPlan
from codegen.words import PromotionKind

# The functions of templates/cuda/elements.cuh.j2, by the numbers of operands that they take.
_ONE = (
    "neg reciprocal conjugate magnitude sign square exp exp2 expm1 log log2 log10 log1p sqrt sin cos tan asin acos "
    "atan sinh cosh tanh erf erfc floor ceil trunc isnan logical_not"
)
_TWO = "add sub rsub mul div atan2 hypot eq ne lt le gt ge logical_and logical_or maximum minimum clamp_min clamp_max"
FUNCTIONS = frozenset(
    [(name, 1) for name in _ONE.split()]
    + [(name, 2) for name in _TWO.split()]
    + [(name, 3) for name in ("add", "sub", "rsub", "where")]
)
# Those that give a bool for numbers of any kind.
_TESTS = frozenset(("eq", "ne", "lt", "le", "gt", "ge", "isnan", "logical_not", "logical_and", "logical_or"))
# Those that are exact for integers.
_OF_INTEGERS = _TESTS | {
    "add", "sub", "rsub", "mul", "neg", "magnitude", "sign", "square", "where", "maximum", "minimum", "clamp_min",
    "clamp_max",
}  # fmt: skip
# Names of parameters that C++ and CUDA have.
_TAKEN = frozenset(("and", "auto", "bool", "double", "else", "float", "if", "in", "int", "not", "or", "out", "size"))
_STEP = "  "


@dataclass(frozen=True, slots=True)
class Kernel:
    """One kernel: its name, what it takes, what it gives, and its text.

    `numbers` are computed before it is launched. Tensors and numbers are in the order of its parameters.
    """

    name: str
    tensors: tuple[str, ...]
    numbers: tuple[TypedExpr, ...]
    gives_bools: bool
    takes_integers: bool
    text: str


def kernel_of(operator: OperatorPlan, steps: Sequence[ElementStep], name: str) -> Kernel | None:
    """The kernel of some steps; None where CUDA has no function for one of them, or a Tensor is not read.

    Args:
        operator: whose steps these are.
        steps: without choices between numbers; the last one makes the result.
        name: of the kernel.
    """
    if not steps or any(step.kernel is None or (step.kernel.name, step.given) not in FUNCTIONS for step in steps):
        return None
    parameters = operator.python.parameters
    used = [operand for step in steps for operand in step.operands[: step.given]]
    read = {part.name for part in used if isinstance(part, Variable) and part.type == TENSOR}
    tensors = tuple(each.name for each in parameters if each.name in read)
    required = {each.name for each in parameters if each.type == TENSOR}
    if not tensors or not required <= read:
        return None  # what is not read would have no part in the shape
    return _Printer(operator, steps, name, tensors).kernel()


class _Printer:
    def __init__(
        self, operator: OperatorPlan, steps: Sequence[ElementStep], name: str, tensors: tuple[str, ...]
    ) -> None:
        assert operator.compute.elementwise is not None
        self.operator = operator
        self.plan: ElementwisePlan = operator.compute.elementwise
        self.steps = steps
        self.name = name
        self.tensors = tensors
        self.numbers: list[TypedExpr] = []

    def kernel(self) -> Kernel:
        body = [self._statement(number) for number in range(len(self.steps))]  # finds the numbers
        last = self.steps[-1].kernel
        assert last is not None
        gives_bools = last.name in _TESTS
        return Kernel(
            self.name, self.tensors, tuple(self.numbers), gives_bools, self._takes_integers(),
            "\n".join(self._text(body)),
        )  # fmt: skip

    def _text(self, body: Sequence[str]) -> list[str]:
        names = [_parameter(name) for name in self.tensors]
        steps = {name: ", ".join(f"{name}_{dim}" for dim in range(4)) for name in names}
        parameters = [
            "long long size", "long long n1", "long long n2", "long long n3", "R* out",
            *(f"const S* {name}, {', '.join(f'long long {name}_{dim}' for dim in range(4))}" for name in names),
            *(f"Number<S> number_{place}" for place in range(len(self.numbers))),
        ]  # fmt: skip
        lines = [f"// {self.operator.schema.name}: {self.plan.written}", "template <class S, class R, bool flat>"]
        lines.append(f"__global__ void {self.name}(")
        lines += [f"{_STEP * 2}{each}," for each in parameters[:-1]] + [f"{_STEP * 2}{parameters[-1]}) {{"]
        lines.append(f"{_STEP}using T = Number<S>;")
        lines.append(f"{_STEP}const long long first = blockIdx.x * (long long)blockDim.x + threadIdx.x;")
        lines.append(f"{_STEP}const long long far = gridDim.x * (long long)blockDim.x;")
        lines.append(f"{_STEP}for (long long i = first; i < size; i += far) {{")
        lines.append(f"{_STEP * 2}const Place<flat> place(i, n1, n2, n3);")
        for name in names:
            lines.append(f"{_STEP * 2}const T {name}_i = Element<S>::load({name}[place.at({steps[name]})]);")
        lines += [f"{_STEP * 2}{line}" for line in body]
        lines.append(f"{_STEP * 2}out[i] = Element<R>::store(step_{len(self.steps) - 1});")
        return [*lines, f"{_STEP}}}", "}"]

    def _statement(self, number: int) -> str:
        step = self.steps[number]
        assert step.kernel is not None
        values = ", ".join(self._operand(operand) for operand in step.operands[: step.given])
        kind = "bool" if step.kernel.name in _TESTS else "T"
        return f"const {kind} step_{number} = elements::{step.kernel.name}<T>({values});"

    def _takes_integers(self) -> bool:
        """Whether elements may be integers when the kernel is called, and all steps are steps of such."""
        dtypes, promotion = self.operator.source.dtypes, self.operator.source.promotion
        if promotion is not None and promotion.kind is PromotionKind.INT_TO_FLOAT:
            return False
        used = [operand for step in self.steps for operand in step.operands[: step.given]]
        fractions = any(isinstance(part, Literal) and isinstance(part.value, float) for part in used)
        exact = all(step.kernel is not None and step.kernel.name in _OF_INTEGERS for step in self.steps)
        return exact and not fractions and (dtypes is None or "integer" in dtypes.kinds)

    def _operand(self, operand: Operand) -> str:
        match operand:
            case Arithmetic(op="-", operands=(Literal(value=int() | float() as value),)) if not isinstance(value, bool):
                return f"-{self._operand(operand.operands[0])}"
            case StepResult(step=step):
                return f"step_{step}"
            case Variable() if operand.type == TENSOR:
                return f"{_parameter(operand.name)}_i"
            case Literal(value=bool() as value):
                return str(value).lower()
            case Literal(value=float() as value) if math.isnan(value):
                return "T(elements::nan())"
            case Literal(value=float() as value) if math.isinf(value):
                return f"T({'-' if value < 0 else ''}elements::infinity())"
            case Literal(value=int() | float() as value):
                return f"T({value!r})"
        if operand not in self.numbers:
            self.numbers.append(operand)
        return f"number_{self.numbers.index(operand)}"


def _parameter(name: str) -> str:
    return f"{name}_" if name in _TAKEN else name
