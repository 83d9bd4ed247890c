"""softmax of sparse Tensors, in which what has no part counts as minus infinity."""

from __future__ import annotations

from typing import Any

import numpy as np

from runtime import ops
from runtime.base.tensor import Tensor, wrap
from runtime.base.types import DType
from runtime.operators.sparse.coordinates import Coordinates, flat_places
from runtime.operators.sparse.differentiable import SparseNode, from_parts, values
from runtime.operators.sparse.kernels import dimension
from runtime.operators.sparse.tensor import SparseTensor, parts_of


class SparseSoftmaxBackward0(SparseNode):
    """Of the softmax of a sparse Tensor."""

    __slots__ = ()


class SparseLogSoftmaxBackward0(SparseNode):
    """Of its logarithm."""

    __slots__ = ()


def softmax(input: Tensor, dim: int, *, dtype: DType | None = None) -> Tensor:
    """The softmax along a dimension, over the parts that there are.

    Args:
        input: a sparse Tensor.
        dim: the dimension.
        dtype: the Tensor is converted to it before.
    """
    return _of(input, dim, dtype, "softmax", logarithm=False)


def log_softmax(input: Tensor, dim: int, *, dtype: DType | None = None) -> Tensor:
    """The logarithm of `softmax`.

    Args:
        input: a sparse Tensor.
        dim: the dimension.
        dtype: the Tensor is converted to it before.
    """
    return _of(input, dim, dtype, "log_softmax", logarithm=True)


def _of(input: Tensor, dim: int, dtype: DType | None, name: str, logarithm: bool) -> Tensor:
    if not isinstance(input, SparseTensor):
        raise NotImplementedError(f"Could not run 'aten::_sparse_{name}' with arguments from the 'CPU' backend.")
    whole: Any = input if dtype is None else input.to(dtype)
    whole = whole.coalesce()
    parts = parts_of(whole)
    place = dimension(dim, len(parts.shape))
    own = values(whole)
    if place >= parts.sparse_dim:
        function = ops.log_softmax if logarithm else ops.softmax
        made = function(own, place - parts.sparse_dim + 1)
    else:
        made = _over_groups(own, parts, place, logarithm)
    kind = SparseLogSoftmaxBackward0 if logarithm else SparseSoftmaxBackward0
    return from_parts(made, parts.indices, parts.shape, True, kind)


def _over_groups(own: Tensor, parts: Coordinates, place: int, logarithm: bool) -> Tensor:
    """The softmax over the parts that differ in one sparse dimension only, made of operators."""
    others = [each for each in range(parts.sparse_dim) if each != place]
    places = flat_places(parts.indices[others], [parts.shape[each] for each in others])
    _, group = np.unique(places, return_inverse=True)
    group = group.reshape(-1)
    count = int(group.max()) + 1 if group.size else 0
    index = wrap(group.astype(np.int64))
    largest = np.full((count, *parts.values.shape[1:]), -np.inf, parts.dtype)
    np.maximum.at(largest, group, own._array)
    shifted = own - wrap(largest[group])
    raised = shifted.exp()
    totals = raised.new_zeros([count, *raised.shape[1:]]).index_add(0, index, raised).index_select(0, index)
    return shifted - totals.log() if logarithm else raised / totals
