"""The tables of formulas that run as one loop, as generated C++ has them."""

from __future__ import annotations

from dataclasses import dataclass, field

from codegen.targets.cpp.fusion import FusedFormula
from codegen.targets.cpp.headers import KERNELS
from codegen.targets.cpp.needs import Needs


@dataclass
class Loops:
    """Collects them for one function.

    Attributes:
        stem: what their names begin with.
        needs: collects the functors.
        lines: the tables, which stand before the function.
        count: how many there are.
    """

    stem: str
    needs: Needs
    lines: list[str] = field(default_factory=list)
    count: int = 0

    def add(self, formula: FusedFormula) -> str:
        """Write the table of a formula; the result is its name."""
        self.count += 1
        name = self.stem if self.count == 1 else f"{self.stem}_{self.count}"
        parts = []
        for step in formula.steps:
            slots = ", ".join(map(str, (step.result, *step.operands)))
            functor = self.needs.native(step.kernels, KERNELS, step.kernel, len(step.operands))
            parts.append(f"    Part<struct {functor}, {slots}>")
        self.lines += [f"using {name} = Formula<", *(f"{part}," for part in parts[:-1]), f"{parts[-1]}>;"]
        return name
