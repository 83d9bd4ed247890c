"""What the rules of vmap share: calling an operator on batches, and bringing batches into one shape."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from runtime import ops
from runtime.base.arrays import normalize_dim
from runtime.base.tensor import Tensor, wrap
from runtime.operators.batching.batched import BatchedTensor, batch, value_at
from runtime.operators.batching.levels import VmapLevel

if TYPE_CHECKING:
    from runtime.call.dispatch import Operator

UNBATCHED_TARGET = (
    "vmap: inplace arithmetic(self, *extra_args) is not possible because there exists a Tensor in extra_args that is "
    "vmapped over while `self` is not: it has one value for each element of the batch, and `self` one for all. Please "
    "use out-of-place operators, or make `self` by self.new_zeros() or the like of a Tensor that is vmapped over."
)

_callers: dict[Operator, Callable[[Sequence[Any]], Any]] = {}


def call(operator: Operator, values: Sequence[Any]) -> Any:
    """Call an operator with its arguments in the schema's order, by its callable: plain Tensors take the fast path."""
    if not operator.is_generated:
        return operator.call_bound(list(values))
    caller = _callers.get(operator)
    if caller is None:
        caller = _callers[operator] = _caller(operator)
    return caller(values)


def _caller(operator: Operator) -> Callable[[Sequence[Any]], Any]:
    function, positional = operator.function, operator.signature.positional
    names = [parameter.spelled for parameter in operator.signature.parameters[positional:]]
    if not names:
        return lambda values: function(*values)
    return lambda values: function(*values[:positional], **dict(zip(names, values[positional:], strict=True)))


def is_batched(value: Any, level: VmapLevel) -> bool:
    """Whether this is a Tensor with a batch of `level`."""
    return type(value) is BatchedTensor and value.level is level


def value_of(tensor: Tensor, level: VmapLevel) -> Tensor:
    """The batch behind a Tensor, or itself where it has none at `level`."""
    return tensor.value if type(tensor) is BatchedTensor and tensor.level is level else tensor


def whole_batch(tensor: Tensor, level: VmapLevel) -> Tensor:
    """The batch behind a Tensor; one that has none is repeated, without a copy."""
    value = value_at(tensor, level)
    if value is not None:
        return value
    return ops.expand(ops.unsqueeze(tensor, 0), (level.size, *tensor._array.shape))


def wrapped(out: Any, level: VmapLevel, operator: Operator) -> Any:
    """Results of a call on batches, as the caller under vmap gets them."""
    if isinstance(out, Tensor):
        return batch(out, level)
    tensors = [batch(tensor, level) for tensor in out]
    return tensors if type(out) is list else tuple(tensors) if type(out) is tuple else operator.results(tensors)


def with_rank(value: Tensor, rank: int) -> Tensor:
    """A batch whose elements have `rank` dimensions or fewer, with dimensions of size 1 put before theirs."""
    shape = value._array.shape
    missing = rank + 1 - len(shape)
    if missing <= 0:
        return value
    if missing == 1:
        return ops.unsqueeze(value, 1)
    return ops.view(value, (shape[0], *(1,) * missing, *shape[1:]))


def shifted(dim: int, rank: int) -> int:
    """A dimension of an element of `rank` dimensions, counted in the batch.

    Raises:
        IndexError: there is no such dimension.
    """
    return normalize_dim(dim, rank) + 1


def shifted_all(dims: Any, rank: int) -> Any:
    """As `shifted`, for a dimension, several, or none."""
    if dims is None:
        return None
    return shifted(dims, rank) if type(dims) is int else tuple([shifted(dim, rank) for dim in dims])


def as_element(values: Sequence[Any], level: VmapLevel) -> list[Any]:
    """The arguments of a call with plain Tensors in place of batched ones, to see what the operator says to them."""

    def plain(value: Any) -> Any:
        if is_batched(value, level):
            return wrap(value._array)
        return [plain(item) for item in value] if type(value) is list else value

    return [plain(value) for value in values]


def refuse(operator: Operator, values: Sequence[Any], level: VmapLevel) -> None:
    """Let the operator raise its own error about arguments that do not fit."""
    call(operator, as_element(values, level))


def flattened(value: Tensor) -> Tensor:
    """A batch of vectors with the elements of a batch."""
    shape = value._array.shape
    count = 1
    for size in shape[1:]:
        count *= size
    return ops.reshape(value, (shape[0], count))
