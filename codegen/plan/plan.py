"""Plans: everything a target needs to know about an operator or a Node class, in no target's language.

All decisions lie here: what a Node saves and for which gradient, when a gradient is skipped, which outputs are
differentiable, which dtypes take the straight way, how views and in-place variants are made, which overload a packet
tries first.  A target prints plans; it decides nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from codegen.bind.call_targets import OperatorTable
from codegen.bind.entries import ResolvedEntry, ResolvedFormula
from codegen.bind.python_source import FunctionIndex, PythonFunction
from codegen.formula.intrinsics import METADATA
from codegen.formula.typed import (
    BOOL,
    DTYPE,
    INT,
    INT_LIST,
    OPTIONS,
    TENSOR,
    Arithmetic,
    Element,
    Helper,
    HelperCall,
    Intrinsic,
    ListDisplay,
    Literal,
    OperatorCall,
    TupleDisplay,
    TypedExpr,
    Variable,
    VariableKind,
    children,
    is_tensor_like,
    plain_type,
    rewrite,
    walk,
)
from codegen.names import FunctionNames, unused
from codegen.plan.batching import BatchingPlan, plan_batching
from codegen.plan.layout import LayoutPlan, plan_layout
from codegen.read.model import FormulaKind, NativeFunction, Promotion
from codegen.read.sampling import samples_of
from codegen.rules.linear.formulas import Linearity
from codegen.rules.operators import values_used
from codegen.schema.defaults import EnumDefault, default_value
from codegen.schema.types import (
    Argument,
    FunctionSchema,
    ListType,
    OperatorName,
    OptionalType,
    SchemaKind,
    Type,
    base_type,
)
from codegen.source import Text
from codegen.words import COMPOSITE_KEYS, CPU_ORDER

# -- Nodes


@dataclass(frozen=True, slots=True)
class SavedVariable:
    """Something that a Node keeps for its formulas.

    `name` is what formulas call it; `expr` what it is at recording.  `shape` is one of `tensor`, `optional`, `list`
    (of tensors, some of which may be absent), `result` (an output of the operator itself) and `value` (no tensor).
    `needed_by` holds indexes of the Node's gradients; empty: always kept.
    """

    name: str
    shape: str
    expr: TypedExpr
    needed_by: tuple[int, ...]

    @property
    def result_index(self) -> int:
        """Which result of the operator a saved result is."""
        assert isinstance(self.expr, Variable)
        return self.expr.index

    @property
    def is_freed(self) -> bool:
        """Whether a backward drops it: a Node that saved no Tensor can be run again."""
        return self.shape != "value"

    @property
    def is_hidden(self) -> bool:
        """Whether it is a value for the formulas alone; PyTorch shows numbers and strings, and lists of them."""
        if self.shape != "value":
            return False
        type = self.expr.type
        if isinstance(self.expr, Intrinsic):
            inner = type.elem if isinstance(type, OptionalType) else type
            return inner not in (INT, INT_LIST)
        return type in (DTYPE, OptionalType(BOOL))


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


@dataclass(frozen=True, slots=True)
class EdgePlan:
    """A differentiable tensor argument; a list contributes one edge per element."""

    name: str
    is_list: bool
    is_optional: bool


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

    @property
    def plain(self) -> bool:
        """Whether one Tensor comes out and only single Tensors go in: such a Node is made in place, not by a call."""
        lists = any(edge.is_list for edge in self.edges) or any(saved.shape == "list" for saved in self.saved)
        return self.single and not lists

    def edges_needing(self, variable: SavedVariable) -> tuple[EdgePlan, ...]:
        """The edges of which one has to be asked for if the variable is to be kept; none: it always is."""
        needed = {index for gradient in variable.needed_by for index in self.gradients[gradient].edges}
        return () if len(needed) == len(self.edges) else tuple(self.edges[index] for index in sorted(needed))

    def output_nr(self, variable: SavedVariable) -> int | None:
        """The output of the Node that a saved result is; None for one that is not differentiable."""
        index = variable.result_index
        return self.outputs.index(index) if index in self.outputs else None


@dataclass(frozen=True, slots=True)
class ForwardPlan:
    """The forward-mode rule of one operator: a formula for each differentiable result (None: not implemented)."""

    tangents: tuple[EdgePlan, ...]
    formulas: tuple[tuple[tuple[int, ...], TypedExpr], ...]


# -- operators


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
class FactoryDtype:
    """The dtype of a factory that is not told one.

    `default` is a name of runtime.base.dtypes; without it the dtype is that of `numbers` by a kind of promotion, or the
    default dtype where there are none.
    """

    default: str | None
    kind: str | None
    numbers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FastPath:
    """The straight way through an operator: plain Tensors, no mode, dtypes that need no promotion.

    `dtypes`: `any`, `same` (all promoted arguments have one dtype), `float` (one dtype, float32 or float64),
    `number` (as float, or int64), `weak` (as float, beside Scalars).  Scalars are Python's ints and floats.  `absent`
    names the arguments that have to be None; `optional_dtypes` those that may be a dtype or None. The Tensors in
    `limited` are of one of the kinds of element types in `takes` (`DTYPE_KINDS`). In `optional_lists` there
    may be None beside Tensors. `integers` are Python's ints. A factory takes no Tensor, and its kernel gets a
    dtype in any case. What is `seeded` draws random numbers, which those who stand around the calls of a thread may
    want to do otherwise. `in_float32`: float16 and bfloat16 are computed in float32, by the general path (and no
    `takes` has told them apart already).
    """

    tensors: tuple[str, ...] = ()
    optionals: tuple[str, ...] = ()
    lists: tuple[str, ...] = ()
    optional_lists: tuple[str, ...] = ()
    promoted: tuple[str, ...] = ()
    dtypes: str = "any"
    scalars: tuple[str, ...] = ()
    int_lists: tuple[str, ...] = ()
    bool_lists: tuple[str, ...] = ()
    dtype_arguments: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    optional_dtypes: tuple[str, ...] = ()
    seeded: bool = False
    factory: FactoryDtype | None = None
    integers: tuple[str, ...] = ()
    limited: tuple[str, ...] = ()
    takes: tuple[str, ...] = ()
    in_float32: bool = False

    def without(self, names: frozenset[str]) -> FastPath:
        """The straight way of a call that leaves the Scalars `names` at their defaults."""
        scalars = tuple(name for name in self.scalars if name not in names)
        return replace(self, scalars=scalars, dtypes=self.dtypes if scalars or self.dtypes != "weak" else "same")


@dataclass(frozen=True, slots=True)
class OperatorPlan:
    """One overload.  `kind`: `kernel` (function on arrays), `implicit`, `explicit` (composite functions on
    Tensors), `declared` (none: a call fails).  Of the implementations the first one serves the CPU, where one does.
    """

    name: OperatorName
    schema: FunctionSchema
    function: str
    parameters: tuple[ParameterPlan, ...]
    kind: str
    implementations: tuple[tuple[str, PythonFunction], ...]
    promotion: Promotion | None
    fast: FastPath | None
    node: NodePlan | None
    inplace_node: NodePlan | None  # where the in-place variant has formulas of its own
    forward: ForwardPlan | None
    view: str | None  # "single", "multi"
    inplace: OperatorName | None
    out: OperatorName | None
    inplace_function: str | None
    out_function: str | None
    returns_list: bool
    saves_self: bool
    never_differentiable: bool  # its entry says so: results simply have no gradient
    samples: tuple[str, ...]
    formula_texts: tuple[str, ...]
    source: NativeFunction
    batching: BatchingPlan | None = None
    in_float32: bool = False  # half precision is computed in float32, and the results are rounded once
    numbers: tuple[tuple[str, str], ...] = ()  # its Scalars and what becomes of them, one of NUMBER_KINDS
    exclusive: bool = False  # what is written may lie in the memory of no argument, not even in the same places
    out_dtype: str = "exact"  # which dtypes `out=` may have: one of OUT_DTYPES
    layout: LayoutPlan | None = None  # how results lie in memory; None where no kernel makes memory for them
    keyed_nodes: tuple[tuple[str, NodePlan], ...] = ()  # of autograd keys that have formulas of their own
    unimplemented: tuple[tuple[str, str], ...] = ()  # arguments whose derivative is not implemented, and what it is of
    factors: tuple[tuple[str, ...], ...] = ()  # groups of arguments that make the result zero by being zero

    @property
    def nodes(self) -> tuple[NodePlan, ...]:
        """All of its Nodes."""
        own = (node for node in (self.node, self.inplace_node) if node is not None)
        return (*own, *(node for _, node in self.keyed_nodes))

    def may_lack_gradient(self, node: NodePlan) -> bool:
        """Whether a result may have a dtype without gradients though an argument has them.

        A call may have asked for it; or elements of several Tensors move into what has the dtype of the first one.
        """
        if any(str(parameter.type).startswith("ScalarType") for parameter in self.parameters):
            return True
        moves = self.kind == "kernel" and self.promotion is None and not self.in_float32
        return moves and sum(not edge.is_list for edge in node.edges) > 1

    @property
    def differentiable(self) -> bool:
        return self.node is not None

    @property
    def implementation(self) -> PythonFunction:
        return self.implementations[0][1]


@dataclass(frozen=True, slots=True)
class PacketPlan:
    """All overloads under one base name."""

    base: str
    overloads: tuple[OperatorPlan, ...]
    is_method: bool
    is_function: bool
    python_module: str | None


@dataclass(frozen=True, slots=True)
class Plan:
    operators: tuple[OperatorPlan, ...]
    nodes: tuple[NodePlan, ...]
    packets: tuple[PacketPlan, ...]
    formulas: int
    helpers: tuple[Helper, ...]  # that formulas call
    functions: FunctionNames


def make_plan(
    functions: Sequence[NativeFunction],
    entries: Iterable[ResolvedEntry],
    table: OperatorTable,
    kernels: FunctionIndex,
    composites: FunctionIndex,
    linear: Linearity,
) -> Plan:
    """Plan every operator, Node and packet of checked input."""
    by_name = {str(entry.function.name): entry for entry in entries}
    nodes, keyed = _plan_nodes(by_name)
    names = FunctionNames(function.name for function in functions)
    written = {
        function.variant_of: nodes.get(str(function.name))
        for function in functions
        if function.variant_of is not None and function.schema.kind is SchemaKind.INPLACE
    }
    operators = []
    for function in functions:
        if function.variant_of is not None:
            continue
        entry = by_name.get(str(function.name))
        node = nodes.get(str(function.name))
        forward = _plan_forward(entry, table) if entry is not None and node is not None else None
        inplace_node = written.get(function.name)
        operators.append(_plan_operator(function, entry, node, inplace_node, forward, names, kernels, composites))
        if entry is not None and node is not None:
            operators[-1] = replace(operators[-1], unimplemented=_unimplemented(entry))
        if node is not None and str(function.name) in linear.entries:
            operators[-1] = replace(operators[-1], factors=linear.factors(str(function.name)))
        if function.name in keyed:
            operators[-1] = replace(operators[-1], keyed_nodes=keyed[function.name])
    formulas = sum(len(entry.backward) + len(entry.forward) for entry in by_name.values())
    every = tuple(node for operator in operators for node in operator.nodes)
    return Plan(tuple(operators), every, _plan_packets(operators), formulas, _helpers(by_name.values()), names)


def _helpers(entries: Iterable[ResolvedEntry]) -> tuple[Helper, ...]:
    trees = (f.tree for entry in entries for f in (*entry.backward, *entry.forward) if f.tree is not None)
    found = {part.helper.name: part.helper for tree in trees for part in walk(tree) if isinstance(part, HelperCall)}
    return tuple(found[name] for name in sorted(found))


def _formula_texts(entry: ResolvedEntry) -> tuple[str, ...]:
    return tuple(f"{', '.join(f.names)}: {f.source.text}" for f in (*entry.backward, *entry.forward))


# -- planning Nodes


def _plan_nodes(
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
    saved, trees = _plan_saved(trees, schema)
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


def saved_names(trees: Iterable[TypedExpr]) -> set[str]:
    """Names of the arguments and results that formulas need whole, and not only the shape or dtype of."""
    names: set[str] = set()

    def change(expr: TypedExpr) -> TypedExpr | None:
        if _metadata(expr) is not None:
            return expr
        if isinstance(expr, Variable) and _is_saved(expr):
            names.add(expr.name)
        return None

    for tree in trees:
        rewrite(tree, change)
    return names


def _plan_saved(
    trees: list[TypedExpr | None], schema: FunctionSchema
) -> tuple[tuple[SavedVariable, ...], list[TypedExpr | None]]:
    """What the formulas need from the forward pass, and the formulas over the names it is saved under.

    A tensor that a formula asks for metadata only gives a saved value (`self_sizes`), not a saved tensor.
    """
    whole: dict[tuple[VariableKind, str, int], list[int]] = {}
    values: dict[tuple[str, str], tuple[str, TypedExpr, list[int]]] = {}
    taken = {argument.name for argument in schema.arguments} | {result.name for result in schema.returns if result.name}

    def change(expr: TypedExpr, gradient: int) -> TypedExpr | None:
        found = _metadata(expr)
        if found is not None:
            tensor, suffix, value = found
            if (tensor, suffix) not in values:
                name = unused(f"{tensor}_{suffix}", taken)
                taken.add(name)
                values[tensor, suffix] = name, value, []
            name, _, users = values[tensor, suffix]
            users.append(gradient)
            variable = Variable(value.type, expr.start, expr.end, VariableKind.INPUT, name)
            zeros = isinstance(expr, OperatorCall)
            return Intrinsic(expr.type, expr.start, expr.end, "zeros", (variable,)) if zeros else variable
        if isinstance(expr, Variable) and expr.kind in (VariableKind.INPUT, VariableKind.OUTPUT):
            whole.setdefault((expr.kind, expr.name, expr.index), []).append(gradient)
        return None

    def visit(expr: TypedExpr, gradient: int) -> TypedExpr:
        return rewrite(expr, lambda part: change(part, gradient))

    rewritten = [None if tree is None else visit(tree, index) for index, tree in enumerate(trees)]
    saved = []
    every = tuple(range(len(trees)))
    for (kind, name, index), users in whole.items():
        needed = tuple(sorted(set(users)))
        type = _type_of(kind, name, index, schema)
        variable = Variable(type, 0, 0, kind, name, index)
        if kind is VariableKind.OUTPUT and is_tensor_like(type):
            shape = "result"
        elif not is_tensor_like(type):
            shape = "value"
        elif isinstance(type, OptionalType) and not isinstance(type.elem, ListType):
            shape = "optional"
        else:
            shape = "list" if type != TENSOR else "tensor"
        saved.append(SavedVariable(name, shape, variable, () if needed == every else needed))
    for name, expr, users in values.values():
        needed = tuple(sorted(set(users)))
        saved.append(SavedVariable(name, "value", expr, () if needed == every else needed))
    return tuple(saved), rewritten


def _metadata(expr: TypedExpr) -> tuple[str, str, TypedExpr] | None:
    """What a formula asks of a Tensor besides its values: its name, a word for what is asked, the expression to save.

    It is saved under PyTorch's names: `self_sym_sizes`, `self_sym_argsize_0`, `self_info`, of which `zeros_like` is
    made.
    """
    match expr:
        case Element(receiver=Intrinsic(name="sizes", spelling="sym_sizes", args=(Variable() as tensor,)), index=index):
            number = _index_text(index)
            if _is_saved(tensor) and number is not None:
                return tensor.name, f"sym_argsize_{number}", expr
        case Intrinsic(args=(Variable() as tensor,)) if expr.name in METADATA and _is_saved(tensor):
            suffix = (expr.spelling or expr.name).removeprefix("to_")
            if expr.name == "blocksize" or (suffix == "sym_sizes" and isinstance(tensor.type, OptionalType)):
                suffix += "_opt"
            if expr.name == "blocksize":
                suffix = f"self_{suffix}"  # PyTorch repeats the name
            return tensor.name, suffix, expr
        case OperatorCall(args=((_, Variable() as tensor),)) if str(expr.schema.name) == "zeros_like":
            if _is_saved(tensor) and tensor.type == TENSOR:
                return tensor.name, "info", Intrinsic(OPTIONS, expr.start, expr.end, "info", (tensor,))
    return None


def _index_text(index: TypedExpr) -> str | None:
    match index:
        case Literal(value=int() as value):
            return str(value).replace("-", "minus_")
        case Arithmetic(op="-", operands=(Literal(value=int() as value),)):
            return f"minus_{value}"
        case Variable(kind=VariableKind.INPUT):
            return index.name
    return None


def _is_saved(variable: Variable) -> bool:
    return variable.kind in (VariableKind.INPUT, VariableKind.OUTPUT)


def _type_of(kind: VariableKind, name: str, index: int, schema: FunctionSchema) -> Type:
    if kind is VariableKind.OUTPUT:
        return plain_type(schema.returns[index].type)
    return plain_type(next(argument.type for argument in schema.arguments if argument.name == name))


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


# -- planning forward mode


def _plan_forward(entry: ResolvedEntry, table: OperatorTable) -> ForwardPlan | None:
    if not entry.forward:
        return None
    schema = entry.function.schema
    differentiable = {name for f in entry.backward if f.kind is not FormulaKind.NON_DIFFERENTIABLE for name in f.names}
    tangents = []
    for argument in schema.arguments:
        if argument.name in differentiable:
            type = plain_type(argument.type)
            inner = type.elem if isinstance(type, OptionalType) else type
            tangents.append(EdgePlan(argument.name, isinstance(inner, ListType), isinstance(type, OptionalType)))
    names = {result.name: index for index, result in enumerate(schema.returns) if result.name}
    names |= {f"result{index}": index for index in range(len(schema.returns))} | {"result": 0}
    formulas = []
    for formula in entry.forward:
        tree = _forward_tree(formula, entry, tangents, table)
        if tree is not None:
            formulas.append((tuple(names[name] for name in formula.names), tree))
    return ForwardPlan(tuple(tangents), tuple(formulas)) if formulas else None


def _unimplemented(entry: ResolvedEntry) -> tuple[tuple[str, str], ...]:
    return tuple(
        (name, formula.source.reason or str(entry.function.name))
        for formula in entry.backward
        if formula.kind is FormulaKind.NOT_IMPLEMENTED
        for name in formula.names
    )


def _forward_tree(
    formula: ResolvedFormula, entry: ResolvedEntry, tangents: Sequence[EdgePlan], table: OperatorTable
) -> TypedExpr | None:
    schema = entry.function.schema
    if formula.kind is FormulaKind.EXPRESSION:
        return formula.tree
    if formula.kind is FormulaKind.AUTO_LINEAR:
        linear = {tangent.name for tangent in tangents}
        args = []
        for argument in schema.arguments:
            kind = VariableKind.TANGENT if argument.name in linear else VariableKind.INPUT
            args.append((argument.name, Variable(plain_type(argument.type), 0, 0, kind, argument.name)))
        return OperatorCall(plain_type(schema.returns[0].type), 0, 0, schema, tuple(args))
    if formula.kind is FormulaKind.AUTO_ELEMENT_WISE:
        # The Jacobian is diagonal, d.  Backward gives grad * conj(d), forward is tangent * d, and that is
        # conj(conj(tangent) * conj(d)).
        backward = entry.backward[0].tree
        if backward is None:
            return None
        conjugate = table.functions.get("conj")
        tangent = Variable(TENSOR, 0, 0, VariableKind.TANGENT, tangents[0].name)

        def conj(expr: TypedExpr) -> TypedExpr:
            if conjugate is None:
                return expr
            return OperatorCall(TENSOR, 0, 0, conjugate.schema, (("self", expr),))

        def change(part: TypedExpr) -> TypedExpr | None:
            return conj(tangent) if isinstance(part, Variable) and part.kind is VariableKind.GRAD else None

        return conj(rewrite(backward, change))
    return None


# -- planning operators


def _plan_operator(
    function: NativeFunction,
    entry: ResolvedEntry | None,
    node: NodePlan | None,
    inplace_node: NodePlan | None,
    forward: ForwardPlan | None,
    names: FunctionNames,
    kernels: FunctionIndex,
    composites: FunctionIndex,
) -> OperatorPlan:
    schema = function.schema
    implementations = []
    for line in () if function.late_bound else function.dispatch:
        index = composites if line.key in COMPOSITE_KEYS else kernels
        found = index.get(str(line.kernel))
        if found is not None:
            implementations.append((line.key, found))
    if not function.dispatch and not function.late_bound:
        found = composites.get(schema.name.python_name)
        if found is not None:
            implementations.append(("CompositeImplicitAutograd", found))
    # What serves the CPU comes first: the straight way runs it, and the general path finds the same.
    implementations.sort(key=lambda item: CPU_ORDER.index(item[0]) if item[0] in CPU_ORDER else len(CPU_ORDER))
    kind = _KINDS.get(implementations[0][0], "declared") if implementations else "declared"
    inplace, out = _variants(function)
    in_float32 = _computes_in_float32(function, kind)
    returns_list = len(schema.returns) == 1 and isinstance(schema.returns[0].type, ListType)
    view = None
    if schema.is_view:
        view = "multi" if returns_list or len(schema.returns) > 1 else "single"
    recorded = inplace_node or node
    saves_self = recorded is not None and any(s.name == "self" and s.shape == "tensor" for s in recorded.saved)
    if forward is not None:
        saves_self = saves_self or any("self" in values_used(tree) for _, tree in forward.formulas)
    return OperatorPlan(
        schema.name, schema, names[schema.name], _parameters(schema), kind, tuple(implementations),
        function.promotion, _plan_fast_path(function, kind, in_float32), node, inplace_node, forward, view, inplace,
        out, None if inplace is None else names[inplace], None if out is None else names[out], returns_list,
        saves_self,
        entry is not None and node is None, () if function.late_bound else samples_of(function),
        _formula_texts(entry) if entry is not None else (),
        function, None if kind == "implicit" else plan_batching(function), in_float32,
        numbers=_numbers(function, kind),
        exclusive=schema.name.base in _EXCLUSIVE,
        out_dtype=_out_dtype(function),
        layout=plan_layout(function, kind),
    )  # fmt: skip


def _numbers(function: NativeFunction, kind: str) -> tuple[tuple[str, str], ...]:
    """What becomes of Python ints where a kernel promotes to an integer dtype; without promotion it looks itself."""
    promotion, said = function.promotion, function.numbers
    if promotion is None or kind != "kernel":
        return ()
    found = []
    for argument in function.schema.arguments:
        if str(plain_type(argument.type)).rstrip("?") == "Scalar":
            takes_part = promotion.arguments is None or argument.name in promotion.arguments
            own = said.kind if said is not None and argument.name in said.arguments else None
            found.append((argument.name, own or ("wrap" if takes_part else "fit")))
    return tuple(found)


def _computes_in_float32(function: NativeFunction, kind: str) -> bool:
    """Whether half precision is computed in float32 and rounded once.

    Kernels do, unless they say otherwise or make views; a composite does where it says so, because each operator that
    it calls rounds by itself.
    """
    schema = function.schema
    takes_tensors = any(is_tensor_like(plain_type(argument.type)) for argument in schema.arguments)
    if not takes_tensors or schema.is_view or kind == "declared":
        return False
    return function.half == "float32" if function.half is not None else kind == "kernel"


_KINDS = {
    "CPU": "kernel",
    "CompositeExplicitAutogradNonFunctional": "explicit",
    "CompositeExplicitAutograd": "explicit",
    "CompositeImplicitAutograd": "implicit",
}


def _variants(function: NativeFunction) -> tuple[OperatorName | None, OperatorName | None]:
    inplace = out = None
    one = len(function.schema.returns) == 1 and not isinstance(function.schema.returns[0].type, ListType)
    for name, _ in function.autogen:
        if name.is_inplace:
            inplace = name if one else None  # of several results none is what `self` becomes
        elif name.base == function.name.base:
            out = name
    return inplace, out


# Operators that read arguments in other places than those that they write meanwhile.
_EXCLUSIVE = frozenset(("cat", "gather", "index_add", "index_copy", "index_select", "scatter", "scatter_add"))


def _out_dtype(function: NativeFunction) -> str:
    """As its entry says; else factories compute in the dtype of `out=`, and element-wise operators cast to it."""
    if function.out_dtype is not None:
        return function.out_dtype
    if function.schema.is_factory:
        return "given"
    return "cast" if "pointwise" in function.tags else "exact"


def _parameters(schema: FunctionSchema) -> tuple[ParameterPlan, ...]:
    def plan(argument: Argument, keyword_only: bool) -> ParameterPlan:
        type = argument.type.elem if isinstance(argument.type, OptionalType) else argument.type
        size = type.size if isinstance(type, ListType) else None
        value = plain_type(argument.type)
        return ParameterPlan(argument.name, value, size, argument.default, keyword_only, argument.is_placement)

    return (
        *(plan(argument, False) for argument in schema.positional),
        *(plan(argument, True) for argument in schema.kwarg_only),
    )


_DTYPE_RULES = {
    "default": "same",
    "always_bool": "same",
    "int_to_float": "float",
    "complex_to_float": "float",
    "bool_to_int": "number",
}
_GENERAL_ONLY = frozenset(("Stream", "Storage", "Dimname"))


def _plan_fast_path(function: NativeFunction, kind: str, in_float32: bool) -> FastPath | None:
    """The straight way, for operators on arrays whose arguments are of the kinds that it knows."""
    if kind != "kernel" or function.schema.kind is not SchemaKind.FUNCTIONAL:
        return None
    if not all(is_tensor_like(plain_type(result.type)) for result in function.schema.returns):
        return None
    found: dict[str, list[str]] = {}
    for argument in function.schema.arguments:
        kind_of_argument = _fast_kind(argument)
        if kind_of_argument is None:
            return None
        found.setdefault(kind_of_argument, []).append(argument.name)
    names = {kind: tuple(found.get(kind, ())) for kind in _FAST_KINDS}
    optional = {argument.name for argument in function.schema.arguments if isinstance(argument.type, OptionalType)}
    integers = tuple(name for name in names["integers"] if name not in optional)
    seeded = "nondeterministic_seeded" in function.tags
    tensors, scalars, dtypes = names["tensors"], names["scalars"], names["optional_dtypes"]
    if not tensors and not names["lists"]:
        if len(dtypes) != 1 or not found.keys() <= _OF_FACTORIES:
            return None
        return FastPath(
            scalars=(*scalars, *names["floats"]), int_lists=names["int_lists"], absent=names["absent"],
            optional_dtypes=dtypes, seeded=seeded, factory=_factory_dtype(function, dtypes[0]),
            integers=integers,
        )  # fmt: skip
    limited = _limited(function, (*tensors, *names["optionals"]))
    if limited is None:
        return None
    takes = function.dtypes.kinds if function.dtypes is not None else ()
    if in_float32:
        takes = tuple(kind for kind in takes if kind != "half")
    path = FastPath(
        tensors=tensors, optionals=names["optionals"], scalars=scalars, int_lists=names["int_lists"],
        dtype_arguments=names["dtype_arguments"], seeded=seeded, integers=integers, limited=limited, takes=takes,
        in_float32=in_float32 and not limited,
    )  # fmt: skip
    if limited and dtypes:  # what a call asks for decides
        path, dtypes = replace(path, absent=dtypes), ()
    promotion = function.promotion
    if promotion is None:
        return replace(
            path, lists=names["lists"], optional_lists=names["optional_lists"],
            bool_lists=names["bool_lists"], absent=(*path.absent, *names["absent"]), optional_dtypes=dtypes,
        )  # fmt: skip
    operands = (*tensors, *names["optionals"])
    promoted = tuple(name for name in operands if promotion.arguments is None or name in promotion.arguments)
    if found.keys() & _UNPROMOTED or not promoted or promoted[0] not in tensors:
        return None
    kind_of_dtypes = "weak" if scalars else _DTYPE_RULES[promotion.kind]
    if limited and kind_of_dtypes in ("weak", "float") and "float" not in path.takes:
        return None
    return replace(
        path, promoted=promoted, dtypes=kind_of_dtypes, absent=(*path.absent, *names["absent"], *dtypes),
        limited=promoted[:1] if limited else (),
    )  # fmt: skip


def _limited(function: NativeFunction, tensors: Sequence[str]) -> tuple[str, ...] | None:
    """The Tensors whose element types have to be looked at; None where some stand in lists."""
    if function.dtypes is None:
        return ()
    found = []
    for argument in function.schema.arguments:
        if base_type(argument.type).name != "Tensor":
            continue
        if function.dtypes.arguments is None or argument.name in function.dtypes.arguments:
            if argument.name not in tensors:
                return None
            found.append(argument.name)
    return tuple(found)


# The kinds of arguments that the straight way knows; those that a factory may have, and those that do not go together
# with promotion.
_FAST_KINDS = (
    "tensors", "optionals", "lists", "optional_lists", "scalars", "int_lists", "bool_lists", "dtype_arguments",
    "optional_dtypes", "absent", "integers", "floats", "others",
)  # fmt: skip
_OF_FACTORIES = frozenset(("scalars", "int_lists", "optional_dtypes", "absent", "integers", "floats"))
_UNPROMOTED = frozenset(("lists", "optional_lists", "bool_lists"))


def _fast_kind(argument: Argument) -> str | None:
    """One of the kinds; None for an argument that only the general path takes."""
    type = plain_type(argument.type)
    optional = isinstance(type, OptionalType)
    inner = type.elem if isinstance(type, OptionalType) else type
    name = str(inner)
    if inner == TENSOR:
        return "optionals" if optional else "tensors"
    if isinstance(inner, ListType) and inner.elem == TENSOR:
        return "lists"
    if inner == ListType(OptionalType(TENSOR)):
        return "optional_lists"
    if is_tensor_like(inner) or name in _GENERAL_ONLY:
        return None
    if name == "ScalarType":
        return "optional_dtypes" if optional else "dtype_arguments"
    if argument.is_placement or name == "Generator":
        return "absent"
    kinds = {"Scalar": "scalars", "int[]": "int_lists", "bool[]": "bool_lists", "int": "integers", "float": "floats"}
    return kinds.get(name, None if isinstance(inner, ListType) else "others")


def _factory_dtype(function: NativeFunction, name: str) -> FactoryDtype:
    argument = next(argument for argument in function.schema.arguments if argument.name == name)
    default = default_value(argument) if argument.default is not None else None
    named = default.name if isinstance(default, EnumDefault) else None
    if function.promotion is None:
        return FactoryDtype(named, None, ())
    return FactoryDtype(named, function.promotion.kind, function.promotion.arguments or ())


# -- planning packets


def _plan_packets(operators: Sequence[OperatorPlan]) -> tuple[PacketPlan, ...]:
    groups: dict[str, list[OperatorPlan]] = {}
    for operator in operators:
        groups.setdefault(operator.name.base, []).append(operator)
    packets = []
    for base, overloads in groups.items():
        variants = [operator.source.variants for operator in overloads]
        packets.append(
            PacketPlan(
                base,
                tuple(overloads),
                any("method" in words for words in variants),
                any("function" in words for words in variants),
                overloads[0].source.python_module,
            )
        )
    return tuple(packets)
