"""Loops over elements, in no target's language: what expressions over elements, formulas that run as one loop, and the
update rules of optimizers become.

A loop reads Tensors, which are broadcast to one shape, and numbers. Each of its steps is a kernel on elements of these,
or on what earlier steps made; the last one makes the result.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import Enum

from codegen.formula.typed import FLOAT, INT, SCALAR, TypedExpr, Variable
from codegen.python_source import PythonFunction

# What an operand of a loop may be besides a Tensor.
NUMBERS = frozenset((INT, FLOAT, SCALAR))


@dataclass(frozen=True, slots=True)
class StepResult:
    """What an earlier step made, by its number."""

    step: int


Operand = StepResult | TypedExpr  # an expression is a Tensor that the loop reads, or a number


class Form(Enum):
    """What a kernel computes at once."""

    ELEMENT = "an element"
    CHOICE = "an element, of bools or to a bool, which are numbers between two kernels"
    BLOCK = "a block of elements, which stays in the cache"


@dataclass(frozen=True, slots=True)
class Step:
    """A kernel on operands. Of complex Tensors it has the real parts alone where `of_reals` says so."""

    kernel: PythonFunction
    operands: tuple[Operand, ...]
    form: Form = Form.BLOCK
    of_reals: bool = False


@dataclass(frozen=True, slots=True)
class Loop:
    """Steps over the elements of Tensors, and numbers."""

    tensors: tuple[Variable, ...]
    numbers: tuple[TypedExpr, ...]
    steps: tuple[Step, ...]

    @property
    def result(self) -> Operand:
        """What the last step makes, or the Tensor that is there already."""
        return StepResult(len(self.steps) - 1) if self.steps else self.tensors[0]

    def needed(self, operand: Operand, known: frozenset[int] = frozenset()) -> tuple[int, ...]:
        """The steps that an operand is made by, in their order, as far as they are not known."""
        numbers: set[int] = set()
        pending = [operand]
        while pending:
            part = pending.pop()
            if isinstance(part, StepResult) and part.step not in known and part.step not in numbers:
                numbers.add(part.step)
                pending += self.steps[part.step].operands
        return tuple(sorted(numbers))


# -- loops of kernels


class ElementDomain(Enum):
    """The numbers that the loop of a kernel is for."""

    REAL = "real ones"
    COMPLEX = "complex ones"
    ANY = "both"


@dataclass(frozen=True, slots=True)
class KernelLoop:
    """The loop that is a kernel.

    Attributes:
        name: of the kernel; the ways of one are numbered.
        loop: its steps; none where it is written by hand.
        elements: the numbers that it is for.
        written: the expression as it is written.
        of_complex: another one of the same operands for complex numbers, where that is needed, and can be computed.
    """

    name: str
    loop: Loop
    elements: ElementDomain = ElementDomain.REAL
    written: str = ""
    of_complex: KernelLoop | None = None

    @property
    def is_by_hand(self) -> bool:
        return not self.loop.steps

    @property
    def parameters(self) -> tuple[str, ...]:
        """What it reads of the operator: Tensors, and numbers behind them."""
        return tuple(each.name for each in (*self.loop.tensors, *self.loop.numbers) if isinstance(each, Variable))


@dataclass(frozen=True, slots=True)
class LoopChoice:
    """Two loops, between which a number chooses; None where there is none."""

    test: TypedExpr
    then: KernelLoops | None
    orelse: KernelLoops | None


KernelLoops = KernelLoop | LoopChoice


def of_reals(loops: KernelLoops | None) -> KernelLoops | None:
    """The same loops without those of complex numbers alone."""
    if isinstance(loops, LoopChoice):
        return replace(loops, then=of_reals(loops.then), orelse=of_reals(loops.orelse))
    return None if loops is None else replace(loops, of_complex=None)


def loops_in(loops: KernelLoops | None) -> Iterator[KernelLoop]:
    """The loops of all ways."""
    if isinstance(loops, KernelLoop):
        yield loops
    elif loops is not None:
        yield from loops_in(loops.then)
        yield from loops_in(loops.orelse)


# -- formulas that run as one loop


@dataclass(frozen=True, slots=True)
class FusedLoop:
    """A formula as one loop of kernels on blocks.

    `slots` has for each step where its result lies: behind the Tensors and the numbers there are temporaries, each of
    which is used again after its last read.
    """

    loop: Loop
    slots: tuple[int, ...]

    def places(self, step: int) -> tuple[int, ...]:
        """The slots of the result of a step, and of its operands."""
        known = (*self.loop.tensors, *self.loop.numbers)

        def slot(operand: Operand) -> int:
            if isinstance(operand, StepResult):
                return self.slots[operand.step]
            return next(index for index, each in enumerate(known) if each is operand)

        return (self.slots[step], *map(slot, self.loop.steps[step].operands))


@dataclass(frozen=True, slots=True)
class Donation:
    """A Tensor whose memory a loop may take, by its slot, unless a Node has one of these edges."""

    slot: int
    unless: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class LoopPart:
    """A part of a formula that runs as one loop; `takes_turns`: with other loops of the Node, block by block."""

    part: TypedExpr
    loop: FusedLoop
    donated: Donation | None = None
    takes_turns: bool = False
