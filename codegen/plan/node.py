"""Plans of backward Nodes: which edges and gradients they have, which output gradients each formula reads."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from codegen.bind.entries import ResolvedEntry
from codegen.formula.typed import (
    Element,
    HelperCall,
    Intrinsic,
    ListDisplay,
    OperatorCall,
    TupleDisplay,
    TypedExpr,
    Variable,
    VariableKind,
    children,
    plain_type,
)
from codegen.plan.saved import SavedVariable, plan_saved
from codegen.read.model import FormulaKind
from codegen.schema.types import (
    FunctionSchema,
    ListType,
    OperatorName,
    OptionalType,
    Type,
)
from codegen.source import Text


@dataclass(frozen=True, slots=True)
class EdgePlan:
    """A differentiable tensor argument; a list contributes one edge per element."""

    name: str
    is_list: bool
    is_optional: bool


@dataclass(frozen=True, slots=True)
class GradientPlan:
    """One backward formula: the edges it serves, and the output gradients it reads.

    `tree` is None for a formula that is not implemented (`reason` says why).  `materialize` lists output gradients
    that are made zeros where they are undefined while another one is not.
    """

    names: tuple[str, ...]
    edges: tuple[int, ...]
    tree: TypedExpr | None
    reads: tuple[int, ...]
    materialize: tuple[int, ...]
    reason: str | None = None
    text: Text | None = None  # as it stands in the file

    def __post_init__(self) -> None:
        assert (self.tree is None) == (self.reason is not None), "a formula, or the reason why there is none"
        assert len(self.names) == len(self.edges), "each name is one of an edge"

    @property
    def source(self) -> str:
        """The formula with its place, as generated code shows it."""
        assert self.text is not None
        return with_place(self.names, self.text)


def with_place(names: Sequence[str], formula: Text) -> str:
    """A formula, the names it is for, and where it stands: `derivatives.yaml:32  self: grad * other.conj()`."""
    span = formula.span()
    text = " ".join(formula.value.split())
    return f"{posixpath.basename(span.file.path)}:{span.line}  {', '.join(names)}: {text}"


@dataclass(frozen=True, slots=True)
class NodePlan:
    """A backward Node class.  `outputs`: indexes of the differentiable results; `dynamic`: the result is a list."""

    class_name: str
    operator: str
    schema: FunctionSchema
    edges: tuple[EdgePlan, ...]
    saved: tuple[SavedVariable, ...]
    gradients: tuple[GradientPlan, ...]
    outputs: tuple[int, ...]
    dynamic: bool

    @property
    def single(self) -> bool:
        """Whether the Node has exactly one output, so that its gradient comes alone and not in a tuple."""
        return len(self.outputs) == 1 and not self.dynamic

    def edges_needing(self, variable: SavedVariable) -> tuple[EdgePlan, ...]:
        """The edges of which one has to be asked for if the variable is to be kept; none: it always is."""
        needed = {index for gradient in variable.needed_by for index in self.gradients[gradient].edges}
        return () if len(needed) == len(self.edges) else tuple(self.edges[index] for index in sorted(needed))

    def output_nr(self, variable: SavedVariable) -> int | None:
        """The output of the Node that a saved result is; None for one that is not differentiable."""
        index = variable.result_index
        return self.outputs.index(index) if index in self.outputs else None


def plan_nodes(
    entries: Mapping[str, ResolvedEntry],
) -> tuple[dict[str, NodePlan], dict[OperatorName, tuple[tuple[str, NodePlan], ...]]]:
    """The Nodes of all entries that have formulas, and those of other autograd keys.

    `MulBackward0`, `MulBackward1`: they are numbered over the overloads of a base name, in-place ones included, in the
    order of derivatives.yaml.
    """
    counts: dict[str, int] = {}
    nodes: dict[str, NodePlan] = {}
    keyed: dict[OperatorName, tuple[tuple[str, NodePlan], ...]] = {}

    def numbered(entry: ResolvedEntry, prefix: str) -> NodePlan | None:
        number = counts.get(prefix, 0)
        node = _plan_node(entry, f"{prefix}{number}")
        if node is not None:
            counts[prefix] = number + 1
        return node

    for name, entry in entries.items():
        camel = "".join(part.title() for part in entry.function.name.base.split("_"))
        prefix = f"{camel}Backward".replace("ForwardBackward", "Backward")
        node = numbered(entry, prefix)
        if node is not None:
            nodes[name] = node
        others = [(key, numbered(other, f"{prefix}{key}")) for key, other in entry.keyed]
        found = tuple((key, other) for key, other in others if other is not None)
        if found:
            keyed[entry.function.name] = found
    return nodes, keyed


def _plan_node(entry: ResolvedEntry, class_name: str) -> NodePlan | None:
    schema = entry.function.schema
    if not entry.differentiable_outputs:
        return None
    types = {argument.name: plain_type(argument.type) for argument in schema.arguments}
    edges: list[EdgePlan] = []
    position: dict[str, int] = {}
    formulas = [f for f in entry.backward if f.kind is not FormulaKind.NON_DIFFERENTIABLE]
    covered = {name for formula in formulas for name in formula.names}
    for argument in schema.arguments:
        if argument.name in covered:
            type = types[argument.name]
            inner = type.elem if isinstance(type, OptionalType) else type
            position[argument.name] = len(edges)
            edges.append(EdgePlan(argument.name, isinstance(inner, ListType), isinstance(type, OptionalType)))
    if not edges:
        return None
    trees: list[TypedExpr | None] = [formula.tree for formula in formulas]
    saved, trees = plan_saved(trees, schema)
    gradients = []
    for formula, tree in zip(formulas, trees, strict=True):
        reads, materialize = _gradients_read(tree, entry)
        gradients.append(
            GradientPlan(
                formula.names,
                tuple(position[name] for name in formula.names),
                tree,
                reads,
                materialize,
                (formula.source.reason or str(schema.name)) if tree is None else None,
                formula.source.text,
            )
        )
    dynamic = len(schema.returns) == 1 and isinstance(schema.returns[0].type, ListType)
    return NodePlan(
        class_name,
        str(schema.name),
        schema,
        tuple(edges),
        saved,
        tuple(gradients),
        entry.differentiable_outputs,
        dynamic,
    )


def _gradients_read(tree: TypedExpr | None, entry: ResolvedEntry) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Which output gradients a formula reads, and which of them it can not take undefined."""
    if tree is None:
        return (), ()
    reads: set[int] = set()
    materialize: set[int] = set()
    every = range(len(entry.differentiable_outputs))

    def visit(expr: TypedExpr, accepts_none: bool) -> None:
        if isinstance(expr, Variable) and expr.kind in (VariableKind.GRAD, VariableKind.GRADS):
            found = {expr.index} if expr.kind is VariableKind.GRAD else set(every)
            reads.update(found)
            if not accepts_none:
                materialize.update(found)
            return
        match expr:
            case OperatorCall():
                types = {argument.name: plain_type(argument.type) for argument in expr.schema.arguments}
                for name, value in expr.args:
                    visit(value, _accepts_none(types[name]))
            case HelperCall():
                types = dict(expr.helper.parameters)
                for name, value in expr.args:
                    visit(value, _accepts_none(types[name]))
            case Intrinsic(name="defined"):
                visit(expr.args[0], True)
            case ListDisplay() | TupleDisplay():
                for item in expr.items:
                    visit(item, accepts_none)
            case Element():
                visit(expr.receiver, accepts_none)
            case _:
                for child in children(expr):
                    visit(child, False)

    visit(tree, False)
    dynamic = isinstance(entry.function.schema.returns[0].type, ListType)
    return tuple(sorted(reads)), () if dynamic else tuple(sorted(materialize))


def _accepts_none(type: Type) -> bool:
    """Whether a parameter of this type takes an undefined Tensor, itself or as an element."""
    return isinstance(type, OptionalType) or (isinstance(type, ListType) and isinstance(type.elem, OptionalType))
