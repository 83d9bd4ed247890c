"""Plans an operator: how it is computed, differentiated and called, from its entries and the functions they name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from codegen.bind.composites import ResolvedComposite
from codegen.bind.elementwise import ResolvedElementwise
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
    SCALAR,
    formula_type,
    is_tensor_like,
)
from codegen.plan.batching import plan_batching
from codegen.plan.elementwise import ElementwisePlan, direct_kernel, kernel_of, plan_elementwise
from codegen.plan.fast_path import plan_fast_path, plan_traced
from codegen.plan.forward import plan_forward
from codegen.plan.inplace import plan_inplace
from codegen.plan.kinds import OperatorKind, ViewKind
from codegen.plan.layout import LayoutPlan, plan_layout
from codegen.plan.names import FunctionNames
from codegen.plan.node import NodePlan, takes_number
from codegen.plan.operator import (
    AutogradPlan,
    CompositePlan,
    ComputePlan,
    OperatorPlan,
    ParameterPlan,
    PythonPlan,
    returns_list,
)
from codegen.plan.steps import ResultKind, ResultPlan
from codegen.python_source import PythonFunction
from codegen.read.implied import samples_of
from codegen.read.model import FormulaKind, NativeFunction
from codegen.rules.checked import Checked
from codegen.schema.types import (
    Argument,
    FunctionSchema,
    ListType,
    OperatorName,
    OptionalType,
    SchemaKind,
    required,
)
from codegen.source import Text
from codegen.words import HalfKind, NumberKind, OutDtype


@dataclass(frozen=True, slots=True)
class OperatorPlanner:
    """Plans operators one by one, from what is known of all.

    Attributes:
        checked: the operators, and the functions that they name.
        entries: how operators are differentiated, by operator.
        nodes: planned already: of operators; of those with formulas for keys of their own; and of the variants in place
            that have formulas of their own, by the operators that these are of.
        formulas: the composite operators that are formulas.
        elementwise: those that are expressions over elements.
        names: what the functions of operators are called.
        package: that the output is imported as.
        of_tensors: the overload of two Tensors, by the names of operators that have one.
    """

    checked: Checked
    entries: Mapping[str, ResolvedEntry]
    nodes: Mapping[str, NodePlan]
    keyed_nodes: Mapping[OperatorName, tuple[tuple[str, NodePlan], ...]]
    inplace_nodes: Mapping[OperatorName, NodePlan | None]
    formulas: Mapping[str, ResolvedComposite]
    elementwise: Mapping[str, ResolvedElementwise]
    names: FunctionNames
    package: str
    of_tensors: Mapping[str, OperatorName]

    def plan(self, function: NativeFunction) -> OperatorPlan:
        """Plan one overload."""
        autograd = self._plan_autograd(function)
        expression = self._plan_expression(function)
        python = self._plan_python(function)
        implementations = self._implementations(function, expression)
        composite = _composite(self.formulas.get(str(function.name)))
        key = composite.key if composite is not None else implementations[0][0] if implementations else ""
        kind = _KINDS.get(key, OperatorKind.DECLARED)
        view = _view(function.schema)
        compute = _plan_compute(function, kind, view, implementations, composite, autograd, python, expression)
        samples = () if function.late_bound else samples_of(function)
        return OperatorPlan(function.name, function.schema, kind, view, function, compute, autograd, python, samples)

    def _plan_autograd(self, function: NativeFunction) -> AutogradPlan:
        """How the operator is differentiated; without an entry only what it is in place may be."""
        name = str(function.name)
        entry, node = self.entries.get(name), self.nodes.get(name)
        inplace_node = self.inplace_nodes.get(function.name)
        if entry is None:
            return AutogradPlan(node, inplace_node)
        keyed, formulas = self.keyed_nodes.get(function.name, ()), _formulas(entry)
        if node is None:
            return AutogradPlan(None, inplace_node, keyed, never_differentiable=True, formulas=formulas)
        linear = self.checked.linear
        return AutogradPlan(
            node, inplace_node, keyed, plan_forward(entry, self.checked.table), unimplemented=_unimplemented(entry),
            factors=linear.factors(name) if name in linear.entries else (), formulas=formulas,
        )  # fmt: skip

    def _plan_expression(self, function: NativeFunction) -> Expression | None:
        """The kernel of an operator that is an expression over elements."""
        known = self.elementwise.get(str(function.name))
        if known is None:
            return None
        # With what follows from its expression, such as that it takes real numbers alone.
        resolved = replace(known, function=function)
        steps = plan_elementwise(resolved, self.checked.table.functions, self.checked.kernels)
        direct = direct_kernel(resolved, steps)
        if direct is not None:
            return Expression(None, direct)
        return Expression(steps, kernel_of(resolved, self.names[function.name], self.package))

    def _plan_python(self, function: NativeFunction) -> PythonPlan:
        names = self.names
        inplace, out = _variants(function)
        return PythonPlan(
            names[function.name], _parameters(function.schema), inplace, out,
            None if inplace is None else names[inplace], None if out is None else names[out], _old_orders(function),
            function.numbers_as_tensors,
            self.of_tensors.get(function.name.base) if takes_number(function.schema) else None,
        )  # fmt: skip

    def _implementations(
        self, function: NativeFunction, expression: Expression | None
    ) -> tuple[tuple[str, PythonFunction], ...]:
        """The functions that compute it, each with its dispatch key; a formula is none."""
        if function.late_bound:
            return () if expression is None else ((CPU, expression.kernel),)
        composites = self.checked.composites
        implementations = [] if expression is None else [(CPU, expression.kernel)]
        for line in function.dispatch:
            index = composites if line.key in COMPOSITE_KEYS else self.checked.kernels
            implementation = index.get(str(line.kernel))
            if implementation is not None:
                implementations.append((line.key, implementation))
        if not function.dispatch and expression is None and str(function.name) not in self.formulas:
            implementation = composites.get(function.name.python_name)
            if implementation is not None:
                implementations.append((COMPOSITE_IMPLICIT, implementation))
        # What serves the CPU comes first: the fast path runs it, and the general path finds the same.
        implementations.sort(key=lambda item: CPU_ORDER.index(item[0]) if item[0] in CPU_ORDER else len(CPU_ORDER))
        return tuple(implementations)


@dataclass(frozen=True, slots=True)
class Expression:
    """An operator that is an expression over elements: the kernel that computes it.

    Attributes:
        steps: of the kernel; None where another operator's kernel does it as it is.
        kernel: its function.
    """

    steps: ElementwisePlan | None
    kernel: PythonFunction


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
        written = plan_inplace(
            fast_path, python.inplace_function, function.no_overlap, autograd.saves_self, shares_node
        )
    is_implicit = kind is OperatorKind.IMPLICIT
    return ComputePlan(
        implementations=implementations,
        promotion=function.promotion,
        in_float32=in_float32,
        numbers=_numbers(function, kind),
        layout=layout,
        out_dtype=_out_dtype(function),
        exclusive=function.no_overlap,
        one_value=function.constant_result is not None and python.inplace is not None,
        batching=None if is_implicit else plan_batching(function),
        fast_path=fast_path,
        written=written,
        traced=plan_traced(function, in_float32) if is_implicit else None,
        composite=composite,
        elementwise=steps,
    )


def _view(schema: FunctionSchema) -> ViewKind | None:
    if not schema.is_view:
        return None
    return ViewKind.MULTI if returns_list(schema) or len(schema.returns) > 1 else ViewKind.SINGLE


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
    is_list = returns_list(schema)
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
    one = len(function.schema.returns) == 1 and not returns_list(function.schema)
    for name, _ in function.autogen:
        if name.is_inplace:
            inplace = name if one else None  # of several results none is what `self` becomes
        elif name.base == function.name.base:
            out = name
    return inplace, out


def _old_orders(function: NativeFunction) -> tuple[tuple[str, ...], ...]:
    """The old orders of arguments: those of functions, and those of methods, which have `self` first in any case."""
    orders: list[tuple[str, ...]] = []
    for order in function.legacy_argument_orders:
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
