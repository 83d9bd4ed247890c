"""Pipes that are sequences by index."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence, Sized
from typing import Any, TypeVar

from runtime.utils.data.datapipes.datapipe import DataChunk, MapDataPipe
from runtime.utils.data.datapipes.decorators import functional_datapipe
from runtime.utils.data.datapipes.functions import check_function
from runtime.utils.data.datapipes.iter.grouping import Batching
from runtime.utils.data.datapipes.iter.ordering import Shuffling

__all__ = ["Batcher", "Concater", "Mapper", "SequenceWrapper", "Shuffler", "Zipper"]

T_co = TypeVar("T_co", covariant=True)


class SequenceWrapperMapDataPipe(MapDataPipe[T_co]):
    """The elements of a sequence or mapping; of a copy of it, unless `deepcopy` is off."""

    def __init__(self, sequence: Sequence[T_co] | Mapping[Any, T_co], deepcopy: bool = True) -> None:
        self.sequence = sequence
        if deepcopy:
            try:
                self.sequence = copy.deepcopy(sequence)
            except TypeError:
                warnings.warn(
                    "The input sequence can not be deepcopied: what is changed in its elements is changed in it",
                    UserWarning,
                    stacklevel=2,
                )

    def __getitem__(self, index: Any) -> T_co:
        return self.sequence[index]

    def __len__(self) -> int:
        return len(self.sequence)


def _same(data: Any) -> Any:
    return data


@functional_datapipe("map")
class MapperMapDataPipe(MapDataPipe[T_co]):
    """What a function makes of each element."""

    def __init__(self, datapipe: MapDataPipe[Any], fn: Callable[[Any], T_co] = _same) -> None:
        check_function(fn)
        self.datapipe = datapipe
        self.fn = fn

    def __getitem__(self, index: Any) -> T_co:
        return self.fn(self.datapipe[index])

    def __len__(self) -> int:
        return len(self.datapipe)


@functional_datapipe("batch")
class BatcherMapDataPipe(Batching, MapDataPipe[DataChunk]):  # type: ignore[type-arg]
    """Batches of a size; see `Batching`."""

    def __getitem__(self, index: Any) -> Any:
        batch: list[Any] = []
        try:
            places = range(index * self.batch_size, (index + 1) * self.batch_size)
            batch.extend(self.datapipe[place] for place in places)
        except IndexError:
            if self.drop_last or not batch:
                raise IndexError(f"Index {index} is out of bound.") from None
        return self.wrapper_class(batch)


def _checked(datapipes: tuple[Any, ...]) -> tuple[Any, ...]:
    if not datapipes:
        raise ValueError("Expected at least one DataPipe, but got nothing")
    if not all(isinstance(each, MapDataPipe) for each in datapipes):
        raise TypeError("Expected all inputs to be `MapDataPipe`")
    if not all(isinstance(each, Sized) for each in datapipes):
        raise TypeError("Expected all inputs to be `Sized`")
    return datapipes


@functional_datapipe("concat")
class ConcaterMapDataPipe(MapDataPipe[Any]):
    """The elements of one sequence after those of another.

    Raises:
        TypeError: they are not all pipes by index with a length.
        ValueError: there is none.
    """

    def __init__(self, *datapipes: MapDataPipe[Any]) -> None:
        self.datapipes = _checked(datapipes)

    def __getitem__(self, index: Any) -> Any:
        place = index
        for each in self.datapipes:
            if place < len(each):
                return each[place]
            place -= len(each)
        raise IndexError(f"Index {index} is out of range.")

    def __len__(self) -> int:
        return sum(map(len, self.datapipes))


@functional_datapipe("zip")
class ZipperMapDataPipe(MapDataPipe[tuple[Any, ...]]):
    """Tuples of one element of each sequence.

    Raises:
        TypeError: they are not all pipes by index with a length.
        ValueError: there is none.
    """

    def __init__(self, *datapipes: MapDataPipe[Any]) -> None:
        self.datapipes = _checked(datapipes)

    def __getitem__(self, index: Any) -> tuple[Any, ...]:
        try:
            return tuple(each[index] for each in self.datapipes)
        except IndexError as error:
            raise IndexError(f"Index {index} is out of range for one of the input MapDataPipes.") from error

    def __len__(self) -> int:
        return min(map(len, self.datapipes))


class ShufflerIterDataPipe(Shuffling[T_co]):
    """The elements of a sequence in an order by chance, as a stream.

    Args:
        datapipe: the elements.
        indices: those that are taken; all from 0 on if left out.
    """

    def __init__(self, datapipe: MapDataPipe[T_co], *, indices: list[Any] | None = None) -> None:
        super().__init__()
        self.datapipe = datapipe
        self.indices = list(range(len(datapipe))) if indices is None else indices
        self._order: list[Any] = self.indices

    def reset(self) -> None:
        """Begin a new order."""
        super().reset()
        if self._enabled:
            self._order = self._random.sample(self.indices, len(self.indices))[::-1]

    def __iter__(self) -> Iterator[T_co]:
        for index in self._order if self._enabled else self.indices:
            yield self.datapipe[index]

    def __len__(self) -> int:
        return len(self.datapipe)


MapDataPipe.register_datapipe_as_function("shuffle", ShufflerIterDataPipe)

Batcher = BatcherMapDataPipe
Concater = ConcaterMapDataPipe
Mapper = MapperMapDataPipe
SequenceWrapper = SequenceWrapperMapDataPipe
Shuffler = ShufflerIterDataPipe
Zipper = ZipperMapDataPipe
