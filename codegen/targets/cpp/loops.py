"""The tables of formulas that run as one loop, as generated C++ has them."""

from __future__ import annotations

from dataclasses import dataclass, field

from codegen.targets.cpp.fusion import FusedFormula
from codegen.targets.cpp.needs import Needs

FORMULAS = "formulas"


@dataclass(frozen=True, slots=True)
class LoopTable:
    """The table of one formula: its name and its definition."""

    name: str
    definition: str


@dataclass
class Loops:
    """Collects them for one function.

    Attributes:
        stem: what their names begin with.
        needs: collects the functors.
        tables: those that the function calls.
    """

    stem: str
    needs: Needs
    tables: list[LoopTable] = field(default_factory=list)

    def add(self, formula: FusedFormula) -> str:
        """Write the table of a formula; the result is its name."""
        count = len(self.tables) + 1
        name = self.stem if count == 1 else f"{self.stem}_{count}"
        parts = []
        for step in formula.steps:
            slots = ", ".join(map(str, (step.result, *step.operands)))
            functor = self.needs.part(step.kernels, step.kernel, len(step.operands))
            parts.append(f"Part<{functor}, {slots}>")
        arguments = ", ".join([str(len(formula.tensors)), str(len(formula.numbers)), *parts])
        self.tables.append(LoopTable(name, f"extern const FormulaTable {name} = formula_table<{arguments}>;"))
        return f"{FORMULAS}::{name}"
