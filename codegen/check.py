"""Soundness rules, one function each.  Each takes checked data and reports what can not be right."""

from __future__ import annotations

import ast
import enum
import keyword
from collections.abc import Iterable, Mapping

from codegen.callables import FunctionIndex, PythonFunction
from codegen.formula.typed import (
    TENSOR,
    Conditional,
    Element,
    HelperCall,
    Intrinsic,
    ListDisplay,
    Literal,
    Mapped,
    OperatorCall,
    TupleDisplay,
    TypedExpr,
    Variable,
    VariableKind,
    children,
    is_tensor_like,
    plain_type,
)
from codegen.intrinsics import METADATA
from codegen.model import FormulaKind, NativeFunction
from codegen.resolve import ResolvedEntry, ResolvedFormula
from codegen.samples import parse_sample
from codegen.schema.types import FunctionSchema, OptionalType, SchemaKind
from codegen.source import Diagnostics, ParseError, Text
from codegen.vocabulary import did_you_mean

COMPOSITE_KEYS = ("CompositeImplicitAutograd", "CompositeExplicitAutograd")
# Arguments of factory operators that only a dispatcher reads; kernels on arrays do not take them.
PLACEMENT_ARGUMENTS = frozenset(("layout", "device", "pin_memory", "memory_format", "non_blocking"))
_ZERO_OPERATORS = frozenset(("zeros", "zeros_like", "new_zeros"))
_FILLING_OPERATORS = frozenset(("scalar_tensor", "full", "full_like", "new_full"))


def python_name(name: str) -> str:
    """A schema's name as a Python identifier."""
    return f"{name}_" if keyword.iskeyword(name) else name


def values_used(expr: TypedExpr, known: Mapping[str, ResolvedEntry] | None = None) -> set[str]:
    """Names of the arguments, and `#result`, whose values (not only shapes or dtypes) an expression depends on.

    What a helper or a composite operator does with a Tensor is not known.  With `known`, the operators that have a
    derivative entry, only what certainly counts is given.
    """
    match expr:
        case Intrinsic() if expr.name in METADATA:
            return set()
        case OperatorCall() if expr.schema.name.base in _ZERO_OPERATORS:
            return set()
        case HelperCall() if known is not None:
            return set()
        case OperatorCall() if known is not None and str(expr.schema.name) not in known:
            return set()
        case Variable(kind=VariableKind.INPUT):
            return {expr.name}
        case Variable(kind=VariableKind.OUTPUT):
            return {"#result"}
        case _:
            used: set[str] = set()
            for child in children(expr):
                used |= values_used(child, known)
            return used


# -- kernels


def check_kernels(
    functions: Iterable[NativeFunction], kernels: FunctionIndex, composites: FunctionIndex, diagnostics: Diagnostics
) -> None:
    """Every function that a `dispatch` names exists and takes the operator's arguments."""
    for function in functions:
        if function.late_bound or function.variant_of is not None:
            continue
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
            name = composite_name(function.schema)
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


def composite_name(schema: FunctionSchema) -> str:
    """The function that implements a composite operator whose entry names none."""
    return f"{schema.name.base}_{schema.name.overload}" if schema.name.overload else schema.name.base


def _check_parameters(
    function: NativeFunction, found: PythonFunction, place: Text, composite: bool, diagnostics: Diagnostics
) -> None:
    arguments = list(function.schema.arguments)
    if not composite:
        arguments = [argument for argument in arguments if argument.name not in PLACEMENT_ARGUMENTS]
    names = [python_name(argument.name) for argument in arguments]
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


# -- derivative entries


def check_entries(entries: Iterable[ResolvedEntry], diagnostics: Diagnostics) -> None:
    """All rules about derivative entries."""
    table = {str(entry.function.name): entry for entry in entries}
    for entry in table.values():
        check_composite(entry, diagnostics)
        check_coverage(entry, diagnostics)
        check_linear(entry, table, diagnostics)


