"""Plans of operators: everything a target needs to know about one overload, in no target's language."""

from __future__ import annotations

from dataclasses import dataclass

from codegen.bind.composites import ResolvedComposite
from codegen.bind.entries import ResolvedEntry
from codegen.formula.typed import (
    BOOL,
    DTYPE,
    SCALAR,
    TypedExpr,
    formula_type,
    is_tensor_like,
)
from codegen.plan.batching import BatchingPlan, plan_batching
from codegen.plan.elementwise import KEY, ElementwisePlan
from codegen.plan.fast_path import plan_fast_path, plan_traced
from codegen.plan.forward import ForwardPlan
from codegen.plan.inplace import InplacePlan, plan_inplace
from codegen.plan.kinds import OperatorKind, SavedKind, ViewKind
from codegen.plan.layout import LayoutPlan, plan_layout
from codegen.plan.names import FunctionNames
from codegen.plan.node import NodePlan, with_names, with_place
from codegen.plan.saved import values_used
from codegen.plan.steps import FastPathPlan, Guard, ResultKind, ResultPlan, TracedPlan
from codegen.python_source import FunctionIndex, PythonFunction
from codegen.read.implied import samples_of
from codegen.read.model import FormulaKind, NativeFunction, Promotion
from codegen.schema.types import (
    Argument,
    FunctionSchema,
    ListType,
    OperatorName,
    OptionalType,
    SchemaKind,
    Type,
    base_type,
    required,
)
from codegen.source import Text
from codegen.words import COMPOSITE_KEYS, CPU_ORDER, HalfKind, NumberKind, OutDtype


@dataclass(frozen=True, slots=True)
class ParameterPlan:
    """A parameter of an operator's callable; `default` is the schema's text or None."""

    name: str
    type: Type
    size: int | None
    default: str | None
    keyword_only: bool
    is_placement: bool


@dataclass(frozen=True, slots=True)
class CompositePlan:
    """The formula over other operators that an operator is."""

    key: str  # the dispatch key that it stands under
    tree: TypedExpr
    text: Text
    lists: tuple[str, ...] = ()  # the arguments for an element of each of which it is
    inplace: OperatorName | None = None  # the operator that writes these elements, in the place of the one it calls

    @property
    def written(self) -> str:
        """The formula as it is written: `composite: self.exp() - 1`."""
        return with_names([self._yaml_key], self.text)

    @property
    def source(self) -> str:
        """The same after its place: `native_functions.yaml:12  composite: self.exp() - 1`."""
        return with_place([self._yaml_key], self.text)

    @property
    def _yaml_key(self) -> str:
        return "foreach" if self.lists else "composite"


