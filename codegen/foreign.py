"""Foreign YAML over the kernels of this project.

PyTorch's native_functions.yaml names kernels in C++.  An operator that this project has under the same name and with
the same arguments is implemented by the project's own kernel or composite function; the rest is declared, and bound
late: it raises NotImplementedError when it is called.  Operators that only this project has are added, because its
composite functions call them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from codegen.bind.call_targets import OperatorTable
from codegen.bind.composites import ResolvedComposite, resolve_composite
from codegen.bind.elementwise import ElementwiseTable
from codegen.bind.entries import ResolvedEntry, ResolvedFormula, resolve_entries
from codegen.dispatch_keys import COMPOSITE_EXPLICIT, COMPOSITE_IMPLICIT, CPU
from codegen.formula.typed import Variable, VariableKind, formula_type, walk
from codegen.python_source import FunctionIndex
from codegen.read.implied import layout_rule, samples_of
from codegen.read.keys import KEYS
from codegen.read.model import DerivativeEntry, DispatchEntry, FormulaKind, NativeFunction
from codegen.schema.types import Argument, FunctionSchema, OperatorName, Return, SchemaKind
from codegen.schema.variants import variant_key
from codegen.source import Diagnostics, Text


@dataclass(frozen=True, slots=True)
class Library:
    """The project's own operators and derivative entries, and its composite functions.

    `kernels` are those on arrays of a package that stands on top of foreign operators, and `file` is its YAML, whose
    entries name them: those beneath name functions of C++.
    """

    functions: Sequence[NativeFunction]
    entries: Sequence[DerivativeEntry]
    composites: FunctionIndex
    kernels: FunctionIndex
    file: str


def adopt(
    functions: Sequence[NativeFunction], entries: Sequence[DerivativeEntry], library: Library
) -> tuple[tuple[NativeFunction, ...], tuple[DerivativeEntry, ...], tuple[DerivativeEntry, ...]]:
    """Foreign operators, implemented by what the library has, and entries: foreign ones, and the library's own."""
    own = {str(function.name): function for function in library.functions}
    formulas = {str(entry.schema.name) for entry in entries}
    # Formulas of an operator that its author traces through (`chunk`) are for other backends.
    differentiated = formulas - {str(function.name) for function in functions if function.is_composite_implicit}
    functions = _with_functional_variants(functions)
    declared = {
        str(name) for function in functions for name in (function.name, *(made for made, _ in function.autogen))
    }
    added = {name: function for name, function in own.items() if name not in declared}
    # A variant that they declare may be one of an operator that only the library has.
    functions = _with_declared_variants((*functions, *added.values()), own.keys())
    adopted = []
    implemented = set(added)
    for function in functions:
        if function.variant_of is not None:
            functional = own.get(str(function.variant_of))
            constant = None if functional is None else functional.constant_result
            adopted.append(function if constant is None else replace(function, constant_result=constant))
            continue
        if str(function.name) in added:
            adopted.append(function)
            continue
        mine = own.get(str(function.name))
        lines = [line for line in function.dispatch if line.key == CPU and line.kernel.file.path == library.file]
        written = tuple(line for line in lines if library.kernels.get(line.kernel.value) is not None)
        if written:
            implemented.add(str(function.name))
            adopted.append(replace(function, dispatch=written, structured_delegate=None))
        elif mine is not None and _arguments(mine.schema) == _arguments(function.schema):
            implemented.add(str(function.name))
            adopted.append(_implemented(function, mine, str(function.name) in differentiated))
        elif library.composites.get(_composite_name(function).value) is not None:
            adopted.append(_implemented(function, function, str(function.name) in differentiated))
        else:
            adopted.append(replace(function, late_bound=True))
    own_entries = [
        entry
        for entry in library.entries
        if str(entry.schema.name) in implemented and str(entry.schema.name) not in formulas
    ]
    return tuple(adopted), tuple(entries), tuple(own_entries)


