"""Each Tensor argument has a formula or says that it has none, and nothing else has one."""

from __future__ import annotations

from codegen.bind.entries import ResolvedEntry
from codegen.codes import Code
from codegen.formula.typed import formula_type, is_tensor_like
from codegen.read.model import FormulaKind
from codegen.rules.checked import Checked
from codegen.source import Diagnostics


def check_composite(entry: ResolvedEntry, checked: Checked, diagnostics: Diagnostics) -> None:
    """A CompositeImplicitAutograd operator is traced through: a formula for it would never be used."""
    if entry.function.is_composite_implicit and not entry.entry.dispatch:
        diagnostics.error(
            Code.TRACED_THROUGH,
            entry.entry.text.span(0, entry.entry.schema.name_end or 1),
            f"'{entry.function.name}' is CompositeImplicitAutograd: its derivative follows from what it calls",
            hint="remove this entry, or give the operator a kernel or CompositeExplicitAutograd",
            notes=((entry.function.text.span(), "declared here"),),
        )


def check_names(entry: ResolvedEntry, checked: Checked, diagnostics: Diagnostics) -> None:
    """Only Tensors have formulas."""
    types = {argument.name: formula_type(argument.type) for argument in entry.function.schema.arguments}
    for formula in entry.backward:
        for name in formula.source.names:
            type = types[str(name)]
            if formula.kind is not FormulaKind.NON_DIFFERENTIABLE and not is_tensor_like(type):
                diagnostics.error(
                    Code.NOT_A_TENSOR,
                    name.span(),
                    f"a formula for '{name}' of '{entry.function.name}', which is {type}: only Tensors have gradients",
                    hint="remove it",
                )


def check_coverage(entry: ResolvedEntry, checked: Checked, diagnostics: Diagnostics) -> None:
    """Every Tensor argument has a formula, or says that it has none."""
    if not entry.differentiable_outputs:
        return
    covered = {name for formula in entry.backward for name in formula.names}
    for argument in entry.function.schema.arguments:
        if argument.name not in covered and is_tensor_like(formula_type(argument.type)):
            diagnostics.error(
                Code.NO_FORMULA,
                entry.entry.text.span(argument.start, argument.end),
                f"no formula for '{argument.name}' of '{entry.function.name}'",
                hint=f"add '{argument.name}: <formula>', '{argument.name}: non_differentiable' or "
                f"'{argument.name}: not_implemented(\"...\")'",
            )
