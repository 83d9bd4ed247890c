"""Reductions and normalisations of the elements that a mask keeps, with PyTorch's names: `masked.sum(x, 1, mask=m)`.

A mask is true where an element counts, and is broadcast to the input. The elements that do not count are replaced by
what changes nothing: 0 in a sum, 1 in a product, the lowest number in a maximum. So derivatives are those of the
operators, and a row of which nothing counts has the value of an empty one: 0, 1, -inf, or NaN for a mean.

In all functions `dim` is a dimension or several of them, and None means all; `dtype` is that of the result, and the
input's without it, where the reduction does not say otherwise. They raise IndexError for a mask with more dimensions
than the input, and RuntimeError for one that cannot be broadcast to it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from inspect import signature
from typing import Any

from runtime import ops
from runtime.base import dtypes
from runtime.base.arrays import normalize_dim
from runtime.base.tensor import Tensor
from runtime.base.types import DType, Scalar

__all__ = [
    "amax",
    "amin",
    "argmax",
    "argmin",
    "cumprod",
    "cumsum",
    "log_softmax",
    "logaddexp",
    "logsumexp",
    "mean",
    "median",
    "norm",
    "normalize",
    "prod",
    "softmax",
    "softmin",
    "std",
    "sum",
    "var",
]

Dims = int | Sequence[int] | None


def _fitted(input: Tensor, mask: Tensor) -> Tensor:
    """The mask as booleans, in the shape of the input."""
    if mask.dim() > input.dim():
        raise IndexError(
            f"masked: expected a mask that can be broadcast to the input, but got {mask.dim()} dimensions for an input "
            f"of {input.dim()}"
        )
    return mask.to(dtypes.bool).expand(input.shape)


def _kept(input: Tensor, mask: Tensor | None, other: Scalar) -> Tensor:
    """The input, with `other` in place of each element that does not count."""
    return input if mask is None else input.masked_fill(_fitted(input, mask).logical_not(), other)


def _end(name: str, input: Tensor, mask: Tensor | None, sign: int) -> Scalar:
    """The lowest number of the input's dtype, or with `sign` 1 the highest one; it is needed where there is a mask."""
    if mask is None:
        return 0
    if input.is_floating_point() or input.is_complex():
        return sign * float("inf")
    if input.dtype is dtypes.bool:
        raise NotImplementedError(f"masked.{name}: with a mask there is no neutral element of torch.bool")
    limits = dtypes.iinfo(input.dtype)
    return limits.min if sign < 0 else limits.max


def _dims(input: Tensor, dim: Dims) -> list[int]:
    """The dimensions as a list of numbers from 0; all of them for None and for none."""
    count = input.dim()
    given = [dim] if isinstance(dim, int) else list(dim or ())
    places = [normalize_dim(place, count) for place in given]
    for place in places:
        if places.count(place) > 1:
            raise RuntimeError(f"dim={place} appears multiple times in the list of dims")
    return (places or list(range(count))) if count else []


def _count(input: Tensor, dims: list[int], mask: Tensor | None) -> Tensor:
    """How many elements count, in dimensions of size 1."""
    return _input_mask(input, mask=mask).sum(dims, True)


def _input_mask(input: Tensor, *args: Any, mask: Tensor | None = None, **kwargs: Any) -> Tensor:
    """Which elements of the input count, in its shape."""
    if mask is None:
        return ops.ones(input.shape, dtype=dtypes.bool, device=input.device)
    return _fitted(input, mask)


