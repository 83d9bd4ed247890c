"""The tables of formulas that run as one loop, as generated C++ has them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from codegen.formula.typed import TypedExpr
from codegen.plan.loops import LoopPart
from codegen.plan.native_kernels import Native
from codegen.targets.cpp.needs import Needs

FORMULAS = "formulas"


@dataclass(frozen=True, slots=True)
class LoopTable:
    """The table of one formula: its name and its definition."""

    name: str
    definition: str


@dataclass
class Loops:
    """The parts of a function's formula that are loops, and their tables.

    Attributes:
        stem: what the names of tables begin with.
        needs: collects the functors.
        kernels: those that the loops are made of.
        parts: of the formula.
        turns: the variable of the loops that take turns.
        has_edge: the test whether the Node has an edge.
        tables: those that the function calls.
    """

    stem: str
    needs: Needs
    kernels: Native
    parts: Sequence[LoopPart]
    turns: str = ""
    has_edge: Callable[[int], str] = str
    tables: list[LoopTable] = field(default_factory=list)

    def find(self, part: TypedExpr) -> LoopPart | None:
        """The loop that a part of the formula is."""
        return next((each for each in self.parts if each.part is part), None)

    def add(self, part: LoopPart) -> str:
        """Write the table of a loop; the result is its name."""
        count = len(self.tables) + 1
        name = self.stem if count == 1 else f"{self.stem}_{count}"
        loop, steps = part.loop.loop, []
        for number, step in enumerate(loop.steps):
            slots = ", ".join(map(str, part.loop.places(number)))
            steps.append(f"Part<{self.needs.part(self.kernels, step)}, {slots}>")
        arguments = ", ".join([str(len(loop.tensors)), str(len(loop.numbers)), *steps])
        self.tables.append(LoopTable(name, f"extern const FormulaTable {name} = formula_table<{arguments}>;"))
        return f"{FORMULAS}::{name}"

    def settings(self, part: LoopPart) -> list[str]:
        """What a loop is called with before its operands: the others that it takes turns with, and what it may take."""
        slot = "-1"
        if part.donated is not None:
            slot = str(part.donated.slot)
            asked = " || ".join(map(self.has_edge, part.donated.unless))
            slot = f"{asked} ? -1 : {slot}" if asked else slot
        return [self.turns, slot] if part.takes_turns else [slot]
