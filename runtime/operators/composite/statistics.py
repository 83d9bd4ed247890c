"""Means, quantiles and covariances, made of sums and sorts."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

from runtime import ops
from runtime.base import dtypes
from runtime.base.arrays import normalize_dim
from runtime.base.tensor import Tensor
from runtime.base.types import DType, Scalar


def nanmean(
    self: Tensor, dim: Sequence[int] | None = None, keepdim: bool = False, *, dtype: DType | None = None
) -> Tensor:
    """The mean of all elements that are not NaN."""
    if not (self.is_floating_point() or self.is_complex()):
        raise RuntimeError(f"nanmean(): expected input to have floating point or complex dtype but got {self.dtype}")
    count = self.detach().isnan().logical_not().sum(dim, keepdim)
    return self.nansum(dim, keepdim, dtype=dtype) / count


# -- quantiles


def quantile(
    self: Tensor, q: Tensor, dim: int | None = None, keepdim: bool = False, *, interpolation: str = "linear"
) -> Tensor:
    """The values below which these fractions of the elements lie."""
    return _quantile("quantile", self, q, dim, keepdim, interpolation, False)


def quantile_scalar(
    self: Tensor, q: float, dim: int | None = None, keepdim: bool = False, *, interpolation: str = "linear"
) -> Tensor:
    """The value below which this fraction of the elements lies."""
    return _quantile("quantile", self, _level(q, self), dim, keepdim, interpolation, False)


def nanquantile(
    self: Tensor, q: Tensor, dim: int | None = None, keepdim: bool = False, *, interpolation: str = "linear"
) -> Tensor:
    """The same without elements that are NaN."""
    return _quantile("nanquantile", self, q, dim, keepdim, interpolation, True)


def nanquantile_scalar(
    self: Tensor, q: float, dim: int | None = None, keepdim: bool = False, *, interpolation: str = "linear"
) -> Tensor:
    """The same without elements that are NaN."""
    return _quantile("nanquantile", self, _level(q, self), dim, keepdim, interpolation, True)


def _level(q: float, self: Tensor) -> Tensor:
    if not 0 <= q <= 1:
        raise RuntimeError(f"quantile() q must be in the range [0, 1] but got {q}")
    return ops.scalar_tensor(q, dtype=self.dtype, device=self.device)


def _quantile(
    name: str, self: Tensor, q: Tensor, dim: int | None, keepdim: bool, interpolation: str, ignores_nan: bool
) -> Tensor:
    """What stands at the fraction `q` of the sorted elements, between two of them as `interpolation` says."""
    if interpolation not in ("linear", "lower", "higher", "midpoint", "nearest"):
        raise RuntimeError(
            f"{name}() interpolation must be one of linear, lower, higher, midpoint or nearest, but got {interpolation}"
        )
    if self.numel() == 0:
        raise RuntimeError(f"{name}() input tensor must be non-empty")
    if q.dim() > 1:
        raise RuntimeError(f"{name}() q must be a scalar or 1D tensor")
    if self.dtype not in (dtypes.float32, dtypes.float64):
        raise RuntimeError(f"{name}() input tensor must be either float or double dtype")
    if q.dtype != self.dtype:
        raise RuntimeError(f"{name}() q tensor must be same dtype as the input tensor")
    if type(q) is Tensor and not ((q._array >= 0) & (q._array <= 1)).all():
        raise RuntimeError(f"{name}() q values must be in the range [0, 1]")
    axis = None if dim is None else normalize_dim(dim, self.dim())
    rows = self.flatten() if axis is None or self.dim() == 0 else self.movedim([axis], [-1])
    ordered = ops.sort(rows, -1)[0]
    ranks = _ranks(ordered, q.reshape([-1]), ignores_nan)
    if interpolation in ("lower", "higher", "nearest"):
        ranks = {"lower": ops.floor, "higher": ops.ceil, "nearest": ops.round}[interpolation](ranks)
    below = ranks.detach().to(dtypes.int64)
    result: Tensor = ordered.gather(-1, below)
    if interpolation in ("linear", "midpoint"):
        above = ordered.gather(-1, ranks.detach().ceil().to(dtypes.int64))
        weights = ops.full_like(ranks, 0.5) if interpolation == "midpoint" else ranks - below
        result = ops.lerp(result, above, weights)
    if keepdim:
        kept = [1] * self.dim() if axis is None else [1 if d == axis else int(s) for d, s in enumerate(self.shape)]
        result = result.movedim([-1], [0]).reshape([result.shape[-1], *kept])
        return result if q.dim() else result.squeeze(0)
    return result.movedim([-1], [0]) if q.dim() else result.squeeze(-1)


def _ranks(ordered: Tensor, q: Tensor, ignores_nan: bool) -> Tensor:
    """The places in each row, as fractions; NaN are the last ones of a row."""
    nans = ordered.detach().isnan()
    size = int(ordered.shape[-1])
    if ignores_nan:
        last = (size - 1) - nans.sum([-1], True).to(q.dtype)
        return (q * last).clamp_min(0)
    full = q * (size - 1)
    return full.expand([*ordered.shape[:-1], q.shape[0]]).masked_fill(nans.narrow(-1, size - 1, 1), size - 1)


# -- covariances


def cov(self: Tensor, *, correction: int = 1, fweights: Tensor | None = None, aweights: Tensor | None = None) -> Tensor:
    """The covariances of variables in rows, with an observation in each column."""
    if self.dim() > 2:
        raise RuntimeError(
            f"cov(): expected input to have two or fewer dimensions but got an input with {self.dim()} dimensions"
        )
    if self.dtype is dtypes.bool:
        raise RuntimeError("cov(): bool dtype is not supported for input")
    rows = self.reshape([1, -1]) if self.dim() < 2 else self
    count = int(rows.shape[1])
    weights = _weights(count, fweights, aweights)
    if weights is None:
        total: Tensor | int = count
        average = rows.sum([1]) / count
    else:
        total = weights.sum()
        average = (rows * weights).sum([1]) / total
    if aweights is None or weights is None or correction == 0:
        freedom = total - correction
    else:
        freedom = total - correction * (weights * aweights).sum() / total
    if isinstance(freedom, int):
        if freedom <= 0:
            _warn_of_freedom()
        freedom = max(freedom, 0)
    else:
        if type(freedom) is Tensor and freedom._array <= 0:
            _warn_of_freedom()
        freedom = freedom.clamp_min(0)
    away = rows - average.unsqueeze(1)
    return (away.mm((away if weights is None else away * weights).t().conj()) / freedom).squeeze()


def _warn_of_freedom() -> None:
    warnings.warn(
        "cov(): degrees of freedom is <= 0. Correction should be strictly less than the number of observations.",
        stacklevel=2,
    )


def _weights(count: int, fweights: Tensor | None, aweights: Tensor | None) -> Tensor | None:
    """How much each observation counts, by both kinds of weights."""
    for name, weights in (("fweights", fweights), ("aweights", aweights)):
        if weights is None:
            continue
        if weights.dim() > 1:
            raise RuntimeError(
                f"cov(): expected {name} to have one or fewer dimensions but got {name} with {weights.dim()} dimensions"
            )
        is_float = weights.is_floating_point()
        if (name == "fweights") == is_float or weights.is_complex():
            kind = "integral" if name == "fweights" else "floating point"
            raise RuntimeError(f"cov(): expected {name} to have {kind} dtype but got {name} with {weights.dtype} dtype")
        if weights.numel() != count:
            raise RuntimeError(
                f"cov(): expected {name} to have the same numel as there are observations in the input but got "
                f"{weights.numel()} != {count}"
            )
        if type(weights) is Tensor and (weights._array < 0).any():
            raise RuntimeError(f"cov(): {name} cannot be negative")
    if fweights is None or aweights is None:
        return aweights if fweights is None else fweights
    return fweights * aweights


def corrcoef(self: Tensor) -> Tensor:
    """The covariances over both deviations."""
    if self.dim() > 2:
        raise RuntimeError(
            f"corrcoef(): expected input to have two or fewer dimensions but got an input with {self.dim()} dimensions"
        )
    covariances = ops.cov(self)
    if covariances.dim() == 0:
        return covariances / covariances
    deviations = ops.real(covariances.diagonal()).sqrt()
    result = covariances / deviations.unsqueeze(-1) / deviations
    if result.is_complex():
        return ops.complex(result.real.clamp(-1, 1), result.imag.clamp(-1, 1))
    return result.clamp(-1, 1)


# -- integrals by trapezoids


def _axis(y: Tensor, dim: int) -> int:
    if y.dim() == 0:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    return normalize_dim(dim, y.dim())


def _sides(y: Tensor, dim: int) -> tuple[Tensor, Tensor]:
    size = int(y.shape[_axis(y, dim)])
    count = max(size - 1, 0)
    return y.narrow(dim, 0, count), y.narrow(dim, size - count, count)


def _steps(name: str, y: Tensor, x: Tensor, dim: int) -> Tensor:
    """The distances of the points along `dim`, with as many dims as the values."""
    if y.dtype is dtypes.bool or x.dtype is dtypes.bool:
        raise RuntimeError(f"{name}: received a bool input for `x` or `y`, but bool is not supported")
    _axis(y, dim)
    if x.dim() == 1:
        if x.shape[0] != y.shape[dim]:
            raise RuntimeError(f"{name}: There must be one `x` value for each sample point")
        sizes = [1] * y.dim()
        sizes[normalize_dim(dim, y.dim())] = int(x.shape[0])
        x = x.reshape(sizes)
    elif x.dim() < y.dim():
        x = x.reshape([*[1] * (y.dim() - x.dim()), *x.shape])
    left, right = _sides(x, dim)
    return right - left


def _without(y: Tensor, dim: int) -> Tensor:
    """Zeros for each integral over no points."""
    sizes = list(y.shape)
    del sizes[normalize_dim(dim, y.dim())]
    return y.new_zeros(sizes)


def trapezoid_x(y: Tensor, x: Tensor, *, dim: int = -1) -> Tensor:
    """The integral along a dimension by the rule of trapezoids, at the places `x`."""
    if y.shape[_axis(y, dim)] == 0:
        return _without(y, dim)
    steps = _steps("trapezoid", y, x, dim)
    left, right = _sides(y, dim)
    return (steps * (left + right)).sum([dim]) / 2


def trapezoid_dx(y: Tensor, *, dx: Scalar = 1, dim: int = -1) -> Tensor:
    """The integral along a dimension by the rule of trapezoids, in steps of `dx`."""
    if y.dtype is dtypes.bool:
        raise RuntimeError("trapezoid: received a bool input for `y`, but bool is not supported")
    size = int(y.shape[_axis(y, dim)])
    if size == 0:
        return _without(y, dim)
    return (y.sum([dim]) - (y.select(dim, 0) + y.select(dim, size - 1)) * 0.5) * dx


def cumulative_trapezoid_x(y: Tensor, x: Tensor, *, dim: int = -1) -> Tensor:
    """The integral up to each place by the rule of trapezoids, at the places `x`."""
    steps = _steps("cumulative_trapezoid", y, x, dim)
    left, right = _sides(y, dim)
    return (steps * (left + right)).cumsum(dim) / 2


def cumulative_trapezoid_dx(y: Tensor, *, dx: Scalar = 1, dim: int = -1) -> Tensor:
    """The integral up to each place by the rule of trapezoids, in steps of `dx`."""
    if y.dtype is dtypes.bool:
        raise RuntimeError("cumulative_trapezoid: received a bool input for `y`, but bool is not supported")
    left, right = _sides(y, dim)
    return (left + right).cumsum(dim) * (dx / 2)
