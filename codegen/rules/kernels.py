"""Kernels and composite functions that entries name exist, and take the operator's arguments."""

from __future__ import annotations

from codegen.codes import Code
from codegen.dispatch_keys import COMPOSITE_KEYS
from codegen.python_source import PythonFunction
from codegen.read.model import NativeFunction
from codegen.rules.checked import Checked
from codegen.rules.variants import find_misdeclared
from codegen.schema.names import python
from codegen.source import Diagnostics, Text
from codegen.words import Hint, did_you_mean


def check_kernels(checked: Checked, diagnostics: Diagnostics) -> None:
    """Every function that a `dispatch` names exists and takes the operator's arguments."""
    kernels, composites = checked.kernels, checked.composites
    for function in checked.functions:
        if function.late_bound or function.variant_of is not None or diagnostics.touch(function.text):
            continue
        misdeclared = find_misdeclared(function, checked.functions)
        if misdeclared is not None:
            diagnostics.error(Code.VARIANT, function.text.span(), *misdeclared)
            continue
        composite = function.elementwise is None and all(entry.key in COMPOSITE_KEYS for entry in function.dispatch)
        if function.layout is not None and composite:
            diagnostics.error(
                Code.CONTRADICTION,
                function.layout.text.span(),
                f"'{function.name}' has no kernel on arrays: the operators that it calls lay its results out",
                hint="remove 'layout'",
            )
        for entry in function.dispatch:
            composite = entry.key in COMPOSITE_KEYS
            index = composites if composite else kernels
            definition = index.get(str(entry.kernel))
            if definition is None:
                if not index.complete:
                    continue
                other = (kernels if composite else composites).get(str(entry.kernel))
                if other is not None:
                    hint: Hint = f"'{entry.kernel}' is in {other.module}; {entry.key} names functions in {index.folder}"
                else:
                    hint = did_you_mean(str(entry.kernel), (candidate.name for candidate in index))
                diagnostics.error(
                    Code.NO_FUNCTION, entry.kernel.span(), f"no function '{entry.kernel}' in {index.folder}", hint
                )
            else:
                _check_parameters(function, definition, entry.kernel, composite, diagnostics)
        if not function.dispatch and function.composite is None and function.elementwise is None:
            name = function.name.python_name
            definition = composites.get(name)
            if definition is None and composites.complete:
                meant = did_you_mean(name, (candidate.name for candidate in composites))
                diagnostics.error(
                    Code.NO_FUNCTION,
                    function.text.span(0, function.schema.name_end or 1),
                    f"'{function.name}' has no dispatch, and no function '{name}' in {composites.folder}",
                    hint=str(meant)  # for a reader: what is misspelled may be the function's name
                    if meant is not None
                    else "without dispatch it is CompositeImplicitAutograd: write that function, or name a kernel",
                )
            elif definition is not None:
                _check_parameters(function, definition, function.text, True, diagnostics)


def check_kernels_on_top(checked: Checked, diagnostics: Diagnostics) -> None:
    """Kernels of a package on top of foreign operators take the operator's arguments."""
    for function in checked.functions:
        for entry in function.dispatch if not function.late_bound and function.variant_of is None else ():
            definition = checked.kernels.get(str(entry.kernel))
            if definition is not None and not definition.module.startswith("runtime."):
                _check_parameters(function, definition, entry.kernel, False, diagnostics)


def _check_parameters(
    function: NativeFunction, definition: PythonFunction, place: Text, composite: bool, diagnostics: Diagnostics
) -> None:
    positional, keyword_only = function.kernel_parameters, []
    if composite:
        positional = [python(argument.name) for argument in function.schema.positional]
        keyword_only = [python(argument.name) for argument in function.schema.kwarg_only]
    names = [*positional, *keyword_only]
    note = ((definition.span, f"'{definition.name}' is defined here"),)
    if definition.parameters is None:
        arity = definition.arity
        if arity != len(names):
            diagnostics.error(
                Code.KERNEL_PARAMETERS,
                place.span(), f"'{definition.name}' takes {arity or 'no'} arrays, '{function.name}' has {len(names)} "
                f"argument{'' if len(names) == 1 else 's'}",
                notes=note,
            )  # fmt: skip
    elif not definition.fits(positional, keyword_only):
        diagnostics.error(
            Code.KERNEL_PARAMETERS,
            place.span(), f"'{definition.signature}' does not fit '{function.schema}'",
            hint=f"its parameters are to be ({', '.join([*positional, *['*'] * bool(keyword_only), *keyword_only])})",
            notes=note,
        )  # fmt: skip
