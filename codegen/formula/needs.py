"""What formulas need of the arguments and results of their operator: all of a Tensor, or only sizes and the like."""

from __future__ import annotations

from collections.abc import Iterable

from codegen.formula.intrinsics import METADATA
from codegen.formula.meaning import Meaning
from codegen.formula.typed import (
    OPTIONS,
    TENSOR,
    Arithmetic,
    Element,
    Intrinsic,
    Literal,
    OperatorCall,
    TypedExpr,
    Variable,
    VariableKind,
    rewrite,
)
from codegen.schema.types import (
    OptionalType,
)


def saved_names(trees: Iterable[TypedExpr]) -> set[str]:
    """Names of the arguments and results that formulas need whole, and not only the shape or dtype of."""
    names: set[str] = set()

    def change(expr: TypedExpr) -> TypedExpr | None:
        if metadata(expr) is not None:
            return expr
        if isinstance(expr, Variable) and _is_saved(expr):
            names.add(expr.name)
        return None

    for tree in trees:
        rewrite(tree, change)
    return names


def metadata(expr: TypedExpr) -> tuple[str, str, TypedExpr] | None:
    """What a formula asks of a Tensor besides its values: its name, a word for what is asked, the expression to save.

    It is saved under PyTorch's names: `self_sym_sizes`, `self_sym_argsize_0`, `self_info`, of which zeros like it are
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
        case OperatorCall(args=((_, Variable() as tensor),), meaning=Meaning.ZEROS):
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