@dataclass(frozen=True, slots=True)
class OperatorPlan:
    """One overload.  Of the implementations the first one serves the CPU, where one does."""

    name: OperatorName
    schema: FunctionSchema
    function: str
    parameters: tuple[ParameterPlan, ...]
    kind: OperatorKind
    implementations: tuple[tuple[str, PythonFunction], ...]
    promotion: Promotion | None
    fast_path: FastPathPlan | None  # through a kernel
    traced: TracedPlan | None  # of an implicit one
    node: NodePlan | None
    inplace_node: NodePlan | None  # where the in-place variant has formulas of its own
    forward: ForwardPlan | None
    view: ViewKind | None
    inplace: OperatorName | None
    out: OperatorName | None
    inplace_function: str | None
    written: InplacePlan | None  # the in-place variant, where the fast path takes it
    out_function: str | None
    returns_list: bool
    saves_self: bool
    never_differentiable: bool  # its entry says so: results simply have no gradient
    samples: tuple[str, ...]
    formulas: tuple[tuple[Text, str], ...]  # each as it stands in the file, and with the names that it is for
    source: NativeFunction
    batching: BatchingPlan | None = None
    in_float32: bool = False  # half precision is computed in float32, and the results are rounded once
    numbers: tuple[tuple[str, NumberKind], ...] = ()  # its Scalars and what becomes of them
    exclusive: bool = False  # what is written may lie in the memory of no argument, not even in the same places
    one_value: bool = False  # its in-place variant gives all elements the same value
    old_orders: tuple[tuple[str, ...], ...] = ()  # of arguments, that PyTorch still takes
    numbers_as_tensors: bool = False  # numbers may stand for all of its Tensors
    of_tensors: OperatorName | None = None  # the overload of two Tensors that PyTorch calls in the place of this one
    out_dtype: OutDtype = OutDtype.EXACT  # which dtypes `out=` may have
    layout: LayoutPlan | None = None  # how results lie in memory; None where no kernel makes memory for them
    keyed_nodes: tuple[tuple[str, NodePlan], ...] = ()  # of autograd keys that have formulas of their own
    unimplemented: tuple[tuple[str, str], ...] = ()  # arguments whose derivative is not implemented, and what it is of
    factors: tuple[tuple[str, ...], ...] = ()  # groups of arguments that make the result zero by being zero
    composite: CompositePlan | None = None
    elementwise: ElementwisePlan | None = None  # what its kernel computes, where it is an expression

    @property
    def formula_texts(self) -> tuple[str, ...]:
        return tuple(text for _, text in self.formulas)

    def __post_init__(self) -> None:
        implemented = bool(self.implementations) != (self.composite is not None)
        assert implemented or self.kind is OperatorKind.DECLARED, "what is not declared is implemented"
        assert self.fast_path is None or self.kind is OperatorKind.KERNEL, "the fast path runs a kernel"
        assert self.traced is None or self.kind is OperatorKind.IMPLICIT, "only composite functions are traced through"
        assert (self.view is not None) == self.schema.is_view, "its schema says whether it is a view"
        assert (self.inplace is None) == (self.inplace_function is None), "each variant has a function"
        assert (self.out is None) == (self.out_function is None), "each variant has a function"

    @property
    def writes_out(self) -> bool:
        """Whether the form with `out=` may write what the fast path computes: one Tensor, without random numbers."""
        one = len(self.schema.returns) == 1 and not self.returns_list
        return self.out is not None and one and not self.source.is_random

    @property
    def computes_halves(self) -> bool:
        """Whether the fast path in C++ takes Tensors of one half precision, too: in float32, with rounded results."""
        dtypes = self.source.dtypes
        return (
            self.fast_path is not None
            and self.in_float32
            and self.fast_path.results.kind in (ResultKind.ARRAY, ResultKind.SEVERAL)
            and (dtypes is None or "half" in dtypes.kinds)
            and not any(argument.is_write for argument in self.schema.all_arguments)
            and not self.source.is_random
        )

    @property
    def nodes(self) -> tuple[NodePlan, ...]:
        """All of its Nodes."""
        own = (node for node in (self.node, self.inplace_node) if node is not None)
        return (*own, *(node for _, node in self.keyed_nodes))

    def may_lack_gradient(self, node: NodePlan) -> bool:
        """Whether a result may have a dtype without gradients though an argument has them.

        A call may have asked for it; or elements of several Tensors move into what has the dtype of the first one.
        """
        if any(base_type(parameter.type) == DTYPE for parameter in self.parameters):
            return True
        moves = self.kind is OperatorKind.KERNEL and self.promotion is None and not self.in_float32
        return moves and sum(not edge.is_list for edge in node.edges) > 1

    @property
    def guards(self) -> tuple[Guard, ...]:
        """What is asked of a call that does not go the general way."""
        if self.fast_path is not None:
            return self.fast_path.all_guards
        return self.traced.guards if self.traced is not None else ()

    @property
    def differentiable(self) -> bool:
        """Whether there is a Node that gives gradients: not all are declared as not implemented."""
        return self.node is not None and not {edge.name for edge in self.node.edges} <= dict(self.unimplemented).keys()

    @property
    def implementation(self) -> PythonFunction:
        return self.implementations[0][1]