def resolved_here(entries: Iterable[DerivativeEntry], table: OperatorTable) -> tuple[ResolvedEntry, ...]:
    """Those of the library's entries that resolve over the foreign operators.

    What does not, because an operator has other arguments there, is no error of theirs: there is no derivative then.
    """
    own: list[ResolvedEntry] = []
    for entry in entries:
        diagnostics = Diagnostics()
        resolved = resolve_entries([entry], table, diagnostics)
        if not diagnostics:
            own += resolved
    return tuple(own)


def composites_here(
    functions: Sequence[NativeFunction], table: OperatorTable
) -> tuple[Sequence[NativeFunction], Mapping[str, ResolvedComposite]]:
    """The composite operators of the library that are formulas, bound over the foreign operators.

    One that does not resolve, because an operator has other arguments there, is declared only, and bound late.
    """
    bound: dict[str, ResolvedComposite] = {}
    kept: list[NativeFunction] = []
    for function in functions:
        composite = resolve_composite(function, table, Diagnostics())
        if composite is not None:
            bound[str(function.name)] = composite
        elif function.composite is not None:
            function = replace(function, composite=None, late_bound=True)
        kept.append(function)
    return kept, bound


def expressions_here(
    functions: Sequence[NativeFunction], table: OperatorTable, composites: Mapping[str, ResolvedComposite]
) -> Sequence[NativeFunction]:
    """The operators, of which those that are expressions that do not resolve are declared only, and bound late."""
    bound = ElementwiseTable(functions, table, composites, Diagnostics(), ())
    lost = {name for name in bound if bound.find(name) is None}
    return [replace(f, elementwise=None, late_bound=True) if str(f.name) in lost else f for f in functions]


def with_forward_formulas(
    resolved: Sequence[ResolvedEntry], library: Library, table: OperatorTable
) -> tuple[ResolvedEntry, ...]:
    """Entries without forward formulas, with the library's own for the same operator.

    PyTorch differentiates some operators forward by decomposing them, and says nothing of it in its YAML.
    """
    lacking = {str(e.function.name) for e in resolved if not e.forward and not e.function.late_bound}
    candidates = [entry for entry in library.entries if str(entry.schema.name) in lacking]
    # What does not resolve over the foreign operators and helpers is left out, and is no error of theirs.
    supplied = {str(e.function.name): e.forward for e in resolve_entries(candidates, table, Diagnostics())}
    completed = []
    for entry in resolved:
        forward = supplied.get(str(entry.function.name), ())
        completed.append(replace(entry, forward=forward) if _fits_forward(forward, entry) else entry)
    return tuple(completed)


def _fits_forward(forward: Sequence[ResolvedFormula], entry: ResolvedEntry) -> bool:
    """Whether there are formulas, and all need tangents only of what the entry differentiates."""
    known = {name for f in entry.backward if f.kind is FormulaKind.EXPRESSION for name in f.names}
    trees = [formula.tree for formula in forward]
    if not trees or any(tree is None for tree in trees):
        return False
    parts = (part for tree in trees if tree is not None for part in walk(tree))
    return all(p.name in known for p in parts if isinstance(p, Variable) and p.kind is VariableKind.TANGENT)


def _arguments(schema: FunctionSchema) -> list[tuple[str, str]]:
    return [(argument.name, str(formula_type(argument.type))) for argument in schema.arguments]


def _implemented(function: NativeFunction, mine: NativeFunction, differentiated: bool) -> NativeFunction:
    dispatch = () if function is mine else mine.dispatch
    composite = mine.composite
    if composite is not None:
        composite = replace(composite, explicit=differentiated)
    elif mine.elementwise is None and differentiated and not any(line.key != COMPOSITE_IMPLICIT for line in dispatch):
        # It has a formula here, which a composite function that is traced through would never come to use.
        name = dispatch[0].kernel if dispatch else _composite_name(mine)
        dispatch = (DispatchEntry(COMPOSITE_EXPLICIT, name, function.text.span(0, 1)),)
    own = {key.field: getattr(mine, key.field) for key in KEYS if key.is_own and key.field}
    own["composite"] = composite
    own["samples"] = tuple(_made_text(sample, mine) for sample in samples_of(mine))
    own["layout"] = layout_rule(mine)
    tags = tuple(dict.fromkeys((*function.tags, *(tag for tag in mine.tags if tag == "pointwise"))))
    return replace(function, dispatch=dispatch, structured_delegate=None, tags=tags, **own)


