"""Data sets: by index, or as streams."""

from __future__ import annotations

import bisect
import math
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate
from typing import Any, Generic, TypeVar

from runtime import ops
from runtime.base.tensor import Tensor
from runtime.random import Generator, default_generator

__all__ = [
    "ChainDataset",
    "ConcatDataset",
    "Dataset",
    "IterableDataset",
    "StackDataset",
    "Subset",
    "TensorDataset",
    "random_split",
]

T_co = TypeVar("T_co", covariant=True)


class Dataset(Generic[T_co]):
    """Base class of data sets by index: a subclass defines `__getitem__`, and mostly `__len__`.

    One that defines `__getitems__`, of a list of indices, is asked for whole batches.
    """

    def __getitem__(self, index: Any) -> T_co:
        raise NotImplementedError("Subclasses of Dataset should implement __getitem__.")

    def __add__(self, other: Dataset[Any]) -> Dataset[Any]:
        return ConcatDataset([self, other])


class IterableDataset(Dataset[T_co], Iterable[T_co]):
    """Base class of streams: a subclass defines `__iter__`.

    Each worker of a DataLoader iterates over a copy of its own: `get_worker_info` says which part is its part.
    """

    def __iter__(self) -> Iterator[T_co]:
        raise NotImplementedError(f"{type(self).__name__} does not define __iter__")

    def __add__(self, other: Dataset[Any]) -> Dataset[Any]:
        return ChainDataset([self, other])  # type: ignore[list-item]


class TensorDataset(Dataset[tuple[Tensor, ...]]):
    """Rows of Tensors of one length.

    Raises:
        AssertionError: the lengths differ.
    """

    def __init__(self, *tensors: Tensor) -> None:
        if any(len(tensor) != len(tensors[0]) for tensor in tensors):
            raise AssertionError("Size mismatch between tensors")
        self.tensors = tensors

    def __getitem__(self, index: Any) -> tuple[Tensor, ...]:
        return tuple(tensor[index] for tensor in self.tensors)

    def __len__(self) -> int:
        return len(self.tensors[0])


class StackDataset(Dataset[Any]):
    """Samples of several data sets together: tuples, or dicts where they are given by name.

    Raises:
        ValueError: the lengths differ, or there are data sets of both kinds or none.
    """

    def __init__(self, *args: Dataset[Any], **kwargs: Dataset[Any]) -> None:
        if args and kwargs:
            raise ValueError("data sets are given by place, for tuples, or by name, for dicts, but not both")
        if not args and not kwargs:
            raise ValueError("At least one dataset should be passed")
        self.datasets: tuple[Any, ...] | dict[str, Any] = args or kwargs
        members = list(args or kwargs.values())
        self._length = len(members[0])  # type: ignore[arg-type]
        if any(len(member) != self._length for member in members):  # type: ignore[arg-type]
            raise ValueError("Size mismatch between datasets")

    def __getitem__(self, index: Any) -> Any:
        if isinstance(self.datasets, dict):
            return {name: member[index] for name, member in self.datasets.items()}
        return tuple(member[index] for member in self.datasets)

    def __getitems__(self, indices: list[int]) -> list[Any]:
        if isinstance(self.datasets, dict):
            rows = zip(*(_items(member, indices) for member in self.datasets.values()), strict=True)
            return [dict(zip(self.datasets, row, strict=True)) for row in rows]
        return list(zip(*(_items(member, indices) for member in self.datasets), strict=True))

    def __len__(self) -> int:
        return self._length


def _items(dataset: Any, indices: list[int]) -> list[Any]:
    """Several samples, all at once where the data set can.

    Raises:
        ValueError: it gives more or fewer.
    """
    several: Callable[[list[int]], list[Any]] | None = getattr(dataset, "__getitems__", None)
    if not callable(several):
        return [dataset[index] for index in indices]
    items = several(indices)
    if len(items) != len(indices):
        raise ValueError(f"Nested dataset's output size mismatch. Expected {len(indices)}, got {len(items)}")
    return items


