"""The variants that `autogen` asks for can be made, and what an operator writes it returns by one of their names."""

from __future__ import annotations

from collections.abc import Iterable

from codegen.codes import Code
from codegen.read.model import NativeFunction
from codegen.rules.checked import Checked
from codegen.schema.types import OperatorName, SchemaKind, written_returns
from codegen.schema.variants import variant_key
from codegen.source import Diagnostics, Span


def find_misdeclared(function: NativeFunction, functions: Iterable[NativeFunction]) -> tuple[str, str] | None:
    """What is wrong with the signature of an operator that is meant for an out variant, and what to do; None: nothing.

    It is one by its overload and its keyword-only argument 'out', beside a functional operator of its base name.
    """
    schema = function.schema
    out = next((argument for argument in (*schema.kwarg_only, *schema.out) if argument.name == "out"), None)
    if schema.kind is not SchemaKind.OUT and (out is None or not function.name.overload.endswith("out")):
        return None
    beside = [
        each for each in functions if each.name.base == function.name.base and each is not function
        and each.schema.kind is SchemaKind.FUNCTIONAL
    ]  # fmt: skip
    if not beside:
        return None
    if schema.kind is not SchemaKind.OUT:
        return (
            f"'out' of '{function.name}' is written, and its type does not say so",
            f"write 'Tensor(a!) out' and '-> Tensor(a!)', or remove this entry: 'autogen: {function.name}' in that of "
            f"'{beside[0].name}' makes it",
        )
    if any(variant_key(each.schema) == variant_key(schema) for each in beside):
        return None
    own = {argument.name for argument in schema.arguments} - {argument.name for argument in schema.out}
    there = [argument.name for argument in beside[0].schema.arguments]
    lacks = ", ".join(f"'{name}'" for name in there if name not in own)
    more = ", ".join(f"'{name}'" for name in sorted(own - set(there)))
    differs = f"lacks {lacks}" if lacks else f"has {more}" if more else "has arguments of other types"
    return (
        f"'{function.name}' {differs}: an out variant takes the arguments of '{beside[0].name}', and 'out'",
        f"remove this entry: 'autogen: {function.name}' in that of '{beside[0].name}' makes it",
    )


def check_variants(checked: Checked, diagnostics: Diagnostics) -> None:
    """`autogen` names variants of its own operator, and nothing is made twice."""
    declared = {str(function.name): function for function in checked.functions}
    made: dict[OperatorName, tuple[NativeFunction, Span]] = {}
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
            first, place = made.setdefault(name, (function, span))
            if first.name.functional_name != function.name.functional_name:  # an in-place variant may say it again
                diagnostics.error(
                    Code.VARIANT,
                    span, f"'{name}' is made of '{first.name}', too",
                    hint=f"say 'autogen' in the entry of one of them, without '{name}'",
                    notes=((place, "it is made here"),),
                )  # fmt: skip
                continue
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


def check_returned(checked: Checked, diagnostics: Diagnostics) -> None:
    """What an operator writes it returns where its name says so: `add_`, or an argument `out` after `*`."""
    for function in checked.functions:
        schema = function.schema
        if schema.kind is not SchemaKind.MUTABLE:
            continue
        letters = {each.alias.sets: each.name for each in schema.positional if each.alias is not None}
        for value in written_returns(schema):
            assert value.alias is not None
            name = letters[value.alias.sets]
            hint = "what is written need not be returned, and an out argument stands after '*'"
            if name == "self" and len(schema.returns) == 1:
                inplace = function.name.inplace_name.base
                hint = f"an in-place operator is named '{inplace}'; an out argument stands after '*'"
            diagnostics.error(
                Code.SIGNATURE,
                function.text.span(value.start, value.end),
                f"'{function.name}' returns the argument '{name}' that it writes",
                hint,
            )
