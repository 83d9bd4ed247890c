"""What can be said against formulas that work: a report on somebody's derivatives.yaml.

The rules of `codegen.rules.operators` are errors in the project's own YAML. Of foreign YAML they are findings, and
there are more that are no mistakes at all, but cost memory or a derivative.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from codegen.bind.call_targets import OperatorTable
from codegen.bind.entries import ResolvedEntry, ResolvedFormula
from codegen.formula.needs import saved_names
from codegen.formula.typed import (
    Conditional,
    Intrinsic,
    Literal,
    OperatorCall,
    TypedExpr,
    Variable,
    VariableKind,
    children,
    is_tensor_like,
    plain_type,
    walk,
)
from codegen.read.model import FormulaKind
from codegen.rules import derivatives as check_derivatives
from codegen.rules.linear.formulas import Linearity
from codegen.source import Diagnostic, Diagnostics

Rule = Callable[[ResolvedEntry, Linearity, OperatorTable, Diagnostics], None]


@dataclass(frozen=True, slots=True)
class Section:
    """The findings of one rule."""

    title: str
    meaning: str
    findings: Sequence[Diagnostic]


def judge(entries: Sequence[ResolvedEntry], linear: Linearity, operators: OperatorTable) -> tuple[Section, ...]:
    """The findings of all rules on `entries`; `linear` knows all that there are."""
    sections = []
    for title, meaning, rule in _RULES:
        found = Diagnostics()
        for entry in entries:
            rule(entry, linear, operators, found)
        sections.append(Section(title, meaning, found.sorted()))
    return tuple(sections)


def _not_linear(entry: ResolvedEntry, linear: Linearity, operators: OperatorTable, found: Diagnostics) -> None:
    check_derivatives.check_linear(entry, linear, found)


def _not_automatic(entry: ResolvedEntry, linear: Linearity, operators: OperatorTable, found: Diagnostics) -> None:
    check_derivatives.check_automatic(entry, linear, found)


def _tangent_forgotten(entry: ResolvedEntry, linear: Linearity, operators: OperatorTable, found: Diagnostics) -> None:
    check_derivatives.check_tangents(entry, linear, found)


def _indices(entry: ResolvedEntry, linear: Linearity, operators: OperatorTable, found: Diagnostics) -> None:
    check_derivatives.check_differentiable_outputs(entry, linear, found)


def _not_covered(entry: ResolvedEntry, linear: Linearity, operators: OperatorTable, found: Diagnostics) -> None:
    check_derivatives.check_coverage(entry, found)


def _never_used(entry: ResolvedEntry, linear: Linearity, operators: OperatorTable, found: Diagnostics) -> None:
    check_derivatives.check_composite(entry, found)


def _unreachable(entry: ResolvedEntry, linear: Linearity, operators: OperatorTable, found: Diagnostics) -> None:
    """Branches that no run comes to."""
    single = len(entry.differentiable_outputs) == 1
    for formula, tree in _trees(entry):
        for part in walk(tree):
            if not isinstance(part, Conditional):
                continue
            text = formula.source.text
            if isinstance(part.test, Literal) and isinstance(part.test.value, bool):
                side = part.orelse if part.test.value else part.then
                found.error(text.span(side.start, side.end), "this branch of '?:' is never taken: its test is constant")
            elif single and _asks_for_the_gradient(part.test):
                found.error(
                    text.span(part.orelse.start, part.orelse.end),
                    f"this branch is never taken: '{entry.function.name}' has one differentiable output, and its Node "
                    "only runs when that has a gradient",
                )


def _asks_for_the_gradient(test: TypedExpr) -> bool:
    return (
        isinstance(test, Intrinsic)
        and test.name == "defined"
        and isinstance(test.args[0], Variable)
        and test.args[0].kind is VariableKind.GRAD
    )


# What PyTorch's generator replaces by saved metadata before it looks which names a formula mentions.
_REPLACED = (
    r"{}(?:\.|->)sym_sizes\(\)", r"{}\.sym_blocksize\(\)", r"{}\.options\(\)", r"zeros_like\({}\)",
    r"{}\.sym_size\(-?\w+\)", r"{}\.numel\(\)", r"{}\.sym_numel\(\)", r"to_args_sizes(?:_symint)?\({}\)",
    r"to_args_scalartypes\({}\)", r"TensorGeometry\({}\)", r"{}\.scalar_type\(\)", r"{}\.dim\(\)",
    r"{}\.sym_strides\(\)", r"{}\.layout\(\)", r"{}\.is_conj\(\)",
)  # fmt: skip


def _saved_in_vain(entry: ResolvedEntry, linear: Linearity, operators: OperatorTable, found: Diagnostics) -> None:
    """Tensors that a formula names, and of which it needs no value."""
    needed = saved_names([tree for _, tree in _trees(entry)])
    for argument in entry.function.schema.arguments:
        if argument.name in needed or not is_tensor_like(plain_type(argument.type)):
            continue
        for formula, _ in _trees(entry):
            text = formula.source.text.value
            for pattern in _REPLACED:
                text = re.sub(pattern.format(rf"\b{argument.name}"), lambda match: " " * len(match.group()), text)
            place = re.search(rf"\b{argument.name}\b", text)
            if place is not None:
                found.error(
                    formula.source.text.span(place.start(), place.end()),
                    f"a generator that goes by names saves all of '{argument.name}' for '{entry.function.name}'; "
                    "no gradient needs its values",
                )
                break


def _history_lost(entry: ResolvedEntry, linear: Linearity, operators: OperatorTable, found: Diagnostics) -> None:
    """Backward formulas that call what has no derivative: there is no second one."""
    for formula, tree in _trees(entry):
        for call in _linear_calls(tree):
            function = operators.functions.get(str(call.schema.name))
            known = linear.entries.get(str(call.schema.name))
            if function is None or function.is_composite_implicit or function.schema.name.is_inplace:
                continue
            if known is None and any(is_tensor_like(plain_type(value.type)) for value in call.schema.returns):
                found.error(
                    formula.source.text.span(call.start, call.end),
                    f"'{call.schema.name}' has no derivative: '{entry.function.name}' has no second one",
                )
            elif known is not None:
                for missing in _not_implemented(known, call):
                    found.error(
                        formula.source.text.span(call.start, call.end),
                        f"the derivative of '{call.schema.name}' in '{missing}' is not implemented: "
                        f"'{entry.function.name}' has no second one",
                    )


def _not_implemented(known: ResolvedEntry, call: OperatorCall) -> Iterator[str]:
    for formula in known.backward:
        if formula.kind is FormulaKind.NOT_IMPLEMENTED:
            for name, value in call.args:
                if name in formula.names and _depends_on_gradient(value):
                    yield name


def _linear_calls(tree: TypedExpr) -> Iterator[OperatorCall]:
    if isinstance(tree, Conditional) and any(
        isinstance(part, Intrinsic) and part.name == "grad_enabled" for part in walk(tree.test)
    ):
        yield from _linear_calls(tree.then)  # the other side is for a backward pass that nobody records
        return
    if isinstance(tree, OperatorCall) and any(_depends_on_gradient(value) for _, value in tree.args):
        yield tree
    for child in children(tree):
        yield from _linear_calls(child)


def _depends_on_gradient(expr: TypedExpr) -> bool:
    if isinstance(expr, Variable):
        return expr.kind in (VariableKind.GRAD, VariableKind.GRADS)
    if isinstance(expr, Intrinsic):
        return False
    return any(_depends_on_gradient(child) for child in children(expr))


def _trees(entry: ResolvedEntry) -> Iterator[tuple[ResolvedFormula, TypedExpr]]:
    for formula in entry.backward:
        if formula.tree is not None:
            yield formula, formula.tree


_RULES: tuple[tuple[str, str, Rule], ...] = (
    (
        "Formulas that are not linear",
        "A backward formula is a linear map of the gradient, a forward formula of the tangents. Some of these are "
        "right all the same, by an argument that the rule does not see.",
        _not_linear,
    ),
    (
        "Automatic forward formulas in doubt",
        "`auto_linear` at an operator whose own formulas say that it is not linear, `auto_element_wise` at one that is "
        "not tagged `pointwise` or has several differentiable inputs. Some of these are right all the same: the tag is "
        "missing, or what the formulas depend on is only the shape of a Tensor.",
        _not_automatic,
    ),
    (
        "Tangents that are forgotten",
        "The forward formulas use the tangents of some inputs, and not that of one in which the gradient is not zero.",
        _tangent_forgotten,
    ),
    (
        "Results that can not be differentiable",
        "A result that counts as differentiable, and that the formulas take for an index.",
        _indices,
    ),
    (
        "Inputs without a word",
        "A Tensor argument that has neither a formula nor `non_differentiable` nor `not_implemented`: nobody can tell "
        "whether its derivative is zero or was forgotten.",
        _not_covered,
    ),
    (
        "Formulas that are never used",
        "A CompositeImplicitAutograd operator is traced through: where no backend has a kernel of its own for it "
        "(nested Tensors sometimes do), its formulas are dead text.",
        _never_used,
    ),
    (
        "Branches that are never taken",
        "One side of a `?:` that no run can come to.",
        _unreachable,
    ),
    (
        "Saved state that no gradient needs",
        "A Tensor is kept alive until the backward pass although only its shape or dtype is used, or because its name "
        "is also the name of a function.",
        _saved_in_vain,
    ),
    (
        "History lost in double backward",
        "The formula calls an operator that has no derivative itself, so a second derivative ends there with an error "
        "or, where the call is detached, without one.",
        _history_lost,
    ),
)