class ConcatDataset(Dataset[T_co]):
    """One data set after the other.

    Raises:
        AssertionError: there is none, or one is a stream.
    """

    def __init__(self, datasets: Iterable[Dataset[Any]]) -> None:
        self.datasets = list(datasets)
        if not self.datasets:
            raise AssertionError("datasets should not be an empty iterable")
        if any(isinstance(dataset, IterableDataset) for dataset in self.datasets):
            raise AssertionError("ConcatDataset does not support IterableDataset")
        self.cumulative_sizes = self.cumsum(self.datasets)

    @staticmethod
    def cumsum(sequence: Iterable[Any]) -> list[int]:
        """The sums of the lengths of the members up to each."""
        return list(accumulate(len(member) for member in sequence))

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]

    def __getitem__(self, index: int) -> T_co:
        if index < 0:
            if -index > len(self):
                raise ValueError("absolute value of index should not exceed dataset length")
            index += len(self)
        number = bisect.bisect_right(self.cumulative_sizes, index)
        start = self.cumulative_sizes[number - 1] if number else 0
        sample: T_co = self.datasets[number][index - start]
        return sample


class ChainDataset(IterableDataset[T_co]):
    """One stream after the other.

    Args:
        datasets: streams.

    Raises:
        AssertionError: one is none, which is seen when it is its turn.
    """

    def __init__(self, datasets: Iterable[IterableDataset[Any]]) -> None:
        self.datasets = datasets

    def __iter__(self) -> Iterator[T_co]:
        for dataset in self._checked():
            yield from dataset

    def __len__(self) -> int:
        return sum(len(dataset) for dataset in self._checked())

    def _checked(self) -> Iterator[Any]:
        for dataset in self.datasets:
            if not isinstance(dataset, IterableDataset):
                raise AssertionError("ChainDataset only supports IterableDataset")
            yield dataset


class Subset(Dataset[T_co]):
    """Those samples of a data set that have certain indices.

    Raises:
        NotImplementedError: a subclass defines `__getitem__`, and not `__getitems__`, which a DataLoader calls.
    """

    def __init__(self, dataset: Dataset[T_co], indices: Sequence[int]) -> None:
        self.dataset = dataset
        self.indices = indices
        kind = type(self)
        if kind.__getitem__ is not Subset.__getitem__ and kind.__getitems__ is Subset.__getitems__:
            raise NotImplementedError(
                f"{kind.__name__} overrides __getitem__ but not __getitems__, which a DataLoader calls: define "
                "`__getitems__(self, indices)`, too, as a list of `self[index]`"
            )

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, list):
            return self.dataset[[self.indices[one] for one in index]]
        return self.dataset[self.indices[index]]

    def __getitems__(self, indices: list[int]) -> list[Any]:
        chosen = [self.indices[index] for index in indices]
        several: Callable[[list[int]], list[Any]] | None = getattr(self.dataset, "__getitems__", None)
        return several(chosen) if callable(several) else [self.dataset[index] for index in chosen]

    def __len__(self) -> int:
        return len(self.indices)


def random_split(
    dataset: Dataset[Any], lengths: Sequence[int | float], generator: Generator | None = default_generator
) -> list[Subset[Any]]:
    """Disjoint parts of a data set, by chance.

    Args:
        dataset: a data set by index.
        lengths: of each part; or fractions with the sum 1, where what is left over goes one by one to the first parts.
        generator: the source of random numbers.

    Raises:
        ValueError: the sum of the lengths is not that of the data set, or a fraction is not from 0 to 1.
    """
    size = len(dataset)  # type: ignore[arg-type]
    counts = [int(length) for length in lengths]
    if math.isclose(sum(lengths), 1) and sum(lengths) <= 1:
        for number, part in enumerate(lengths):
            if part < 0 or part > 1:
                raise ValueError(f"Fraction at index {number} is not between 0 and 1")
        counts = [math.floor(size * part) for part in lengths]
        for number in range(size - sum(counts)):
            counts[number % len(counts)] += 1
        for number, count in enumerate(counts):
            if count == 0:
                warnings.warn(
                    f"Length of split at index {number} is 0. This might result in an empty dataset.", stacklevel=2
                )
    elif sum(lengths) != size:
        raise ValueError("Sum of input lengths does not equal the length of the input dataset!")
    order = ops.randperm(size, generator=generator).tolist()
    return [Subset(dataset, order[end - count : end]) for end, count in zip(accumulate(counts), counts, strict=True)]