def check_composite(entry: ResolvedEntry, diagnostics: Diagnostics) -> None:
    """A CompositeImplicitAutograd operator is traced through: a formula for it would never be used."""
    if entry.function.is_composite_implicit and not entry.entry.dispatch:
        diagnostics.error(
            entry.entry.text.span(0, entry.entry.schema.name_end or 1),
            f"'{entry.function.name}' is CompositeImplicitAutograd: its derivative follows from what it calls",
            hint="remove this entry, or give the operator a kernel or CompositeExplicitAutograd",
            notes=((entry.function.text.span(), "declared here"),),
        )


def check_coverage(entry: ResolvedEntry, diagnostics: Diagnostics) -> None:
    """Every tensor argument has a formula, or says that it has none."""
    if not entry.differentiable_outputs:
        return
    covered = {name for formula in entry.backward for name in formula.names}
    for argument in entry.function.schema.arguments:
        if argument.name not in covered and is_tensor_like(plain_type(argument.type)):
            diagnostics.error(
                entry.entry.text.span(argument.start, argument.end),
                f"no formula for '{argument.name}' of '{entry.function.name}'",
                hint=f"add '{argument.name}: <formula>', '{argument.name}: non_differentiable' or "
                f"'{argument.name}: not_implemented(\"...\")'",
            )


class _Degree(enum.Enum):
    ZERO = 0
    CONSTANT = 1
    LINEAR = 2


class _NotLinear(Exception):
    def __init__(self, expr: TypedExpr, message: str) -> None:
        self.expr = expr
        self.message = message


def check_linear(entry: ResolvedEntry, table: Mapping[str, ResolvedEntry], diagnostics: Diagnostics) -> None:
    """A backward formula is linear in the gradient, a forward formula in the tangents.

    Which operators are linear in what is read off their own derivatives: an operator is linear in an argument when
    that argument's formula does not depend on its value.
    """
    for formula, what in [(f, "gradient") for f in entry.backward] + [(f, "tangents") for f in entry.forward]:
        if formula.tree is None:
            continue
        text = formula.source.text
        try:
            degree = _degree(formula.tree, table)
        except _NotLinear as problem:
            diagnostics.error(
                text.span(problem.expr.start, problem.expr.end),
                f"not linear in the {what}: {problem.message}",
                hint="a derivative formula is a linear map of what comes in",
            )
            continue
        if degree is _Degree.CONSTANT:
            diagnostics.error(
                text.span(), f"this formula never uses the {what}, and is not zero",
                hint="multiply by 'grad', or write zeros_like(...)" if what == "gradient" else None,
            )  # fmt: skip


def _degree(expr: TypedExpr, table: Mapping[str, ResolvedEntry]) -> _Degree:
    match expr:
        case Literal():
            return _Degree.ZERO if expr.value is None or expr.value == 0 else _Degree.CONSTANT
        case Variable():
            linear = expr.kind in (VariableKind.GRAD, VariableKind.GRADS, VariableKind.TANGENT)
            return _Degree.LINEAR if linear else _Degree.CONSTANT
        case Element():
            return _degree(expr.receiver, table)
        case ListDisplay() | TupleDisplay() | HelperCall():
            degrees = [_degree(child, table) for child in children(expr)]
            if _Degree.LINEAR in degrees:
                return _Degree.LINEAR
            zeros = not isinstance(expr, HelperCall) and all(degree is _Degree.ZERO for degree in degrees)
            return _Degree.ZERO if zeros else _Degree.CONSTANT
        case Mapped():
            return _degree(expr.body, table)
        case Intrinsic(name="zeros"):
            return _Degree.ZERO
        case Intrinsic(name="repeat"):
            return _degree(expr.args[0], table)
        case Intrinsic():
            return _Degree.CONSTANT
        case Conditional():
            return _degree_of_conditional(expr, table)
        case OperatorCall():
            return _degree_of_call(expr, table)
        case _:
            for child in children(expr):
                _degree(child, table)
            return _Degree.CONSTANT


def _degree_of_conditional(expr: Conditional, table: Mapping[str, ResolvedEntry]) -> _Degree:
    sides = [(side, _degree(side, table)) for side in (expr.then, expr.orelse)]
    degrees = {degree for _, degree in sides}
    if _Degree.LINEAR in degrees:
        for side, degree in sides:
            if degree is _Degree.CONSTANT:
                raise _NotLinear(side, "one side of '?:' does not depend on it and is not zero")
        return _Degree.LINEAR
    return _Degree.ZERO if degrees == {_Degree.ZERO} else _Degree.CONSTANT


