"""Derivative entries bound to their operators, their formulas to names, overloads and types.

What does not fit is reported here with its place; nothing is left to be found in generated code.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from codegen.bind.call_targets import OperatorTable
from codegen.bind.formulas import FormulaResolver
from codegen.bind.scope import ELEMENT_INDEX, Scope
from codegen.codes import Code
from codegen.dispatch_keys import DEFAULT
from codegen.formula import syntax
from codegen.formula.typed import (
    INT,
    NONE,
    STR,
    TENSOR,
    Element,
    Literal,
    Mapped,
    TupleDisplay,
    TupleType,
    TypedExpr,
    Variable,
    VariableKind,
    formula_type,
)
from codegen.read.model import DerivativeEntry, Formula, FormulaKind, NativeFunction
from codegen.schema.types import Argument, FunctionSchema, ListType, OptionalType, Type
from codegen.source import Diagnostics, Text
from codegen.words import counted, did_you_mean


@dataclass(frozen=True, slots=True)
class ResolvedFormula:
    """One formula with its typed tree (None unless it is an EXPRESSION)."""

    names: tuple[str, ...]
    kind: FormulaKind
    tree: TypedExpr | None
    source: Formula


@dataclass(frozen=True, slots=True)
class ResolvedEntry:
    """A derivative entry bound to its operator.  `differentiable_outputs` holds indexes of results."""

    function: NativeFunction
    entry: DerivativeEntry
    backward: tuple[ResolvedFormula, ...]
    forward: tuple[ResolvedFormula, ...]
    differentiable_outputs: tuple[int, ...]
    # Entries of other autograd keys than the default one, with formulas of their own.
    keyed: tuple[tuple[str, ResolvedEntry], ...] = ()


def resolve_entries(
    entries: Iterable[DerivativeEntry],
    table: OperatorTable,
    diagnostics: Diagnostics,
    own: Iterable[NativeFunction] | None = None,
) -> tuple[ResolvedEntry, ...]:
    """Bind every derivative entry to its operator and resolve its formulas.

    Args:
        entries: of one file.
        table: of all operators.
        diagnostics: where what is wrong is said.
        own: the operators that the file may be about; None: all.
    """
    resolved = []
    known = table.functions if own is None else [str(function.name) for function in own]
    for entry in entries:
        function = _function_of(entry, table, known, diagnostics)
        if function is not None:
            resolved.append(_resolve_entry(entry, function, table, diagnostics))
    return tuple(resolved)


def _function_of(
    entry: DerivativeEntry, table: OperatorTable, known: Iterable[str], diagnostics: Diagnostics
) -> NativeFunction | None:
    name = str(entry.schema.name)
    function = table.functions.get(name)
    span = entry.text.span(0, entry.schema.name_end or len(name))
    if function is None:
        if name in diagnostics.unread:
            return None
        diagnostics.error(
            Code.UNKNOWN_OPERATOR,
            span,
            f"no operator '{name}' in native_functions.yaml",
            did_you_mean(name, known),
        )
        return None
    if _without_writes(entry.schema) != _without_writes(function.schema):
        diagnostics.error(
            Code.SIGNATURE_DIFFERS,
            entry.text.span(), f"this signature of '{name}' differs from the operator's",
            hint=f"it is {function.schema}", notes=((function.text.span(), "declared here"),),
        )  # fmt: skip
        return None
    return function


def _without_writes(schema: FunctionSchema) -> tuple[object, ...]:
    """What two spellings of one signature have in common: derivatives.yaml may leave out alias annotations, names."""

    def key(argument: Argument) -> tuple[str, str, str | None]:
        return argument.name, str(formula_type(argument.type)), argument.default

    return (
        tuple(map(key, schema.positional)),
        tuple(map(key, schema.kwarg_only)),
        tuple(str(formula_type(result.type)) for result in schema.returns),
    )


def _names_used(tree: syntax.Expr) -> set[str]:
    return {node.id for node in syntax.walk(tree) if isinstance(node, syntax.Name)}


def _differentiable_outputs(
    entry: DerivativeEntry, schema: FunctionSchema, diagnostics: Diagnostics
) -> tuple[int, ...]:
    """Indexes of the results that take part in differentiation.

    `output_differentiability` says it; else all Tensors do, or the first one only where the formulas say `grad`.
    """
    tensors = [i for i, result in enumerate(schema.returns) if _is_tensor_result(result.type)]
    declared = entry.output_differentiability
    if declared is not None:
        if len(declared) != len(schema.returns):
            diagnostics.error(
                Code.OUTPUTS,
                entry.output_differentiability_span or entry.text.span(),
                f"output_differentiability has {counted(len(declared), 'item')}, "
                f"'{schema.name}' has {counted(len(schema.returns), 'output')}",
            )
            return tuple(tensors)
        return tuple(i for i in tensors if declared[i] is not False)
    formulas = [*entry.formulas, *(formula for _, block in entry.dispatch for formula in block)]
    backward = [f for f in formulas if f.tree is not None and not _is_forward(f, schema)]
    if len(tensors) > 1 and any(f.tree is not None and "grad" in _names_used(f.tree) for f in backward):
        return (tensors[0],)
    return tuple(tensors)


def _is_tensor_result(type: Type) -> bool:
    return type == TENSOR or (isinstance(type, ListType) and type.elem == TENSOR)


def output_names(schema: FunctionSchema) -> Mapping[str, int]:
    """The places of results by all names that formulas may give them."""
    names: dict[str, int] = {}
    for index, result in enumerate(schema.returns):
        if result.name is not None:
            names[result.name] = index
        names[f"result{index}"] = index
    if len(schema.returns) == 1:
        names["result"] = 0
    for argument in schema.arguments:
        names.pop(argument.name, None)
    return names


def _is_forward(formula: Formula, schema: FunctionSchema) -> bool:
    return _are_outputs(map(str, formula.names), schema)


def _are_outputs(names: Iterable[str], schema: FunctionSchema) -> bool:
    outputs = output_names(schema)
    return all(name in outputs for name in names)


def formula_scope(entry: DerivativeEntry, function: NativeFunction, names: Iterable[str]) -> Scope:
    """The names that a formula may use, by the names that it is for."""
    schema = function.schema
    outputs = _differentiable_outputs(entry, schema, Diagnostics())
    scope = Scope(function, outputs, _is_by_element(entry, schema))
    if _are_outputs(names, schema):
        scope.forward()
    else:
        scope.backward()
    return scope


def _resolve_entry(
    entry: DerivativeEntry, function: NativeFunction, table: OperatorTable, diagnostics: Diagnostics
) -> ResolvedEntry:
    schema = function.schema
    outputs = _differentiable_outputs(entry, schema, diagnostics)
    arguments = {argument.name: argument for argument in schema.arguments}
    known_outputs = output_names(schema)
    by_element = _is_by_element(entry, schema)
    keys = [DEFAULT, *(str(key) for key, _ in entry.dispatch if str(key) != DEFAULT)]
    backward: dict[str, list[ResolvedFormula]] = {key: [] for key in keys}
    forward: dict[str, list[ResolvedFormula]] = {key: [] for key in keys}
    seen: dict[tuple[str, str], Text] = {}
    _check_gradient_spelling(entry, schema, diagnostics)
    for key, formula in _all_formulas(entry):
        is_forward = _is_forward(formula, schema)
        unknown = [name for name in formula.names if str(name) not in (known_outputs if is_forward else arguments)]
        for name in unknown:
            diagnostics.error(
                Code.NO_SUCH_ARGUMENT,
                name.span(), f"formula for '{name}', which is no argument of '{schema.name}'",
                did_you_mean(str(name), [*arguments, *known_outputs]),
            )  # fmt: skip
        for name in formula.names:
            first = seen.setdefault((key, str(name)), name)
            if first is not name:
                diagnostics.error(
                    Code.GIVEN_TWICE,
                    name.span(),
                    f"second formula for '{name}'",
                    notes=((first.span(), "the first one"),),
                )
        scope = Scope(function, outputs, by_element)
        if is_forward:
            scope.forward()
        else:
            scope.backward()
        tree = None
        if formula.tree is not None:
            tree = FormulaResolver(table, scope, formula.text, diagnostics).resolve(formula.tree)
            if tree is not None and by_element:
                tree = _for_each(tree, scope, is_forward)
            if tree is not None and not unknown:
                wanted = [
                    schema.returns[known_outputs[str(name)]].type if is_forward else arguments[str(name)].type
                    for name in formula.names
                ]
                tree = _fitting(formula, tree, wanted, diagnostics)
        if not unknown:
            names = tuple(str(name) for name in formula.names)
            (forward if is_forward else backward)[key].append(ResolvedFormula(names, formula.kind, tree, formula))
    made = {key: ResolvedEntry(function, entry, tuple(backward[key]), tuple(forward[key]), outputs) for key in keys}
    default = made.pop(DEFAULT)
    return replace(default, keyed=tuple(made.items()))


def _is_by_element(entry: DerivativeEntry, schema: FunctionSchema) -> bool:
    """Whether the formulas of an operator on lists are for one element each, number `i`."""
    lists = any(formula_type(argument.type) == ListType(TENSOR) for argument in schema.arguments)
    named = any(argument.name == ELEMENT_INDEX for argument in schema.arguments)
    trees = [formula.tree for formula in entry.formulas if formula.tree is not None]
    return lists and not named and any(ELEMENT_INDEX in _names_used(tree) for tree in trees)


def _for_each(tree: TypedExpr, scope: Scope, is_forward: bool) -> TypedExpr | None:
    """A formula for one element as one for the list."""
    if isinstance(tree.type, TupleType):
        return tree
    name = next(a.name for a in scope.schema.arguments if formula_type(a.type) == ListType(TENSOR))
    if is_forward:
        kind = VariableKind.TANGENT
    elif isinstance(scope.schema.returns[0].type, ListType):
        kind, name = VariableKind.GRADS, "grads"
    else:
        kind = VariableKind.INPUT  # its elements have one gradient together
    source = Variable(ListType(TENSOR), tree.start, tree.end, kind, name)
    return Mapped(ListType(tree.type), tree.start, tree.end, source, ELEMENT_INDEX, tree, by_index=True)


def _all_formulas(entry: DerivativeEntry) -> Iterator[tuple[str, Formula]]:
    """The formulas of an entry with their autograd key."""
    for formula in entry.formulas:
        yield DEFAULT, formula
    for key, block in entry.dispatch:
        for formula in block:
            yield str(key), formula


def _check_gradient_spelling(entry: DerivativeEntry, schema: FunctionSchema, diagnostics: Diagnostics) -> None:
    """`grad`, `grads[i]` and `grad_NAME` are three spellings; an entry keeps to one of them."""
    named = {f"grad_{result.name}" for result in schema.returns if result.name is not None}
    arguments = {argument.name for argument in schema.arguments}
    first: tuple[str, Text] | None = None
    for formula in entry.formulas:
        if formula.tree is None or _is_forward(formula, schema):
            continue
        used = _names_used(formula.tree) - arguments
        kinds = [
            kind for kind, names in (("grad", {"grad"}), ("grads", {"grads"}), ("grad_NAME", named)) if used & names
        ]
        for kind in kinds:
            if first is None:
                first = (kind, formula.text)
            elif first[0] != kind:
                diagnostics.error(
                    Code.WHICH_GRADIENT,
                    formula.text.span(), f"'{first[0]}' and '{kind}' are mixed in the formulas of '{schema.name}'",
                    hint="use one of them throughout: 'grad' makes the first output the only differentiable one",
                    notes=((first[1].span(), f"'{first[0]}' is used here"),),
                )  # fmt: skip
                return


def _fitting(formula: Formula, tree: TypedExpr, wanted: Sequence[Type], diagnostics: Diagnostics) -> TypedExpr | None:
    """The tree of a formula whose value fits the names that it is for; None where it does not."""
    span = formula.text.span()
    if tree.type == STR:
        diagnostics.error(
            Code.NOT_A_VALUE, span, "a formula is an expression, this is a string", hint="remove the quotes"
        )
        return None
    if len(wanted) == 1:
        type = formula_type(wanted[0])
        inner = type.elem if isinstance(type, OptionalType) else type
        made = tree.type.elem if isinstance(tree.type, OptionalType) else tree.type
        if isinstance(inner, ListType):
            fits = isinstance(made, ListType)
        else:
            fits = made in (TENSOR, NONE)
        if not fits:
            diagnostics.error(Code.TYPES, span, f"this formula gives {tree.type}, '{formula.names[0]}' needs {inner}")
        return tree if fits else None
    if isinstance(tree.type, ListType):
        return tree
    count = len(tree.type.elems) if isinstance(tree.type, TupleType) else 1
    if count == len(wanted):
        return tree
    names = ", ".join(str(name) for name in formula.names)
    message = f"this formula gives {tree.type}, '{names}' need {len(wanted)} gradients"
    hint = "a helper that gives several gradients returns tuple[Tensor | None, ...] of that length"
    if count < len(wanted):
        diagnostics.error(Code.TYPES, span, message, hint)
        return None
    # As C++ that takes each gradient out of the tuple has it.
    hint = "one that gives more is called behind 'std::get', or is somebody else's: then the first ones count"
    return _first(tree, len(wanted)) if diagnostics.doubt(Code.TYPES, span, message, hint) else None


def _first(tree: TypedExpr, count: int) -> TypedExpr:
    """The first values of a tuple."""
    assert isinstance(tree.type, TupleType)
    types = tree.type.elems[:count]
    start, end = tree.start, tree.end
    items = (Element(type, start, end, tree, Literal(INT, start, end, i)) for i, type in enumerate(types))
    return TupleDisplay(TupleType(types), start, end, tuple(items))
