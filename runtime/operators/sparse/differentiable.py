"""Ways from dense Tensors to sparse ones and back, with their derivatives: the gradient of each is another of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from runtime.base.modes import grad_mode
from runtime.base.state import UNTRACKED
from runtime.base.tensor import Tensor, wrap
from runtime.graph import forward
from runtime.graph.linear import edge_of
from runtime.graph.node import Node
from runtime.graph.saved import freed_error
from runtime.operators.sparse.coordinates import Coordinates, of_dense, picked
from runtime.operators.sparse.tensor import SparseTensor, backend, parts_of

WayBack: TypeAlias = Callable[[Tensor], Tensor]


class SparseNode(Node):
    """The way back of a step: a function of the gradient for each differentiable input."""

    __slots__ = ("_ways_back",)

    def __init__(self, sources: Sequence[Tensor], out: Tensor, ways_back: Sequence[WayBack]) -> None:
        super().__init__(tuple([edge_of(each) for each in sources]), out._array.shape, out._array.dtype)
        self._ways_back: Sequence[WayBack] | None = ways_back

    def apply(self, grad: Tensor) -> tuple[Tensor | None, ...]:
        """The gradients of the inputs.

        Raises:
            RuntimeError: the Node was used before, and freed.
        """
        if self._ways_back is None:
            raise freed_error(self)
        ways = zip(self.edges, self._ways_back, strict=True)
        return tuple([None if edge is None else way(grad) for edge, way in ways])

    def release(self) -> None:
        """Drop what the functions hold."""
        self._ways_back = None


class SparseCooTensorWithDimsAndTensorsBackward0(SparseNode):
    """Of a sparse Tensor made of its parts."""

    __slots__ = ()


class ToSparseBackward0(SparseNode):
    """Of a Tensor made sparse along its first dimensions."""

    __slots__ = ()


class ToSparseBackward1(SparseNode):
    """Of a Tensor made sparse."""

    __slots__ = ()


class ToDenseBackward0(SparseNode):
    """Of a Tensor made dense."""

    __slots__ = ()


class CoalesceBackward0(SparseNode):
    """Of a Tensor of which parts at the same place were added up."""

    __slots__ = ()


class ValuesBackward0(SparseNode):
    """Of the parts of a Tensor."""

    __slots__ = ()


class SparseMaskBackward0(SparseNode):
    """Of a Tensor of which the parts at some places were taken."""

    __slots__ = ()


def recorded(kind: type[SparseNode], source: Tensor, out: Tensor, way_back: WayBack) -> Tensor:
    """`recorded_of` of one input."""
    return recorded_of(kind, (source,), out, way_back)


def recorded_of(kind: type[SparseNode], sources: Sequence[Tensor], out: Tensor, *ways_back: WayBack) -> Tensor:
    """`out`, which was made of `sources`, with a history if it is to have one.

    Raises:
        NotImplementedError: there is a tangent to carry.
    """
    if forward.active() and any(forward.tangent_of(each) is not None for each in sources):
        raise NotImplementedError(f"forward mode on sparse Tensors: {kind.__name__} has no forward formula")
    if grad_mode.inference:
        out._writes = UNTRACKED
    if grad_mode.enabled and out._array.dtype.kind not in "biu" and any(each._edge is not None for each in sources):
        out._edge = kind(sources, out, ways_back)
    return out


def dense_array(tensor: Tensor) -> np.ndarray[Any, Any]:
    """The array of a dense Tensor.

    Raises:
        NotImplementedError: it is on a device, or a batch.
    """
    if tensor._opaque:
        raise NotImplementedError("sparse Tensors are made of Tensors in main memory, outside of vmap")
    return tensor._array


def _source(tensor: Tensor) -> Coordinates | np.ndarray[Any, Any]:
    return parts_of(tensor) if isinstance(tensor, SparseTensor) else dense_array(tensor)


def from_parts(
    values: Tensor,
    indices: np.ndarray[Any, Any],
    shape: tuple[int, ...],
    coalesced: bool,
    kind: type[SparseNode] = SparseCooTensorWithDimsAndTensorsBackward0,
) -> Tensor:
    """The sparse Tensor of these parts, over their memory, with a Node of this class."""
    out = backend.wrap(Coordinates(indices, dense_array(values), shape, coalesced))
    return recorded(kind, values, out, lambda grad: at_places(grad, indices, shape))


def to_sparse(self: Tensor, sparse_dim: int | None) -> Tensor:
    """What is not zero of a dense Tensor; `sparse_dim`: along so many dimensions."""
    array = dense_array(self)
    out = backend.wrap(of_dense(array, array.ndim if sparse_dim is None else sparse_dim))
    return recorded(ToSparseBackward1 if sparse_dim is None else ToSparseBackward0, self, out, as_dense)


def to_dense(self: Tensor, masked: bool = True) -> Tensor:
    """All elements; `masked`: a gradient arrives only where there are parts."""
    parts = parts_of(self)
    out = wrap(parts.dense())

    def way_back(grad: Tensor) -> Tensor:
        return sparse_mask(grad, parts.summed()) if masked else to_sparse_if_dense(grad, parts.sparse_dim)

    return recorded(ToDenseBackward0, self, out, way_back)


def as_dense(self: Tensor) -> Tensor:
    """All elements of a Tensor, which may be dense."""
    return to_dense(self) if isinstance(self, SparseTensor) else self


def to_sparse_if_dense(self: Tensor, sparse_dim: int) -> Tensor:
    """A Tensor as a sparse one."""
    return self if isinstance(self, SparseTensor) else to_sparse(self, sparse_dim)


def coalesce(self: Tensor) -> Tensor:
    """One part for each place, in order; itself where it is so."""
    parts = parts_of(self)
    if parts.coalesced:
        return self
    return recorded(CoalesceBackward0, self, backend.wrap(parts.summed()), lambda grad: grad)


def values(self: Tensor) -> Tensor:
    """The parts, over the same memory."""
    parts = parts_of(self)
    indices, shape, coalesced = parts.indices, parts.shape, parts.coalesced
    return recorded(ValuesBackward0, self, wrap(parts.values), lambda grad: from_parts(grad, indices, shape, coalesced))


def at_places(self: Tensor, indices: np.ndarray[Any, Any], shape: tuple[int, ...]) -> Tensor:
    """The parts of a Tensor, dense or sparse, that lie at some places; zeros where a sparse one has none."""
    source = _source(self)
    out = wrap(picked(source, indices, shape))

    def way_back(grad: Tensor) -> Tensor:
        spread = from_parts(grad, indices, shape, False)
        return spread if isinstance(source, Coordinates) else to_dense(spread)

    return recorded(SparseMaskBackward0, self, out, way_back)


def sparse_mask(self: Tensor, mask: Coordinates) -> Tensor:
    """The parts of a Tensor, dense or sparse, at the places of `mask`, and in its order."""
    source = _source(self)
    out = backend.wrap(mask.with_values(picked(source, mask.indices, mask.shape)))

    def way_back(grad: Tensor) -> Tensor:
        at_mask = sparse_mask(grad, mask.summed())
        return at_mask if isinstance(source, Coordinates) else to_dense(at_mask)

    return recorded(SparseMaskBackward0, self, out, way_back)
