"""Plans of operators: everything a target needs to know about one overload, in no target's language."""

from __future__ import annotations

from dataclasses import dataclass

from codegen.formula.typed import (
    DTYPE,
    SCALAR,
    TENSOR,
    TypedExpr,
)
from codegen.plan.batching import BatchingPlan
from codegen.plan.elementwise import ElementwisePlan
from codegen.plan.forward import ForwardPlan
from codegen.plan.inplace import InplacePlan
from codegen.plan.kinds import OperatorKind, SavedKind, ViewKind
from codegen.plan.layout import LayoutPlan
from codegen.plan.node import NodePlan, with_names, with_place
from codegen.plan.saved import values_used
from codegen.plan.steps import FastPathPlan, Guard, ResultKind, TracedPlan
from codegen.python_source import PythonFunction
from codegen.read.model import NativeFunction, Promotion
from codegen.schema.types import (
    FunctionSchema,
    ListType,
    OperatorName,
    Type,
    base_type,
)
from codegen.source import Text
from codegen.words import NumberKind, OutDtype


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
    inplace: OperatorName | None = None  # what writes these elements, or is the in-place variant, for the one it calls

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
        return returns_list(self.schema)

    @property
    def writes_out(self) -> bool:
        """Whether the form with `out=` may write what the fast path computes: one Tensor, without random numbers."""
        one = len(self.schema.returns) == 1 and not self.returns_list
        return self.python.out is not None and one and not self.source.is_random

    @property
    def computes_halves(self) -> bool:
        """Whether the fast path in C++ takes Tensors of one half precision, too: in float32, with rounded results."""
        dtypes = self.source.dtypes
        return self._converts and self.compute.in_float32 and (dtypes is None or "half" in dtypes.kinds)

    @property
    def promoted(self) -> frozenset[str]:
        """The arguments that the fast path in C++ brings to one element type itself."""
        promotion = self.compute.promotion
        if promotion is None or not self._converts:
            return frozenset()
        types = {argument.name: base_type(argument.type) for argument in self.schema.arguments}
        every = [name for name, type in types.items() if type in (TENSOR, SCALAR)]
        names = frozenset(every if promotion.arguments is None else promotion.arguments)
        return names if any(types[name] == TENSOR for name in names) else frozenset()

    @property
    def computes_other_dtypes(self) -> bool:
        """Whether the fast path in C++ takes Tensors of other element types than its kernel computes in."""
        return self.computes_halves or bool(self.promoted)

    @property
    def _converts(self) -> bool:
        """Whether the results of the fast path are the same arrays where arguments are converted before."""
        fast_path = self.compute.fast_path
        return (
            fast_path is not None
            and fast_path.results.kind in (ResultKind.ARRAY, ResultKind.SEVERAL)
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


def returns_list(schema: FunctionSchema) -> bool:
    """Whether the one result is a list of Tensors."""
    return len(schema.returns) == 1 and isinstance(schema.returns[0].type, ListType)
