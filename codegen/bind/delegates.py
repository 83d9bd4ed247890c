"""Structured operators: the variants that name the one with out arguments, whose kernel they share.

PyTorch's files write a kernel once, in the entry with out arguments, and `structured_delegate: name.out` at the
functional operator and at the one in place. Kernels give their results here; so the functional operator has the kernel,
and the others are its variants, as `autogen` makes them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from codegen.codes import Code
from codegen.read.model import NativeFunction
from codegen.schema.types import SchemaKind
from codegen.schema.variants import variant_key
from codegen.source import Diagnostics
from codegen.words import did_you_mean


def bind_delegates(functions: Sequence[NativeFunction], diagnostics: Diagnostics) -> tuple[NativeFunction, ...]:
    """The operators, of which those that delegate and those that they delegate to belong together."""
    by_name = {str(function.name): function for function in functions}
    delegating: dict[str, list[NativeFunction]] = {}
    lost: set[str] = set()
    for function in functions:
        if function.structured_delegate is not None:
            target = _target(function, str(function.structured_delegate), by_name, diagnostics)
            if target is None:
                lost |= {str(function.name), str(function.structured_delegate)} & by_name.keys()
            else:
                delegating.setdefault(str(target.name), []).append(function)
    bound: dict[str, NativeFunction] = {name: replace(by_name[name], late_bound=True) for name in lost}
    for name, variants in delegating.items():
        target = by_name[name]
        functional = next((each for each in variants if each.schema.kind is SchemaKind.FUNCTIONAL), None)
        if functional is None:
            _lacks_functional(variants[0], diagnostics)
            bound |= {str(each.name): replace(each, late_bound=True) for each in (target, *variants)}
            continue
        others = (target, *(each for each in variants if each is not functional))
        made = tuple((each.name, each.text.span(0, 1)) for each in others)
        kept = tuple(item for item in functional.autogen if str(item[0]) not in {str(each.name) for each in others})
        bound[str(functional.name)] = replace(
            functional,
            dispatch=(*functional.dispatch, *target.dispatch),
            autogen=(*made, *kept),
            promotion=functional.promotion or target.promotion,
            dtypes=functional.dtypes or target.dtypes,
        )
        bound |= {str(each.name): replace(each, variant_of=functional.name) for each in others}
    return tuple(bound.get(str(function.name), function) for function in functions)


def _target(
    function: NativeFunction, name: str, by_name: dict[str, NativeFunction], diagnostics: Diagnostics
) -> NativeFunction | None:
    """The operator that another one names; None with an error where it can not have its kernel from it."""
    assert function.structured_delegate is not None
    place = function.structured_delegate.span()
    target = by_name.get(name)
    if target is None:
        if name not in diagnostics.unread:
            known = [each for each, known in by_name.items() if known.schema.kind is SchemaKind.OUT]
            diagnostics.error(
                Code.UNKNOWN_OPERATOR, place, f"no operator '{name}' in native_functions.yaml",
                did_you_mean(name, known) or "it names the entry with out arguments, which has the kernel",
            )  # fmt: skip
        return None
    note = ((target.text.span(), "declared here"),)
    if target.schema.kind is not SchemaKind.OUT:
        hint = "it names the entry with out arguments, which has the kernel"
        diagnostics.error(Code.VARIANT, place, f"'{name}' has no out arguments", hint, note)
    elif not target.structured:
        hint = "write 'structured: True' in its entry"
        diagnostics.error(Code.CONTRADICTION, place, f"'{name}' is not structured", hint, note)
    elif variant_key(target.schema) != variant_key(function.schema):
        diagnostics.error(
            Code.VARIANT, place, f"'{name}' has other arguments than '{function.name}'",
            hint="but for 'out', both have the same", notes=note,
        )  # fmt: skip
    else:
        return target
    return None


def _lacks_functional(function: NativeFunction, diagnostics: Diagnostics) -> None:
    assert function.structured_delegate is not None
    functional = function.name.functional_name
    diagnostics.error(
        Code.VARIANT, function.structured_delegate.span(),
        f"'{function.name}' and '{function.structured_delegate}' are variants of '{functional}', which is not there",
        hint="kernels give new results: the functional operator has them, and 'autogen' makes the others",
    )  # fmt: skip
