"""Plans of operators that are expressions over elements: kernels of other operators, in the order of computation."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace

from codegen.bind.elementwise import ResolvedElementwise
from codegen.bind.substitution import arguments
from codegen.dispatch_keys import CPU
from codegen.formula.structure import structure
from codegen.formula.typed import TENSOR, Conditional, OperatorCall, TypedExpr, Variable
from codegen.plan.loops import Operand, StepResult
from codegen.plan.node import with_names, with_place
from codegen.python_source import FunctionIndex, Parameter, PythonFunction
from codegen.read.model import NativeFunction
from codegen.schema.names import python
from codegen.source import Text

MODULE = "kernels"  # of the generated package


@dataclass(frozen=True, slots=True)
class ElementStep:
    """A kernel on arrays and numbers; None: the first operand, a number, chooses between the other two.

    The last operands may be left to the defaults of the kernel: there are `given` of them. Of complex Tensors a step
    has real operands where `of_reals` says so, and a real result, or a bool, where `gives_real` does.
    """

    kernel: PythonFunction | None
    operands: tuple[Operand, ...]
    given: int
    of_reals: bool = False
    gives_real: bool = False


@dataclass(frozen=True, slots=True)
class RequirementPlan:
    """A condition of the arguments, and the message where it does not hold: words, and values between them."""

    condition: TypedExpr
    words: tuple[str, ...]
    values: tuple[TypedExpr, ...]


@dataclass(frozen=True, slots=True)
class ElementwisePlan:
    """The steps of a kernel, of which the last one makes the result, and the expression that they compute.

    `formula` is the expression as it is written, `tree` the same over operators that have kernels of their own.
    `sides` has for each step that is computed on one side of a choice alone the number of that choice, and whether the
    condition holds there. `requirements` are met before the first step. `of_complex`: Tensors may be complex, and what
    is for real numbers alone gets such.
    """

    formula: TypedExpr
    tree: TypedExpr
    steps: tuple[ElementStep, ...]
    sides: Mapping[int, tuple[int, bool]]
    requirements: tuple[RequirementPlan, ...]
    text: Text
    of_complex: bool

    @property
    def way(self) -> Way:
        """The steps without choices between numbers: these are made before the first step."""
        return _way(self.steps, {})

    @property
    def written(self) -> str:
        """The expression as it is written: `elementwise: self / (1 + abs(self))`."""
        return with_names(["elementwise"], self.text)

    @property
    def source(self) -> str:
        """The same after its place."""
        return with_place(["elementwise"], self.text)


@dataclass(frozen=True, slots=True)
class ChoicePlan:
    """Two ways to compute a result, between which a number chooses."""

    test: TypedExpr
    then: Way
    orelse: Way


Way = tuple[ElementStep, ...] | ChoicePlan  # no steps: the result is an argument


def plan_elementwise(
    known: ResolvedElementwise, functions: Mapping[str, NativeFunction], kernels: FunctionIndex
) -> ElementwisePlan:
    """The steps of an expression; what is the same in several places is computed once, and what only one side of a
    choice between numbers needs is left to that side.

    Args:
        known: the operator.
        functions: all operators by name.
        kernels: the functions on arrays by name.
    """
    steps: list[ElementStep] = []
    made: dict[Hashable, StepResult] = {}
    only_real: list[bool] = []  # whether a step gets complex numbers, and its operator takes none

    def is_real(part: Operand) -> bool:
        return steps[part.step].gives_real if isinstance(part, StepResult) else part.type != TENSOR

    def operand(expr: TypedExpr) -> Operand:
        if expr.type != TENSOR or isinstance(expr, Variable):
            return expr
        key = structure(expr)
        if key not in made:
            steps.append(step(expr))
            made[key] = StepResult(len(steps) - 1)
        return made[key]

    def step(expr: TypedExpr) -> ElementStep:
        if isinstance(expr, Conditional):
            sides = (operand(expr.then), operand(expr.orelse))
            reals = all(map(is_real, sides))
            return ElementStep(None, (expr.test, *sides), 3, reals, reals)
        assert isinstance(expr, OperatorCall), "expressions over elements are calls and arguments"
        function = functions[str(expr.schema.name)]
        line = next(line for line in function.dispatch if line.key == CPU)
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
        reals = all(map(is_real, operands))
        only_real.append(not reals and not function.takes_complex)
        return ElementStep(kernel, operands, count, reals, reals or function.gives_real)

    result = operand(known.steps)
    assert isinstance(result, StepResult), "an argument alone is no kernel"
    requirements = tuple(RequirementPlan(each.condition, each.words, each.values) for each in known.requirements)
    of_complex = known.function.takes_complex and not any(only_real)
    return ElementwisePlan(known.tree, known.steps, tuple(steps), _sides(steps), requirements, known.text, of_complex)


def _way(steps: Sequence[ElementStep], known: Mapping[Hashable, bool]) -> Way:
    """The steps that are left where the outcomes of some tests are known, by the structure of these."""

    def chosen(operand: Operand) -> Operand:
        while isinstance(operand, StepResult) and steps[operand.step].kernel is None:
            test, then, orelse = steps[operand.step].operands
            outcome = known.get(_test_key(test))
            if outcome is None:
                return operand
            operand = then if outcome else orelse
        return operand

    result = chosen(StepResult(len(steps) - 1))
    needed: set[int] = set()
    pending = [result]
    while pending:
        part = pending.pop()
        if isinstance(part, StepResult) and part.step not in needed:
            needed.add(part.step)
            pending += map(chosen, steps[part.step].operands)
    open_ = [number for number in needed if steps[number].kernel is None]
    if open_:
        test = steps[max(open_)].operands[0]  # the outermost: what it guards is not asked before
        key = _test_key(test)
        assert not isinstance(test, StepResult)
        return ChoicePlan(test, _way(steps, {**known, key: True}), _way(steps, {**known, key: False}))
    numbers = {number: StepResult(position) for position, number in enumerate(sorted(needed))}

    def renumbered(operand: Operand) -> Operand:
        operand = chosen(operand)
        return numbers[operand.step] if isinstance(operand, StepResult) else operand

    return tuple(
        replace(steps[number], operands=tuple(map(renumbered, steps[number].operands))) for number in sorted(needed)
    )


def _test_key(test: Operand) -> Hashable:
    assert not isinstance(test, StepResult), "numbers choose, which are computed from arguments"
    return structure(test)


def _sides(steps: Sequence[ElementStep]) -> Mapping[int, tuple[int, bool]]:
    """The innermost side of a choice that all uses of a step stand on, for the steps that have one."""
    sides: dict[int, tuple[int, bool]] = {}

    def around(number: int) -> list[tuple[int, bool]]:
        """The sides that a step stands on, the outermost first."""
        side = sides.get(number)
        return [] if side is None else [*around(side[0]), side]

    users: dict[int, list[list[tuple[int, bool]]]] = {number: [] for number in range(len(steps))}
    for number in reversed(range(len(steps))):
        shared = _common_start(users[number])
        if shared:
            sides[number] = shared[-1]
        step = steps[number]
        for position, operand in enumerate(step.operands):
            if isinstance(operand, StepResult):
                own = [(number, position == 1)] if step.kernel is None else []
                users[operand.step].append(around(number) + own)
    return sides


def _common_start(paths: Sequence[Sequence[tuple[int, bool]]]) -> Sequence[tuple[int, bool]]:
    """What all of them begin with."""
    if not paths:
        return ()
    first = paths[0]
    count = 0
    while all(len(path) > count and path[count] == first[count] for path in paths) and count < len(first):
        count += 1
    return first[:count]


def direct_kernel(known: ResolvedElementwise, plan: ElementwisePlan) -> PythonFunction | None:
    """The kernel of another operator that is called with just the arguments of this one; None where there is more."""
    (step, *more), arguments = plan.steps, known.function.schema.arguments
    names = [operand.name if isinstance(operand, Variable) else None for operand in step.operands[: step.given]]
    if more or plan.requirements or names != [argument.name for argument in arguments]:
        return None
    return step.kernel


def kernel_of(known: ResolvedElementwise, function: str, package: str) -> PythonFunction:
    """The kernel of an operator in the generated package, as other kernels are known."""
    schema = known.function.schema
    parameters = [
        Parameter(python(argument.name), "", argument.default is not None, keyword_only=False)
        for argument in schema.arguments
    ]
    about = f"`{' '.join(known.text.value.split())}`, element by element."
    return PythonFunction(function, f"{package}.{MODULE}", tuple(parameters), "", known.text.span(), about=about)
