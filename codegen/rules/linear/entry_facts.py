"""What derivative entries say by themselves, before anything is concluded from their formulas."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from collections.abc import Set as AbstractSet

from codegen.bind.entries import ResolvedEntry, ResolvedFormula
from codegen.formula.typed import SCALAR, formula_type, is_tensor_like, variables
from codegen.read.model import FormulaKind
from codegen.rules.linear.degree import Degree
from codegen.schema.types import OptionalType


class EntryFacts:
    """What the entries of one run say, by the name of their operator."""

    def __init__(self, entries: Mapping[str, ResolvedEntry]) -> None:
        self.entries = entries

    @functools.cache  # noqa: B019 (both live as long as the run)
    def is_differentiable(self, name: str) -> bool:
        """Whether an operator is differentiable in an argument."""
        # One by one: beside a base, most of its entries are never asked for, and none is bound before it is.
        formulas = self.entries[name].backward if name in self.entries else ()
        return any(formula.kind is not FormulaKind.NON_DIFFERENTIABLE for formula in formulas)

    @functools.cache  # noqa: B019
    def formulas(self, name: str) -> Mapping[str, tuple[ResolvedFormula, int]]:
        """The formulas of an operator by argument, with the place of the argument among the names of the formula."""
        entry = self.entries[name]
        tensors = {a.name for a in entry.function.schema.arguments if is_tensor_like(formula_type(a.type))}
        formulas: dict[str, tuple[ResolvedFormula, int]] = {}
        for formula in entry.backward:
            if formula.kind is not FormulaKind.NON_DIFFERENTIABLE:
                formulas |= {n: (formula, place) for place, n in enumerate(formula.names) if n in tensors}
        return formulas

    def differentiable_arguments(self, name: str) -> AbstractSet[str]:
        """The arguments of an operator that have formulas."""
        return self.formulas(name).keys()

    def added_number(self, entry: ResolvedEntry, degrees: Mapping[str, Degree]) -> str | None:
        """The argument that is a number, is not zero, and that no formula knows: it is added to the rest."""
        for argument in entry.function.schema.arguments:
            type = formula_type(argument.type)
            inner = type.elem if isinstance(type, OptionalType) else type
            if inner != SCALAR or degrees.get(argument.name, Degree.ZERO) is Degree.ZERO:
                continue
            if argument.name not in self.mentioned(str(entry.function.name)):
                return argument.name
        return None

    @functools.cache  # noqa: B019
    def mentioned(self, name: str) -> frozenset[str]:
        """The arguments that formulas of an operator name."""
        trees = (formula.tree for formula in self.entries[name].backward if formula.tree is not None)
        return frozenset(part.name for tree in trees for part in variables(tree))
