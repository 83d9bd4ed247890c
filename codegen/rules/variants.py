"""The variants that `autogen` asks for can be made."""

from __future__ import annotations

from codegen.codes import Code
from codegen.rules.checked import Checked
from codegen.schema.types import SchemaKind
from codegen.source import Diagnostics


def check_variants(checked: Checked, diagnostics: Diagnostics) -> None:
    """`autogen` names variants of its own operator, and nothing is made twice."""
    declared = {str(function.name): function for function in checked.functions}
    for function in checked.functions:
        base = function.name.base
        named_out = any(argument.name == "out" for argument in function.schema.arguments)
        for name, span in function.autogen:
            if named_out and not name.is_inplace and function.schema.kind is SchemaKind.FUNCTIONAL:
                diagnostics.error(
                    Code.VARIANT,
                    span, f"'{function.name}' has an argument 'out', and so has '{name}'",
                    hint="give the argument another name",
                )  # fmt: skip
            other = declared.get(str(name))
            if other is not None and other.variant_of == function.name:
                continue
            results = [result.type for result in function.schema.returns]
            several = results != [argument.type for argument in function.schema.arguments[:1]]
            if name.is_inplace and several and function.schema.kind is SchemaKind.FUNCTIONAL:
                diagnostics.error(
                    Code.VARIANT,
                    span, f"'{name}' can not be made: '{function.name}' has several results, and 'self' becomes one",
                    hint="leave it out",
                )  # fmt: skip
                continue
            inplace = function.name.inplace_name.base
            bases = (base, inplace, *((base[:-1], f"{base}_functional") if function.schema.writes else ()))
            again = name.is_inplace and function.schema.kind is not SchemaKind.FUNCTIONAL
            if again or (name.base not in bases and not name.overload.endswith("out")):
                diagnostics.error(
                    Code.VARIANT,
                    span, f"'{name}' is no variant of '{function.name}'",
                    hint="it is in place itself"
                    if again
                    else f"'{inplace}' is made in place, '{base}.out' writes into given Tensors",
                )  # fmt: skip
            elif other is not None and function.schema.kind is SchemaKind.FUNCTIONAL:
                diagnostics.error(
                    Code.VARIANT,
                    span,
                    f"'{name}' has an entry of its own",
                    notes=((other.text.span(), "declared here"),),
                )
