"""Random numbers, drawn on the GPU: Philox 4x32-10 from the seed of `torch.cuda.manual_seed` or `torch.manual_seed`.

They are not those of PyTorch's GPUs, nor those of a CPU, from the same seed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import cupy

from gradwright_cupy.arrays import Array
from gradwright_cupy.generators import current

DType = Any
Random = object | None


def _generator(given: Random) -> Any:
    if given is not None:
        raise RuntimeError("Expected a 'cuda' device type for generator but found 'cpu'")
    return current()


def _drawn_in(dtype: DType) -> Any:
    """The type that numbers of this one are drawn in."""
    kind = cupy.dtype(dtype)
    if kind.kind not in "fc":
        raise NotImplementedError(f"random numbers of a continuous distribution are not implemented for {kind}")
    return cupy.float64 if kind.name in ("float64", "complex128") else cupy.float32


def _uniform(generator: Random, size: Sequence[int], dtype: DType) -> Array:
    """In [0, 1)."""
    source, wide = _generator(generator), _drawn_in(dtype)
    drawn = source.random(tuple(size), dtype=wide)
    if cupy.dtype(dtype).kind == "c":
        drawn = drawn + 1j * source.random(tuple(size), dtype=wide)
    return cupy.asarray(drawn, dtype=dtype)


def _normal(generator: Random, size: Sequence[int], dtype: DType) -> Array:
    source, wide = _generator(generator), _drawn_in(dtype)
    drawn = source.standard_normal(tuple(size), dtype=wide)
    if cupy.dtype(dtype).kind == "c":
        drawn = (drawn + 1j * source.standard_normal(tuple(size), dtype=wide)) * math.sqrt(0.5)
    return cupy.asarray(drawn, dtype=dtype)


def _integers(generator: Random, low: int, high: int, size: Sequence[int], dtype: DType) -> Array:
    if low >= high:
        raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")
    return _generator(generator).integers(low, high, tuple(size), dtype=cupy.int64).astype(dtype)


# -- factories


def rand(size: Sequence[int], dtype: DType) -> Array:
    return _uniform(None, size, dtype)


def rand_generator(size: Sequence[int], generator: Random, dtype: DType) -> Array:
    return _uniform(generator, size, dtype)


def rand_like(self: Array, dtype: DType | None = None) -> Array:
    return _uniform(None, self.shape, dtype or self.dtype)


def rand_like_generator(self: Array, generator: Random, dtype: DType | None = None) -> Array:
    return _uniform(generator, self.shape, dtype or self.dtype)


def randn(size: Sequence[int], dtype: DType) -> Array:
    return _normal(None, size, dtype)


def randn_generator(size: Sequence[int], generator: Random, dtype: DType) -> Array:
    return _normal(generator, size, dtype)


def randn_like(self: Array, dtype: DType | None = None) -> Array:
    return _normal(None, self.shape, dtype or self.dtype)


def randn_like_generator(self: Array, generator: Random, dtype: DType | None = None) -> Array:
    return _normal(generator, self.shape, dtype or self.dtype)


def randint(high: int, size: Sequence[int], dtype: DType) -> Array:
    return _integers(None, 0, high, size, dtype)


def randint_generator(high: int, size: Sequence[int], generator: Random, dtype: DType) -> Array:
    return _integers(generator, 0, high, size, dtype)


def randint_low(low: int, high: int, size: Sequence[int], dtype: DType) -> Array:
    return _integers(None, low, high, size, dtype)


def randint_low_generator(low: int, high: int, size: Sequence[int], generator: Random, dtype: DType) -> Array:
    return _integers(generator, low, high, size, dtype)


def randint_like(self: Array, high: int, dtype: DType | None = None) -> Array:
    return _integers(None, 0, high, self.shape, dtype or self.dtype)


def randint_like_generator(self: Array, high: int, generator: Random, dtype: DType | None = None) -> Array:
    return _integers(generator, 0, high, self.shape, dtype or self.dtype)


def randint_like_low_dtype(self: Array, low: int, high: int, dtype: DType | None = None) -> Array:
    return _integers(None, low, high, self.shape, dtype or self.dtype)


def randint_like_low_generator_dtype(
    self: Array, low: int, high: int, generator: Random, dtype: DType | None = None
) -> Array:
    return _integers(generator, low, high, self.shape, dtype or self.dtype)


def randperm(n: int, dtype: DType) -> Array:
    return randperm_generator(n, None, dtype)


def randperm_generator(n: int, generator: Random, dtype: DType) -> Array:
    return cupy.argsort(_uniform(generator, (n,), cupy.float64)).astype(dtype)


# -- of a shape that is there


def bernoulli_default(self: Array, generator: Random) -> Array:
    return (_uniform(generator, self.shape, self.dtype) < self).astype(self.dtype)


def bernoulli_p(self: Array, p: float, generator: Random) -> Array:
    if not 0 <= p <= 1:
        raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={p}")
    return (_uniform(generator, self.shape, cupy.float32) < p).astype(self.dtype)


def bernoulli_Tensor(self: Array, p: Array, generator: Random) -> Array:
    return (_uniform(generator, self.shape, p.dtype) < p).astype(self.dtype)


def uniform(self: Array, from_: float, to: float, generator: Random) -> Array:
    return _uniform(generator, self.shape, self.dtype) * (to - from_) + from_


def exponential(self: Array, lambd: float, generator: Random) -> Array:
    return -cupy.log1p(-_uniform(generator, self.shape, self.dtype)) / lambd


def cauchy(self: Array, median: float, sigma: float, generator: Random) -> Array:
    return cupy.tan((_uniform(generator, self.shape, self.dtype) - 0.5) * math.pi) * sigma + median


def log_normal(self: Array, mean: float, std: float, generator: Random) -> Array:
    return cupy.exp(_normal(generator, self.shape, self.dtype) * std + mean)


def geometric(self: Array, p: float, generator: Random) -> Array:
    if not 0 < p < 1:
        raise RuntimeError(f"geometric_ expects p to be in (0, 1), but got p={p}")
    waits = cupy.log1p(-_uniform(generator, self.shape, cupy.float64)) / math.log1p(-p)
    return (cupy.floor(waits) + 1).astype(self.dtype)


def poisson(self: Array, generator: Random) -> Array:
    return _generator(generator).poisson(self, self.shape).astype(self.dtype)


def random_default(self: Array, generator: Random) -> Array:
    return _integers(generator, 0, _last(self.dtype) + 1, self.shape, self.dtype)


def random_to(self: Array, to: int, generator: Random) -> Array:
    return _integers(generator, 0, to, self.shape, self.dtype)


def random_from(self: Array, from_: int, to: int | None, generator: Random) -> Array:
    return _integers(generator, from_, _last(self.dtype) + 1 if to is None else to, self.shape, self.dtype)


def _last(dtype: DType) -> int:
    """The largest whole number that is drawn where none is named: up to it all can be told apart."""
    if dtype.kind == "b":
        return 1
    if dtype.kind in "iu":
        return min(int(cupy.iinfo(dtype).max), 2**63 - 2)
    return int(2 ** (cupy.finfo(dtype).nmant + 1))


def normal_functional(self: Array, mean: float, std: float, generator: Random) -> Array:
    return _normal(generator, self.shape, self.dtype) * std + mean


def normal_Tensor_Tensor(mean: Array, std: Array, generator: Random) -> Array:
    mean, std = cupy.broadcast_arrays(mean, std)
    return _normal(generator, mean.shape, mean.dtype) * std + mean


def normal_Tensor_float(mean: Array, std: float, generator: Random) -> Array:
    return _normal(generator, mean.shape, mean.dtype) * std + mean


def normal_float_Tensor(mean: float, std: Array, generator: Random) -> Array:
    return _normal(generator, std.shape, std.dtype) * std + mean


def normal_float_float(mean: float, std: float, size: Sequence[int], generator: Random, dtype: DType) -> Array:
    return _normal(generator, size, dtype) * std + mean


def multinomial(self: Array, num_samples: int, replacement: bool, generator: Random) -> Array:
    if not self.ndim or self.ndim > 2:
        raise RuntimeError("prob_dist must be 1 or 2 dim")
    if num_samples <= 0 or (num_samples > self.shape[-1] and not replacement):
        raise RuntimeError("cannot sample n_sample > prob_dist.size(-1) samples without replacement")
    if not replacement:  # the waits for the first event of each: those that come first are the sample
        waits = -cupy.log1p(-_uniform(generator, self.shape, cupy.float64)) / self
        return cupy.argsort(waits, axis=-1)[..., :num_samples].astype(cupy.int64)
    ends = cupy.cumsum(self, axis=-1)
    drawn = _uniform(generator, (*self.shape[:-1], num_samples), cupy.float64) * ends[..., -1:]
    passed = cupy.expand_dims(ends, -2) <= cupy.expand_dims(drawn, -1)
    return cupy.minimum(cupy.sum(passed, axis=-1), self.shape[-1] - 1).astype(cupy.int64)
