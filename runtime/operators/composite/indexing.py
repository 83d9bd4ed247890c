"""Indexing operators that are made of others."""

from __future__ import annotations

from collections.abc import Sequence

from runtime import ops
from runtime.base import dtypes
from runtime.base.arrays import normalize_dim
from runtime.base.tensor import Tensor
from runtime.base.types import Scalar


def take_along_dim(self: Tensor, indices: Tensor, dim: int | None = None) -> Tensor:
    """`gather`, with both brought to one shape in the other dimensions; without `dim`, of flat tensors.

    Indices along `dim` are counted round: -1 is the last element, the size is the first.
    """
    if indices.dtype is not dtypes.int64:
        raise RuntimeError(
            f"torch.take_along_dim(): dtype of indices should be Long but got {indices.dtype.scalar_name}"
        )
    if dim is None:
        return self.reshape([-1]).gather(0, indices.reshape([-1]))
    if self.dim() != indices.dim():
        raise RuntimeError(
            "torch.take_along_dim(): input and indices should have the same number of dimensions, "
            f"but got {self.dim()} dimensions for input, and {indices.dim()} dimensions for indices"
        )
    if not -self.dim() <= dim < self.dim():
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-self.dim()}, {self.dim() - 1}], but got {dim})"
        )
    place = dim % self.dim()
    common = [max(a, b) if 0 not in (a, b) else 0 for a, b in zip(self.shape, indices.shape, strict=True)]
    source, index = list(common), list(common)
    source[place], index[place] = self.shape[place], indices.shape[place]
    size = self.shape[place]
    if size == 0 and indices.numel():
        raise RuntimeError(f"torch.take_along_dim(): dimension {place} of input has no elements to take")
    return self.expand(source).gather(place, indices.expand(index).remainder(max(size, 1)))


def unsafe_masked_index(self: Tensor, mask: Tensor, indices: list[Tensor | None], fill: Scalar) -> Tensor:
    """`self[indices]` where the mask is true, and `fill` elsewhere, where indices may be of places that are none."""
    if self.numel() == 0:  # there is nothing that indices could be clamped to, and none of it shows
        named = [dim < len(indices) and indices[dim] is not None for dim in range(self.dim())]
        longer = [int(size == 0 and is_named) for size, is_named in zip(self.shape, named, strict=True)]
        self = ops.constant_pad_nd(self, [count for after in reversed(longer) for count in (0, after)], 0)
        mask = ops.zeros([], dtype=dtypes.bool, device=self.device)
    return ops.index(self, _clamped(self, indices)).masked_fill(mask.logical_not(), fill)


def unsafe_masked_index_put_accumulate(
    self: Tensor, mask: Tensor, indices: list[Tensor | None], values: Tensor
) -> Tensor:
    """The values of which the mask is true added to `self[indices]`."""
    if self.numel() == 0:
        return self.clone()
    return ops.index_put(self, _clamped(self, indices), values.masked_fill(mask.logical_not(), 0), True)


def _clamped(self: Tensor, indices: list[Tensor | None]) -> list[Tensor | None]:
    inside = [
        None if index is None else index.clamp(-int(size), int(size) - 1)
        for index, size in zip(indices, self.shape, strict=False)
    ]
    return inside + indices[self.dim() :]  # too many, which the index refuses


def as_strided_scatter(
    self: Tensor, src: Tensor, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None
) -> Tensor:
    """A copy of the memory up to the last element of `self`, with `src` at the places that are described.

    It lies there as `self` does, so that places before the first element, or between others, are none of the result.
    """
    first = self.storage_offset()
    span = (1 + sum((n - 1) * step for n, step in zip(self.shape, self.stride(), strict=True))) if self.numel() else 0
    length, start = first + span, first if storage_offset is None else storage_offset
    places = ops.arange(length, device=self.device).as_strided(size, stride, start)
    if list(places.shape) != list(src.shape):
        raise RuntimeError(
            f"as_strided_scatter(): expected src to have a size equal to the slice of self. src size = "
            f"{list(src.shape)}, slice size = {list(places.shape)}"
        )
    memory = self.as_strided([length], [1], 0).scatter(0, places.reshape([-1]), src.reshape([-1]))
    return memory.as_strided(self.shape, self.stride(), first)


_REDUCTIONS = {"add": "sum", "multiply": "prod"}


def scatter_with_reduce(self: Tensor, dim: int, index: Tensor, src: Tensor, *, reduce: str) -> Tensor:
    """`scatter_reduce` by older names of sums and products."""
    if reduce not in _REDUCTIONS:
        raise RuntimeError(f"scatter(): reduce argument must be either add or multiply, but got {reduce}")
    result: Tensor = ops.scatter_reduce(self, dim, index, src, _REDUCTIONS[reduce])
    return result


def scatter_value_with_reduce(self: Tensor, dim: int, index: Tensor, value: Scalar, *, reduce: str) -> Tensor:
    source = ops.full(index.shape, value, dtype=self.dtype, device=self.device)
    return scatter_with_reduce(self, dim, index, source, reduce=reduce)


_STARTS = {"sum": 0.0, "mean": 0.0, "prod": 1.0, "max": -float("inf"), "min": float("inf")}


