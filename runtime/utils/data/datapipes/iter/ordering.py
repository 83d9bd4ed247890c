"""Streams in another order: of a sampler, or by chance."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sized
from typing import Any, Self, TypeVar

from runtime.utils.data.datapipes.datapipe import IterDataPipe, length_of
from runtime.utils.data.datapipes.decorators import functional_datapipe
from runtime.utils.data.sampler import SequentialSampler, random_seed

T_co = TypeVar("T_co", covariant=True)


class SamplerIterDataPipe(IterDataPipe[T_co]):
    """What a sampler gives that is made for a pipe: its indices.

    Raises:
        AssertionError: the pipe has no length.
    """

    def __init__(
        self,
        datapipe: IterDataPipe[Any],
        sampler: Callable[..., Any] = SequentialSampler,
        sampler_args: tuple[Any, ...] | None = None,
        sampler_kwargs: dict[str, Any] | None = None,
    ) -> None:
        if not isinstance(datapipe, Sized):
            raise AssertionError("Sampler class requires input datapipe implemented `__len__`")
        self.datapipe = datapipe
        self.sampler_args = () if sampler_args is None else sampler_args
        self.sampler_kwargs = {**(sampler_kwargs or {}), "data_source": datapipe}
        self.sampler = sampler(*self.sampler_args, **self.sampler_kwargs)

    def __iter__(self) -> Iterator[T_co]:
        return iter(self.sampler)

    def __len__(self) -> int:
        return length_of(self.sampler, self)


class Shuffling(IterDataPipe[T_co]):
    """A stream in an order by chance, which can be turned off, and seeded."""

    def __init__(self) -> None:
        self._enabled = True
        self._seed: int | None = None
        self._random = random.Random()

    def set_shuffle(self, shuffle: bool = True) -> Self:
        """Whether the order is another one."""
        self._enabled = shuffle
        return self

    def set_seed(self, seed: int) -> Self:
        """Start the next order from a seed; else from one of the default generator."""
        self._seed = seed
        return self

    def reset(self) -> None:
        """Begin a new order."""
        if self._enabled:
            self._random.seed(random_seed(None) if self._seed is None else self._seed)
            self._seed = None


@functional_datapipe("shuffle")
class ShufflerIterDataPipe(Shuffling[T_co]):
    """The elements in an order by chance: each is drawn from the next ones, as many as a buffer holds.

    Args:
        datapipe: the elements.
        buffer_size: how many.
        unbatch_level: take them out of that many batches first.

    Raises:
        AssertionError: the buffer holds none.
    """

    def __init__(self, datapipe: IterDataPipe[T_co], *, buffer_size: int = 10000, unbatch_level: int = 0) -> None:
        if buffer_size <= 0:
            raise AssertionError("buffer_size should be larger than 0")
        super().__init__()
        self.datapipe = datapipe.unbatch(unbatch_level=unbatch_level) if unbatch_level else datapipe
        self.buffer_size = buffer_size

    def __iter__(self) -> Iterator[T_co]:
        if not self._enabled:
            yield from self.datapipe
            return
        buffer: list[T_co] = []
        for element in self.datapipe:
            if len(buffer) < self.buffer_size:
                buffer.append(element)
                continue
            place = self._random.randint(0, len(buffer) - 1)
            chosen, buffer[place] = buffer[place], element
            yield chosen
        while buffer:
            yield buffer.pop(self._random.randint(0, len(buffer) - 1))

    def __len__(self) -> int:
        return length_of(self.datapipe, self)
