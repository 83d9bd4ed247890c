"""Plans of backward Nodes: which edges and gradients they have, which output gradients each formula reads."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from codegen.bind.entries import ResolvedEntry
from codegen.formula.typed import (
    SCALAR,
    TENSOR,
    Element,
    HelperCall,
    Intrinsic,
    ListDisplay,
    OperatorCall,
    TupleDisplay,
    TypedExpr,
    Variable,
    VariableKind,
    formula_type,
    rewrite,
    rewrite_parts,
    variables,
)
from codegen.plan.kinds import SavedKind
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
    for which this formula, and no other, gets zeros where they are undefined while another one is not.
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

    @property
    def written(self) -> str:
        """The formula without its place, which changes with lines that are inserted above."""
        assert self.text is not None
        return with_names(self.names, self.text)


def with_place(names: Sequence[str], formula: Text) -> str:
    """A formula, the names it is for, and where it stands: `derivatives.yaml:32  self: grad * other.conj()`."""
    return f"{shown_yaml(formula)}:{formula.span().line}  {with_names(names, formula)}"


def shown_yaml(text: Text) -> str:
    """The YAML that a text stands in: `mylib/derivatives.yaml`, as the project's own messages have it."""
    # In an installed Gradwright it lies below; what is emitted is the same there as in a checkout, and names no folder
    # of this machine.
    path = text.span().file.path.removeprefix("codegen/data/")
    return posixpath.basename(path) if posixpath.isabs(path) else path


def with_names(names: Sequence[str], formula: Text) -> str:
    """A formula and the names it is for: `self: grad * other.conj()`."""
    return f"{', '.join(names)}: {' '.join(formula.value.split())}"


@dataclass(frozen=True, slots=True)
class NodePlan:
    """A backward Node class.  `outputs`: indexes of the differentiable results; `dynamic`: the result is a list.

    `shown`: the name that users see, which is another class's where Python takes this overload for that one's. Of the
    Tensors that have edges there, `numbers` are numbers here: as in PyTorch, each is an edge that leads nowhere.
    """

    class_name: str
    shown: str
    operator: str
    schema: FunctionSchema
    edges: tuple[EdgePlan, ...]
    saved: tuple[SavedVariable, ...]
    gradients: tuple[GradientPlan, ...]
    outputs: tuple[int, ...]
    dynamic: bool
    numbers: int = 0

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

    def is_without_history(self, variable: SavedVariable) -> bool:
        """Whether what is saved is given to formulas detached: a result that is not differentiable."""
        return variable.kind is SavedKind.RESULT and self.output_nr(variable) is None


def plan_nodes(
    entries: Mapping[str, ResolvedEntry],
) -> tuple[dict[str, NodePlan], dict[OperatorName, tuple[tuple[str, NodePlan], ...]]]:
    """The Nodes of all entries that have formulas, and those of other autograd keys.

    `MulBackward0`, `MulBackward1`: they are numbered over the overloads of a base name, in-place ones included, in the
    order of derivatives.yaml. Where numbers may be Tensors, the overload for a Tensor and a number is shown by the name
    of that for two Tensors.
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
        implemented = tuple((key, other) for key, other in others if other is not None)
        if implemented:
            keyed[entry.function.name] = implemented
    by_tensors = {
        entry.function.name.base: nodes[name]
        for name, entry in entries.items()
        if entry.function.numbers_as_tensors and name in nodes
    }
    for name, node in nodes.items():
        function = entries[name].function
        if function.name.base in by_tensors and takes_number(function.schema):
            other = by_tensors[function.name.base]
            nodes[name] = replace(node, shown=other.class_name, numbers=len(other.edges) - len(node.edges))
    return nodes, keyed


def takes_number(schema: FunctionSchema) -> bool:
    """Whether it is the overload of a Tensor and a number, of which PyTorch's Python makes that of two Tensors."""
    types = [formula_type(argument.type) for argument in schema.arguments]
    required = [argument for argument in schema.arguments if argument.default is None]
    return types[:2] == [TENSOR, SCALAR] and len(required) == 2


def _plan_node(entry: ResolvedEntry, class_name: str) -> NodePlan | None:
    schema = entry.function.schema
    if not entry.differentiable_outputs:
        return None
    types = {argument.name: formula_type(argument.type) for argument in schema.arguments}
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
        tree = None if tree is None else _with_zeros(tree, entry)
        reads = _output_gradients(tree, VariableKind.GRAD, VariableKind.GRADS, VariableKind.GRAD_OR_ZEROS)
        gradients.append(
            GradientPlan(
                formula.names,
                tuple(position[name] for name in formula.names),
                tree,
                reads,
                _output_gradients(tree, VariableKind.GRAD_OR_ZEROS),
                (formula.source.reason or str(schema.name)) if tree is None else None,
                formula.source.text,
            )
        )
    dynamic = len(schema.returns) == 1 and isinstance(schema.returns[0].type, ListType)
    return NodePlan(
        class_name,
        class_name,
        str(schema.name),
        schema,
        tuple(edges),
        saved,
        tuple(gradients),
        entry.differentiable_outputs,
        dynamic,
    )


def _output_gradients(tree: TypedExpr | None, *kinds: VariableKind) -> tuple[int, ...]:
    """The output gradients that a formula reads as variables of some kinds."""
    read = () if tree is None else variables(tree)
    return tuple(sorted({variable.index for variable in read if variable.kind in kinds}))


def _with_zeros(tree: TypedExpr, entry: ResolvedEntry) -> TypedExpr:
    """The formula with zeros for undefined gradients where it cannot take None, unless it reads one gradient alone.

    Where results are a list only the Node knows how many gradients there are, and they stay as they are.
    """
    if isinstance(entry.function.schema.returns[0].type, ListType):
        return tree
    outputs = range(len(entry.differentiable_outputs))

    def each(expr: TypedExpr) -> TypedExpr | None:
        if isinstance(expr, Variable) and expr.kind is VariableKind.GRADS:
            items = [Variable(TENSOR, expr.start, expr.end, VariableKind.GRAD, f"grads[{i}]", i) for i in outputs]
            return ListDisplay(expr.type, expr.start, expr.end, tuple(items))
        return None

    tree = rewrite(tree, each)
    several = len(_output_gradients(tree, VariableKind.GRAD)) > 1
    return _materialized(tree, False) if several else tree


def _materialized(expr: TypedExpr, accepts_none: bool) -> TypedExpr:
    """The expression with zeros for undefined gradients, as it stands where None is accepted or is not."""
    match expr:
        case Variable(kind=VariableKind.GRAD) if not accepts_none:
            return replace(expr, kind=VariableKind.GRAD_OR_ZEROS)
        case OperatorCall() | HelperCall():
            types = (
                {argument.name: formula_type(argument.type) for argument in expr.schema.arguments}
                if isinstance(expr, OperatorCall)
                else dict(expr.helper.parameters)
            )
            args = tuple((name, _materialized(value, _accepts_none(types[name]))) for name, value in expr.args)
            return replace(expr, args=args)
    accepts = isinstance(expr, ListDisplay | TupleDisplay | Element) and accepts_none
    accepts = accepts or (isinstance(expr, Intrinsic) and expr.name == "defined")
    return rewrite_parts(expr, lambda part: _materialized(part, accepts))


def _accepts_none(type: Type) -> bool:
    """Whether a parameter of this type takes an undefined Tensor, itself or as an element."""
    return isinstance(type, OptionalType) or (isinstance(type, ListType) and isinstance(type.elem, OptionalType))
