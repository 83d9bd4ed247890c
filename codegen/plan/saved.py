"""What a Node keeps for its formulas: computed from them, not declared."""

from __future__ import annotations

from dataclasses import dataclass

from codegen.formula.intrinsics import METADATA
from codegen.formula.meaning import Meaning
from codegen.formula.needs import metadata
from codegen.formula.typed import (
    BOOL,
    DTYPE,
    INT,
    INT_LIST,
    TENSOR,
    Intrinsic,
    OperatorCall,
    TypedExpr,
    Variable,
    VariableKind,
    children,
    formula_type,
    is_tensor_like,
    rewrite,
)
from codegen.plan.kinds import SavedKind
from codegen.plan.names import unused
from codegen.schema.types import (
    FunctionSchema,
    ListType,
    OptionalType,
    Type,
)


@dataclass(frozen=True, slots=True)
class SavedVariable:
    """Something that a Node keeps for its formulas.

    `name` is what formulas call it; `expr` what it is at recording. `needed_by` holds indexes of the Node's gradients;
    empty: always kept.
    """

    name: str
    kind: SavedKind
    expr: TypedExpr
    needed_by: tuple[int, ...]

    def __post_init__(self) -> None:
        output = isinstance(self.expr, Variable) and self.expr.kind is VariableKind.OUTPUT
        assert output or self.kind is not SavedKind.RESULT, "a saved result is a variable of the operator's outputs"
        assert self.kind is SavedKind.VALUE or isinstance(self.expr, Variable), "a Tensor is saved as it is"

    @property
    def result_index(self) -> int:
        """Which result of the operator a saved result is."""
        assert isinstance(self.expr, Variable)
        return self.expr.index

    @property
    def is_freed(self) -> bool:
        """Whether a backward drops it: a Node that saved no Tensor can be run again."""
        return self.kind is not SavedKind.VALUE

    @property
    def is_hidden(self) -> bool:
        """Whether it is a value for the formulas alone; PyTorch shows numbers and strings, and lists of them."""
        if self.kind is not SavedKind.VALUE:
            return False
        type = self.expr.type
        if isinstance(self.expr, Intrinsic):
            inner = type.elem if isinstance(type, OptionalType) else type
            return inner not in (INT, INT_LIST)
        return type in (DTYPE, OptionalType(BOOL))


def plan_saved(
    trees: list[TypedExpr | None], schema: FunctionSchema
) -> tuple[tuple[SavedVariable, ...], list[TypedExpr | None]]:
    """What the formulas need from the forward pass, and the formulas over the names it is saved under.

    A tensor that a formula asks for metadata only gives a saved value (`self_sizes`), not a saved tensor.
    """
    whole: dict[tuple[VariableKind, str, int], list[int]] = {}
    values: dict[tuple[str, str], tuple[str, TypedExpr, list[int]]] = {}
    taken = {argument.name for argument in schema.arguments} | {result.name for result in schema.returns if result.name}

    def change(expr: TypedExpr, gradient: int) -> TypedExpr | None:
        asked = metadata(expr)
        if asked is not None:
            tensor, suffix, value = asked
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
            saved_as = SavedKind.RESULT
        elif not is_tensor_like(type):
            saved_as = SavedKind.VALUE
        elif isinstance(type, OptionalType) and not isinstance(type.elem, ListType):
            saved_as = SavedKind.OPTIONAL
        else:
            saved_as = SavedKind.LIST if type != TENSOR else SavedKind.TENSOR
        saved.append(SavedVariable(name, saved_as, variable, () if needed == every else needed))
    for name, expr, users in values.values():
        needed = tuple(sorted(set(users)))
        saved.append(SavedVariable(name, SavedKind.VALUE, expr, () if needed == every else needed))
    return tuple(saved), rewritten


def _type_of(kind: VariableKind, name: str, index: int, schema: FunctionSchema) -> Type:
    if kind is VariableKind.OUTPUT:
        return formula_type(schema.returns[index].type)
    return formula_type(next(argument.type for argument in schema.arguments if argument.name == name))


def values_used(expr: TypedExpr) -> set[str]:
    """Names of the arguments, and `#result`, whose values (not only shapes or dtypes) an expression depends on."""
    match expr:
        case Intrinsic() if expr.name in METADATA:
            return set()
        case OperatorCall(meaning=Meaning.ZEROS):
            return set()
        case Variable(kind=VariableKind.INPUT):
            return {expr.name}
        case Variable(kind=VariableKind.OUTPUT):
            return {"#result"}
        case _:
            used: set[str] = set()
            for child in children(expr):
                used |= values_used(child)
            return used
