"""Plans of optimizers' update rules: what is computed once for a step, and what block by block on elements.

A rule is carried out twice with the same statements. First without arrays: its numbers are computed as Python does,
those that meet arrays are kept, and so is which side of each condition is taken. Then, for each block of elements, with
loops: one for each statement, whose result goes into memory of its own, or where the array itself lies.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from codegen.bind.update_rules import (
    OF_ELEMENTS,
    Assign,
    Condition,
    Given,
    If,
    Option,
    Return,
    Statement,
    UpdateRule,
    variable,
)
from codegen.formula.typed import TENSOR, Intrinsic, Literal, TypedExpr, Variable, walk
from codegen.plan.loops import Form, Loop, Operand, Step, StepResult
from codegen.python_source import numpy_function


@dataclass(frozen=True, slots=True)
class SetNumber:
    """A number, or what is true or false; of the first time alone."""

    target: Variable
    value: TypedExpr


@dataclass(frozen=True, slots=True)
class Fill:
    """A loop whose result goes where the array of number `array` lies, or into the block of number `block`.

    That is what `target` means from then on. `kept` are the numbers that are to be kept for it, with their places.
    """

    target: Variable | None
    array: int | None
    block: int | None
    loop: Loop
    kept: tuple[tuple[int, TypedExpr], ...]


@dataclass(frozen=True, slots=True)
class Point:
    """Another name of what is there."""

    target: Variable
    source: Variable


@dataclass(frozen=True, slots=True)
class Copy:
    """Elements into an array, after all loops."""

    array: int
    source: Variable


@dataclass(frozen=True, slots=True)
class Branch:
    """A condition; `way` is the place where the first time keeps it, None where it is known at any time."""

    way: int | None
    condition: Condition
    then: tuple[Action, ...]
    otherwise: tuple[Action, ...]


Action: TypeAlias = SetNumber | Fill | Point | Copy | Branch


@dataclass(frozen=True, slots=True)
class OptimizerPlan:
    """A rule.

    `in_place` are the arrays that loops change where they lie, `numbers` gives each number that meets arrays its place,
    `locals` are the variables that are no arrays of the step and no options.
    """

    name: str
    arrays: tuple[Variable, ...]
    optional: frozenset[int]
    options: tuple[Option, ...]
    in_place: frozenset[int]
    numbers: Mapping[TypedExpr, int]
    ways: int
    blocks: int
    locals: tuple[Variable, ...]
    body: tuple[Action, ...]


def plan_optimizer(rule: UpdateRule) -> OptimizerPlan:
    """The plan of a rule."""
    return _Planner(rule).plan()


def actions_in(steps: Sequence[Action]) -> Iterator[Action]:
    """All steps, those of both sides of conditions included."""
    for step in steps:
        yield step
        if isinstance(step, Branch):
            yield from actions_in((*step.then, *step.otherwise))


@dataclass(frozen=True, slots=True)
class _Way:
    """What is known on a way through a rule: the places of numbers that are kept, and which arrays variables may be."""

    kept: set[int]
    origins: dict[Variable, frozenset[int]]

    def copy(self) -> _Way:
        return _Way(set(self.kept), dict(self.origins))

    def meet(self, one: _Way, other: _Way) -> None:
        """Go on where two ways meet that have come from here."""
        self.kept.update(one.kept & other.kept)
        for each in one.origins.keys() | other.origins.keys():
            self.origins[each] = one.origins.get(each, frozenset()) | other.origins.get(each, frozenset())


class _Planner:
    def __init__(self, rule: UpdateRule) -> None:
        self._rule = rule
        self._numbers: dict[TypedExpr, int] = {}
        self._ways = 0
        self._blocks = 0
        self._results: list[Variable] = []
        every = [*_statements(rule.body)]
        self._returns = [each for each in every if isinstance(each, Return)]
        self._assigns = [each for each in every if isinstance(each, Assign)]
        self._in_place = {
            variable: number for number, variable in enumerate(rule.arrays) if number and self._stays(number, variable)
        }

    def plan(self) -> OptimizerPlan:
        rule = self._rule
        origins = {variable: frozenset((number,)) for number, variable in enumerate(rule.arrays)}
        body = self._steps(rule.body, _Way(set(), origins))
        known = {*rule.arrays, *(option.variable for option in rule.options)}
        own = dict.fromkeys(each.target for each in self._assigns if each.target not in known)
        return OptimizerPlan(
            rule.name, rule.arrays, rule.optional, rule.options, frozenset(self._in_place.values()), self._numbers,
            self._ways, self._blocks, (*own, *self._results), body,
        )  # fmt: skip

    def _stays(self, number: int, variable: Variable) -> bool:
        """Whether a variable always means the array's own memory, and loops may change it there.

        It must not have another name, for which the old elements may be wanted, nor be another name itself.
        """
        if any(variable in (each.value, each.target) for each in self._assigns if isinstance(each.value, Variable)):
            return False
        for end in self._returns:
            value = end.values[number - 1]
            if isinstance(value, Variable) and value != variable:
                return False
            others = [each for index, each in enumerate(end.values) if index != number - 1]
            if variable in others:
                return False
            later = end.values[number:]
            if value != variable and any(variable in walk(each) for each in later if each is not None):
                return False
        return True

    def _steps(self, statements: Sequence[Statement], way: _Way) -> tuple[Action, ...]:
        """The steps of one way, which is followed to their end."""
        steps: list[Action] = []
        for statement in statements:
            match statement:
                case Assign(target=target, value=value) if target.type not in OF_ELEMENTS:
                    steps.append(SetNumber(target, value))
                case Assign(target=target, value=Variable() as source):
                    steps.append(Point(target, source))
                    way.origins[target] = way.origins.get(source, frozenset())
                case Assign(target=target, value=value):
                    steps.append(self._loop(target, self._in_place.get(target), value, way))
                case If(condition=condition, then=then, otherwise=otherwise):
                    place = None
                    if not isinstance(condition, Given):
                        place, self._ways = self._ways, self._ways + 1
                    sides = way.copy(), way.copy()
                    branches = self._steps(then, sides[0]), self._steps(otherwise, sides[1])
                    steps.append(Branch(place, condition, *branches))
                    way.meet(*sides)
                case Return(values=values):
                    steps += self._end(values, way)
        return tuple(steps)

    def _loop(self, target: Variable | None, array: int | None, value: TypedExpr, way: _Way) -> Fill:
        """A loop into an array, or into a new block."""
        block = None
        if array is None:
            block, self._blocks = self._blocks, self._blocks + 1
            if target is not None:
                way.origins[target] = frozenset()
        loop = loop_of(value)
        # Numbers are set once, so what is made of them is the same wherever it is wanted.
        places = {self._numbers.setdefault(each, len(self._numbers)): each for each in loop.numbers}
        new = tuple((place, number) for place, number in places.items() if place not in way.kept)
        way.kept.update(places)
        return Fill(target, array, block, loop, new)

    def _end(self, values: Sequence[TypedExpr | None], way: _Way) -> Iterator[Action]:
        """What brings results to where they belong: loops, and then copies."""
        copies = []
        for number, value in enumerate(values, 1):
            variable = self._rule.arrays[number]
            if value is None or (value == variable and variable in self._in_place):
                continue
            if variable in self._in_place:
                yield self._loop(None, number, value, way)
            elif isinstance(value, Variable):
                copies.append((number, value))
            else:
                copies.append((number, self._result_of(variable)))
                yield self._loop(copies[-1][1], None, value, way)
        written = {number for number, _ in copies}
        for index, (number, source) in enumerate(copies):
            # What lies where another result goes is saved before.
            if way.origins.get(source, frozenset()) & (written - {number}):
                result = self._result_of(self._rule.arrays[number])
                copies[index] = number, result
                loop = self._loop(result, None, source, way)
                yield Branch(None, Given(number, True), (loop,), ()) if number in self._rule.optional else loop
        yield from (Copy(number, source) for number, source in copies)

    def _result_of(self, array: Variable) -> Variable:
        """A new variable for what an array is to become."""
        taken = {each.name for each in (*self._rule.arrays, *(option.variable for option in self._rule.options))}
        taken |= {each.name for each in (*(assign.target for assign in self._assigns), *self._results)}
        name = f"{array.name}_after"
        while name in taken:
            name += "_"
        self._results.append(variable(name, TENSOR))
        return self._results[-1]


def loop_of(value: TypedExpr) -> Loop:
    """The loop that computes a value for each element; of the numbers in it each is as large as it can be."""
    tensors: dict[Variable, None] = {}
    numbers: dict[TypedExpr, None] = {}
    steps: list[Step] = []

    def operand(part: TypedExpr) -> Operand:
        if isinstance(part, Variable) and part.type in OF_ELEMENTS:
            tensors[part] = None
        elif isinstance(part, Intrinsic):
            operands = tuple(map(operand, part.args))
            steps.append(Step(numpy_function(part.name), operands, Form.ELEMENT))
            return StepResult(len(steps) - 1)
        elif not isinstance(part, Literal):
            numbers[part] = None
        return part

    operand(value)
    return Loop(tuple(tensors), tuple(numbers), tuple(steps))


def _statements(statements: Sequence[Statement]) -> Iterator[Statement]:
    for statement in statements:
        yield statement
        if isinstance(statement, If):
            yield from _statements((*statement.then, *statement.otherwise))
