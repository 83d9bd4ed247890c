"""Samplers: in which order the samples of a data set come."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Sized
from itertools import islice
from typing import Any, Generic, TypeVar

from runtime import ops
from runtime.base.creation import as_tensor
from runtime.base.dtypes import float64, int64
from runtime.random import Generator

__all__ = [
    "BatchSampler",
    "RandomSampler",
    "Sampler",
    "SequentialSampler",
    "SubsetRandomSampler",
    "WeightedRandomSampler",
]

T_co = TypeVar("T_co", covariant=True)


class Sampler(Generic[T_co]):
    """Base class of samplers: a subclass defines `__iter__`, and mostly `__len__`."""

    def __iter__(self) -> Iterator[T_co]:
        raise NotImplementedError(f"{type(self).__name__} does not define __iter__")


class SequentialSampler(Sampler[int]):
    """All indices, in their order."""

    def __init__(self, data_source: Sized) -> None:
        self.data_source = data_source

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        return len(self.data_source)


class RandomSampler(Sampler[int]):
    """Indices by chance.

    Args:
        data_source: what is sampled.
        replacement: whether an index may come again.
        num_samples: how many indices; None for all. Without replacement, more than there are begin anew.
        generator: the source of random numbers.

    Raises:
        TypeError: `replacement` is no bool.
        ValueError: `num_samples` is no positive integer.
    """

    def __init__(
        self,
        data_source: Sized,
        replacement: bool = False,
        num_samples: int | None = None,
        generator: Generator | None = None,
    ) -> None:
        self.data_source = data_source
        self.replacement = replacement
        self._num_samples = num_samples
        self.generator = generator
        if not isinstance(replacement, bool):
            raise TypeError(f"replacement should be a boolean value, but got replacement={replacement}")
        if not isinstance(self.num_samples, int) or self.num_samples <= 0:
            raise ValueError(f"num_samples should be a positive integer value, but got num_samples={self.num_samples}")

    @property
    def num_samples(self) -> int:
        """How many indices come; it follows a data source that grows."""
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self) -> Iterator[int]:
        generator = self.generator
        if generator is None:
            # One of its own, so that what else draws numbers in between does not change the order.
            generator = Generator().manual_seed(random_seed(None))
        size, left = len(self.data_source), self.num_samples
        while left > 0:
            if self.replacement:
                found = ops.randint(size, (min(left, 1024),), generator=generator, dtype=int64).tolist()
            else:
                found = ops.randperm(size, generator=generator).tolist()[:left]
            yield from found
            left -= len(found)
        if not self.replacement and size and self.num_samples % size == 0:
            ops.randperm(size, generator=generator)  # PyTorch draws an order for what is left, also where nothing is

    def __len__(self) -> int:
        return self.num_samples


class SubsetRandomSampler(Sampler[int]):
    """Certain indices, each once, by chance."""

    def __init__(self, indices: Sequence[int], generator: Generator | None = None) -> None:
        self.indices = indices
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        for number in ops.randperm(len(self.indices), generator=self.generator).tolist():
            yield self.indices[number]

    def __len__(self) -> int:
        return len(self.indices)


class WeightedRandomSampler(Sampler[int]):
    """Indices by chance, each as often as its weight says.

    Args:
        weights: of all indices; their sum need not be 1.
        num_samples: how many indices.
        replacement: whether an index may come again.
        generator: the source of random numbers.

    Raises:
        ValueError: an argument is none of these.
    """

    def __init__(
        self,
        weights: Sequence[float],
        num_samples: int,
        replacement: bool = True,
        generator: Generator | None = None,
    ) -> None:
        check_positive("num_samples", num_samples)
        check_bool("replacement", replacement)
        self.weights = as_tensor(weights, dtype=float64)
        if self.weights.dim() != 1:
            raise ValueError(
                f"weights should be a 1d sequence but given weights have shape {tuple(self.weights.shape)}"
            )
        self.num_samples = num_samples
        self.replacement = replacement
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        found = ops.multinomial(self.weights, self.num_samples, self.replacement, generator=self.generator)
        return iter(found.tolist())

    def __len__(self) -> int:
        return self.num_samples


class BatchSampler(Sampler[list[int]]):
    """Lists of the indices that another sampler gives.

    Args:
        sampler: gives indices.
        batch_size: the length of lists.
        drop_last: leave a last list out that is shorter.

    Raises:
        ValueError: `batch_size` is no positive integer, or `drop_last` no bool.
    """

    def __init__(self, sampler: Iterable[Any], batch_size: int, drop_last: bool) -> None:
        check_positive("batch_size", batch_size)
        check_bool("drop_last", drop_last)
        self.sampler = sampler
        self.batch_size = batch_size
        self.drop_last = drop_last

    def __iter__(self) -> Iterator[list[int]]:
        indices = iter(self.sampler)
        while batch := list(islice(indices, self.batch_size)):
            if self.drop_last and len(batch) < self.batch_size:
                return
            yield batch

    def __len__(self) -> int:
        whole, rest = divmod(len(self.sampler), self.batch_size)  # type: ignore[arg-type]
        return whole + (rest > 0 and not self.drop_last)


def random_seed(generator: Generator | None) -> int:
    """A seed, drawn from a generator; None is the default one."""
    seed: Any = ops.empty((), dtype=int64).random_(generator=generator).item()
    return int(seed)


def check_positive(name: str, value: Any) -> None:
    """Refuse what is no positive integer.

    Raises:
        ValueError: it is none.
    """
    if not isinstance(value, int) or isinstance(value, bool) or value <= 0:
        raise ValueError(f"{name} should be a positive integer value, but got {name}={value}")


def check_bool(name: str, value: Any) -> None:
    """Refuse what is no bool.

    Raises:
        ValueError: it is none.
    """
    if not isinstance(value, bool):
        raise ValueError(f"{name} should be a boolean value, but got {name}={value}")
