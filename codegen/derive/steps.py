"""A derivation as it is done by hand: an expression in steps, and what backward does at each of them.

Source: A. Griewank, A. Walther, "Evaluating Derivatives", 2nd ed., SIAM 2008, chapter 3: the evaluation procedure and
its incremental reverse mode.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, replace

from codegen.bind.call_targets import OperatorTable
from codegen.bind.elementwise import ResolvedElementwise
from codegen.bind.entries import ResolvedEntry
from codegen.derive.identities import Identities
from codegen.derive.slopes import Slopes
from codegen.derive.wording import Wording
from codegen.formula.printer import print_formula
from codegen.formula.structure import structure
from codegen.formula.typed import (
    TENSOR,
    Conditional,
    OperatorCall,
    TypedExpr,
    Variable,
    VariableKind,
    rewrite,
    rewrite_parts,
    variables,
)

RESULT, GRADIENT = "result", "grad"


@dataclass(frozen=True, slots=True)
class Step:
    """`name = text`; of a gradient that has been begun before, `name += text`."""

    name: str
    text: str
    adds: bool = False

    def __str__(self) -> str:
        return f"{self.name} {'+=' if self.adds else '='} {self.text}"


@dataclass(frozen=True, slots=True)
class Steps:
    """The steps of an expression, in the order in which they are computed, and those of its gradients."""

    forward: Sequence[Step]
    backward: Sequence[Step]


def steps_of(
    known: ResolvedElementwise,
    entries: Callable[[str], ResolvedEntry | None],
    table: OperatorTable,
    real: bool,
) -> Steps:
    """Take an expression apart.

    Args:
        known: the expression.
        entries: the derivatives of operators, by their names.
        table: of all operators.
        real: whether it takes real numbers alone, which are their own conjugates.

    Raises:
        UnderivableError: a rule is missing.
        UnwritableError: formulas do not write a part of it.
    """
    words = Wording(table, False, known.function.schema)
    identities = Identities(table)
    parts = _named_parts(known.tree)
    forward = [Step(name, print_formula(words.written(part))) for name, part in parts]
    backward: list[Step] = []
    begun: set[str] = set()
    for name, part in reversed(parts):
        slopes = Slopes(part, entries, table, identities, real)
        seed = Variable(TENSOR, 0, 0, VariableKind.GRAD, GRADIENT if name == RESULT else f"{GRADIENT}_{name}", 0)
        for operand in _tensors_in(part):
            gradient = slopes.through({operand: seed})
            if gradient is not None:
                target = f"{GRADIENT}_{operand}"
                backward.append(
                    Step(target, print_formula(words.written(_with_result(gradient, name))), target in begun)
                )
                begun.add(target)
    return Steps(forward, backward)


def _named_parts(tree: TypedExpr) -> list[tuple[str, TypedExpr]]:
    """The calls in an expression, inner ones first and each once, with names in the place of those in them."""
    names: dict[Hashable, str] = {}
    parts: list[tuple[str, TypedExpr]] = []

    def name(part: TypedExpr) -> TypedExpr:
        if not _is_step(part):
            return rewrite_parts(part, name)
        key = structure(part)
        if key not in names:
            inner = rewrite_parts(part, name)
            names[key] = RESULT if part is tree else f"t{len(parts) + 1}"
            parts.append((names[key], inner))
        return Variable(TENSOR, part.start, part.end, VariableKind.INPUT, names[key])

    name(tree)
    return parts


def _is_step(part: TypedExpr) -> bool:
    return isinstance(part, OperatorCall | Conditional) and part.type == TENSOR


def _tensors_in(part: TypedExpr) -> Iterator[str]:
    """The Tensors that a step reads, each once."""
    return iter(dict.fromkeys(each.name for each in variables(part) if each.type == TENSOR))


def _with_result(gradient: TypedExpr, name: str) -> TypedExpr:
    """The name of a step in the place of its result."""

    def change(part: TypedExpr) -> TypedExpr | None:
        if isinstance(part, Variable) and part.kind is VariableKind.OUTPUT:
            return replace(part, name=name)
        return None

    return rewrite(gradient, change)