def plan_operator(
    function: NativeFunction,
    entry: ResolvedEntry | None,
    node: NodePlan | None,
    inplace_node: NodePlan | None,
    forward: ForwardPlan | None,
    names: FunctionNames,
    kernels: FunctionIndex,
    composites: FunctionIndex,
    composite: ResolvedComposite | None,
    elementwise: tuple[ElementwisePlan | None, PythonFunction] | None = None,
) -> OperatorPlan:
    schema = function.schema
    implementations = [] if elementwise is None else [(KEY, elementwise[1])]
    for line in () if function.late_bound else function.dispatch:
        index = composites if line.key in COMPOSITE_KEYS else kernels
        implementation = index.get(str(line.kernel))
        if implementation is not None:
            implementations.append((line.key, implementation))
    if not function.dispatch and not function.late_bound and composite is None and elementwise is None:
        implementation = composites.get(schema.name.python_name)
        if implementation is not None:
            implementations.append(("CompositeImplicitAutograd", implementation))
    # What serves the CPU comes first: the fast path runs it, and the general path finds the same.
    implementations.sort(key=lambda item: CPU_ORDER.index(item[0]) if item[0] in CPU_ORDER else len(CPU_ORDER))
    kind = _KINDS.get(implementations[0][0], OperatorKind.DECLARED) if implementations else OperatorKind.DECLARED
    if composite is not None:
        kind = _KINDS[_composite(composite).key]
    inplace, out = _variants(function)
    in_float32 = _computes_in_float32(function, kind)
    returns_list = len(schema.returns) == 1 and isinstance(schema.returns[0].type, ListType)
    view = None
    if schema.is_view:
        view = ViewKind.MULTI if returns_list or len(schema.returns) > 1 else ViewKind.SINGLE
    recorded = inplace_node or node
    saves_self = recorded is not None and any(s.name == "self" and s.kind is SavedKind.TENSOR for s in recorded.saved)
    if forward is not None:
        saves_self = saves_self or any("self" in values_used(formula.tree) for formula in forward.formulas)
    never_differentiable = entry is not None and node is None
    layout = plan_layout(function, kind)
    fast_path = written = None
    if (
        kind is OperatorKind.KERNEL
        and schema.kind is SchemaKind.FUNCTIONAL
        and (_returns_tensors(schema) or _returns_flag(schema))
    ):
        edges = None if node is None else [edge.name for edge in node.edges]
        results = _results(schema, view, layout)
        of_complex = elementwise is not None and elementwise[0] is not None and elementwise[0].of_complex
        fast_path = plan_fast_path(
            function, implementations[0], in_float32, results, edges, not never_differentiable, of_complex
        )
    inplace_function = None if inplace is None else names[inplace]
    if fast_path is not None and inplace_function is not None:
        written = plan_inplace(
            fast_path, inplace_function, function.exclusive, saves_self, node is not None and not inplace_node
        )
    return OperatorPlan(
        schema.name, schema, names[schema.name], _parameters(schema), kind, tuple(implementations),
        function.promotion, fast_path, plan_traced(function, in_float32) if kind is OperatorKind.IMPLICIT else None,
        node, inplace_node, forward, view, inplace,
        out, inplace_function, written, None if out is None else names[out], returns_list,
        saves_self,
        never_differentiable, () if function.late_bound else samples_of(function),
        _formulas(entry) if entry is not None else (),
        function, None if kind is OperatorKind.IMPLICIT else plan_batching(function), in_float32,
        numbers=_numbers(function, kind),
        exclusive=function.exclusive,
        one_value=function.fills is not None and inplace is not None,
        old_orders=_old_orders(function),
        numbers_as_tensors=function.numbers_as_tensors,
        out_dtype=_out_dtype(function),
        layout=layout,
        composite=None if composite is None else _composite(composite),
        elementwise=None if elementwise is None else elementwise[0],
    )  # fmt: skip


def _composite(composite: ResolvedComposite) -> CompositePlan:
    implicit = composite.function.is_composite_implicit
    key = "CompositeImplicitAutograd" if implicit else "CompositeExplicitAutograd"
    return CompositePlan(key, composite.tree, composite.text, composite.lists, composite.inplace)


def _returns_tensors(schema: FunctionSchema) -> bool:
    return all(is_tensor_like(formula_type(result.type)) for result in schema.returns)


def _returns_flag(schema: FunctionSchema) -> bool:
    return [formula_type(result.type) for result in schema.returns] == [BOOL]


def _results(schema: FunctionSchema, view: ViewKind | None, layout: LayoutPlan | None) -> ResultPlan:
    """What the fast path makes of what the kernel gives."""
    count = len(schema.returns)
    base = next((argument.name for argument in schema.arguments if argument.alias is not None), None)
    is_list = count == 1 and isinstance(schema.returns[0].type, ListType)
    if view is ViewKind.SINGLE:
        return ResultPlan(ResultKind.VIEW, base=base)
    if view is ViewKind.MULTI:
        return ResultPlan(ResultKind.VIEWS, None if is_list else count, base)
    if is_list:
        return ResultPlan(ResultKind.LIST, layout=layout)
    if _returns_flag(schema):
        return ResultPlan(ResultKind.FLAG)
    if count > 1:
        return ResultPlan(ResultKind.SEVERAL, count, layout=layout, masked=schema.masks_outputs)
    return ResultPlan(ResultKind.ARRAY, layout=layout)


