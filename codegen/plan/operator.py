"""Plans of operators: everything a target needs to know about one overload, in no target's language."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from codegen.bind.composites import ResolvedComposite
from codegen.bind.entries import ResolvedEntry
from codegen.dispatch_keys import (
    COMPOSITE_EXPLICIT,
    COMPOSITE_IMPLICIT,
    COMPOSITE_KEYS,
    COMPOSITE_NON_FUNCTIONAL,
    CPU,
    CPU_ORDER,
)
from codegen.formula.typed import (
    BOOL,
    DTYPE,
    SCALAR,
    TypedExpr,
    formula_type,
    is_tensor_like,
)
from codegen.plan.batching import BatchingPlan, plan_batching
from codegen.plan.elementwise import ElementwisePlan
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
from codegen.words import HalfKind, NumberKind, OutDtype


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
class ComputePlan:
    """How results are computed. Of the implementations the first one serves the CPU, where one does."""

    implementations: tuple[tuple[str, PythonFunction], ...]
    promotion: Promotion | None
    in_float32: bool  # half precision is computed in float32, and the results are rounded once
    numbers: tuple[tuple[str, NumberKind], ...]  # its Scalars and what becomes of them
    layout: LayoutPlan | None  # how results lie in memory; None where no kernel makes memory for them
    out_dtype: OutDtype  # which dtypes `out=` may have
    exclusive: bool  # what is written may lie in the memory of no argument, not even in the same places
    one_value: bool  # its in-place variant gives all elements the same value
    batching: BatchingPlan | None
    fast_path: FastPathPlan | None  # through a kernel
    written: InplacePlan | None  # the in-place variant, where the fast path takes it
    traced: TracedPlan | None  # of an implicit one
    composite: CompositePlan | None
    elementwise: ElementwisePlan | None  # what its kernel computes, where it is an expression

    def __post_init__(self) -> None:
        assert not (self.implementations and self.composite), "a composite is a formula or a function"

    @property
    def implementation(self) -> PythonFunction:
        return self.implementations[0][1]

    @property
    def guards(self) -> tuple[Guard, ...]:
        """What is asked of a call that does not go the general way."""
        if self.fast_path is not None:
            return self.fast_path.all_guards
        return self.traced.guards if self.traced is not None else ()


@dataclass(frozen=True, slots=True)
class AutogradPlan:
    """How results are differentiated."""

    node: NodePlan | None = None
    inplace_node: NodePlan | None = None  # where the in-place variant has formulas of its own
    keyed_nodes: tuple[tuple[str, NodePlan], ...] = ()  # of autograd keys that have formulas of their own
    forward: ForwardPlan | None = None
    never_differentiable: bool = False  # its entry says so: results simply have no gradient
    unimplemented: tuple[tuple[str, str], ...] = ()  # arguments whose derivative is not implemented, and what it is of
    factors: tuple[tuple[str, ...], ...] = ()  # groups of arguments that make the result zero by being zero
    formulas: tuple[tuple[Text, str], ...] = ()  # each as it stands in the file, and with the names that it is for

    @property
    def formula_texts(self) -> tuple[str, ...]:
        return tuple(text for _, text in self.formulas)

    @property
    def nodes(self) -> tuple[NodePlan, ...]:
        """All of its Nodes."""
        own = (node for node in (self.node, self.inplace_node) if node is not None)
        return (*own, *(node for _, node in self.keyed_nodes))

    @property
    def differentiable(self) -> bool:
        """Whether there is a Node that gives gradients: not all are declared as not implemented."""
        return self.node is not None and not {edge.name for edge in self.node.edges} <= dict(self.unimplemented).keys()

    @property
    def saves_self(self) -> bool:
        """Whether a gradient of the in-place variant, or a tangent, reads what `self` was."""
        recorded = self.inplace_node or self.node
        if recorded is not None and any(s.name == "self" and s.kind is SavedKind.TENSOR for s in recorded.saved):
            return True
        return self.forward is not None and any("self" in values_used(each.tree) for each in self.forward.formulas)


@dataclass(frozen=True, slots=True)
class PythonPlan:
    """How Python calls it: its functions, and those of its variants."""

    function: str
    parameters: tuple[ParameterPlan, ...]
    inplace: OperatorName | None
    out: OperatorName | None
    inplace_function: str | None
    out_function: str | None
    old_orders: tuple[tuple[str, ...], ...]  # of arguments, that PyTorch still takes
    numbers_as_tensors: bool  # numbers may stand for all of its Tensors
    of_tensors: OperatorName | None  # the overload of two Tensors that PyTorch calls in the place of this one

    def __post_init__(self) -> None:
        assert (self.inplace is None) == (self.inplace_function is None), "each variant has a function"
        assert (self.out is None) == (self.out_function is None), "each variant has a function"


@dataclass(frozen=True, slots=True)
class OperatorPlan:
    """One overload: what it is, and how it is computed, differentiated, called and tested."""

    name: OperatorName
    schema: FunctionSchema
    kind: OperatorKind
    view: ViewKind | None
    source: NativeFunction
    compute: ComputePlan
    autograd: AutogradPlan
    python: PythonPlan
    samples: tuple[str, ...]

    def __post_init__(self) -> None:
        compute = self.compute
        assert compute.implementations or compute.composite is not None or self.kind is OperatorKind.DECLARED, (
            "what is not declared is implemented"
        )
        assert compute.fast_path is None or self.kind is OperatorKind.KERNEL, "the fast path runs a kernel"
        assert compute.traced is None or self.kind is OperatorKind.IMPLICIT, "only composites are traced through"
        assert (self.view is not None) == self.schema.is_view, "its schema says whether it is a view"

    @property
    def returns_list(self) -> bool:
        return _returns_list(self.schema)

    @property
    def writes_out(self) -> bool:
        """Whether the form with `out=` may write what the fast path computes: one Tensor, without random numbers."""
        one = len(self.schema.returns) == 1 and not self.returns_list
        return self.python.out is not None and one and not self.source.is_random

    @property
    def computes_halves(self) -> bool:
        """Whether the fast path in C++ takes Tensors of one half precision, too: in float32, with rounded results."""
        dtypes, fast_path = self.source.dtypes, self.compute.fast_path
        return (
            fast_path is not None
            and self.compute.in_float32
            and fast_path.results.kind in (ResultKind.ARRAY, ResultKind.SEVERAL)
            and (dtypes is None or "half" in dtypes.kinds)
            and not any(argument.is_write for argument in self.schema.all_arguments)
            and not self.source.is_random
        )

    def may_lack_gradient(self, node: NodePlan) -> bool:
        """Whether a result may have a dtype without gradients though an argument has them.

        A call may have asked for it; or elements of several Tensors move into what has the dtype of the first one.
        """
        if any(base_type(parameter.type) == DTYPE for parameter in self.python.parameters):
            return True
        moves = self.kind is OperatorKind.KERNEL and self.compute.promotion is None and not self.compute.in_float32
        return moves and sum(not edge.is_list for edge in node.edges) > 1


@dataclass(frozen=True, slots=True)
class Functions:
    """The functions that operators are made of, by name.

    Attributes:
        kernels: on arrays.
        composites: on Tensors.
        formulas: the composite operators that are formulas, by operator.
        names: what the functions of operators are called.
    """

    kernels: FunctionIndex
    composites: FunctionIndex
    formulas: Mapping[str, ResolvedComposite]
    names: FunctionNames


@dataclass(frozen=True, slots=True)
class Expression:
    """An operator that is an expression over elements: the kernel that computes it.

    Attributes:
        steps: of the kernel; None where another operator's kernel does it as it is.
        kernel: its function.
    """

    steps: ElementwisePlan | None
    kernel: PythonFunction


def plan_operator(
    function: NativeFunction,
    autograd: AutogradPlan,
    functions: Functions,
    expression: Expression | None = None,
    of_tensors: OperatorName | None = None,
) -> OperatorPlan:
    """Plan one overload.

    Args:
        function: as its entry says.
        autograd: how it is differentiated.
        functions: what it may be made of.
        expression: its kernel, where it is an expression over elements.
        of_tensors: the overload of two Tensors that PyTorch calls in the place of this one.
    """
    python = _plan_python(function, functions.names, of_tensors)
    implementations = _implementations(function, functions, expression)
    composite = _composite(functions.formulas.get(str(function.name)))
    key = composite.key if composite is not None else implementations[0][0] if implementations else ""
    kind = _KINDS.get(key, OperatorKind.DECLARED)
    view = _view(function.schema)
    compute = _plan_compute(function, kind, view, implementations, composite, autograd, python, expression)
    samples = () if function.late_bound else samples_of(function)
    return OperatorPlan(function.name, function.schema, kind, view, function, compute, autograd, python, samples)


def plan_autograd(
    entry: ResolvedEntry | None,
    node: NodePlan | None,
    inplace_node: NodePlan | None,
    keyed_nodes: tuple[tuple[str, NodePlan], ...],
    forward: ForwardPlan | None,
    factors: tuple[tuple[str, ...], ...],
) -> AutogradPlan:
    """Plan how an operator with this entry is differentiated; the Nodes are planned."""
    if entry is None:
        return AutogradPlan(node, inplace_node)
    return AutogradPlan(
        node, inplace_node, keyed_nodes, forward, node is None, _unimplemented(entry) if node is not None else (),
        factors, _formulas(entry),
    )  # fmt: skip


def _plan_python(function: NativeFunction, names: FunctionNames, of_tensors: OperatorName | None) -> PythonPlan:
    inplace, out = _variants(function)
    return PythonPlan(
        names[function.name], _parameters(function.schema), inplace, out,
        None if inplace is None else names[inplace], None if out is None else names[out],
        _old_orders(function), function.numbers_as_tensors, of_tensors,
    )  # fmt: skip


def _implementations(
    function: NativeFunction, functions: Functions, expression: Expression | None
) -> tuple[tuple[str, PythonFunction], ...]:
    """The functions that compute it, each with its dispatch key; a formula is none."""
    if function.late_bound:
        return () if expression is None else ((CPU, expression.kernel),)
    implementations = [] if expression is None else [(CPU, expression.kernel)]
    for line in function.dispatch:
        index = functions.composites if line.key in COMPOSITE_KEYS else functions.kernels
        implementation = index.get(str(line.kernel))
        if implementation is not None:
            implementations.append((line.key, implementation))
    if not function.dispatch and expression is None and str(function.name) not in functions.formulas:
        implementation = functions.composites.get(function.name.python_name)
        if implementation is not None:
            implementations.append((COMPOSITE_IMPLICIT, implementation))
    # What serves the CPU comes first: the fast path runs it, and the general path finds the same.
    implementations.sort(key=lambda item: CPU_ORDER.index(item[0]) if item[0] in CPU_ORDER else len(CPU_ORDER))
    return tuple(implementations)


def _plan_compute(
    function: NativeFunction,
    kind: OperatorKind,
    view: ViewKind | None,
    implementations: tuple[tuple[str, PythonFunction], ...],
    composite: CompositePlan | None,
    autograd: AutogradPlan,
    python: PythonPlan,
    expression: Expression | None,
) -> ComputePlan:
    schema = function.schema
    in_float32 = _computes_in_float32(function, kind)
    layout = plan_layout(function, kind)
    steps = None if expression is None else expression.steps
    fast_path = written = None
    if (
        kind is OperatorKind.KERNEL
        and schema.kind is SchemaKind.FUNCTIONAL
        and (_returns_tensors(schema) or _returns_flag(schema))
    ):
        edges = None if autograd.node is None else [edge.name for edge in autograd.node.edges]
        results = _results(schema, view, layout)
        may_record = not autograd.never_differentiable
        of_complex = steps is not None and steps.of_complex
        fast_path = plan_fast_path(function, implementations[0], in_float32, results, edges, may_record, of_complex)
    if fast_path is not None and python.inplace_function is not None:
        shares_node = autograd.node is not None and not autograd.inplace_node
        written = plan_inplace(fast_path, python.inplace_function, function.exclusive, autograd.saves_self, shares_node)
    is_implicit = kind is OperatorKind.IMPLICIT
    return ComputePlan(
        implementations=implementations,
        promotion=function.promotion,
        in_float32=in_float32,
        numbers=_numbers(function, kind),
        layout=layout,
        out_dtype=_out_dtype(function),
        exclusive=function.exclusive,
        one_value=function.fills is not None and python.inplace is not None,
        batching=None if is_implicit else plan_batching(function),
        fast_path=fast_path,
        written=written,
        traced=plan_traced(function, in_float32) if is_implicit else None,
        composite=composite,
        elementwise=steps,
    )


def _returns_list(schema: FunctionSchema) -> bool:
    return len(schema.returns) == 1 and isinstance(schema.returns[0].type, ListType)


def _view(schema: FunctionSchema) -> ViewKind | None:
    if not schema.is_view:
        return None
    return ViewKind.MULTI if _returns_list(schema) or len(schema.returns) > 1 else ViewKind.SINGLE


def _composite(composite: ResolvedComposite | None) -> CompositePlan | None:
    if composite is None:
        return None
    implicit = composite.function.is_composite_implicit
    key = COMPOSITE_IMPLICIT if implicit else COMPOSITE_EXPLICIT
    return CompositePlan(key, composite.tree, composite.text, composite.lists, composite.inplace)


def _returns_tensors(schema: FunctionSchema) -> bool:
    return all(is_tensor_like(formula_type(result.type)) for result in schema.returns)


def _returns_flag(schema: FunctionSchema) -> bool:
    return [formula_type(result.type) for result in schema.returns] == [BOOL]


def _results(schema: FunctionSchema, view: ViewKind | None, layout: LayoutPlan | None) -> ResultPlan:
    """What the fast path makes of what the kernel gives."""
    count = len(schema.returns)
    base = next((argument.name for argument in schema.arguments if argument.alias is not None), None)
    is_list = _returns_list(schema)
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
    CPU: OperatorKind.KERNEL,
    COMPOSITE_NON_FUNCTIONAL: OperatorKind.EXPLICIT,
    COMPOSITE_EXPLICIT: OperatorKind.EXPLICIT,
    COMPOSITE_IMPLICIT: OperatorKind.IMPLICIT,
}


def _unimplemented(entry: ResolvedEntry) -> tuple[tuple[str, str], ...]:
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
    one = len(function.schema.returns) == 1 and not _returns_list(function.schema)
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
