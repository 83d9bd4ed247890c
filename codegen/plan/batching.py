"""How a batch of calls of an operator is one call: the rule that `vmap` applies to it, and where its arguments stand.

A rule is a function of `runtime/operators/batching/rules`. An entry names one with `batching:`; for the others the
schema tells: what is element-wise, reduces a dimension or works along one. An operator about which nothing is known is
called once for each element of the batch.
"""

from __future__ import annotations

from dataclasses import dataclass

from codegen.formula.typed import TENSOR, formula_type, is_tensor_like
from codegen.read.model import NativeFunction
from codegen.schema.types import FunctionSchema, ListType, OptionalType

# Arguments that count the dimensions of the Tensor they stand beside.
_DIMENSIONS = frozenset(("dim", "dims", "dim0", "dim1", "dim2", "dimension"))


@dataclass(frozen=True, slots=True)
class BatchingPlan:
    """The rule's name, and the positions of the arguments that hold Tensors and that count dimensions."""

    rule: str
    tensors: tuple[int, ...]
    dims: tuple[int, ...]


def plan_batching(function: NativeFunction) -> BatchingPlan | None:
    """How calls of an operator are batched; None for one that is traced through, or takes no Tensor."""
    schema = function.schema
    tensors, dims = _tensors(schema), _dims(schema)
    if function.batching is not None:
        return BatchingPlan(str(function.batching), tensors, dims)
    if function.is_random:
        return BatchingPlan("random", tensors, dims)
    if not tensors:
        return None
    return BatchingPlan(_rule(function, tensors, dims), tensors, dims)


def _rule(function: NativeFunction, tensors: tuple[int, ...], dims: tuple[int, ...]) -> str:
    if "pointwise" in function.tags:
        return "pointwise"
    arguments = function.schema.arguments
    if dims and len(tensors) == 1 and formula_type(arguments[tensors[0]].type) == TENSOR:
        return "reduction" if any(argument.name == "keepdim" for argument in arguments) else "along"
    return "loop"


def _tensors(schema: FunctionSchema) -> tuple[int, ...]:
    positions = []
    for position, argument in enumerate(schema.arguments):
        type = formula_type(argument.type)
        inner = type.elem if isinstance(type, OptionalType) else type
        if is_tensor_like(inner.elem if isinstance(inner, ListType) else inner):
            positions.append(position)
    return tuple(positions)


def _dims(schema: FunctionSchema) -> tuple[int, ...]:
    return tuple(i for i, argument in enumerate(schema.arguments) if argument.name in _DIMENSIONS)