_KINDS = {
    "CPU": OperatorKind.KERNEL,
    "CompositeExplicitAutogradNonFunctional": OperatorKind.EXPLICIT,
    "CompositeExplicitAutograd": OperatorKind.EXPLICIT,
    "CompositeImplicitAutograd": OperatorKind.IMPLICIT,
}


def unimplemented(entry: ResolvedEntry) -> tuple[tuple[str, str], ...]:
    return tuple(
        (name, formula.source.reason or str(entry.function.name))
        for formula in entry.backward
        if formula.kind is FormulaKind.NOT_IMPLEMENTED
        for name in formula.names
    )


def _numbers(function: NativeFunction, kind: OperatorKind) -> tuple[tuple[str, NumberKind], ...]:
    """What becomes of Python ints where a kernel promotes to an integer dtype; without promotion it looks itself."""
    promotion, said = function.promotion, function.numbers
    if promotion is None or kind is not OperatorKind.KERNEL:
        return ()
    numbers = []
    for argument in function.schema.arguments:
        if required(formula_type(argument.type)) == SCALAR:
            takes_part = promotion.arguments is None or argument.name in promotion.arguments
            own = said.kind if said is not None and argument.name in said.arguments else None
            numbers.append((argument.name, own or (NumberKind.WRAP if takes_part else NumberKind.FIT)))
    return tuple(numbers)


def _computes_in_float32(function: NativeFunction, kind: OperatorKind) -> bool:
    """Whether half precision is computed in float32 and rounded once.

    Kernels do, unless they say otherwise or make views; a composite does where it says so, because each operator that
    it calls rounds by itself.
    """
    schema = function.schema
    takes_tensors = any(is_tensor_like(formula_type(argument.type)) for argument in schema.arguments)
    if not takes_tensors or schema.is_view or kind is OperatorKind.DECLARED:
        return False
    return function.half is HalfKind.FLOAT32 if function.half is not None else kind is OperatorKind.KERNEL


def _variants(function: NativeFunction) -> tuple[OperatorName | None, OperatorName | None]:
    inplace = out = None
    one = len(function.schema.returns) == 1 and not isinstance(function.schema.returns[0].type, ListType)
    for name, _ in function.autogen:
        if name.is_inplace:
            inplace = name if one else None  # of several results none is what `self` becomes
        elif name.base == function.name.base:
            out = name
    return inplace, out


def _old_orders(function: NativeFunction) -> tuple[tuple[str, ...], ...]:
    """The old orders of arguments: those of functions, and those of methods, which have `self` first in any case."""
    orders: list[tuple[str, ...]] = []
    for order in function.old_orders:
        orders += [order, tuple(sorted(order, key=lambda name: name != "self"))]
    return tuple(dict.fromkeys(orders))


def _out_dtype(function: NativeFunction) -> OutDtype:
    """As its entry says; else factories compute in the dtype of `out=`, and element-wise operators cast to it."""
    if function.out_dtype is not None:
        return function.out_dtype
    if function.schema.is_factory:
        return OutDtype.GIVEN
    return OutDtype.CAST if "pointwise" in function.tags else OutDtype.EXACT


def _parameters(schema: FunctionSchema) -> tuple[ParameterPlan, ...]:
    def plan(argument: Argument, keyword_only: bool) -> ParameterPlan:
        type = argument.type.elem if isinstance(argument.type, OptionalType) else argument.type
        size = type.size if isinstance(type, ListType) else None
        value = formula_type(argument.type)
        return ParameterPlan(argument.name, value, size, argument.default, keyword_only, argument.is_placement)

    return (
        *(plan(argument, False) for argument in schema.positional),
        *(plan(argument, True) for argument in schema.kwarg_only),
    )


def _formulas(entry: ResolvedEntry) -> tuple[tuple[Text, str], ...]:
    formulas = (*entry.backward, *entry.forward)
    return tuple((f.source.text, f"{', '.join(f.names)}: {f.source.text}") for f in formulas)