def _composite_name(function: NativeFunction) -> Text:
    return _made_text(function.name.python_name, function)


def _made_text(text: str, function: NativeFunction) -> Text:
    """Text that stands in no file, for an operator that does."""
    return Text(text, function.text.file, (0,) * (len(text) + 1))


def _with_functional_variants(functions: Sequence[NativeFunction]) -> tuple[NativeFunction, ...]:
    """With the functional variants that `autogen` asks for and no entry declares."""
    declared = {str(function.name) for function in functions}
    made = []
    for function in functions:
        explicit = DispatchEntry(COMPOSITE_EXPLICIT, _composite_name(function), function.text.span(0, 1))
        for name, _ in function.autogen:
            variant = name.is_inplace or name.overload.endswith("out")
            if str(name) not in declared and function.schema.writes and not variant:
                declared.add(str(name))
                made.append(
                    replace(
                        function, schema=_functional(function.schema, name), dispatch=(explicit,), autogen=(),
                        variants=frozenset(("function",)), structured_delegate=None,
                    )
                )  # fmt: skip
    return (*functions, *made)


def _functional(schema: FunctionSchema, name: OperatorName) -> FunctionSchema:
    """The variant of an operator that gives back, new, what the operator writes."""

    def bare(arguments: Iterable[Argument]) -> tuple[Argument, ...]:
        return tuple(replace(a, alias=None) if a.is_write else a for a in arguments)

    returned = [value.alias for value in schema.returns if value.alias is not None]
    given_back = [
        Return(f"{argument.name}_out", argument.type)
        for argument in schema.arguments
        if argument.is_write and argument.alias not in returned
    ]
    returns = tuple(Return(None, value.type) if value.is_write else value for value in schema.returns)
    return FunctionSchema(name, bare(schema.positional), bare(schema.kwarg_only), (), (*returns, *given_back))


def _with_declared_variants(functions: Sequence[NativeFunction], own: Collection[str]) -> tuple[NativeFunction, ...]:
    """In-place and out variants that have entries of their own, as variants of the functional operator.

    Those that the library implements itself, under their own names in `own`, stay what they are.  The in-place variant
    of a view (`t_`) makes a Tensor a view of itself.
    """
    functional: dict[object, list[NativeFunction]] = {}
    writing: dict[object, list[NativeFunction]] = {}  # some argument, but not for the result
    for function in functions:
        if function.schema.kind is SchemaKind.FUNCTIONAL:
            functional.setdefault(variant_key(function.schema), []).append(function)
        elif function.schema.kind is SchemaKind.MUTABLE:
            writing.setdefault(variant_key(function.schema), []).append(function)
    declared: dict[str, dict[SchemaKind, NativeFunction]] = {}
    for function in functions:
        kind = function.schema.kind
        if kind in (SchemaKind.INPLACE, SchemaKind.OUT) and str(function.name) not in own:
            candidates = functional.get(variant_key(function.schema), [])
            if kind is SchemaKind.OUT:
                candidates = [f for f in candidates if not f.schema.is_view]
            elif any(len(f.schema.returns) > 1 for f in candidates):  # `self` becomes the one result of the other
                candidates = writing.get(variant_key(function.schema), candidates)
            same = [f for f in candidates if f.name.overload == function.name.overload] or candidates
            if same:
                declared.setdefault(str(same[0].name), {}).setdefault(kind, function)
    taken = {str(v.name): name for name, variants in declared.items() for v in variants.values()}
    names = {str(function.name): function.name for function in functions}
    result = []
    for function in functions:
        variants = declared.get(str(function.name))
        if variants is not None:
            made = [(variant.name, variant.text.span(0, 1)) for variant in variants.values()]
            autogen = [item for item in function.autogen if str(item[0]) not in taken]
            function = replace(function, autogen=(*made, *autogen))
        if str(function.name) in taken:
            function = replace(function, variant_of=names[taken[str(function.name)]])
        result.append(function)
    return tuple(result)
