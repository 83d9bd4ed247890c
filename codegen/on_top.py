"""Operators and formulas on top of PyTorch's, as its back ends have them.

An entry for an operator that PyTorch has says which kernels there are besides; its other keys stay PyTorch's. Formulas
for one take the place of PyTorch's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from codegen.codes import Code
from codegen.read.model import DerivativeEntry, NativeFunction
from codegen.source import Diagnostics


def functions_on_top(
    own: Sequence[NativeFunction], base: Sequence[NativeFunction], diagnostics: Diagnostics
) -> tuple[NativeFunction, ...]:
    """The operators of the base, with the kernels that the package has for them, and those of the package."""
    mine = {function.name: function for function in own}
    known = {function.name for function in base}
    together = (_with_kernels(function, mine.get(function.name), diagnostics) for function in base)
    return (*together, *(function for function in own if function.name not in known))


def _with_kernels(function: NativeFunction, mine: NativeFunction | None, diagnostics: Diagnostics) -> NativeFunction:
    if mine is None:
        return function
    if mine.schema != function.schema:
        diagnostics.error(
            Code.SIGNATURE_DIFFERS,
            mine.text.span(),
            f"this signature of '{mine.name}' differs from PyTorch's",
            f"it is {function.schema}",
            ((function.text.span(), "declared here"),),
        )
        return function
    keys = {line.key for line in mine.dispatch}
    return replace(function, dispatch=(*mine.dispatch, *(line for line in function.dispatch if line.key not in keys)))


def entries_on_top(own: Sequence[DerivativeEntry], base: Sequence[DerivativeEntry]) -> tuple[DerivativeEntry, ...]:
    """The derivative entries of the base, but for those of operators that the package has an entry for, and these."""
    mine = {entry.schema.name for entry in own}
    return (*(entry for entry in base if entry.schema.name not in mine), *own)
