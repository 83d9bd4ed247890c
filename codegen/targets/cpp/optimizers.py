"""Update rules of optimizers as C++: a function that computes numbers, and loops over blocks of elements."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from codegen.bind.update_rules import FUNCTIONS, MASK, Condition, Given, Option
from codegen.formula.typed import BOOL, FLOAT, Arithmetic, Literal, TypedExpr, Variable
from codegen.plan.loops import Loop, Operand, StepResult
from codegen.plan.optimizers import Action, Branch, Copy, Fill, OptimizerPlan, Point, SetNumber, actions_in
from codegen.targets.cpp.names import cpp
from codegen.targets.environment import quoted

_OF_NUMPY = {
    "sqrt": "std::sqrt", "abs": "std::abs", "maximum": "kernels::maximum::apply", "where": "chosen", "clip": "bounded",
}  # fmt: skip
_SIGNS = {function: sign for (sign, _), function in FUNCTIONS.items()}
# How tight signs bind; what is no sign binds tightest.
_PRECEDENCE = {"==": 1, "!=": 1, "<": 2, "<=": 2, ">": 2, ">=": 2, "+": 3, "-": 3, "*": 4, "/": 4}
_UNARY, _CLOSED = 5, 6

_Text = tuple[str, int]
"""A text and how tight its outermost sign binds."""


@dataclass(frozen=True, slots=True)
class OptimizerView:
    """What the template prints of a rule."""

    name: str
    symbol: str
    arrays: int
    optional: str  # for each array whether it may be left out
    options: Sequence[str]
    numbers: int
    ways: int
    blocks: int
    prepare: Sequence[str]
    run_start: Sequence[str]
    run: Sequence[str]


def optimizer_view(plan: OptimizerPlan) -> OptimizerView:
    """The C++ of a rule."""
    return OptimizerView(
        plan.name,
        cpp(plan.name),
        len(plan.arrays),
        ", ".join("true" if number in plan.optional else "false" for number in range(len(plan.arrays))),
        [*map(_option, plan.options)],
        len(plan.numbers),
        plan.ways,
        plan.blocks,
        [*_options(plan), *_Numbers().lines(plan.body, 1)],
        [*_pointers(plan)],
        [*_Elements(plan).lines(plan.body, 3)],
    )


def _option(option: Option) -> str:
    is_flag, is_needed = ("true" if each else "false" for each in (_is_flag(option.variable), option.default is None))
    return f"{quoted(option.name)}, {is_flag}, {is_needed}, {option.default or 0.0!r}"


def _options(plan: OptimizerPlan) -> Iterator[str]:
    """Variables of the function that computes numbers; rules share options that some of them do not use."""
    for number, option in enumerate(plan.options):
        kind, test = ("bool", " != 0") if _is_flag(option.variable) else ("double", "")
        yield f"  [[maybe_unused]] const {kind} {_name(option.variable)} = step.options[{number}]{test};"
    for variable in plan.locals:
        if variable.type in (FLOAT, BOOL):
            kind, zero = ("bool", "false") if _is_flag(variable) else ("double", "0")
            yield f"  {kind} {_name(variable)} = {zero};"


def _pointers(plan: OptimizerPlan) -> Iterator[str]:
    """Variables of a block: where the arrays lie, and what is to be computed."""
    for number, variable in enumerate(plan.arrays):
        constant = "" if number in plan.in_place else "const "
        yield f"      [[maybe_unused]] {constant}T* {_name(variable)} = step->at<T>({number}, at);"
    targets = {action.target for action in actions_in(plan.body) if isinstance(action, Fill | Point)}
    for variable in plan.locals:
        if variable in targets:
            yield f"      const T* {_name(variable)} = nullptr;"


def _is_flag(variable: Variable) -> bool:
    return variable.type == BOOL


def _name(variable: Variable) -> str:
    return cpp(variable.name)


class _Printer:
    """Statements for one of the two times; a subclass prints what is not a condition."""

    def lines(self, actions: Sequence[Action], depth: int) -> Iterator[str]:
        pad = "  " * depth
        for action in actions:
            if not isinstance(action, Branch):
                yield from (f"{pad}{line}" for line in self.action(action))
                continue
            then, otherwise = ([*self.lines(branch, depth + 1)] for branch in (action.then, action.otherwise))
            condition, *before = self.condition(action)
            yield from (f"{pad}{line}" for line in before)
            if then:
                yield f"{pad}if ({condition}) {{"
                yield from then
                if otherwise:
                    yield f"{pad}}} else {{"
            elif otherwise:
                yield f"{pad}if (!({condition})) {{"
            yield from otherwise
            if then or otherwise:
                yield f"{pad}}}"

    def condition(self, branch: Branch) -> Sequence[str]:
        """A condition, and what stands before it."""
        raise NotImplementedError

    def action(self, action: Action) -> Iterator[str]:
        raise NotImplementedError


class _Numbers(_Printer):
    """Numbers, as Python computes them."""

    def condition(self, branch: Branch) -> Sequence[str]:
        text = _number(branch.condition)[0]
        if branch.way is None:
            return (text,)
        way = f"step.ways[{branch.way}]"
        return way, f"{way} = {text};"

    def action(self, action: Action) -> Iterator[str]:
        match action:
            case SetNumber(target=target, value=value):
                yield f"{_name(target)} = {_number(value)[0]};"
            case Fill(kept=kept):
                for place, value in kept:
                    yield f"step.numbers[{place}] = {_number(value)[0]};"


class _Elements(_Printer):
    """Loops over the elements of a block."""

    def __init__(self, plan: OptimizerPlan) -> None:
        self._plan = plan

    def condition(self, branch: Branch) -> Sequence[str]:
        if branch.way is None:
            return (_number(branch.condition, "->")[0],)
        return (f"step->ways[{branch.way}]",)

    def action(self, action: Action) -> Iterator[str]:
        match action:
            case Fill(target=target, array=array, block=block, loop=loop):
                place = f"t{block}" if array is None else _name(self._plan.arrays[array])
                text = _as_number(loop.result, _element(loop.result, loop, self._plan.numbers), loop)[0]
                yield "GRADWRIGHT_INDEPENDENT"
                yield f"for (npy_intp i = 0; i < n; ++i) {place}[i] = {text};"
                if array is None:
                    assert target is not None
                    yield f"{_name(target)} = t{block};"
            case Point(target=target, source=source):
                yield f"{_name(target)} = {_name(source)};"
            case Copy(array=array, source=source):
                yield f"step->put({array}, at, {_name(source)}, n);"


def _number(value: Condition, access: str = ".") -> _Text:
    """A number, or what is true or false, where `step` is at hand."""
    match value:
        case Given(array=array, wanted=wanted):
            return f"step{access}arrays[{array}] {'!=' if wanted else '=='} nullptr", _PRECEDENCE["=="]
        case Literal(value=number):
            return repr(number), _CLOSED
        case Variable():
            return _name(value), _CLOSED
        case Arithmetic(operands=(operand,)):
            return f"-{_held(_number(operand, access), _UNARY + 1)}", _UNARY
        case Arithmetic(op="/" | "**" as sign, operands=(left, right)):
            function = {"/": "quotient", "**": "power"}[sign]
            return f"step{access}{function}({_number(left, access)[0]}, {_number(right, access)[0]})", _CLOSED
        case Arithmetic(op=sign, operands=(left, right)):
            return _infix(sign, _number(left, access), _number(right, access))
    raise AssertionError(value)


def _element(operand: Operand, loop: Loop, numbers: Mapping[TypedExpr, int]) -> _Text:
    """An element at the place `i`; masks are bools in expressions, and numbers in blocks."""
    if isinstance(operand, StepResult):
        step = loop.steps[operand.step]
        name, texts = step.kernel.alias, [_element(each, loop, numbers) for each in step.operands]
        if name not in _SIGNS:
            return f"{_OF_NUMPY[name]}({', '.join(text for text, _ in texts)})", _CLOSED
        if len(texts) == 1:
            return f"{_SIGNS[name]}{_held(texts[0], _UNARY + 1)}", _UNARY
        if not step.kernel.gives_bools:
            texts = [_as_number(each, text, loop) for each, text in zip(step.operands, texts, strict=True)]
        return _infix(_SIGNS[name], *texts)
    if isinstance(operand, Literal):
        return f"T({operand.value!r})", _CLOSED
    if operand in loop.tensors:
        assert isinstance(operand, Variable)
        element = f"{_name(operand)}[i]"
        return (element, _CLOSED) if operand.type != MASK else (f"{element} != T(0)", _PRECEDENCE["!="])
    return f"n{numbers[operand]}", _CLOSED


def _as_number(operand: Operand, text: _Text, loop: Loop) -> _Text:
    """An element as a number."""
    is_mask = loop.steps[operand.step].kernel.gives_bools if isinstance(operand, StepResult) else operand.type == MASK
    return (f"static_cast<T>({text[0]})", _CLOSED) if is_mask else text


def _infix(sign: str, left: _Text, right: _Text) -> _Text:
    tight = _PRECEDENCE[sign]
    return f"{_held(left, tight)} {sign} {_held(right, tight + 1)}", tight


def _held(text: _Text, tight: int) -> str:
    """In brackets where its sign binds less tight."""
    return text[0] if text[1] >= tight else f"({text[0]})"