def _output_mask(op: Callable[..., Tensor], input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """Which elements of the result of a call `op(input, ...)` are made of some that count."""
    call = signature(op).bind(input, *args, **kwargs)
    call.apply_defaults()
    given = _input_mask(input, mask=call.arguments["mask"])
    if "keepdim" not in call.arguments:
        return given
    dims, keepdim = _dims(input, call.arguments["dim"]), call.arguments["keepdim"]
    return _squeezed(given.sum(dims, True), dims, keepdim).to(dtypes.bool)


def sum(
    input: Tensor, dim: Dims = None, *, keepdim: bool = False, dtype: DType | None = None, mask: Tensor | None = None
) -> Tensor:
    """The sum of the elements that count; of integers and bools in int64, where no `dtype` is given."""
    return _kept(input, mask, 0).sum(_dims(input, dim), keepdim, dtype=dtype)


def prod(
    input: Tensor, dim: Dims = None, *, keepdim: bool = False, dtype: DType | None = None, mask: Tensor | None = None
) -> Tensor:
    """The product of the elements that count; of integers and bools in int64, where no `dtype` is given."""
    result = _kept(input, mask, 1)
    if not input.dim():
        return result.prod(dtype=dtype)
    for place in sorted(_dims(input, dim), reverse=True):
        result = result.prod(place, keepdim, dtype=dtype)
    return result


def cumsum(input: Tensor, dim: int, *, dtype: DType | None = None, mask: Tensor | None = None) -> Tensor:
    """The sums of the elements that count, up to each."""
    return _kept(input, mask, 0).cumsum(dim, dtype=dtype or input.dtype)


def cumprod(input: Tensor, dim: int, *, dtype: DType | None = None, mask: Tensor | None = None) -> Tensor:
    """The products of the elements that count, up to each."""
    return _kept(input, mask, 1).cumprod(dim, dtype=dtype or input.dtype)


def amax(
    input: Tensor, dim: Dims = None, *, keepdim: bool = False, dtype: DType | None = None, mask: Tensor | None = None
) -> Tensor:
    """The highest of the elements that count; equal ones share the gradient."""
    result = _kept(input, mask, _end("amax", input, mask, -1)).amax(_dims(input, dim), keepdim)
    return result.to(dtype or input.dtype)


def amin(
    input: Tensor, dim: Dims = None, *, keepdim: bool = False, dtype: DType | None = None, mask: Tensor | None = None
) -> Tensor:
    """The lowest of the elements that count; equal ones share the gradient."""
    result = _kept(input, mask, _end("amin", input, mask, 1)).amin(_dims(input, dim), keepdim)
    return result.to(dtype or input.dtype)


def argmax(
    input: Tensor,
    dim: int | None = None,
    *,
    keepdim: bool = False,
    dtype: DType | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Where the highest of the elements that count stands, as a number of the input's dtype."""
    place = _kept(input, mask, _end("argmax", input, mask, -1)).argmax(dim, keepdim)
    return place.to(dtype or input.dtype)


def argmin(
    input: Tensor,
    dim: int | None = None,
    *,
    keepdim: bool = False,
    dtype: DType | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Where the lowest of the elements that count stands, as a number of the input's dtype."""
    place = _kept(input, mask, _end("argmin", input, mask, 1)).argmin(dim, keepdim)
    return place.to(dtype or input.dtype)


def mean(
    input: Tensor, dim: Dims = None, *, keepdim: bool = False, dtype: DType | None = None, mask: Tensor | None = None
) -> Tensor:
    """The mean of the elements that count; NaN where there are none.

    Raises:
        ValueError: the dtype of the result would be one of integers.
    """
    wanted = dtype or input.dtype
    if not (wanted.is_floating_point or wanted.is_complex):
        raise ValueError(f"masked.mean: expected a floating or complex dtype, but got {wanted}")
    dims = _dims(input, dim)
    if mask is None:
        return input.mean(dims, keepdim, dtype=dtype)
    total, count = sum(input, dims, keepdim=True, dtype=dtype, mask=mask), _count(input, dims, mask)
    return _squeezed(total / count, dims, keepdim)


def _squeezed(result: Tensor, dims: list[int], keepdim: bool) -> Tensor:
    return result if keepdim or not dims else result.squeeze(dims)


def median(
    input: Tensor,
    dim: int = -1,
    *,
    keepdim: bool = False,
    dtype: DType | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The lower median of the elements that count and are not NaN; NaN where there are none.

    It is of the input's dtype, as in PyTorch, whatever `dtype` says.

    Raises:
        ValueError: nothing counts in a row of integers.
    """
    place = normalize_dim(dim, input.dim())
    kept = input
    if mask is not None:
        if not input.is_floating_point():
            if not bool(_fitted(input, mask).any(place).all()):
                raise ValueError("masked median expects no fully masked out rows if dtype is not floating point")
            kept = input.to(dtypes.float64)
        kept = _kept(kept, mask, float("nan"))
    result: Tensor = ops.nanmedian(kept, place, keepdim)[0]
    return result.to(input.dtype)


def norm(
    input: Tensor,
    ord: float = 2.0,
    dim: Dims = None,
    *,
    keepdim: bool = False,
    dtype: DType | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The norm of the vector of the elements that count."""
    neutral = float("inf") if ord == -float("inf") else 0
    return ops.linalg_vector_norm(_kept(input, mask, neutral), ord, _dims(input, dim), keepdim, dtype=dtype)


def var(
    input: Tensor,
    dim: Dims = None,
    unbiased: bool | None = None,
    *,
    correction: float | None = None,
    keepdim: bool = False,
    dtype: DType | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The variance of the elements that count: squares are divided by their number less `correction`, which is 1."""
    if unbiased is not None and correction is not None:
        raise AssertionError("masked.var: only one of unbiased and correction may be given")
    if unbiased is not None:
        correction = 1 if unbiased else 0
    dims = _dims(input, dim)
    if not (input.is_floating_point() or input.is_complex()):
        input = input.to(dtype or dtypes.get_default_dtype())
    count = _count(input, dims, mask)
    away = input - sum(input, dims, keepdim=True, dtype=dtype, mask=mask) / count
    total = sum(away * away.conj(), dims, keepdim=True, dtype=dtype, mask=mask)
    freedom = (count - (1 if correction is None else correction)).clamp_min(0)
    # A number that is no integer makes float32 of the count, which must not be the dtype of the result.
    return _squeezed((total / freedom).to(total.dtype), dims, keepdim)


def std(
    input: Tensor,
    dim: Dims = None,
    unbiased: bool | None = None,
    *,
    correction: float | None = None,
    keepdim: bool = False,
    dtype: DType | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The square root of `var`."""
    return var(input, dim, unbiased, correction=correction, keepdim=keepdim, dtype=dtype, mask=mask).sqrt()


def logsumexp(
    input: Tensor, dim: Dims = None, *, keepdim: bool = False, dtype: DType | None = None, mask: Tensor | None = None
) -> Tensor:
    """The logarithm of the sum of the exponentials of the elements that count."""
    dims = _dims(input, dim)
    return ops.logsumexp(_kept(input, mask, _end("logsumexp", input, mask, -1)), dims, keepdim).to(dtype or input.dtype)


def softmax(input: Tensor, dim: int, *, dtype: DType | None = None, mask: Tensor | None = None) -> Tensor:
    """`nn.functional.softmax` of the elements that count, with 0 for the others."""
    return ops.softmax(_kept(input, mask, _end("softmax", input, mask, -1)), dim, dtype)


def log_softmax(input: Tensor, dim: int, *, dtype: DType | None = None, mask: Tensor | None = None) -> Tensor:
    """`nn.functional.log_softmax` of the elements that count, with -inf for the others."""
    return ops.log_softmax(_kept(input, mask, _end("log_softmax", input, mask, -1)), dim, dtype)


def softmin(input: Tensor, dim: int, *, dtype: DType | None = None, mask: Tensor | None = None) -> Tensor:
    """`nn.functional.softmin` of the elements that count, with 0 for the others."""
    return ops.softmax(-_kept(input, mask, _end("softmin", input, mask, 1)), dim, dtype)


def normalize(
    input: Tensor,
    ord: float,
    dim: int,
    *,
    eps: float = 1e-12,
    dtype: DType | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The elements that count, divided by their norm, which is taken as `eps` at least; the others are 0."""
    length = norm(input, ord, dim, keepdim=True, dtype=dtype, mask=mask).clamp_min(eps)
    return _kept(input, mask, 0) / length


def logaddexp(
    input: Tensor,
    other: Tensor,
    *,
    dtype: DType | None = None,
    input_mask: Tensor | None = None,
    other_mask: Tensor | None = None,
) -> Tensor:
    """The logarithm of the sum of two exponentials, without those that do not count; -inf where neither does."""
    neutral = -float("inf")
    result = ops.logaddexp(_kept(input, input_mask, neutral), _kept(other, other_mask, neutral))
    return result.to(dtype or input.dtype)
