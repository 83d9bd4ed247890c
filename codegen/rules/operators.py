"""Soundness rules, one function each.  Each takes checked data and reports what can not be right."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from codegen.formula.intrinsics import METADATA
from codegen.formula.typed import (
    Intrinsic,
    OperatorCall,
    TypedExpr,
    Variable,
    VariableKind,
    children,
)
from codegen.python_source import FunctionIndex, PythonFunction
from codegen.read.model import NativeFunction
from codegen.read.samples import parse_sample
from codegen.rules.linear.formulas import ZERO_OPERATORS
from codegen.schema.names import python
from codegen.schema.types import SchemaKind
from codegen.source import Diagnostics, ParseError, Text
from codegen.words import COMPOSITE_KEYS, did_you_mean


def values_used(expr: TypedExpr) -> set[str]:
    """Names of the arguments, and `#result`, whose values (not only shapes or dtypes) an expression depends on."""
    match expr:
        case Intrinsic() if expr.name in METADATA:
            return set()
        case OperatorCall() if expr.schema.name.base in ZERO_OPERATORS:
            return set()
        case Variable(kind=VariableKind.INPUT):
            return {expr.name}
        case Variable(kind=VariableKind.OUTPUT):
            return {"#result"}
        case _:
            used: set[str] = set()
            for child in children(expr):
                used |= values_used(child)
            return used


# -- kernels


def check_kernels(
    functions: Iterable[NativeFunction], kernels: FunctionIndex, composites: FunctionIndex, diagnostics: Diagnostics
) -> None:
    """Every function that a `dispatch` names exists and takes the operator's arguments."""
    for function in functions:
        if function.late_bound or function.variant_of is not None:
            continue
        if function.layout is not None and all(entry.key in COMPOSITE_KEYS for entry in function.dispatch):
            diagnostics.error(
                function.layout.text.span(),
                f"'{function.name}' has no kernel on arrays: the operators that it calls lay its results out",
                hint="remove 'layout'",
            )
        for entry in function.dispatch:
            composite = entry.key in COMPOSITE_KEYS
            index = composites if composite else kernels
            found = index.get(str(entry.kernel))
            if found is None:
                other = (kernels if composite else composites).get(str(entry.kernel))
                if other is not None:
                    hint: str | None = (
                        f"'{entry.kernel}' is in {other.module}; {entry.key} names functions in {index.folder}"
                    )
                else:
                    hint = did_you_mean(str(entry.kernel), (candidate.name for candidate in index))
                diagnostics.error(entry.kernel.span(), f"no function '{entry.kernel}' in {index.folder}", hint)
            else:
                _check_parameters(function, found, entry.kernel, composite, diagnostics)
        if not function.dispatch:
            name = function.name.python_name
            found = composites.get(name)
            if found is None:
                diagnostics.error(
                    function.text.span(0, function.schema.name_end or 1),
                    f"'{function.name}' has no dispatch, and no function '{name}' in {composites.folder}",
                    hint=did_you_mean(name, (candidate.name for candidate in composites))
                    or "without dispatch it is CompositeImplicitAutograd: write that function, or name a kernel",
                )
            else:
                _check_parameters(function, found, function.text, True, diagnostics)


def _check_parameters(
    function: NativeFunction, found: PythonFunction, place: Text, composite: bool, diagnostics: Diagnostics
) -> None:
    arguments = list(function.schema.arguments)
    if not composite:
        arguments = [argument for argument in arguments if not argument.is_placement]
    names = [python(argument.name) for argument in arguments]
    note = ((found.span, f"'{found.name}' is defined here"),)
    if found.parameters is None:
        arity = found.arity
        if arity != len(names):
            diagnostics.error(
                place.span(), f"'{found.name}' takes {arity or 'no'} arrays, '{function.name}' has {len(names)} "
                f"argument{'' if len(names) == 1 else 's'}",
                notes=note,
            )  # fmt: skip
        return
    given = [parameter.name for parameter in found.parameters]
    if given != names:
        diagnostics.error(
            place.span(), f"'{found.name}({', '.join(given)})' does not fit '{function.schema}'",
            hint=f"its parameters are to be ({', '.join(names)})", notes=note,
        )  # fmt: skip


# -- variants and samples


def check_variants(functions: Iterable[NativeFunction], diagnostics: Diagnostics) -> None:
    """`autogen` names variants of its own operator, and nothing is made twice."""
    declared = {str(function.name): function for function in functions}
    for function in functions:
        base = function.name.base
        named_out = any(argument.name == "out" for argument in function.schema.arguments)
        for name, span in function.autogen:
            if named_out and not name.is_inplace and function.schema.kind is SchemaKind.FUNCTIONAL:
                diagnostics.error(
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
                    span, f"'{name}' can not be made: '{function.name}' has several results, and 'self' becomes one",
                    hint="leave it out",
                )  # fmt: skip
                continue
            bases = (base, f"{base}_", *((base[:-1], f"{base}_functional") if function.schema.writes else ()))
            again = name.is_inplace and function.schema.kind is not SchemaKind.FUNCTIONAL
            if again or (name.base not in bases and not name.overload.endswith("out")):
                diagnostics.error(
                    span, f"'{name}' is no variant of '{function.name}'",
                    hint="it is in place itself"
                    if again
                    else f"'{base}_' is made in place, '{base}.out' writes into given Tensors",
                )  # fmt: skip
            elif other is not None and function.schema.kind is SchemaKind.FUNCTIONAL:
                diagnostics.error(
                    span, f"'{name}' has an entry of its own", notes=((other.text.span(), "declared here"),)
                )


_MAKERS = frozenset(("T", "D", "I", "B", "dtype", "float"))


def check_samples(functions: Iterable[NativeFunction], diagnostics: Diagnostics) -> None:
    """A sample gives arguments that the operator has, made by the functions that samples know."""
    for function in functions:
        names = [argument.name for argument in function.schema.positional]
        keywords = {python(argument.name) for argument in function.schema.arguments}
        for sample in function.samples:
            try:
                call = parse_sample(sample.value)
            except ParseError:
                continue  # reported when it was read
            if len(call.args) > len(names):
                diagnostics.error(
                    sample.span(), f"{len(call.args)} positional arguments, '{function.name}' takes {len(names)}"
                )
            for keyword_ in call.keywords:
                if keyword_.arg not in keywords:
                    diagnostics.error(
                        sample.span(), f"'{function.name}' has no argument '{keyword_.arg}'",
                        did_you_mean(str(keyword_.arg), keywords),
                    )  # fmt: skip
            for node in ast.walk(call):
                if isinstance(node, ast.Call) and node is not call:
                    maker = node.func.id if isinstance(node.func, ast.Name) else ast.unparse(node.func)
                    if maker not in _MAKERS:
                        diagnostics.error(
                            sample.span(), f"samples know no '{maker}'", hint=f"there are: {', '.join(sorted(_MAKERS))}"
                        )
