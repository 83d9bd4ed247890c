"""CUDA C++ of expressions over elements: one kernel for each way to compute an operator.

What only numbers are computed of is computed before, in Python, and is an argument of the kernel.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
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
# Those that give bools for bools, and the first operand that has to be one: the condition of a choice need not.
_OF_BOOLS = {"where": 1, "maximum": 0, "minimum": 0, "add": 0, "mul": 0}
# Those that are exact for integers.
_OF_INTEGERS = _TESTS | {
    "add", "sub", "rsub", "mul", "neg", "magnitude", "sign", "square", "where", "maximum", "minimum", "clamp_min",
    "clamp_max",
}  # fmt: skip
# Names that C++, CUDA and the headers that NVRTC includes have, and those of kernels.
_OF_CPP = (
    "alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t char32_t char8_t class "
    "co_await co_return co_yield compl concept const const_cast consteval constexpr constinit continue decltype "
    "default delete do double dynamic_cast else enum explicit export extern false float for friend goto if inline int "
    "long mutable namespace new noexcept not not_eq nullptr operator or or_eq private protected public register "
    "reinterpret_cast requires return short signed sizeof static static_assert static_cast struct switch template "
    "this thread_local throw true try typedef typeid typename union unsigned using virtual void volatile wchar_t "
    "while xor xor_eq"
)
_OF_CUDA = (
    "blockDim blockIdx gridDim threadIdx warpSize NAN INFINITY NULL Element Number Place R S T elements far first "
    "flat i in n1 n2 n3 out place size"
)
_TAKEN = frozenset(f"{_OF_CPP} {_OF_CUDA}".split())
_MADE = re.compile(r"step_\d+|number_\d+|.*_(?:i|[0-3])|_.*|.*__.*")  # what kernels call theirs, and compilers
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
        self.names = _names_in_cpp(tensors)

    def kernel(self) -> Kernel:
        body = [self._statement(number) for number in range(len(self.steps))]  # finds the numbers
        return Kernel(
            self.name, self.tensors, tuple(self.numbers), self._gives_bools(StepResult(len(self.steps) - 1)),
            self._takes_integers(), "\n".join(self._text(body)),
        )  # fmt: skip

    def _text(self, body: Sequence[str]) -> list[str]:
        names = list(self.names.values())
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

    def _gives_bools(self, operand: Operand) -> bool:
        """Whether a step gives bools for numbers of any kind: a test, or a choice between tests and the like."""
        if not isinstance(operand, StepResult):
            return False
        step = self.steps[operand.step]
        assert step.kernel is not None
        if step.kernel.name in _TESTS:
            return True
        first = _OF_BOOLS.get(step.kernel.name)
        return first is not None and all(map(self._gives_bools, step.operands[first : step.given]))

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
                return f"{self.names[operand.name]}_i"
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


def _names_in_cpp(names: Sequence[str]) -> Mapping[str, str]:
    """What parameters of a kernel are called."""
    found: dict[str, str] = {}
    for name in names:
        text = name if name not in _TAKEN and not _MADE.fullmatch(name) else f"tensor_{name.strip('_')}_"
        while text in found.values() or (text != name and text in names):
            text += "_"
        found[name] = text
    return found
