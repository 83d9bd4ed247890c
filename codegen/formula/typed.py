"""The typed tree of a formula: every name bound, every call bound to one overload or helper.

Types are those of schemas (`SymInt` counts as `int`), and tuples for helpers with several results.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from codegen.formula.meaning import Meaning
from codegen.python_source import PythonFunction
from codegen.schema.types import BOOL as BOOL
from codegen.schema.types import DTYPE as DTYPE
from codegen.schema.types import TENSOR as TENSOR
from codegen.schema.types import BaseType, FunctionSchema, ListType, OptionalType, Type
from codegen.source import Span


@dataclass(frozen=True, slots=True)
class TupleType:
    """The result of a helper or operator with several results."""

    elems: tuple[ValueType, ...]

    def __str__(self) -> str:
        return f"({', '.join(str(elem) for elem in self.elems)})"


ValueType = Type | TupleType

INT = BaseType("int")
FLOAT = BaseType("float")
STR = BaseType("str")
SCALAR = BaseType("Scalar")
OPTIONS = BaseType("TensorOptions")
NONE = BaseType("None")
INT_LIST = ListType(INT)
BOOL_LIST = ListType(BOOL)
LAYOUT = BaseType("Layout")
DEVICE = BaseType("Device")
MEMORY_FORMAT = BaseType("MemoryFormat")
GEOMETRY = BaseType("TensorGeometry")

_SYMBOLIC = {"SymInt": INT, "SymBool": BOOL}
_NUMBER_RANK = {BOOL: 0, INT: 1, FLOAT: 2, SCALAR: 3}
# In the order in which one becomes the other.
NUMBERS = (BOOL, INT, FLOAT, SCALAR)


def formula_type(type: Type) -> Type:
    """`type` without the difference between symbolic numbers and others, and without list sizes."""
    if isinstance(type, BaseType):
        return _SYMBOLIC.get(type.name, type)
    elem = formula_type(type.elem)
    if elem is type.elem and (isinstance(type, OptionalType) or type.size is None):
        return type
    return OptionalType(elem) if isinstance(type, OptionalType) else ListType(elem)


def is_tensor_like(type: ValueType) -> bool:
    """Whether values of this type are Tensors, optional Tensors or lists of them."""
    while isinstance(type, OptionalType | ListType):
        type = type.elem
    return type == TENSOR


def conversion_cost(source: ValueType, wanted: Type) -> int | None:
    """How far `given` is from `wanted` as an argument: 0 for the same type, None where it does not fit."""
    if source == wanted:
        return 0
    if isinstance(wanted, OptionalType):
        if source == NONE or source == ListType(NONE):  # `{}`: not given
            return 1
        inner = source.elem if isinstance(source, OptionalType) else source
        cost = conversion_cost(inner, wanted.elem)
        return None if cost is None else cost + 1
    if source == NONE:
        return 1 if wanted == TENSOR else None  # an undefined Tensor
    if isinstance(source, OptionalType):
        return 3 if conversion_cost(source.elem, wanted) == 0 else None  # read as defined, or an undefined Tensor
    if isinstance(wanted, ListType):
        if isinstance(source, ListType):
            if source.elem == NONE:  # the empty brace list
                return 0
            cost = conversion_cost(source.elem, wanted.elem)
            return None if cost is None else cost + 1
        return 2 if source == INT and wanted.elem == INT else None
    if {source, wanted} == {DTYPE, OPTIONS}:
        return 1
    if source in _NUMBER_RANK and wanted in _NUMBER_RANK:
        distance = _NUMBER_RANK[wanted] - _NUMBER_RANK[source]
        return distance if distance >= 0 else (5 if source == INT and wanted == BOOL else None)
    return None


class VariableKind(enum.Enum):
    INPUT = "input"  # an argument of the operator: name
    OUTPUT = "output"  # a result of the operator: index
    GRAD = "grad"  # the gradient of a differentiable output, None where it is undefined: index
    GRAD_OR_ZEROS = "grad_or_zeros"  # the same with zeros for None, which the plan puts where a Tensor has to be: index
    GRADS = "grads"  # all of them
    TANGENT = "tangent"  # the tangent of an argument: name
    MASK = "grad_input_mask"
    RETAIN = "retain_variables"
    PARAMETER = "parameter"  # of a lambda, or the index in an element-wise formula on lists


@dataclass(frozen=True, slots=True)
class Typed:
    type: ValueType
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Variable(Typed):
    kind: VariableKind
    name: str
    index: int = 0


@dataclass(frozen=True, slots=True)
class Literal(Typed):
    """`value` None is `nullopt` or an undefined Tensor."""

    value: bool | int | float | str | None


@dataclass(frozen=True, slots=True)
class OperatorCall(Typed):
    """A call of one overload; `args` pairs argument names of its schema with expressions, in schema order."""

    schema: FunctionSchema
    args: tuple[tuple[str, TypedExpr], ...]
    meaning: Meaning | None = None


@dataclass(frozen=True, slots=True)
class Helper:
    """A helper as formulas see it.  Of the parameters, the first `required` have no default.

    `function` is what implements it; None for one that is only declared: a call of it is bound late, and fails.
    `declared` is where, of one that a helper file declares.
    """

    name: str
    parameters: tuple[tuple[str, Type], ...]
    required: int
    result: ValueType
    function: PythonFunction | None
    declared: Span | None = field(default=None, compare=False)

    def __hash__(self) -> int:
        return hash(self.name)  # few helpers have the same, and trees of formulas are full of them

    def __str__(self) -> str:
        return f"{self.name}({', '.join(f'{type} {name}' for name, type in self.parameters)}) -> {self.result}"


@dataclass(frozen=True, slots=True)
class HelperCall(Typed):
    helper: Helper
    args: tuple[tuple[str, TypedExpr], ...]


@dataclass(frozen=True, slots=True)
class Intrinsic(Typed):
    """Something known of a value without computing: `sizes`, `dim`, `scalar_type`, `defined`, `length` ...

    `spelling` is how the formula says it (`sym_sizes`), where that differs from the name.
    """

    name: str
    args: tuple[TypedExpr, ...]
    spelling: str = ""


@dataclass(frozen=True, slots=True)
class Arithmetic(Typed):
    """An operator on numbers and bools; one or two operands; `op` as in the formula language."""

    op: str
    operands: tuple[TypedExpr, ...]


@dataclass(frozen=True, slots=True)
class Conditional(Typed):
    test: TypedExpr
    then: TypedExpr
    orelse: TypedExpr


@dataclass(frozen=True, slots=True)
class ListDisplay(Typed):
    items: tuple[TypedExpr, ...]


@dataclass(frozen=True, slots=True)
class Element(Typed):
    """`receiver[index]` of a list or tuple."""

    receiver: TypedExpr
    index: TypedExpr


@dataclass(frozen=True, slots=True)
class TupleDisplay(Typed):
    """`std::tuple<Tensor, Tensor>()`: that many undefined Tensors."""

    items: tuple[TypedExpr, ...]


@dataclass(frozen=True, slots=True)
class Mapped(Typed):
    """The list of `body` for each element of `source`; in `body` the Variable `parameter` is the element.

    `by_index`: the Variable is the number of the element instead.
    """

    source: TypedExpr
    parameter: str
    body: TypedExpr
    by_index: bool = False


TypedExpr = (
    Variable
    | Literal
    | OperatorCall
    | HelperCall
    | Intrinsic
    | Arithmetic
    | Conditional
    | ListDisplay
    | TupleDisplay
    | Element
    | Mapped
)


def children(expr: TypedExpr) -> tuple[TypedExpr, ...]:
    """The direct parts of an expression."""
    match expr:
        case Variable() | Literal():
            return ()
        case OperatorCall() | HelperCall():
            return tuple([value for _, value in expr.args])
        case Intrinsic():
            return expr.args
        case Arithmetic():
            return expr.operands
        case Conditional():
            return (expr.test, expr.then, expr.orelse)
        case ListDisplay() | TupleDisplay():
            return expr.items
        case Element():
            return (expr.receiver, expr.index)
        case Mapped():
            return (expr.source, expr.body)


def walk(expr: TypedExpr) -> Iterator[TypedExpr]:
    """The expression and all its parts, from the outside in."""
    pending = [expr]
    while pending:
        part = pending.pop()
        yield part
        pending += reversed(children(part))


def variables(expr: TypedExpr) -> Iterator[Variable]:
    """The variables in an expression."""
    return (part for part in walk(expr) if isinstance(part, Variable))


def rewrite(expr: TypedExpr, change: Callable[[TypedExpr], TypedExpr | None]) -> TypedExpr:
    """The expression with every part for which `change` gives something replaced by it, outermost first."""
    new = change(expr)
    return rewrite_parts(expr, lambda part: rewrite(part, change)) if new is None else new


def rewrite_parts(expr: TypedExpr, change: Callable[[TypedExpr], TypedExpr]) -> TypedExpr:
    """The expression with each of its direct parts changed; itself where none is."""
    parts = children(expr)
    changed = [change(part) for part in parts]
    if all(new is old for new, old in zip(changed, parts, strict=True)):
        return expr
    match expr:
        case OperatorCall() | HelperCall():
            names = [name for name, _ in expr.args]
            return replace(expr, args=tuple(zip(names, changed, strict=True)))
        case Intrinsic():
            return replace(expr, args=tuple(changed))
        case Arithmetic():
            return replace(expr, operands=tuple(changed))
        case Conditional():
            test, then, orelse = changed
            return replace(expr, test=test, then=then, orelse=orelse)
        case ListDisplay() | TupleDisplay():
            return replace(expr, items=tuple(changed))
        case Mapped():
            source, body = changed
            return replace(expr, source=source, body=body)
        case Element():
            receiver, index = changed
            return replace(expr, receiver=receiver, index=index)
        case _:
            return expr
