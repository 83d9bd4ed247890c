"""Formulas that work, and cost memory or a second derivative, or are never used in part."""

from __future__ import annotations

import re
from collections.abc import Iterator

from codegen.bind.entries import ResolvedEntry, ResolvedFormula
from codegen.codes import Code
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
    formula_type,
    is_tensor_like,
    walk,
)
from codegen.read.model import FormulaKind
from codegen.rules.checked import Checked
from codegen.source import Diagnostics


def find_unreachable(entry: ResolvedEntry, checked: Checked, diagnostics: Diagnostics) -> None:
    """Branches that no run comes to."""
    single = len(entry.differentiable_outputs) == 1
    for formula, tree in _trees(entry):
        for part in walk(tree):
            if not isinstance(part, Conditional):
                continue
            text = formula.source.text
            if isinstance(part.test, Literal) and isinstance(part.test.value, bool):
                side = part.orelse if part.test.value else part.then
                diagnostics.error(
                    Code.UNREACHABLE,
                    text.span(side.start, side.end),
                    "this branch of '?:' is never taken: its test is constant",
                )
            elif single and _asks_for_the_gradient(part.test):
                diagnostics.error(
                    Code.UNREACHABLE,
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


def find_saved_in_vain(entry: ResolvedEntry, checked: Checked, diagnostics: Diagnostics) -> None:
    """Tensors that a formula names, and of which it needs no value."""
    needed = saved_names([tree for _, tree in _trees(entry)])
    for argument in entry.function.schema.arguments:
        if argument.name in needed or not is_tensor_like(formula_type(argument.type)):
            continue
        for formula, _ in _trees(entry):
            text = formula.source.text.value
            for pattern in _REPLACED:
                text = re.sub(pattern.format(rf"\b{argument.name}"), lambda match: " " * len(match.group()), text)
            place = re.search(rf"\b{argument.name}\b", text)
            if place is not None:
                diagnostics.error(
                    Code.SAVED_IN_VAIN,
                    formula.source.text.span(place.start(), place.end()),
                    f"a generator that goes by names saves all of '{argument.name}' for '{entry.function.name}'; "
                    "no gradient needs its values",
                )
                break


def find_lost_history(entry: ResolvedEntry, checked: Checked, diagnostics: Diagnostics) -> None:
    """Backward formulas that call what has no derivative: there is no second one."""
    for formula, tree in _trees(entry):
        for call in _linear_calls(tree):
            function = checked.table.functions.get(str(call.schema.name))
            known = checked.linear.entries.get(str(call.schema.name))
            if function is None or function.is_composite_implicit or function.schema.name.is_inplace:
                continue
            if known is None and any(is_tensor_like(formula_type(value.type)) for value in call.schema.returns):
                diagnostics.error(
                    Code.HISTORY_LOST,
                    formula.source.text.span(call.start, call.end),
                    f"'{call.schema.name}' has no derivative: '{entry.function.name}' has no second one",
                )
            elif known is not None:
                for missing in _not_implemented(known, call):
                    diagnostics.error(
                        Code.HISTORY_LOST,
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
