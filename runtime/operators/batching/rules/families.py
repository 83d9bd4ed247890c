"""Rules of whole families of operators: element-wise ones, reductions, and those that work along a dimension."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from runtime import ops
from runtime.base.dtypes import common_dtype, from_numpy
from runtime.base.tensor import Tensor
from runtime.graph import forward
from runtime.operators.batching.batched import BatchedTensor, batch
from runtime.operators.batching.calls import (
    UNBATCHED_TARGET,
    call,
    flattened,
    is_batched,
    refuse,
    shifted,
    shifted_all,
    whole_batch,
    with_rank,
    wrapped,
)
from runtime.operators.batching.levels import VmapLevel

if TYPE_CHECKING:
    from runtime.call.dispatch import Operator

__all__ = [
    "along", "along_new", "dynamic", "largest", "loop", "middle", "pointwise", "reduction", "smallest", "traced",
    "truth", "undefined", "whole",
]  # fmt: skip


# -- element-wise operators


def pointwise(level: VmapLevel, operator: Operator, values: list[Any]) -> Any:
    """Element by element: the elements of a batch are brought to one number of dimensions, so that they broadcast."""
    assert operator.batching is not None
    positions = operator.batching[1]
    if len(positions) == 1:
        position = positions[0]
        values = list(values)
        values[position] = values[position].value
        return wrapped(call(operator, values), level, operator)
    return wrapped(call(operator, aligned(level, operator, values)), level, operator)


def aligned(level: VmapLevel, operator: Operator, values: list[Any], written: int | None = None) -> list[Any]:
    """The arguments of an element-wise call for the whole batch; that at `written` keeps its dtype."""
    assert operator.batching is not None
    changed = list(values)
    rank = 0
    dtype = None
    mixed = False
    positions = [position for position in operator.batching[1] if values[position] is not None]
    for position in positions:
        tensor = values[position]
        if type(tensor) is BatchedTensor and tensor.level is level:
            array = tensor.value._array
            ndim = array.ndim - 1
        else:
            array = tensor._array
            ndim = array.ndim
        if ndim > rank:
            rank = ndim
        if dtype is None:
            dtype = array.dtype
        elif array.dtype is not dtype:
            mixed = True
    for position in positions:
        tensor = values[position]
        if type(tensor) is BatchedTensor and tensor.level is level:
            value = tensor.value
            changed[position] = value if value._array.ndim > rank else with_rank(value, rank)
    if mixed and operator.promotion is not None:
        _promote(operator, values, changed, written)
    return changed


def _promote(operator: Operator, values: list[Any], changed: list[Any], written: int | None) -> None:
    """Bring Tensors to the dtype that the elements have together.

    An element without dimensions counts less than one with some, and in the batch both have some.
    """
    wanted = common_dtype(
        [
            values[position]
            for position in operator.promoted_positions
            if not isinstance(values[position], list | tuple | None)
        ]
    )
    for position in operator.promoted_positions:
        tensor = changed[position]
        if isinstance(tensor, Tensor) and tensor._array.dtype is not wanted and position != written:
            changed[position] = ops._to_copy(tensor, dtype=from_numpy(wanted))


# -- operators with an argument that counts dimensions


def along(level: VmapLevel, operator: Operator, values: list[Any]) -> Any:
    """Along dimensions, all counted in the first Tensor: one further in the batch."""
    assert operator.batching is not None
    _, positions, dims = operator.batching
    changed = list(values)
    rank = values[positions[0]].dim()
    if rank == 0 or (len(positions) > 1 and any(values[position].dim() == 0 for position in positions)):
        return loop(level, operator, values) if len(positions) > 1 else _along_nothing(level, operator, values)
    for position in positions:
        changed[position] = whole_batch(values[position], level)
    for position in dims:
        changed[position] = shifted_all(values[position], rank)
    return wrapped(call(operator, changed), level, operator)


def _along_nothing(level: VmapLevel, operator: Operator, values: list[Any]) -> Any:
    """Of an element without dimensions, which operators take as if it had one."""
    assert operator.batching is not None
    _, (position, *_), dims = operator.batching
    changed = list(values)
    value = values[position].value
    changed[position] = ops.unsqueeze(value, 1)
    for place in dims:
        changed[place] = shifted_all(values[place], 0)
    refuse(operator, values, level)  # some take no element without dimensions
    out = call(operator, changed)
    if isinstance(out, Tensor):
        return batch(_without_dim(out), level)
    return wrapped(tuple([_without_dim(tensor) for tensor in out]), level, operator)


def _without_dim(tensor: Tensor) -> Tensor:
    return ops.squeeze(tensor, 1) if tensor.dim() > 1 else tensor


def along_new(level: VmapLevel, operator: Operator, values: list[Any]) -> Any:
    """Along dimensions that are counted in the result, which has one more."""
    assert operator.batching is not None
    _, (position, *_), dims = operator.batching
    changed = list(values)
    value = changed[position] = values[position].value
    for place in dims:
        changed[place] = shifted(values[place], value.dim())
    if operator.view is None and value.dim() == 1:
        refuse(operator, values, level)
    return batch(call(operator, changed), level)


def reduction(level: VmapLevel, operator: Operator, values: list[Any]) -> Any:
    """Over the dimensions named; over all of an element where none is."""
    assert operator.batching is not None
    _, (position, *_), (place, *_) = operator.batching
    dim = values[place]
    rank = values[position].value._array.ndim - 1
    if dim is not None and dim != ():
        if rank == 0:
            return _along_nothing(level, operator, values)
        changed = list(values)
        changed[position] = values[position].value
        changed[place] = shifted_all(dim, rank)
        return wrapped(call(operator, changed), level, operator)
    return _reduce_all(level, operator, values, position, place, rank)


def _reduce_all(level: VmapLevel, operator: Operator, values: list[Any], position: int, place: int, rank: int) -> Any:
    changed = list(values)
    value = values[position].value
    listed = "[" in operator.signature.parameters[place].type
    if listed and rank:
        changed[position] = value
        changed[place] = tuple(range(1, rank + 1))
        return wrapped(call(operator, changed), level, operator)
    changed[position] = flattened(value)
    changed[place] = (1,) if listed else 1
    out = call(operator, changed)
    tensors = [out] if isinstance(out, Tensor) else list(out)
    if _keeps_dims(operator, values):
        tensors = [ops.reshape(tensor, (level.size, *(1,) * rank)) for tensor in tensors]
    results = [batch(tensor, level) for tensor in tensors]
    return results[0] if isinstance(out, Tensor) else operator.results(results)


def _keeps_dims(operator: Operator, values: list[Any]) -> bool:
    names = [parameter.name for parameter in operator.signature.parameters]
    return "keepdim" in names and bool(values[names.index("keepdim")])


def truth(level: VmapLevel, operator: Operator, values: list[Any]) -> Any:
    """As `reduction`, of operators that an empty list of dimensions lets reduce nothing."""
    assert operator.batching is not None
    if values[operator.batching[2][0]] == ():
        return pointwise(level, operator, values)
    return reduction(level, operator, values)


def whole(level: VmapLevel, operator: Operator, values: list[Any]) -> Any:
    """Of all elements, without an argument for dimensions: by the overload that has one, or its like."""
    (x, *rest), names = values, [parameter.name for parameter in operator.signature.parameters[1:]]
    flat = flattened(x.value)
    packet = getattr(ops, operator.signature.name)
    return batch(packet(flat, 1, **dict(zip(names, rest, strict=True))), level)


def largest(level: VmapLevel, operator: Operator, values: list[Any]) -> Any:
    """The largest of all elements."""
    return batch(ops.amax(_some(level, operator, values), (1,)), level)


def smallest(level: VmapLevel, operator: Operator, values: list[Any]) -> Any:
    """The smallest of all elements."""
    return batch(ops.amin(_some(level, operator, values), (1,)), level)


def _some(level: VmapLevel, operator: Operator, values: list[Any]) -> Tensor:
    """The elements of each Tensor of the batch, of which there have to be some."""
    flat = flattened(values[0].value)
    if flat._array.shape[1] == 0:
        refuse(operator, values, level)
    return flat


def middle(level: VmapLevel, operator: Operator, values: list[Any]) -> Any:
    """The median of all elements, with a gradient that equal elements share."""
    flat = flattened(values[0].value)
    chosen = ops.median(flat.detach(), 1, True)[0]
    if flat._edge is None and not forward.active():
        return batch(ops.squeeze(chosen, 1), level)
    mask = ops.where(ops.isnan(chosen), ops.isnan(flat), flat == chosen)
    shares = mask / ops.sum(mask, 1, True)
    return batch(ops.sum(ops.where(mask, flat, 0) * shares, 1), level)


# -- operators without a rule, and without a meaning


def loop(level: VmapLevel, operator: Operator, values: list[Any]) -> Any:
    """One call for each element of the batch; the results are stacked. What it writes is written in the batch.

    Raises:
        RuntimeError: the operator gives numbers or views, or writes what there is one of for all elements; or there is
            no element to call it for.
    """
    if fallback_warnings.enabled:
        warnings.warn(
            f"There is a performance drop because there is no batching rule for {operator.name} yet: it is called once "
            "for each element of the batch.",
            UserWarning,
            stacklevel=2,
        )
    given = _given_back(level, operator, values)
    if level.size == 0:
        raise RuntimeError(
            f"Batching rule not implemented for {operator.name}; the fallback path doesn't work on vmap over dims of "
            "size 0."
        )
    elements = [_entries(values, level, place) for place in range(level.size)]
    with level.suspended():
        rows = [call(operator, element) for element in elements]
    results = len(operator.facts.results)
    if results == 1:
        return values[given[0]] if given else _stacked(rows, level)
    # A mask leaves a result out for all elements, or for none.
    columns = [
        values[given[place]] if place in given else _stacked(column, level)
        for place, column in enumerate(zip(*rows, strict=True) if results else ())
    ]
    return operator.results(columns) if results else None


def _stacked(rows: Sequence[Any], level: VmapLevel) -> Any:
    """A batch of what the calls for its elements gave: Tensors, lists of them, or nothing."""
    if rows[0] is None:
        return None
    if isinstance(rows[0], Tensor):
        return batch(ops.stack(rows), level)
    return type(rows[0])([_stacked(column, level) for column in zip(*rows, strict=True)])


def _given_back(level: VmapLevel, operator: Operator, values: list[Any]) -> dict[int, int]:
    """Which results are the arguments that an operator writes: the positions of both."""
    for place in operator.facts.writes:
        tensors = values[place] if type(values[place]) is list else [values[place]]
        if any(tensor is not None and not is_batched(tensor, level) for tensor in tensors):
            raise RuntimeError(UNBATCHED_TARGET)
    if not all(type.startswith("Tensor") for type in operator.facts.results):
        undefined(level, operator, values)
    given = {number: place for number, place in enumerate(operator.facts.returned) if place is not None}
    if -1 in given.values():
        raise RuntimeError(
            f"Batching rule not implemented for {operator.name}; the fallback path doesn't work on out= or view ops."
        )
    return given


class FallbackWarnings:
    """Whether calls that are made in a loop say so."""

    enabled = False


fallback_warnings = FallbackWarnings()


def _entries(values: list[Any], level: VmapLevel, place: int) -> list[Any]:
    def entry(value: Any) -> Any:
        if is_batched(value, level):
            return ops.select(value.value, 0, place)
        return [entry(item) for item in value] if type(value) is list else value

    return [entry(value) for value in values]


def dynamic(level: VmapLevel, operator: Operator, values: list[Any]) -> Any:
    """Raise: the shape of the result follows from values, so each element of the batch may have another."""
    raise RuntimeError(
        "vmap: We do not support batching operators that can output dynamic shape. Attempted to vmap over "
        f"{operator.name}."
    )


def undefined(level: VmapLevel, operator: Operator, values: list[Any]) -> Any:
    """Raise: the result is a Python value, which there can not be one of for each element of the batch."""
    raise RuntimeError(f"Batching rule not implemented for {operator.name}. We could not generate a fallback.")


def traced(level: VmapLevel, operator: Operator, values: list[Any]) -> Any:
    """By the operators that a composite operator is made of, though it has a derivative of its own."""
    kernel = operator.kernels.get("CompositeExplicitAutograd")
    if kernel is None:  # somebody's own is in its place
        return loop(level, operator, values)
    return operator.call_composite(kernel, values)