def segment_reduce(
    data: Tensor,
    reduce: str,
    *,
    lengths: Tensor | None = None,
    indices: Tensor | None = None,
    offsets: Tensor | None = None,
    axis: int = 0,
    unsafe: bool = False,
    initial: Scalar | None = None,
) -> Tensor:
    """Each segment along `axis` reduced to one element; segments have `lengths`, or lie between `offsets`.

    `initial` takes part in each reduction, but does not count in the divisor of a mean.
    """
    if reduce not in _STARTS:
        raise RuntimeError(f"segment_reduce(): reduce must be one of {', '.join(_STARTS)}, but got {reduce}")
    if indices is not None:
        raise RuntimeError("segment_reduce(): indices based reduction is not supported yet.")
    if (lengths is None) == (offsets is None):
        raise RuntimeError("segment_reduce(): Either lengths or offsets must be defined, and not both.")
    place = normalize_dim(axis, data.dim())
    bounds = _bounds(data, lengths, offsets, place, unsafe)
    count, size = int(bounds.shape[place]) - 1, int(data.shape[place])
    tail = [1] * (data.dim() - place - 1)
    # Each element of the axis has the number of its segment, and those that lie in none have one after all.
    places = ops.arange(size, device=data.device).expand([*bounds.shape[:-1], size])
    number = ops.searchsorted(bounds, places, right=True) - 1
    number = number.masked_fill(number < 0, count).reshape([*number.shape, *tail]).expand(data.shape)
    start = _STARTS[reduce] if initial is None else initial
    shape = [count + 1 if dim == place else int(n) for dim, n in enumerate(data.shape)]
    scattered = "amax" if reduce == "max" else "amin" if reduce == "min" else "prod" if reduce == "prod" else "sum"
    # What starts a maximum has no share in its gradient.
    kept = reduce not in ("max", "min")
    result: Tensor = ops.scatter_reduce(data.new_full(shape, start), place, number, data, scattered, include_self=kept)
    result = result.narrow(place, 0, count)
    if initial is not None and not kept:
        return result.clamp_min(initial) if reduce == "max" else result.clamp_max(initial)
    if reduce == "mean":
        each = bounds.diff(dim=-1).reshape([*bounds.shape[:-1], count, *tail])
        return result / (each if initial is None else each.clamp_min(1))
    return result


def _bounds(data: Tensor, lengths: Tensor | None, offsets: Tensor | None, place: int, unsafe: bool) -> Tensor:
    """Where segments begin along the last dimension, and where the last one ends."""
    given = lengths if lengths is not None else offsets
    assert given is not None
    if given.dim() != place + 1 or list(given.shape[:-1]) != list(data.shape[:place]):
        raise RuntimeError(
            f"segment_reduce(): expected lengths or offsets of shape {[*data.shape[:place], '*']}, so that axis is "
            f"their last dimension, but got {list(given.shape)} with axis {place}"
        )
    if given.dtype not in (dtypes.int32, dtypes.int64):
        raise NotImplementedError(f"\"segment_reduce\" not implemented for lengths of '{given.dtype.scalar_name}'")
    if lengths is None:
        return given
    if type(given) is Tensor and not unsafe:
        if (given._array < 0).any():
            raise RuntimeError("segment_reduce(): lengths contains negative value!")
        if (given._array.sum(-1) != data.shape[place]).any():
            raise RuntimeError(
                f"segment_reduce(): Expected all rows of lengths along axis to sum to {data.shape[place]} when !unsafe."
            )
    ends = given.cumsum(-1)
    return ops.cat([ends.new_zeros([*ends.shape[:-1], 1]), ends], -1)


def nonzero_numpy(self: Tensor) -> list[Tensor]:
    """The places of the elements that are not 0, one vector for each dimension."""
    if self.dim() == 0:
        return list(ops.unbind(self.unsqueeze(0).nonzero(), 1))
    return list(ops.unbind(self.nonzero(), 1))


def where(condition: Tensor) -> list[Tensor]:
    """Where the condition holds, as index Tensors: one for each dimension."""
    return list(ops.nonzero_numpy(condition))


def one_hot(self: Tensor, num_classes: int = -1) -> Tensor:
    """For each number a row with a 1 at its place and zeros elsewhere."""
    if self.dtype is not dtypes.int64:
        raise RuntimeError("one_hot is only applicable to index tensor of type LongTensor.")
    if self.numel() == 0:
        if num_classes <= 0:
            raise RuntimeError("Can not infer total number of classes from empty tensor.")
        return self.new_zeros([*self.shape, num_classes])
    if self._opaque and num_classes != -1:  # under vmap, where the values cannot be read
        return (self.unsqueeze(-1) == ops.arange(num_classes, device=self.device)).to(dtypes.int64)
    if int(self.min()) < 0:
        raise RuntimeError("Class values must be non-negative.")
    most = int(self.max())
    if num_classes == -1:
        num_classes = most + 1
    elif num_classes <= most:
        raise RuntimeError("Class values must be smaller than num_classes.")
    return self.new_zeros([*self.shape, num_classes]).scatter(-1, self.unsqueeze(-1), 1)


def fill_diagonal_inplace(self: Tensor, fill_value: Scalar, wrap: bool = False) -> Tensor:
    """One value written to the elements of which all indices are equal.

    Args:
        wrap: begin anew below the diagonal of a matrix that has more rows than columns, after a row that is left out.

    Raises:
        RuntimeError: there are less than two dimensions, or more that are not of equal length.
    """
    if self.dim() < 2:
        raise RuntimeError("dimensions must larger than 1")
    if self.dim() > 2 and any(size != self.size(0) for size in self.shape):
        raise RuntimeError("all dimensions of input must be of equal length")
    step = self.size(1) + 1
    starts = range(0, self.size(0), step) if wrap and self.dim() == 2 else range(1)
    for start in starts:
        diagonal = self[start:]
        while diagonal.dim() > 1:
            diagonal = diagonal.diagonal(0, 0, -1)
        diagonal.fill_(fill_value)
    return self
