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
    Assign,
    Constant,
    Expression,
    Given,
    If,
    Kind,
    Option,
    Return,
    Statement,
    UpdateRule,
    Variable,
    operands_of,
    parts_of,
)

_OF_ELEMENTS = frozenset((Kind.ARRAY, Kind.MASK))


@dataclass(frozen=True, slots=True)
class SetNumber:
    """A number, or what is true or false; of the first time alone."""

    target: Variable
    value: Expression


@dataclass(frozen=True, slots=True)
class Loop:
    """A value for each element.

    It goes where the array of number `array` lies, or into the block of number `block`, which `target` means from then
    on. `kept` are the numbers that are to be kept for it, with their places.
    """

    target: Variable | None
    array: int | None
    block: int | None
    value: Expression
    kept: tuple[tuple[int, Expression], ...]


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
    condition: Expression
    then: tuple[Step, ...]
    otherwise: tuple[Step, ...]


Step: TypeAlias = SetNumber | Loop | Point | Copy | Branch


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
    numbers: Mapping[Expression, int]
    ways: int
    blocks: int
    locals: tuple[Variable, ...]
    body: tuple[Step, ...]


def plan_optimizer(rule: UpdateRule) -> OptimizerPlan:
    """The plan of a rule."""
    return _Planner(rule).plan()


def steps_in(steps: Sequence[Step]) -> Iterator[Step]:
    """All steps, those of both sides of conditions included."""
    for step in steps:
        yield step
        if isinstance(step, Branch):
            yield from steps_in((*step.then, *step.otherwise))


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
        for variable in one.origins.keys() | other.origins.keys():
            self.origins[variable] = one.origins.get(variable, frozenset()) | other.origins.get(variable, frozenset())


class _Planner:
    def __init__(self, rule: UpdateRule) -> None:
        self._rule = rule
        self._numbers: dict[Expression, int] = {}
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
            if value != variable and any(variable in parts_of(each) for each in later if each is not None):
                return False
        return True

    def _steps(self, statements: Sequence[Statement], way: _Way) -> tuple[Step, ...]:
        """The steps of one way, which is followed to their end."""
        steps: list[Step] = []
        for statement in statements:
            match statement:
                case Assign(target=target, value=value) if target.kind not in _OF_ELEMENTS:
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

    def _loop(self, target: Variable | None, array: int | None, value: Expression, way: _Way) -> Loop:
        """A loop into an array, or into a new block."""
        block = None
        if array is None:
            block, self._blocks = self._blocks, self._blocks + 1
            if target is not None:
                way.origins[target] = frozenset()
        # Numbers are set once, so what is made of them is the same wherever it is wanted.
        places = {self._numbers.setdefault(each, len(self._numbers)): each for each in numbers_in(value)}
        new = tuple((place, number) for place, number in places.items() if place not in way.kept)
        way.kept.update(places)
        return Loop(target, array, block, value, new)

    def _end(self, values: Sequence[Expression | None], way: _Way) -> Iterator[Step]:
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

    def _result_of(self, variable: Variable) -> Variable:
        """A new variable for what an array is to become."""
        taken = {each.name for each in (*self._rule.arrays, *(option.variable for option in self._rule.options))}
        taken |= {each.name for each in (*(assign.target for assign in self._assigns), *self._results)}
        name = f"{variable.name}_after"
        while name in taken:
            name += "_"
        self._results.append(Variable(name, Kind.ARRAY))
        return self._results[-1]


def numbers_in(expression: Expression) -> Iterator[Expression]:
    """The numbers that elements meet in an expression, without constants; each as large as it can be."""
    if isinstance(expression, Constant):
        return
    if expression.kind not in _OF_ELEMENTS:
        yield expression
        return
    for operand in operands_of(expression):
        yield from numbers_in(operand)


def _statements(statements: Sequence[Statement]) -> Iterator[Statement]:
    for statement in statements:
        yield statement
        if isinstance(statement, If):
            yield from _statements((*statement.then, *statement.otherwise))
