"""Derivatives of reductions into places that an index names."""

from __future__ import annotations

from runtime import ops
from runtime.base.conditions import holds_anywhere
from runtime.base.tensor import Tensor


class _Scattered:
    """Elements that `index` sends to places along `dim`."""

    def __init__(self, dim: int, index: Tensor) -> None:
        self.dim, self.index = dim, index

    def read(self, x: Tensor) -> Tensor:
        return x.gather(self.dim, self.index)

    def added(self, x: Tensor, source: Tensor) -> Tensor:
        return x.scatter_add(self.dim, self.index, source)

    def multiplied(self, x: Tensor, source: Tensor) -> Tensor:
        result: Tensor = ops.scatter_reduce(x, self.dim, self.index, source, "prod")
        return result

    def without(self, x: Tensor) -> Tensor:
        return x.scatter(self.dim, self.index, 0)

    def largest(self, x: Tensor, source: Tensor) -> Tensor:
        result: Tensor = ops.scatter_reduce(x, self.dim, self.index, source, "amax")
        return result

    def last(self, x: Tensor, mask: Tensor) -> Tensor:
        """Of the elements of a mask that are sent to one place of `x`, the last; each other is False."""
        numbers = ops.arange(mask.numel(), device=mask.device).reshape(mask.shape).masked_fill(~mask, -1)
        none = ops.full(x.shape, -1, device=x.device)
        return (numbers == self.read(self.largest(none, numbers))) & mask

    def taken(self, source: Tensor) -> Tensor:
        """The part of the source that has an index."""
        for dim, size in enumerate(self.index.shape):
            source = source.narrow(dim, 0, int(size))
        return source


class _Slices(_Scattered):
    """Slices that `index` sends to places along `dim`."""

    def read(self, x: Tensor) -> Tensor:
        return x.index_select(self.dim, self.index)

    def added(self, x: Tensor, source: Tensor) -> Tensor:
        return x.index_add(self.dim, self.index, source)

    def multiplied(self, x: Tensor, source: Tensor) -> Tensor:
        result: Tensor = ops.index_reduce(x, self.dim, self.index, source, "prod")
        return result

    def without(self, x: Tensor) -> Tensor:
        return x.index_fill(self.dim, self.index, 0)

    def largest(self, x: Tensor, source: Tensor) -> Tensor:
        result: Tensor = ops.index_reduce(x, self.dim, self.index, source, "amax")
        return result

    def taken(self, source: Tensor) -> Tensor:
        return source


def scatter_reduce_backward(
    grad: Tensor, self: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, include_self: bool, result: Tensor
) -> tuple[Tensor, Tensor]:
    """Each element gets what its place gets, by its share in the reduction."""
    if index.numel() == 0:
        return grad, ops.zeros_like(src)
    of_self, of_src = _shares(_Scattered(dim, index), grad, self, src, reduce, include_self, result)
    return of_self, _with_rest(of_src, src)


def index_reduce_backward(
    grad: Tensor, self: Tensor, dim: int, index: Tensor, source: Tensor, reduce: str, include_self: bool, result: Tensor
) -> tuple[Tensor, Tensor]:
    """As `scatter_reduce_backward`, for slices."""
    if index.numel() == 0:
        return grad, ops.zeros_like(source)
    places = index.reshape([-1])
    return _shares(_Slices(dim, places), grad, self, source, reduce, include_self, result)


def _with_rest(grad: Tensor, src: Tensor) -> Tensor:
    """Zeros for those elements of the source that no index is for."""
    for dim, size in enumerate(src.shape):
        missing = int(size) - int(grad.shape[dim])
        if missing:
            sizes = list(grad.shape)
            sizes[dim] = missing
            grad = ops.cat([grad, grad.new_zeros(sizes)], dim)
    return grad


def scatter_reduce_jvp(
    self_p: Tensor,
    self_t: Tensor,
    dim: int,
    index: Tensor,
    src_p: Tensor,
    src_t: Tensor,
    reduce: str,
    include_self: bool,
    result: Tensor,
) -> Tensor:
    """What `scatter_reduce_backward` gives to elements, taken from their tangents."""
    if index.numel() == 0:
        return self_t
    places = _Scattered(dim, index)
    src = places.taken(src_p)
    of_self, of_src = _weights(places, self_p, src, reduce, include_self, result)
    return places.added(self_t * of_self, places.taken(src_t) * of_src)


def _shares(
    places: _Scattered, grad: Tensor, self: Tensor, src: Tensor, reduce: str, include_self: bool, result: Tensor
) -> tuple[Tensor, Tensor]:
    of_self, of_src = _weights(places, self, places.taken(src), reduce, include_self, result)
    return grad * of_self.conj(), places.read(grad) * of_src.conj()


def _weights(
    places: _Scattered, self: Tensor, src: Tensor, reduce: str, include_self: bool, result: Tensor
) -> tuple[Tensor, Tensor]:
    """The derivatives of each place by its element and by what was sent there."""
    one = ops.ones_like(result).detach()
    of_self = one if include_self else places.without(one)
    if reduce == "sum":
        return of_self, ops.ones_like(src).detach()
    if reduce == "mean":
        counts = places.added(of_self, ops.ones_like(src).detach())
        share = one / counts.masked_fill(counts == 0, 1)
        return of_self * share, places.read(share)
    if reduce in ("amax", "amin"):
        own = (self == result) * of_self
        others = (src == places.read(result)).to(result.dtype)
        counts = places.added(own, others)
        share = one / counts.masked_fill(counts == 0, 1)
        return own * share, others * places.read(share)
    return _others(places, self, src, of_self, include_self)


def _others(
    places: _Scattered, self: Tensor, src: Tensor, of_self: Tensor, include_self: bool
) -> tuple[Tensor, Tensor]:
    """The products of the others: what is not zero is divided out, and zeros become 1, one at each place at a time."""
    one = ops.ones_like(self)
    start = self if include_self else one
    zero = src.detach() == 0
    of_src = places.read(places.multiplied(start, src)) / src.masked_fill(zero, 1)
    while holds_anywhere(zero):
        chosen = places.last(self, zero)
        of_chosen = places.read(places.multiplied(start, src.masked_fill(chosen, 1)))
        of_src = ops.where(chosen, of_chosen, of_src)
        zero = zero & ~chosen
    return places.multiplied(one, src) * of_self, of_src
