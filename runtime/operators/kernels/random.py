"""Random numbers.  Each kernel draws from the source that it is given; None is that of the default generator.

With equal seeds the numbers are PyTorch's on a CPU: how many words an element takes, and what becomes of them.
Elements are drawn in the order in which they lie in memory.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from runtime.base.arrays import (
    Array,
    check_computed,
    checked_sizes,
    is_complex32,
    is_half,
    is_stored,
    narrowed,
    normalize_dim,
    type_name,
    widened,
)
from runtime.base.dtypes import finfo, from_numpy, iinfo
from runtime.native import core
from runtime.operators.kernels._gaussian import exp_of, log1p_of, one_by_one, scaled, tan_of, turn_to_normal
from runtime.random import default_generator

if TYPE_CHECKING:
    from runtime.base.mersenne import Source

    Random = Source | None

DType = np.dtype[Any]
_FLOAT16 = np.dtype(np.float16)


def _check_continuous(name: str, dtype: DType) -> None:
    if dtype.kind in "iub" or (is_stored(dtype) and not is_complex32(dtype)):
        raise NotImplementedError(f"\"{name}\" not implemented for '{type_name(dtype)}'")


def _source(generator: Random) -> Source:
    return default_generator.numpy if generator is None else generator


def _laid_out(drawn: Array, like: Array) -> Array:
    """A list of elements in the shape of `like`, in the order in which those of `like` lie in memory."""
    if like.flags.c_contiguous:
        return drawn.reshape(like.shape)
    order = _order(like)
    return drawn.reshape([like.shape[dim] for dim in order]).transpose(np.argsort(order))


def _order(like: Array) -> list[int]:
    """Its dimensions, those of larger steps in memory first."""
    return sorted(range(like.ndim), key=lambda dim: -abs(like.strides[dim]))


def _in_order(drawn: Array, like: Array) -> Array:
    """A list of elements as ones of `like`: in its shape, order and dtype."""
    return _laid_out(drawn.astype(like.dtype, copy=False), like)


def _computed_in(dtype: DType) -> DType:
    """The real type that elements are drawn in."""
    return np.dtype(np.float64 if dtype in (np.float64, np.complex128) else np.float32)


def _unit(source: Source, count: int, dtype: DType) -> Array:
    return source.unit64(count) if dtype == np.float64 else source.unit32(count)


def _uniform(generator: Random, count: int, dtype: DType, low: float = 0, high: float = 1) -> Array:
    """A list of numbers in [low, high); what is rounded to `high` becomes `low`."""
    if is_complex32(dtype):
        return _uniform(generator, 2 * count, _FLOAT16, low, high).view(dtype)
    source, real = _source(generator), _computed_in(dtype)
    drawn = _unit(source, count * (2 if dtype.kind == "c" else 1), real)
    if (low, high) != (0, 1):
        first, last = real.type(low), real.type(high)
        drawn = scaled(drawn, last - first, first)
    elif not is_half(dtype):  # 1 is never drawn
        return drawn.view(dtype)
    rounded = drawn.astype(dtype) if is_half(dtype) else drawn
    rounded[rounded == np.asarray(high, real).astype(rounded.dtype)] = np.asarray(low, real).astype(rounded.dtype)
    return rounded.view(dtype)


def _normal(
    generator: Random, count: int, dtype: DType, mean: float = 0, std: float = 1, contiguous: bool = True
) -> Array:
    """A list of normal numbers: 16 and more that lie side by side in groups of 16, others one by one."""
    if is_complex32(dtype):
        return _normal(generator, 2 * count, _FLOAT16, mean, std / math.sqrt(2), contiguous).view(dtype)
    source, real = _source(generator), _computed_in(dtype)
    if dtype.kind == "c":
        return _normal(source, 2 * count, real, mean, std / math.sqrt(2), contiguous).view(dtype)
    if count < 16 or not contiguous:
        drawn = one_by_one(source, count, dtype == np.float64)
        return (drawn if (mean, std) == (0, 1) else scaled(drawn, std, mean)).astype(dtype, copy=False)
    whole = count - count % 16
    # The last 16 are drawn anew where the last group is not whole; in half precision that group is not drawn before.
    first = whole if is_half(dtype) else count
    drawn = _unit(source, first, real)
    if first < count:
        drawn = np.concatenate([drawn, np.empty(count - first, real)])
    turn_to_normal(drawn[:whole], mean, std)
    if whole < count:
        drawn[-16:] = _unit(source, 16, real)
        turn_to_normal(drawn[-16:], mean, std)
    return drawn.astype(dtype, copy=False)


# -- new tensors


def rand_generator(size: Sequence[int], generator: Random, dtype: DType) -> Array:
    _check_continuous("check_uniform_bounds", dtype)
    shape = checked_sizes(size)
    return _uniform(generator, math.prod(shape), dtype).reshape(shape)


def rand(size: Sequence[int], dtype: DType) -> Array:
    """Random numbers from 0 up to 1, all equally likely."""
    return rand_generator(size, None, dtype)


def randn_generator(size: Sequence[int], generator: Random, dtype: DType) -> Array:
    return normal_float_float(0, 1, size, generator, dtype)


def randn(size: Sequence[int], dtype: DType) -> Array:
    """Random numbers of the normal distribution with mean 0 and variance 1."""
    return randn_generator(size, None, dtype)


_C_NAMES = {"uint8": "unsigned char", "int8": "signed char", "int16": "short", "int32": "int", "bool": "bool"}


def randint_low_generator(low: int, high: int, size: Sequence[int], generator: Random, dtype: DType) -> Array:
    """Integers in [low, high)."""
    _check_integers(low, high, dtype)
    shape = checked_sizes(size)
    return _integers(generator, math.prod(shape), low, high - low).astype(dtype, copy=False).reshape(shape)


def _check_integers(low: int, high: int, dtype: DType) -> None:
    if not is_complex32(dtype):
        check_computed("random_update_from_to", dtype)
    if low >= high:
        raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")
    if dtype.kind == "c" or is_complex32(dtype):
        raise RuntimeError("check_random_bounds handles only integral, floating-point and boolean types")
    if dtype.kind in "iub":
        least, most = (0, 1) if dtype.kind == "b" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
        for name, value in (("from", low), ("to - 1", high - 1)):
            if not least <= value <= most:
                raise RuntimeError(f"{name} is out of bounds for {_C_NAMES.get(dtype.name, dtype.name)}")


def _integers(generator: Random, count: int, first: int, width: int) -> Array:
    """A list of integers from `first` on, `width` different ones: remainders of words, from 2^28 on of long ones."""
    source = _source(generator)
    if width < 2**28:
        short = source.words(count)
        short %= np.uint32(width)
        drawn = short.astype(np.int64)
        return drawn + first if first else drawn
    words = source.long_words(count)
    return words.view(np.int64) if width == 2**64 else (words % np.uint64(width)).view(np.int64) + np.int64(first)


def randint_low(low: int, high: int, size: Sequence[int], dtype: DType) -> Array:
    return randint_low_generator(low, high, size, None, dtype)


def randint_generator(high: int, size: Sequence[int], generator: Random, dtype: DType) -> Array:
    return randint_low_generator(0, high, size, generator, dtype)


def randint(high: int, size: Sequence[int], dtype: DType) -> Array:
    return randint_low_generator(0, high, size, None, dtype)


def randperm_generator(n: int, generator: Random, dtype: DType) -> Array:
    checked_sizes([n])
    if dtype.kind in "bc" or is_stored(dtype):
        raise NotImplementedError(f"\"randperm\" not implemented for '{type_name(dtype)}'")
    places = np.arange(max(n - 1, 0))
    words = _source(generator).words(len(places))
    partners = places + words % (n - places)
    if core is None:
        return _after_exchanges(n, partners).astype(dtype, copy=False)
    order = np.arange(n)
    core.exchange(order, partners)
    return order.astype(dtype, copy=False)


def _after_exchanges(count: int, partners: Array) -> Array:
    """0, 1, ... after what is at place 0 and what is at place partners[0] changed places, then those of place 1, ...

    Nobody changes what lies before his place. So what step i finds at its place was put there by the last step with i
    for its partner, which had found it at its own place: such steps form a forest, and all walk to their roots at
    once, twice as far in each round. And a step leaves what it finds at its partner's place.
    """
    steps = np.arange(len(partners))
    found = np.arange(count)
    moving = partners != steps
    found[partners[moving]] = steps[moving]  # of several the last one counts
    while not np.array_equal(further := found[found], found):
        found = further
    result = found.copy()
    # In the order of partners, and of steps within, the one before has put there what this one finds.
    keys = np.sort(partners * count + steps)
    partner, step = keys // max(count, 1), keys % max(count, 1)
    first = np.ones(len(keys), bool)
    first[1:] = partner[1:] != partner[:-1]
    result[step] = np.where(first, partner, found[np.roll(step, 1)])
    own = partner == step
    result[step[own]] = found[step[own]]
    return result


def randperm(n: int, dtype: DType) -> Array:
    """The numbers from 0 up to `n` in random order."""
    return randperm_generator(n, None, dtype)


# In the shape, and unless told otherwise in the dtype, of another tensor.


def rand_like_generator(self: Array, generator: Random, dtype: DType | None = None) -> Array:
    dtype = dtype or self.dtype
    _check_continuous("check_uniform_bounds", dtype)
    return _laid_out(_uniform(generator, self.size, dtype), self)


def rand_like(self: Array, dtype: DType | None = None) -> Array:
    """Random numbers from 0 up to 1, in the shape of another Tensor."""
    return rand_like_generator(self, None, dtype)


def randn_like_generator(self: Array, generator: Random, dtype: DType | None = None) -> Array:
    dtype = dtype or self.dtype
    _check_continuous("normal_kernel_cpu", dtype)
    order = [dim for dim in _order(self) if self.shape[dim] > 1]  # gaps are closed in what comes out
    return _laid_out(_normal(generator, self.size, dtype, contiguous=order == sorted(order)), self)


def randn_like(self: Array, dtype: DType | None = None) -> Array:
    """Random numbers of the normal distribution, in the shape of another Tensor."""
    return randn_like_generator(self, None, dtype)


def randint_like_low_generator(
    self: Array, low: int, high: int, generator: Random, dtype: DType | None = None
) -> Array:
    dtype = dtype or self.dtype
    _check_integers(low, high, dtype)
    return _laid_out(_integers(generator, self.size, low, high - low).astype(dtype, copy=False), self)


def randint_like_low(self: Array, low: int, high: int, dtype: DType | None = None) -> Array:
    return randint_like_low_generator(self, low, high, None, dtype)


def randint_like_generator(self: Array, high: int, generator: Random, dtype: DType | None = None) -> Array:
    return randint_like_low_generator(self, 0, high, generator, dtype)


def randint_like(self: Array, high: int, dtype: DType | None = None) -> Array:
    """Random integers below `high`, in the shape of another Tensor."""
    return randint_like_low_generator(self, 0, high, None, dtype)


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
    return np.less(_unit(_source(generator), self.size, self.dtype).reshape(self.shape), self).astype(self.dtype)


def bernoulli_p(self: Array, p: float, generator: Random) -> Array:
    _check_probability(p)
    return np.asarray(np.less(_source(generator).unit64(self.size), p).astype(self.dtype).reshape(self.shape))


def bernoulli_tensor(self: Array, p: Array, generator: Random) -> Array:
    _check_probabilities(p)
    return np.less(_laid_out(_unit(_source(generator), self.size, p.dtype), self), p).astype(self.dtype)


# -- distributions in the shape of a tensor


def uniform(self: Array, from_: float, to: float, generator: Random) -> Array:
    """Random numbers between two bounds, all equally likely."""
    _check_continuous("check_uniform_bounds", self.dtype)
    if from_ > to:
        raise RuntimeError(f"uniform_ expects to return a [from, to) range, but found from={from_:g} > to={to:g}")
    return _laid_out(_uniform(generator, self.size, self.dtype, from_, to), self)


def _check_deviation(std: float) -> None:
    if std < 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std:g}")


def _check_deviations(std: Array) -> None:
    if std.size and not (std >= 0).all():
        raise RuntimeError("normal expects all elements of std >= 0.0")


def normal_functional(self: Array, mean: float, std: float, generator: Random) -> Array:
    """Random numbers of a normal distribution."""
    _check_continuous("normal_kernel_cpu", self.dtype)
    _check_deviation(std)
    return _laid_out(_normal(generator, self.size, self.dtype, mean, std, self.flags.c_contiguous), self)


def normal_float_float(mean: float, std: float, size: Sequence[int], generator: Random, dtype: DType) -> Array:
    _check_continuous("normal_kernel_cpu", dtype)
    _check_deviation(std)
    shape = checked_sizes(size)
    return _normal(generator, math.prod(shape), dtype, mean, std).reshape(shape)


def normal_tensor_float(mean: Array, std: float, generator: Random) -> Array:
    """Random numbers of normal distributions with these means."""
    drawn = normal_float_float(0, std, mean.shape, generator, mean.dtype)
    if is_complex32(mean.dtype):
        return narrowed(widened(drawn) + widened(mean))
    return drawn + mean


def normal_float_tensor(mean: float, std: Array, generator: Random) -> Array:
    _check_deviations(std)
    drawn = randn_generator(std.shape, generator, std.dtype) * std
    return np.asarray(drawn + np.asarray(mean, std.dtype))


def normal_tensor_tensor(mean: Array, std: Array, generator: Random) -> Array:
    _check_deviations(std)
    shape = np.broadcast_shapes(mean.shape, std.shape)
    return (randn_generator(shape, generator, mean.dtype) * std + mean).astype(mean.dtype, copy=False)


def exponential(self: Array, lambd: float, generator: Random) -> Array:
    """Random numbers of the exponential distribution."""
    if lambd <= 0:
        raise RuntimeError(f"exponential_ expects lambda > 0.0, but found lambda={lambd:g}")
    return _in_order(_waits(_source(generator), self.size, self.dtype) * (1 / lambd), self)


def _waits(source: Source, count: int, dtype: DType) -> Array:
    """Exponentially distributed times at a rate of 1, in float64."""
    return -log1p_of(-source.unit64(count), dtype == np.float64)


def random(self: Array, generator: Random) -> Array:
    """Whole numbers from 0 to the largest one of the dtype, of a floating one to where it has all of them."""
    width = _last_whole_number(self.dtype) + 1
    source = _source(generator)
    if self.dtype in (np.int64, np.float64):
        drawn = source.long_words(self.size) % np.uint64(width)
    else:
        drawn = source.words(self.size) % np.uint64(width)
    return _in_order(drawn, self)


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
    if end is None:
        end = _last_whole_number(self.dtype) + 1
    return _in_order(_integers(generator, self.size, first, end - first), self)


def _last_whole_number(dtype: DType) -> int:
    """The largest one, of a floating type the one up to which it has all of them."""
    return int(_bounds(dtype)[1]) if dtype.kind in "biu" else int(2 / finfo(from_numpy(dtype)).eps)


def cauchy(self: Array, median: float, sigma: float, generator: Random) -> Array:
    """Random numbers of the Cauchy distribution."""
    if sigma <= 0:
        raise RuntimeError(f"cauchy_ expects sigma > 0.0, but found sigma={sigma:g}")
    drawn = tan_of(np.pi * (_source(generator).unit64(self.size) - 0.5), self.dtype == np.float64)
    return _in_order(median + sigma * drawn, self)


def log_normal(self: Array, mean: float, std: float, generator: Random) -> Array:
    """Numbers whose logarithms are of a normal distribution."""
    if std <= 0:
        raise RuntimeError(f"log_normal_ expects std > 0.0, but found std={std:g}")
    double = self.dtype == np.float64
    drawn = one_by_one(_source(generator), self.size, double)
    return _in_order(exp_of(drawn * std + mean, double), self)


def geometric(self: Array, p: float, generator: Random) -> Array:
    """How many trials it takes to the first success, each of which has the probability `p`."""
    if not 0 < p < 1:
        raise RuntimeError(f"geometric_ expects p to be in (0, 1), but got p={p:g}")
    return _in_order(np.ceil(np.log(_source(generator).unit64(self.size)) / np.log1p(-p)), self)


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

# These are sorted as a whole, which takes fewer calls of NumPy.
_FEW_WEIGHTS = 4096


def multinomial(self: Array, num_samples: int, replacement: bool, generator: Random) -> Array:
    """Places in a row, drawn with probabilities proportional to what stands there; several rows are independent.

    Without replacement, and of one draw only, each place waits for an exponentially distributed time at a rate of its
    weight: the first `num_samples` to come are the draw.
    """
    if self.ndim not in (1, 2):
        raise RuntimeError("prob_dist must be 1 or 2 dim")
    if num_samples <= 0:
        raise RuntimeError("cannot sample n_sample <= 0 samples")
    # The smallest is NaN where one is.
    if self.size and not (self.min() >= 0 and self.max() < math.inf):
        raise RuntimeError("probability tensor contains either `inf`, `nan` or element < 0")
    if not replacement and num_samples > self.shape[normalize_dim(-1, self.ndim)]:
        raise RuntimeError("cannot sample n_sample > prob_dist.size(-1) samples without replacement")
    rows = self.reshape(-1, self.shape[-1])
    if not (rows.max(axis=1, initial=0) > 0).all():
        raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")
    source = _source(generator)
    if replacement and num_samples > 1:
        marks = source.unit64(len(rows) * num_samples).reshape(len(rows), num_samples)
        chosen = np.empty(marks.shape, np.int64)
        if core is not None:
            core.pick_by_weights(np.require(rows, requirements=("C", "W")), marks, chosen)
        else:
            for row, mark, places in zip(rows, marks, chosen, strict=True):
                heights = np.cumsum(row, dtype=np.float64)
                places[:] = heights.searchsorted(mark * heights[-1], "right")
    else:
        waits = _waits(source, rows.size, self.dtype).reshape(rows.shape).astype(self.dtype)
        order = -(rows / waits)
        if num_samples == 1:
            chosen = np.argmin(order, axis=1)[:, None]
        elif 2 * num_samples < rows.shape[1] and rows.size > _FEW_WEIGHTS:
            first = np.argpartition(order, num_samples, axis=1)[:, :num_samples]
            places = np.argsort(np.take_along_axis(order, first, 1), axis=1, kind="stable")
            chosen = np.take_along_axis(first, places, 1)
        else:
            chosen = np.argsort(order, axis=1, kind="stable")[:, :num_samples]
    return chosen.astype(np.int64).reshape(*self.shape[:-1], num_samples)
