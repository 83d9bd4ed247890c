"""How much memory a Node keeps, for given shapes of the arguments."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from codegen.formula.typed import Variable, is_tensor_like
from codegen.plan.kinds import SavedKind
from codegen.plan.operator import OperatorPlan
from codegen.plan.saved import SavedVariable
from codegen.schema.types import ListType
from codegen.words import PromotionKind

# Element types, each after those that it takes the place of: what integers and floats come to together is a float.
_ELEMENT_BYTES = {
    "bool": 1, "uint8": 1, "int8": 1, "int16": 2, "int32": 4, "int64": 8,
    "bfloat16": 2, "float16": 2, "float32": 4, "float64": 8, "complex32": 4, "complex64": 8, "complex128": 16,
}  # fmt: skip
_DEFAULT_TYPE, _FIRST_FLOAT = "float32", "bfloat16"
_ARRAY = re.compile(r"(\d+(?:x\d+)*|\(\))(?::(\w+))?")


@dataclass(frozen=True, slots=True)
class Array:
    """What of a Tensor tells its size."""

    shape: tuple[int, ...]
    element_type: str

    @property
    def bytes(self) -> int:
        return math.prod(self.shape) * _ELEMENT_BYTES[self.element_type]

    def __str__(self) -> str:
        return f"{self.element_type}[{', '.join(map(str, self.shape))}]"


def read_arrays(text: str) -> tuple[Array, ...]:
    """The arrays of one argument: `64x128`, `()` without dimensions, `8:int64`; of a list `2x3,4x3`.

    Raises:
        ValueError: it is nothing of that kind.
    """
    arrays = []
    for part in text.split(","):
        match = _ARRAY.fullmatch(part)
        if match is None or (match[2] or _DEFAULT_TYPE) not in _ELEMENT_BYTES:
            raise ValueError(f"'{part}' is no shape; write 64x128, () for no dimensions, or 64x128:float64")
        shape = () if match[1] == "()" else tuple(map(int, match[1].split("x")))
        arrays.append(Array(shape, match[2] or _DEFAULT_TYPE))
    return tuple(arrays)


def arrays_of(operator: OperatorPlan, given: Sequence[tuple[Array, ...]]) -> Mapping[str, tuple[Array, ...]]:
    """The arrays of arguments, and of results that are as large as what arguments broadcast to, by name.

    Raises:
        ValueError: there are more or fewer than Tensors that the operator needs, or they do not broadcast.
    """
    tensors = [parameter for parameter in operator.python.parameters if is_tensor_like(parameter.type)]
    needed = sum(parameter.default is None for parameter in tensors)
    if not needed <= len(given) <= len(tensors):
        names = ", ".join(parameter.name for parameter in tensors) or "none"
        raise ValueError(f"{operator.name} has {len(tensors)} Tensors ({names}), and there are {len(given)} shapes")
    found = {parameter.name: arrays for parameter, arrays in zip(tensors, given, strict=False)}
    for parameter in tensors[: len(given)]:
        if not isinstance(parameter.type, ListType) and len(found[parameter.name]) > 1:
            raise ValueError(f"'{parameter.name}' of {operator.name} is one Tensor, not {len(found[parameter.name])}")
    if "pointwise" in operator.source.tags and found:
        every = [array for arrays in found.values() for array in arrays]
        result = Array(_broadcast(every), _result_type(operator, every))
        for variable in operator.autograd.node.saved if operator.autograd.node is not None else ():
            if variable.kind is SavedKind.RESULT:
                found[variable.name] = (result,)
    return found


def _broadcast(arrays: Sequence[Array]) -> tuple[int, ...]:
    dims = max(len(array.shape) for array in arrays)
    sizes = []
    for column in zip(*((1,) * (dims - len(array.shape)) + array.shape for array in arrays), strict=True):
        distinct = set(column) - {1}
        if len(distinct) > 1:
            raise ValueError(f"shapes do not broadcast: {', '.join(map(str, arrays))}")
        sizes.append(distinct.pop() if distinct else 1)
    return tuple(sizes)


def _result_type(operator: OperatorPlan, arrays: Sequence[Array]) -> str:
    order = list(_ELEMENT_BYTES)
    common = max((array.element_type for array in arrays), key=order.index)
    to_float = operator.compute.promotion is not None and operator.compute.promotion.kind is PromotionKind.INT_TO_FLOAT
    return _DEFAULT_TYPE if to_float and order.index(common) < order.index(_FIRST_FLOAT) else common


def arrays_kept(variable: SavedVariable, arrays: Mapping[str, tuple[Array, ...]]) -> tuple[Array, ...] | None:
    """What is kept under a name: nothing for a value that is no Tensor, None where the shape is not known."""
    if variable.kind is SavedKind.VALUE:
        return ()
    assert isinstance(variable.expr, Variable)
    return arrays.get(variable.expr.name, arrays.get(variable.name))


def kept(saved: Sequence[SavedVariable], arrays: Mapping[str, tuple[Array, ...]]) -> Iterator[Array]:
    """All that is kept and known."""
    for variable in saved:
        yield from arrays_kept(variable, arrays) or ()
