"""Transforms of vectors and matrices, and those that are made of several others."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from gradwright.distributions import constraints
from gradwright.distributions.distribution import Shape
from gradwright.distributions.transforms.transform import Transform
from gradwright.distributions.utils import lazy_property, sum_rightmost, tril_matrix_to_vec, vec_to_tril_matrix
from runtime import ops
from runtime.base.dtypes import finfo
from runtime.base.tensor import Tensor
from runtime.base.types import Size


class SoftmaxTransform(Transform):
    """`softmax(x)`, whose inverse is `log(y)`; no bijection, as a constant that is added to `x` has no effect."""

    domain = constraints.real_vector
    codomain = constraints.simplex

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SoftmaxTransform)

    __hash__ = object.__hash__

    def _call(self, x: Tensor) -> Tensor:
        return x.softmax(-1)

    def _inverse(self, y: Tensor) -> Tensor:
        return y.log()

    def forward_shape(self, shape: Shape) -> Size:
        return _longer(shape, 0)

    def inverse_shape(self, shape: Shape) -> Size:
        return _longer(shape, 0)


def _longer(shape: Shape, by: int) -> Size:
    """The shape of vectors that are longer or shorter."""
    whole = Size(shape)
    if len(whole) < 1:
        raise ValueError("Too few dimensions on input")
    return Size((*whole[:-1], whole[-1] + by))


class StickBreakingTransform(Transform):
    """Vectors of chances, one longer than `x`: each takes the part `sigmoid(x - offset)` of what is left of a stick.

    The offset, the logarithm of how many are still to come, makes all parts equal where `x` is 0.
    """

    domain = constraints.real_vector
    codomain = constraints.simplex
    bijective = True

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StickBreakingTransform)

    __hash__ = object.__hash__

    @staticmethod
    def _offset(x: Tensor, count: int) -> Tensor:
        return ops.arange(count, 0, -1, dtype=x.dtype, device=x.device).log()

    def _call(self, x: Tensor) -> Tensor:
        limits = finfo(x.dtype)
        taken = (x - self._offset(x, x.shape[-1])).sigmoid().clamp(min=limits.tiny, max=1 - limits.eps)
        left = (1 - taken).cumprod(-1)
        return ops.constant_pad_nd(taken, (0, 1), 1) * ops.constant_pad_nd(left, (1, 0), 1)

    def _inverse(self, y: Tensor) -> Tensor:
        parts = y[..., :-1]
        left = (1 - parts.cumsum(-1)).clamp(min=finfo(y.dtype).tiny)
        return parts.log() - left.log() + self._offset(y, parts.shape[-1])

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        # The Jacobian is triangular, with taken * (1 - taken) * left = y * (1 - taken) on the diagonal.
        shifted = x - self._offset(x, x.shape[-1])
        return (ops.log_sigmoid(-shifted) + y[..., :-1].log()).sum(-1)

    def forward_shape(self, shape: Shape) -> Size:
        return _longer(shape, 1)

    def inverse_shape(self, shape: Shape) -> Size:
        return _longer(shape, -1)


class CorrCholeskyTransform(Transform):
    """Cholesky factors of n x n correlation matrices, of `n (n - 1) / 2` numbers.

    `tanh` brings the numbers into (-1, 1), where they are partial correlations: each takes its part, with a sign, of
    what is left of the length 1 of its row (Lewandowski, Kurowicka and Joe, 2009).
    """

    domain = constraints.real_vector
    codomain = constraints.corr_cholesky
    bijective = True

    def _call(self, x: Tensor) -> Tensor:
        eps = finfo(x.dtype).eps
        partial = vec_to_tril_matrix(x.tanh().clamp(min=-1 + eps, max=1 - eps), -1)
        left = (1 - partial.pow(2)).sqrt().cumprod(-1)
        unit = ops.eye(partial.shape[-1], dtype=x.dtype, device=x.device)
        return (partial + unit) * ops.constant_pad_nd(left[..., :-1], (1, 0), 1)

    def _inverse(self, y: Tensor) -> Tensor:
        left = (1 - (y * y).cumsum(-1)).clamp(min=finfo(y.dtype).tiny)
        before = ops.constant_pad_nd(left[..., :-1], (1, 0), 1)
        return tril_matrix_to_vec(y / before.sqrt(), -1).atanh()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        # Each entry is its partial correlation times the root of what is left before it; entries beyond the first of a
        # row have one.
        left = 1 - (y * y).cumsum(-1)
        remaining = 0.5 * tril_matrix_to_vec(left, -2).log().sum(-1)
        return remaining - 2 * (x + ops.softplus(-2 * x) - math.log(2)).sum(-1)

    def forward_shape(self, shape: Shape) -> Size:
        whole = Size(shape)
        if len(whole) < 1:
            raise ValueError("Too few dimensions on input")
        size = (1 + math.isqrt(1 + 8 * whole[-1])) // 2
        if size * (size - 1) // 2 != whole[-1]:
            raise ValueError("Input is not a flattened lower-diagonal number")
        return Size((*whole[:-1], size, size))

    def inverse_shape(self, shape: Shape) -> Size:
        whole = Size(shape)
        if len(whole) < 2:
            raise ValueError("Too few dimensions on input")
        if whole[-2] != whole[-1]:
            raise ValueError("Input is not square")
        return Size((*whole[:-2], whole[-1] * (whole[-1] - 1) // 2))


class LowerCholeskyTransform(Transform):
    """Lower triangular matrices with a positive diagonal, of square ones: the diagonal goes through `exp`."""

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.lower_cholesky

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LowerCholeskyTransform)

    __hash__ = object.__hash__

    def _call(self, x: Tensor) -> Tensor:
        return x.tril(-1) + x.diagonal(0, -2, -1).exp().diag_embed()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.tril(-1) + y.diagonal(0, -2, -1).log().diag_embed()


class PositiveDefiniteTransform(Transform):
    """Positive definite matrices, of square ones, by way of their Cholesky factors."""

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.positive_definite

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PositiveDefiniteTransform)

    __hash__ = object.__hash__

    def _call(self, x: Tensor) -> Tensor:
        factor = LowerCholeskyTransform()(x)
        return factor @ factor.mT

    def _inverse(self, y: Tensor) -> Tensor:
        return LowerCholeskyTransform().inv(ops.linalg_cholesky(y))


class _OfParts(Transform):
    """Transforms of parts of a value along a dimension."""

    transforms: list[Transform]
    dim: int

    def _pieces(self, value: Tensor) -> Sequence[Tensor]:
        raise NotImplementedError

    def _joined(self, pieces: list[Tensor]) -> Tensor:
        raise NotImplementedError

    @property
    def bijective(self) -> bool:  # type: ignore[override]
        return all(transform.bijective for transform in self.transforms)

    def _call(self, x: Tensor) -> Tensor:
        pairs = zip(self.transforms, self._pieces(x), strict=True)
        return self._joined([transform(piece) for transform, piece in pairs])

    def _inverse(self, y: Tensor) -> Tensor:
        pairs = zip(self.transforms, self._pieces(y), strict=True)
        return self._joined([transform.inv(piece) for transform, piece in pairs])

    def _slopes(self, x: Tensor, y: Tensor) -> list[Tensor]:
        triples = zip(self.transforms, self._pieces(x), self._pieces(y), strict=True)
        return [transform.log_abs_det_jacobian(before, after) for transform, before, after in triples]


class CatTransform(_OfParts):
    """Transforms of the parts of a value that lie one after the other along `dim`, of the given lengths."""

    def __init__(
        self,
        tseq: Sequence[Transform],
        dim: int = 0,
        lengths: Sequence[int] | None = None,
        cache_size: int = 0,
    ) -> None:
        super().__init__(cache_size=cache_size)
        self.transforms = [transform.with_cache(cache_size) for transform in tseq]
        self.lengths = [1] * len(self.transforms) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.transforms):
            raise ValueError(f"{len(self.transforms)} transforms, but {len(self.lengths)} lengths")
        self.dim = dim

    @lazy_property
    def event_dim(self) -> int:
        """The largest of those of the transforms."""
        return max(transform.event_dim for transform in self.transforms)

    @property
    def length(self) -> int:
        """The sum of the lengths."""
        return sum(self.lengths)

    def with_cache(self, cache_size: int = 1) -> Transform:
        if self._cache_size == cache_size:
            return self
        return CatTransform(self.transforms, self.dim, self.lengths, cache_size)

    def _pieces(self, value: Tensor) -> Sequence[Tensor]:
        return value.split_with_sizes(self.lengths, self.dim)

    def _joined(self, pieces: list[Tensor]) -> Tensor:
        return ops.cat(pieces, self.dim)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        events = self.event_dim
        slopes = [
            sum_rightmost(slope, events - transform.event_dim) if transform.event_dim < events else slope
            for transform, slope in zip(self.transforms, self._slopes(x, y), strict=True)
        ]
        dim = self.dim - x.dim() if self.dim >= 0 else self.dim
        dim += events
        return ops.cat(slopes, dim) if dim < 0 else sum(slopes[1:], slopes[0])

    @constraints.dependent_property
    def domain(self) -> Any:
        return constraints.cat([transform.domain for transform in self.transforms], self.dim, self.lengths)

    @constraints.dependent_property
    def codomain(self) -> Any:
        return constraints.cat([transform.codomain for transform in self.transforms], self.dim, self.lengths)


class StackTransform(_OfParts):
    """Transforms of the slices of a value along `dim`."""

    def __init__(self, tseq: Sequence[Transform], dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.transforms = [transform.with_cache(cache_size) for transform in tseq]
        self.dim = dim

    def with_cache(self, cache_size: int = 1) -> Transform:
        return self if self._cache_size == cache_size else StackTransform(self.transforms, self.dim, cache_size)

    def _pieces(self, value: Tensor) -> Sequence[Tensor]:
        return value.unbind(self.dim)

    def _joined(self, pieces: list[Tensor]) -> Tensor:
        return ops.stack(pieces, self.dim)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return ops.stack(self._slopes(x, y), self.dim)

    @constraints.dependent_property
    def domain(self) -> Any:
        return constraints.stack([transform.domain for transform in self.transforms], self.dim)

    @constraints.dependent_property
    def codomain(self) -> Any:
        return constraints.stack([transform.codomain for transform in self.transforms], self.dim)
