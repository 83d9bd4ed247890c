"""What derivative entries say by themselves, before anything is concluded from their formulas."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from functools import cache, partial

from codegen.bind.entries import ResolvedEntry, ResolvedFormula
from codegen.formula.typed import SCALAR, formula_type, is_tensor_like, variables
from codegen.read.model import FormulaKind
from codegen.rules.linear.degree import Degree
from codegen.schema.types import OptionalType


class EntryFacts:
    """What the entries of one run say, by the name of their operator.

    Attributes:
        entries: the entries.
        is_differentiable: whether an operator of a name is differentiable in an argument.
        formulas: the formulas of an operator by argument, with the place of the argument among the formula's names.
        mentioned: the arguments that formulas of an operator name.
    """

    def __init__(self, entries: Mapping[str, ResolvedEntry]) -> None:
        self.entries = entries
        # Each answer is found once, and kept as long as these entries are.
        self.is_differentiable: Callable[[str], bool] = cache(partial(_is_differentiable, entries))
        self.formulas: Callable[[str], Mapping[str, tuple[ResolvedFormula, int]]] = cache(partial(_formulas, entries))
        self.mentioned: Callable[[str], frozenset[str]] = cache(partial(_mentioned, entries))

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


def _is_differentiable(entries: Mapping[str, ResolvedEntry], name: str) -> bool:
    # One by one: beside a base, most of its entries are never asked for, and none is bound before it is.
    formulas = entries[name].backward if name in entries else ()
    return any(formula.kind is not FormulaKind.NON_DIFFERENTIABLE for formula in formulas)


def _formulas(entries: Mapping[str, ResolvedEntry], name: str) -> Mapping[str, tuple[ResolvedFormula, int]]:
    entry = entries[name]
    tensors = {a.name for a in entry.function.schema.arguments if is_tensor_like(formula_type(a.type))}
    formulas: dict[str, tuple[ResolvedFormula, int]] = {}
    for formula in entry.backward:
        if formula.kind is not FormulaKind.NON_DIFFERENTIABLE:
            formulas |= {n: (formula, place) for place, n in enumerate(formula.names) if n in tensors}
    return formulas


def _mentioned(entries: Mapping[str, ResolvedEntry], name: str) -> frozenset[str]:
    trees = (formula.tree for formula in entries[name].backward if formula.tree is not None)
    return frozenset(part.name for tree in trees for part in variables(tree))
