"""Composite operators that are formulas: bound and typed as those of derivatives are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from codegen.bind.call_targets import OperatorTable
from codegen.bind.formulas import FormulaResolver
from codegen.bind.scope import Scope
from codegen.codes import Code
from codegen.formula.typed import (
    NONE,
    TENSOR,
    ListDisplay,
    Literal,
    OperatorCall,
    TupleDisplay,
    TupleType,
    TypedExpr,
    Variable,
    conversion_cost,
    formula_type,
    walk,
)
from codegen.read.model import NativeFunction
from codegen.schema.types import ListType, OperatorName, SchemaKind, Type
from codegen.source import Diagnostics, Text
from codegen.words import counted


@dataclass(frozen=True, slots=True)
class ResolvedComposite:
    """An operator that is a formula over others, which is traced through.

    Where it is for elements of the lists that are arguments, `lists` has the names of these; `inplace` is the operator
    that writes the element of the first one in place, where that is what the operator does. Of another name for one
    operator `inplace` is what its in-place variant is: `acos_` of `arccos`.
    """

    function: NativeFunction
    text: Text
    tree: TypedExpr
    lists: tuple[str, ...] = ()
    inplace: OperatorName | None = None


def resolve_composites(
    functions: Iterable[NativeFunction], table: OperatorTable, diagnostics: Diagnostics
) -> Mapping[str, ResolvedComposite]:
    """The formulas of all operators that are one, by the operators' names; what does not fit is reported."""
    resolved: dict[str, ResolvedComposite] = {}
    for function in functions:
        composite = resolve_composite(function, table, diagnostics)
        if composite is not None:
            resolved[str(function.name)] = composite
    _check_ends(resolved, diagnostics)
    return resolved


def resolve_composite(
    function: NativeFunction, table: OperatorTable, diagnostics: Diagnostics
) -> ResolvedComposite | None:
    """The formula of an operator; None if it is none, or does not fit, which is reported."""
    formula = function.composite
    if formula is None:
        return None
    scope = Scope(function, (), knows_results=False, of_elements=formula.of_elements)
    tree = FormulaResolver(table, scope, formula.text, diagnostics).resolve(formula.tree)
    if tree is not None and formula.of_elements:
        return _of_elements(function, formula.text, tree, table, diagnostics)
    if tree is not None:
        tree = _of_results(function, formula.text, tree, diagnostics)
    if tree is None:
        return None
    return ResolvedComposite(function, formula.text, tree, inplace=_inplace_of_other_name(function, tree, table))


def _of_elements(
    function: NativeFunction, text: Text, tree: TypedExpr, table: OperatorTable, diagnostics: Diagnostics
) -> ResolvedComposite | None:
    """The formula for elements of the lists: it gives an element of the one result, or writes one of `self`."""
    schema = function.schema
    lists = tuple(a.name for a in schema.arguments if isinstance(formula_type(a.type), ListType))
    if schema.kind is SchemaKind.INPLACE:
        written = _inplace(tree, table)
        if written is not None:
            return ResolvedComposite(function, text, tree, lists, written)
        diagnostics.error(
            Code.TYPES, text.span(), f"'{function.name}' writes 'self', and nothing does this in place",
            "write one call, with 'self' as its first argument, of an operator that has an in-place variant",
        )  # fmt: skip
        return None
    wanted = [formula_type(result.type) for result in schema.returns]
    if wanted == [ListType(TENSOR)] and tree.type == TENSOR:
        return ResolvedComposite(function, text, tree, lists)
    returns = ", ".join(map(str, wanted)) or "nothing"
    message = f"this formula gives {tree.type} for each element, '{function.name}' returns {returns}"
    diagnostics.error(Code.TYPES, text.span(), message)
    return None


def _inplace(tree: TypedExpr, table: OperatorTable) -> OperatorName | None:
    """The in-place variant of the operator that a formula calls with `self`."""
    match tree:
        case OperatorCall(schema=schema, args=((_, Variable(name="self")), *_)):
            named = [name for name, _ in table.functions[str(schema.name)].autogen if name.is_inplace]
            own = schema.name.inplace_name
            return named[0] if named else own if str(own) in table.functions else None
    return None


def _inplace_of_other_name(function: NativeFunction, tree: TypedExpr, table: OperatorTable) -> OperatorName | None:
    """The in-place variant of the one operator that a formula calls with `self` and, unchanged, other arguments."""
    written = _inplace(tree, table) if any(name.is_inplace for name, _ in function.autogen) else None
    if written is None or not isinstance(tree, OperatorCall):
        return None
    for _, value in tree.args[1:]:
        if not isinstance(value, Variable | Literal) or (isinstance(value, Variable) and value.name == "self"):
            return None
    return written


def _of_results(function: NativeFunction, text: Text, tree: TypedExpr, diagnostics: Diagnostics) -> TypedExpr | None:
    """The tree, as the results that the schema declares: `{values, indices}` stands for two."""
    wanted = [formula_type(result.type) for result in function.schema.returns]
    if len(wanted) == 1:
        fits = tree.type != NONE and not isinstance(tree.type, TupleType) and _fits(tree, wanted[0])
        given = str(tree.type)
    elif isinstance(tree, ListDisplay):
        fits = len(tree.items) == len(wanted) and all(map(_fits, tree.items, wanted))
        given = f"{{{', '.join(str(item.type) for item in tree.items)}}}"
        tree = TupleDisplay(TupleType(tuple(wanted)), tree.start, tree.end, tree.items)
    else:
        fits = isinstance(tree.type, TupleType) and tree.type.elems == tuple(wanted)
        given = str(tree.type)
    if fits:
        return tree
    returns = ", ".join(map(str, wanted))
    hint = None if len(wanted) == 1 else f"write {counted(len(wanted), 'result')} in braces: '{{first, second}}'"
    diagnostics.error(Code.TYPES, text.span(), f"this formula gives {given}, '{function.name}' returns {returns}", hint)
    return None


def _fits(tree: TypedExpr, wanted: Type) -> bool:
    """Whether a result is of the type that is declared."""
    return tree.type == wanted or (wanted != TENSOR and conversion_cost(tree.type, wanted) is not None)


def _check_ends(resolved: Mapping[str, ResolvedComposite], diagnostics: Diagnostics) -> None:
    """No formula comes back to its own operator."""
    for name, composite in resolved.items():
        pending, seen = [*_called(composite, resolved)], set[str]()
        while pending:
            called = pending.pop()
            if called == name:
                way = "calls itself" if name in _called(composite, resolved) else "comes back to itself"
                diagnostics.error(Code.ENDLESS, composite.text.span(), f"'{name}' {way}, and would never end")
                break
            if called not in seen:
                seen.add(called)
                pending += _called(resolved[called], resolved)


def _called(composite: ResolvedComposite, resolved: Mapping[str, ResolvedComposite]) -> Iterator[str]:
    """The operators in a formula that are formulas, too."""
    for part in walk(composite.tree):
        if isinstance(part, OperatorCall) and str(part.schema.name) in resolved:
            yield str(part.schema.name)
