"""Rules of reading and writing by index tensors and masks.

A batch of indices into a batch is an index of one dimension more: the place in the batch comes first.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from runtime import ops
from runtime.base.dtypes import from_numpy
from runtime.base.tensor import Tensor, wrap
from runtime.operators.batching.batched import BatchedTensor, batch
from runtime.operators.batching.calls import call, is_batched, refuse, shifted, whole_batch, with_rank
from runtime.operators.batching.levels import VmapLevel
from runtime.operators.batching.rules.families import aligned, dynamic, loop

if TYPE_CHECKING:
    from runtime.call.dispatch import Operator

_MASK = (
    "vmap: We do not support batching operators that can support dynamic shape. Attempting to batch over indexing with "
    "a boolean mask."
)


class _Indices:
    """The index tensors of a call for a batch.

    Attributes:
        indexes: for each dimension of an element its index, None for all of it; masks are read already.
        first: the first dimension that is indexed.
        adjacent: whether the indexed dimensions are neighbours; otherwise what they make comes first in the result.
        count: how many dimensions are indexed.
        rank: of what they make.
    """

    def __init__(self, level: VmapLevel, indices: list[Tensor | None]) -> None:
        self.indexes: list[Tensor | None] = []
        for index in indices:
            if index is None or (index._array.dtype.kind != "b" and index._array.dtype != np.uint8):
                self.indexes.append(index)
            elif is_batched(index, level):
                raise RuntimeError(_MASK)
            elif index.dim():
                self.indexes += ops.unbind(index.nonzero(), 1)
            else:
                self.indexes.append(wrap(np.zeros(int(bool(index)), np.int64)))
        places = [place for place, index in enumerate(self.indexes) if index is not None]
        self.first = places[0] if places else 0
        self.count = len(places)
        self.adjacent = not places or places[-1] - places[0] + 1 == len(places)
        tensors = [index for index in self.indexes if index is not None]
        self.rank = max([index.dim() for index in tensors], default=0)
        self.batched = any(is_batched(index, level) for index in tensors)

    def for_batch(self, level: VmapLevel) -> list[Tensor | None]:
        """The indices of all elements, of one rank; without the place in the batch."""
        return [
            with_rank(index.value, self.rank) if isinstance(index, BatchedTensor) and index.level is level else index
            for index in self.indexes
        ]

    def places(self, level: VmapLevel) -> Tensor:
        """The place in the batch, as an index beside those of `for_batch`."""
        return wrap(np.arange(level.size).reshape((level.size,) + (1,) * self.rank))


def index(level: VmapLevel, operator: Operator, values: list[Any]) -> Any:
    """`self[indices]`."""
    x, selection = values[0], _Indices(level, values[1])
    if len(selection.indexes) > x.dim():
        refuse(operator, values, level)
    if not selection.batched:
        out = call(operator, [x.value, [None, *selection.indexes]])
        return batch(out if selection.adjacent else ops.movedim(out, selection.rank, 0), level)
    if not is_batched(x, level):
        out = call(operator, [x, selection.for_batch(level)])
        return batch(ops.movedim(out, selection.first, 0) if selection.adjacent and selection.first else out, level)
    out = call(operator, [x.value, [selection.places(level), *selection.for_batch(level)]])
    if selection.adjacent and selection.first:
        # What the indices make stands in front, and belongs behind the dimensions that they left alone.
        rank, first = selection.rank, selection.first
        order = (0, *range(1 + rank, 1 + rank + first), *range(1, 1 + rank), *range(1 + rank + first, out.dim()))
        out = ops.permute(out, order)
    return batch(out, level)


def index_put(level: VmapLevel, operator: Operator, values: list[Any]) -> Any:
    """`self` with values written, or added, where the indices point."""
    x, indices, source, accumulate = values
    present = [index for index in indices if index is not None]
    if len(present) == 1 and present[0]._array.dtype.kind == "b" and source.numel() == 1 and not accumulate:
        return _masked(x, indices, source)
    selection = _Indices(level, indices)
    rank = selection.rank + x.dim() - selection.count
    if len(selection.indexes) > x.dim() or source.dim() > rank or source._array.dtype is not x._array.dtype:
        refuse(operator, values, level)
    written = with_rank(source.value, rank) if is_batched(source, level) else _with_rank(source, rank)
    if selection.adjacent and selection.first:
        # In the batch the place in it stands apart from the other indices: what they make comes first.
        lead, own, first = int(is_batched(source, level)), selection.rank, selection.first
        order = [*range(first, first + own), *range(first), *range(first + own, rank)]
        written = ops.permute(written, (*range(lead), *[lead + dim for dim in order]))
    target = whole_batch(x, level)
    return batch(
        call(operator, [target, [selection.places(level), *selection.for_batch(level)], written, accumulate]), level
    )


def _with_rank(tensor: Tensor, rank: int) -> Tensor:
    shape = tensor._array.shape
    return ops.reshape(tensor, ((1,) * (rank - len(shape)) + shape)) if len(shape) < rank else tensor


def _masked(x: Tensor, indices: list[Tensor | None], source: Tensor) -> Tensor:
    """One value under one mask."""
    place, mask = next((place, index) for place, index in enumerate(indices) if index is not None)
    sizes = (1,) * place + mask._array.shape + (1,) * (x.dim() - place - mask.dim())
    return ops.where(ops.reshape(mask, sizes), _cast(ops.reshape(source, ()), x), x)


def _cast(value: Tensor, like: Tensor) -> Tensor:
    same = value._array.dtype is like._array.dtype
    return value if same else ops._to_copy(value, dtype=from_numpy(like._array.dtype))


# -- one vector of indices along one dimension


def index_select(level: VmapLevel, operator: Operator, values: list[Any]) -> Any:
    """Slices along one dimension."""
    x, dim, places = values
    if x.dim() == 0 or places.dim() > 1:
        return loop(level, operator, values)
    along = shifted(dim, x.dim())
    if not is_batched(places, level):
        return batch(call(operator, [x.value, along, places]), level)
    each = _rows(places, level)
    if is_batched(x, level):
        return batch(ops.gather(x.value, along, _spread(each, along, x._array.shape)), level)
    out = call(operator, [x, along - 1, ops.reshape(each, (-1,))])
    sizes = x._array.shape
    out = ops.reshape(out, (*sizes[: along - 1], *each._array.shape, *sizes[along:]))
    return batch(ops.movedim(out, along - 1, 0), level)


def _rows(index: Tensor, level: VmapLevel) -> Tensor:
    """A batch of vectors of indices; an index without dimensions is a vector of one."""
    value = whole_batch(index, level)
    return ops.unsqueeze(value, 1) if value.dim() == 1 else value


def _spread(rows: Tensor, along: int, sizes: tuple[int, ...]) -> Tensor:
    """Vectors of indices as an index for each element of Tensors of `sizes`, along dimension `along` of the batch."""
    size, count = rows._array.shape
    shape = [size, *sizes]
    shape[along] = count
    thin = [size] + [1] * len(sizes)
    thin[along] = count
    return ops.expand(ops.reshape(rows, thin), shape)


def index_add(level: VmapLevel, operator: Operator, values: list[Any]) -> Any:
    """`self` with slices added."""
    x, dim, places, source, alpha = values
    if x.dim() == 0 or source.dim() != x.dim() or places.dim() > 1:
        return loop(level, operator, values)
    along = shifted(dim, x.dim())
    target, added = whole_batch(x, level), whole_batch(source, level)
    if not is_batched(places, level):
        return batch(call(operator, [target, along, places, added, alpha]), level)
    if alpha != 1:
        added = added * alpha
    index = _spread(_rows(places, level), along, source._array.shape)
    return batch(ops.scatter_add(target, along, index, added), level)


def index_copy(level: VmapLevel, operator: Operator, values: list[Any]) -> Any:
    """`self` with slices replaced."""
    x, dim, places, source = values
    if x.dim() == 0 or source.dim() != x.dim() or places.dim() > 1:
        return loop(level, operator, values)
    along = shifted(dim, x.dim())
    target, written = whole_batch(x, level), whole_batch(source, level)
    if not is_batched(places, level):
        return batch(call(operator, [target, along, places, written]), level)
    index = _spread(_rows(places, level), along, source._array.shape)
    return batch(ops.scatter(target, along, index, written), level)


def index_fill(level: VmapLevel, operator: Operator, values: list[Any]) -> Any:
    """`self` with slices set to one value."""
    x, dim, places, value = values
    if x.dim() == 0 or places.dim() > 1 or (isinstance(value, Tensor) and value.dim()):
        return loop(level, operator, values)
    along = shifted(dim, x.dim())
    target = whole_batch(x, level)
    if not is_batched(places, level) and not is_batched(value, level):
        return batch(call(operator, [target, along, places, value]), level)
    index = _spread(ops.remainder(_rows(places, level), x._array.shape[along - 1]), along, x._array.shape)
    mask = ops.scatter(wrap(np.zeros(target._array.shape, np.bool_)), along, index, True)
    if isinstance(value, Tensor):
        return batch(ops.where(mask, with_rank(_cast(whole_batch(value, level), x), x.dim()), target), level)
    return batch(ops.masked_fill(target, mask, value), level)


# -- the elements in a row, masks


def take(level: VmapLevel, operator: Operator, values: list[Any]) -> Any:
    """Elements by their place in the row of all."""
    x, places = values
    if not is_batched(x, level):
        return batch(call(operator, [x, places.value]), level)
    return ops.index(ops.reshape(x, (-1,)), [places])


def put(level: VmapLevel, operator: Operator, values: list[Any]) -> Any:
    """`self` with elements written, or added, by their place in the row of all."""
    x, places, source, accumulate = values
    flat = ops.index_put(ops.reshape(x, (-1,)), [ops.reshape(places, (-1,))], ops.reshape(source, (-1,)), accumulate)
    return ops.reshape(flat, x._array.shape)


def masked_select(level: VmapLevel, operator: Operator, values: list[Any]) -> Any:
    """The elements under a mask, in a row; the mask has to be the same for all."""
    x, mask = values
    if is_batched(mask, level):
        return dynamic(level, operator, values)
    if mask._array.dtype.kind != "b":
        refuse(operator, values, level)
    x, mask = ops.broadcast_tensors([x, mask])
    return ops.index(x, [mask])


def masked_scatter(level: VmapLevel, operator: Operator, values: list[Any]) -> Any:
    """`self` with elements in a row written under a mask, at once where that is the same for all."""
    x, mask, source = values
    if is_batched(mask, level) or mask._array.dtype.kind != "b" or source._array.dtype is not x._array.dtype:
        return loop(level, operator, values)
    x, mask = ops.broadcast_tensors([x, mask])
    count = int(ops.sum(mask))
    if count > source.numel():
        refuse(operator, values, level)
    return ops.index_put(x, [mask], ops.narrow(ops.reshape(source, (-1,)), 0, 0, count))


def masked_fill(level: VmapLevel, operator: Operator, values: list[Any]) -> Any:
    """`self` with the value of a Tensor without dimensions under a mask."""
    x, mask, value = values
    if value.dim() or mask._array.dtype.kind != "b":
        refuse(operator, values, level)
    return ops.where(mask, _cast(value, x), x)


def copy(level: VmapLevel, operator: Operator, values: list[Any]) -> Any:
    """The values of another Tensor in the shape and dtype of `self`."""
    x, source, *rest = values
    if source.dim() > x.dim():
        refuse(operator, values, level)
    operands = aligned(level, operator, [batch(whole_batch(x, level), level), source, *rest])
    return batch(call(operator, operands), level)


def fill(level: VmapLevel, operator: Operator, values: list[Any]) -> Any:
    """The value of a Tensor without dimensions in the shape and dtype of `self`."""
    x, value = values
    if value.dim():
        refuse(operator, values, level)
    if not is_batched(value, level):
        return batch(call(operator, [x.value, value]), level)
    cast = with_rank(_cast(value.value, x), x.dim())
    return batch(ops.clone(ops.expand(cast, (level.size, *x._array.shape))), level)


# -- rows of a table


def embedding(level: VmapLevel, operator: Operator, values: list[Any]) -> Any:
    """Rows of a table; the tables of a batch are read as one long table."""
    table, indices, padding, by_frequency, sparse = values
    if not is_batched(table, level):
        return batch(call(operator, [table, indices.value, padding, by_frequency, sparse]), level)
    if table.dim() != 2 or by_frequency:
        return loop(level, operator, values)
    size, length, width = table.value._array.shape
    rows_wanted = whole_batch(indices, level)
    _check_rows(rows_wanted, length)
    rows = ops.embedding(ops.reshape(table.value, (size * length, width)), _in_long_table(rows_wanted, level, length))
    if padding >= 0:  # that row gets no gradient
        rows = ops.where(ops.unsqueeze(rows_wanted == padding, -1), rows.detach(), rows)
    return batch(rows, level)


def _check_rows(indices: Tensor, length: int) -> None:
    if not indices._opaque and indices.numel() and not 0 <= indices._array.min() <= indices._array.max() < length:
        raise IndexError("index out of range in self")


def _in_long_table(indices: Tensor, level: VmapLevel, length: int) -> Tensor:
    starts = np.arange(0, level.size * length, length) if length else np.zeros(level.size, np.int64)
    return indices + wrap(starts.reshape((level.size,) + (1,) * (indices.dim() - 1)))


def embedding_dense_backward(level: VmapLevel, operator: Operator, values: list[Any]) -> Any:
    """Gradients of rows added up in a table; the tables of a batch are written as one long table."""
    grad, indices, length, padding, by_frequency = values
    rows_read, added = whole_batch(indices, level), whole_batch(grad, level)
    if padding >= 0:
        added = ops.masked_fill(added, ops.unsqueeze(rows_read == padding, -1), 0)
    long = _in_long_table(rows_read, level, length)
    table = call(operator, [added, long, level.size * length, -1, by_frequency])
    sizes = (level.size, length, prod(grad._array.shape[indices.dim() :]))
    return batch(ops.view(table, sizes), level)
