"""Random numbers.  Each kernel draws from the NumPy generator that it is given; None is the default one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from runtime.base.dtypes import finfo, from_numpy, iinfo
from runtime.kernels._common import Array, checked_sizes, is_half, normalize_dim, type_name
from runtime.random import default_generator

if TYPE_CHECKING:
    from numpy.random import Generator

    Random = Generator | None

DType = np.dtype[Any]


def _check_continuous(name: str, dtype: DType) -> None:
    if dtype.kind in "iub":
        raise NotImplementedError(f"\"{name}\" not implemented for '{type_name(dtype)}'")


def _real(dtype: DType) -> DType:
    return np.dtype(np.float32 if dtype == np.complex64 else np.float64)


def _source(generator: Random) -> Generator:
    return default_generator.numpy if generator is None else generator


def _unit(generator: Random, size: tuple[int, ...], dtype: DType) -> Array:
    """Uniform in [0, 1), 1 never: half precision is made of as many bits as it holds, because rounding could give 1."""
    source = _source(generator)
    if dtype.kind == "c":
        real = _real(dtype)
        return np.asarray(source.random(size, real) + 1j * source.random(size, real), dtype)
    if is_half(dtype):
        steps = 2048 if dtype == np.float16 else 256
        return np.asarray(source.integers(0, steps, size) / steps).astype(dtype)
    return np.asarray(source.random(size, dtype))


def _gaussian(generator: Random, size: tuple[int, ...], dtype: DType) -> Array:
    source = _source(generator)
    if dtype.kind == "c":
        real = _real(dtype)
        pair = source.standard_normal(size, real) + 1j * source.standard_normal(size, real)
        return np.asarray(pair * 0.5**0.5, dtype)
    if is_half(dtype):
        return np.asarray(source.standard_normal(size, np.float32)).astype(dtype)
    return np.asarray(source.standard_normal(size, dtype))


# -- new tensors


def rand_generator(size: Sequence[int], generator: Random, dtype: DType) -> Array:
    _check_continuous("check_uniform_bounds", dtype)
    return _unit(generator, checked_sizes(size), dtype)


def rand(size: Sequence[int], dtype: DType) -> Array:
    return rand_generator(size, None, dtype)


def randn_generator(size: Sequence[int], generator: Random, dtype: DType) -> Array:
    _check_continuous("normal_kernel_cpu", dtype)
    return _gaussian(generator, checked_sizes(size), dtype)


def randn(size: Sequence[int], dtype: DType) -> Array:
    return randn_generator(size, None, dtype)


_C_NAMES = {"uint8": "unsigned char", "int8": "signed char", "int16": "short", "int32": "int", "bool": "bool"}


def randint_low_generator(low: int, high: int, size: Sequence[int], generator: Random, dtype: DType) -> Array:
    """Integers in [low, high)."""
    if low >= high:
        raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")
    if dtype.kind == "c":
        raise RuntimeError("check_random_bounds handles only integral, floating-point and boolean types")
    if dtype.kind in "iub":
        least, most = (0, 1) if dtype.kind == "b" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
        for name, value in (("from", low), ("to - 1", high - 1)):
            if not least <= value <= most:
                raise RuntimeError(f"{name} is out of bounds for {_C_NAMES.get(dtype.name, dtype.name)}")
    return np.asarray(_source(generator).integers(low, high, checked_sizes(size))).astype(dtype, copy=False)


def randint_low(low: int, high: int, size: Sequence[int], dtype: DType) -> Array:
    return randint_low_generator(low, high, size, None, dtype)


def randint_generator(high: int, size: Sequence[int], generator: Random, dtype: DType) -> Array:
    return randint_low_generator(0, high, size, generator, dtype)


def randint(high: int, size: Sequence[int], dtype: DType) -> Array:
    return randint_low_generator(0, high, size, None, dtype)


def randperm_generator(n: int, generator: Random, dtype: DType) -> Array:
    checked_sizes([n])
    if dtype.kind in "bc":
        raise NotImplementedError(f"\"randperm\" not implemented for '{type_name(dtype)}'")
    return _source(generator).permutation(n).astype(dtype, copy=False)


def randperm(n: int, dtype: DType) -> Array:
    return randperm_generator(n, None, dtype)


# In the shape, and unless told otherwise in the dtype, of another tensor.


def rand_like_generator(self: Array, generator: Random, dtype: DType | None = None) -> Array:
    return rand_generator(self.shape, generator, dtype or self.dtype)


def rand_like(self: Array, dtype: DType | None = None) -> Array:
    return rand_generator(self.shape, None, dtype or self.dtype)


def randn_like_generator(self: Array, generator: Random, dtype: DType | None = None) -> Array:
    return randn_generator(self.shape, generator, dtype or self.dtype)


def randn_like(self: Array, dtype: DType | None = None) -> Array:
    return randn_generator(self.shape, None, dtype or self.dtype)


def randint_like_low_generator(
    self: Array, low: int, high: int, generator: Random, dtype: DType | None = None
) -> Array:
    return randint_low_generator(low, high, self.shape, generator, dtype or self.dtype)


def randint_like_low(self: Array, low: int, high: int, dtype: DType | None = None) -> Array:
    return randint_low_generator(low, high, self.shape, None, dtype or self.dtype)


def randint_like_generator(self: Array, high: int, generator: Random, dtype: DType | None = None) -> Array:
    return randint_low_generator(0, high, self.shape, generator, dtype or self.dtype)


def randint_like(self: Array, high: int, dtype: DType | None = None) -> Array:
    return randint_low_generator(0, high, self.shape, None, dtype or self.dtype)


# -- bits


def _check_probability(p: float) -> None:
    if not 0 <= p <= 1:
        raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={p:g}")


def _check_probabilities(p: Array) -> None:
    if p.size and not ((p >= 0) & (p <= 1)).all():
        raise RuntimeError("Expected p_in >= 0 && p_in <= 1 to be true, but got false.")


def bernoulli(self: Array, generator: Random) -> Array:
    """1 with the probability that `self` holds at the same place, else 0."""
    _check_continuous("bernoulli_tensor_cpu_p_", self.dtype)
    _check_probabilities(self)
    return np.less(_source(generator).random(self.shape), self).astype(self.dtype)


def bernoulli_p(self: Array, p: float, generator: Random) -> Array:
    _check_probability(p)
    return np.less(_source(generator).random(self.shape), p).astype(self.dtype)


def bernoulli_tensor(self: Array, p: Array, generator: Random) -> Array:
    _check_probabilities(p)
    return np.less(_source(generator).random(self.shape), p).astype(self.dtype)


# -- distributions in the shape of a tensor


def uniform(self: Array, from_: float, to: float, generator: Random) -> Array:
    _check_continuous("check_uniform_bounds", self.dtype)
    if from_ > to:
        raise RuntimeError(f"uniform_ expects to return a [from, to) range, but found from={from_:g} > to={to:g}")
    unit = _unit(generator, self.shape, self.dtype)
    return unit if (from_, to) == (0, 1) else (unit * (to - from_) + from_).astype(self.dtype, copy=False)


def _check_deviation(std: float) -> None:
    if std < 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std:g}")


def _check_deviations(std: Array) -> None:
    if std.size and not (std >= 0).all():
        raise RuntimeError("normal expects all elements of std >= 0.0")


def normal_functional(self: Array, mean: float, std: float, generator: Random) -> Array:
    return normal_float_float(mean, std, self.shape, generator, self.dtype)


def normal_float_float(mean: float, std: float, size: Sequence[int], generator: Random, dtype: DType) -> Array:
    _check_deviation(std)
    unit = randn_generator(size, generator, dtype)
    return unit if (mean, std) == (0, 1) else (unit * std + mean).astype(dtype, copy=False)


def normal_tensor_float(mean: Array, std: float, generator: Random) -> Array:
    _check_deviation(std)
    return (randn_generator(mean.shape, generator, mean.dtype) * std + mean).astype(mean.dtype, copy=False)


def normal_float_tensor(mean: float, std: Array, generator: Random) -> Array:
    _check_deviations(std)
    return (randn_generator(std.shape, generator, std.dtype) * std + mean).astype(std.dtype, copy=False)


def normal_tensor_tensor(mean: Array, std: Array, generator: Random) -> Array:
    _check_deviations(std)
    shape = np.broadcast_shapes(mean.shape, std.shape)
    return (randn_generator(shape, generator, mean.dtype) * std + mean).astype(mean.dtype, copy=False)


def exponential(self: Array, lambd: float, generator: Random) -> Array:
    if lambd <= 0:
        raise RuntimeError(f"exponential_ expects lambda > 0.0, but found lambda={lambd:g}")
    return np.asarray(_source(generator).standard_exponential(self.shape) / lambd).astype(self.dtype)


def random(self: Array, generator: Random) -> Array:
    """Whole numbers from 0 to the largest one of the dtype, of a floating one to where it has all of them."""
    return _whole_numbers(self, 0, None, generator)


def random_to(self: Array, to: int, generator: Random) -> Array:
    return random_from(self, 0, to, generator)


def random_from(self: Array, from_: int, to: int | None, generator: Random) -> Array:
    """Whole numbers in [from, to); without `to` up to the largest one."""
    if to is not None and from_ >= to:
        raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={from_} >= to={to}")
    least, most = _bounds(self.dtype)
    for name, value in (("from", from_), *((("to - 1", to - 1),) if to is not None else ())):
        if not least <= value <= most:
            raise RuntimeError(f"{name} is out of bounds for {type_name(self.dtype)}")
    return _whole_numbers(self, from_, to, generator)


def _bounds(dtype: DType) -> tuple[float, float]:
    """The least and the largest number of a dtype."""
    if dtype.kind == "b":
        return 0, 1
    limits = iinfo(from_numpy(dtype)) if dtype.kind in "iu" else finfo(from_numpy(dtype))
    return limits.min, limits.max


def _whole_numbers(self: Array, first: int, end: int | None, generator: Random) -> Array:
    if end is not None:
        last = end - 1
    elif self.dtype.kind in "biu":
        last = int(_bounds(self.dtype)[1])
    else:
        last = int(2 / finfo(from_numpy(self.dtype)).eps)
    drawn = _source(generator).integers(first, min(last, 2**63 - 1), self.shape, np.int64, endpoint=True)
    return np.asarray(drawn).astype(self.dtype)


def cauchy(self: Array, median: float, sigma: float, generator: Random) -> Array:
    if sigma <= 0:
        raise RuntimeError(f"cauchy_ expects sigma > 0.0, but found sigma={sigma:g}")
    return np.asarray(_source(generator).standard_cauchy(self.shape) * sigma + median).astype(self.dtype)


def log_normal(self: Array, mean: float, std: float, generator: Random) -> Array:
    if std <= 0:
        raise RuntimeError(f"log_normal_ expects std > 0.0, but found std={std:g}")
    return np.asarray(np.exp(_source(generator).standard_normal(self.shape) * std + mean)).astype(self.dtype)


def geometric(self: Array, p: float, generator: Random) -> Array:
    """How many trials it takes to the first success, each of which has the probability `p`."""
    if not 0 < p < 1:
        raise RuntimeError(f"geometric_ expects p to be in (0, 1), but got p={p:g}")
    return np.asarray(_source(generator).geometric(p, self.shape)).astype(self.dtype)


def poisson(self: Array, generator: Random) -> Array:
    """How many events there are at a rate of `self`; of very many the numbers are those of a normal distribution."""
    rates = self.astype(np.float64)
    if not (rates >= 0).all():
        raise RuntimeError("invalid Poisson rate, expected rate to be non-negative")
    source, many = _source(generator), rates > 1e15
    drawn = np.asarray(source.poisson(np.where(many, 0, rates)), np.float64)
    if many.any():
        drawn = np.where(many, np.round(rates + np.sqrt(rates) * source.standard_normal(self.shape)), drawn)
    return np.asarray(drawn).astype(self.dtype)


def binomial(count: Array, prob: Array, generator: Random) -> Array:
    """How many of `count` trials succeed, each of which has the probability `prob`, which is brought into [0, 1]."""
    if count.dtype != prob.dtype:
        raise RuntimeError(f"Found dtype {type_name(prob.dtype)} but expected {type_name(count.dtype)}")
    trials, chances = np.broadcast_arrays(count.astype(np.float64), prob.astype(np.float64))
    known = ~(np.isnan(trials) | np.isnan(chances))
    whole = np.where(known, np.clip(np.floor(trials), 0, 2.0**53), 0).astype(np.int64)
    drawn = _source(generator).binomial(whole, np.clip(np.where(known, chances, 0), 0, 1))
    return np.where(known, drawn, np.nan).astype(count.dtype)


# -- draws from a list of weights


def multinomial(self: Array, num_samples: int, replacement: bool, generator: Random) -> Array:
    """Places in a row, drawn with probabilities proportional to what stands there; several rows are independent.

    Without replacement each place waits for an exponentially distributed time at a rate of its weight: the first
    `num_samples` to come are the draw.
    """
    if self.ndim not in (1, 2):
        raise RuntimeError("prob_dist must be 1 or 2 dim")
    if num_samples <= 0:
        raise RuntimeError("cannot sample n_sample <= 0 samples")
    weights = self.astype(np.float64)
    if not (np.isfinite(weights) & (weights >= 0)).all():
        raise RuntimeError("probability tensor contains either `inf`, `nan` or element < 0")
    if not replacement and num_samples > self.shape[normalize_dim(-1, self.ndim)]:
        raise RuntimeError("cannot sample n_sample > prob_dist.size(-1) samples without replacement")
    rows = weights.reshape(-1, self.shape[-1])
    if not (rows.sum(axis=1) > 0).all():
        raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")
    if replacement:
        heights = np.cumsum(rows, axis=1)
        marks = _source(generator).random((len(rows), num_samples)) * heights[:, -1:]
        drawn = [np.searchsorted(row, mark, side="right") for row, mark in zip(heights, marks, strict=True)]
        chosen = np.stack(drawn) if drawn else np.empty((0, num_samples), np.int64)
    else:
        waits = _source(generator).standard_exponential(rows.shape) / rows
        if 2 * num_samples < rows.shape[1]:
            first = np.argpartition(waits, num_samples, axis=1)[:, :num_samples]
            order = np.argsort(np.take_along_axis(waits, first, 1), axis=1, kind="stable")
            chosen = np.take_along_axis(first, order, 1)
        else:
            chosen = np.argsort(waits, axis=1, kind="stable")[:, :num_samples]
    return chosen.astype(np.int64).reshape(*self.shape[:-1], num_samples)