def _degree_of_call(expr: OperatorCall, table: Mapping[str, ResolvedEntry]) -> _Degree:
    degrees = {name: _degree(value, table) for name, value in expr.args}
    linear = [name for name, degree in degrees.items() if degree is _Degree.LINEAR]
    base = expr.schema.name.base
    if not linear:
        zero_fill = base in _FILLING_OPERATORS and any(
            isinstance(value, Literal) and value.value == 0 for _, value in expr.args
        )
        if expr.schema.is_view and degrees.get("self") is _Degree.ZERO:
            return _Degree.ZERO  # another shape of zeros
        return _Degree.ZERO if zero_fill or base in _ZERO_OPERATORS else _Degree.CONSTANT
    if base in _ZERO_OPERATORS:
        return _Degree.ZERO
    entry = table.get(str(expr.schema.name))
    if entry is None:
        return _Degree.LINEAR  # composite, or not differentiable: nothing is known of it
    formulas = {name: formula for formula in entry.backward for name in formula.names}
    used: set[str] = set()
    for name in linear:
        formula = formulas.get(name)
        if formula is None or formula.kind is FormulaKind.NON_DIFFERENTIABLE:
            raise _NotLinear(expr, f"'{expr.schema.name}' is not differentiable in '{name}'")
        if formula.tree is None:
            return _Degree.LINEAR  # it has errors of its own, or is not implemented
        depends = values_used(formula.tree, table)
        if depends & {*linear, "#result"}:
            times = " and ".join(f"'{other}'" for other in linear)
            message = (
                f"'{base}' multiplies {times}, which both depend on it"
                if len(linear) > 1 and depends & set(linear)
                else f"'{base}' is not linear in '{name}'"
            )
            raise _NotLinear(expr, message)
        used |= values_used(formula.tree)
    _check_no_constant_term(expr, degrees, used, formulas, table)
    return _Degree.LINEAR


def _check_no_constant_term(
    expr: OperatorCall,
    degrees: Mapping[str, _Degree],
    used: set[str],
    formulas: Mapping[str, ResolvedFormula],
    table: Mapping[str, ResolvedEntry],
) -> None:
    """`grad + 1`: an argument that is neither zero, nor depends on the gradient, nor multiplies it, is added to it."""
    types = {argument.name: plain_type(argument.type) for argument in expr.schema.arguments}
    anywhere = set(used)
    for other in formulas.values():
        if other.tree is not None:
            anywhere |= values_used(other.tree)
    for name, value in expr.args:
        if degrees[name] is not _Degree.CONSTANT:
            continue
        type = types[name]
        inner = type.elem if isinstance(type, OptionalType) else type
        formula = formulas.get(name)
        added_tensor = (
            inner == TENSOR
            and name not in used
            and formula is not None
            and formula.tree is not None
            and _degree(formula.tree, table) is not _Degree.ZERO
        )
        added_number = str(inner) == "Scalar" and name not in anywhere and name != "alpha"
        if added_tensor or added_number:
            raise _NotLinear(value, f"'{expr.schema.name.base}' adds something that does not depend on it")


# -- variants and samples


def check_variants(functions: Iterable[NativeFunction], diagnostics: Diagnostics) -> None:
    """`autogen` names variants of its own operator, and nothing is made twice."""
    declared = {str(function.name): function for function in functions}
    for function in functions:
        base = function.name.base
        for name, span in function.autogen:
            other = declared.get(str(name))
            if other is not None and other.variant_of == function.name:
                continue
            bases = (base, f"{base}_", *((base[:-1], f"{base}_functional") if function.schema.writes else ()))
            if name.base not in bases and not name.overload.endswith("out"):
                diagnostics.error(
                    span, f"'{name}' is no variant of '{function.name}'",
                    hint=f"'{base}_' is made in place, '{base}.out' writes into given Tensors",
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
        keywords = {python_name(argument.name) for argument in function.schema.arguments}
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
