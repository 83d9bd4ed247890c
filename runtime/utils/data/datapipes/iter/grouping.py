"""Streams of batches and groups, and of what is in them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

from runtime.utils.data.datapipes.datapipe import DataChunk, IterDataPipe, length_of
from runtime.utils.data.datapipes.decorators import functional_datapipe
from runtime.utils.data.datapipes.functions import check_function


class Batching:
    """What makes batches of a size, of a stream or of a sequence.

    Args:
        datapipe: the elements.
        batch_size: of each batch.
        drop_last: leave the last one out if it is smaller.
        wrapper_class: the class of batches.

    Raises:
        AssertionError: the size is not positive.
    """

    def __init__(
        self,
        datapipe: Any,
        batch_size: int,
        drop_last: bool = False,
        wrapper_class: Callable[[list[Any]], Any] = DataChunk,
    ) -> None:
        if batch_size <= 0:
            raise AssertionError("Batch size is required to be larger than 0!")
        self.datapipe = datapipe
        self.batch_size = batch_size
        self.drop_last = drop_last
        self.wrapper_class = wrapper_class

    def __len__(self) -> int:
        length, size = length_of(self.datapipe, self), self.batch_size
        return length // size if self.drop_last else -(-length // size)


@functional_datapipe("batch")
class BatcherIterDataPipe(Batching, IterDataPipe[DataChunk]):  # type: ignore[type-arg]
    """Batches of a size; see `Batching`."""

    def __iter__(self) -> Iterator[DataChunk]:  # type: ignore[type-arg]
        elements = iter(self.datapipe)
        while batch := list(islice(elements, self.batch_size)):
            if len(batch) == self.batch_size or not self.drop_last:
                yield self.wrapper_class(batch)


@functional_datapipe("unbatch")
class UnBatcherIterDataPipe(IterDataPipe[Any]):
    """What is in batches.

    Args:
        datapipe: the batches.
        unbatch_level: in how many batches it lies; -1 for all.

    Raises:
        ValueError: the level is less than -1.
        IndexError: an element lies in fewer batches.
    """

    def __init__(self, datapipe: IterDataPipe[Any], unbatch_level: int = 1) -> None:
        self.datapipe = datapipe
        self.unbatch_level = unbatch_level

    def __iter__(self) -> Iterator[Any]:
        if self.unbatch_level < -1:
            raise ValueError("unbatch_level must be -1 or >= 0")
        for element in self.datapipe:
            yield from self._within(element, self.unbatch_level)

    def _within(self, element: Any, level: int) -> Iterator[Any]:
        if level == 0 or (level < 0 and not isinstance(element, list)):
            yield element
            return
        if not isinstance(element, list):
            raise IndexError(f"unbatch_level {self.unbatch_level} exceeds the depth of the DataPipe")
        for each in element:
            yield from self._within(each, level - 1 if level > 0 else level)


@functional_datapipe("groupby")
class GrouperIterDataPipe(IterDataPipe[Any]):
    """Groups of elements of one key, each given when it is full, or when too many elements wait.

    Args:
        datapipe: the elements.
        group_key_fn: the key of an element.
        keep_key: whether each group comes with its key.
        buffer_size: how many elements may wait.
        group_size: how many fill a group; without it, groups are given at the end, or when too many wait.
        guaranteed_group_size: how many a group has at least that is given since too many wait.
        drop_remaining: leave smaller ones out then; else there is an error.

    Raises:
        AssertionError: a size is not positive, or larger than the one above it.
        RuntimeError: too many elements wait, and no group is large enough.
    """

    def __init__(
        self,
        datapipe: IterDataPipe[Any],
        group_key_fn: Callable[[Any], Any],
        *,
        keep_key: bool = False,
        buffer_size: int = 10000,
        group_size: int | None = None,
        guaranteed_group_size: int | None = None,
        drop_remaining: bool = False,
    ) -> None:
        check_function(group_key_fn)
        if group_size is not None and not 0 < group_size <= buffer_size:
            raise AssertionError("group_size must be > 0 and <= buffer_size")
        if guaranteed_group_size is not None and (group_size is None or not 0 < guaranteed_group_size <= group_size):
            raise AssertionError("guaranteed_group_size must be > 0 and <= group_size and group_size must be set")
        self.datapipe = datapipe
        self.group_key_fn = group_key_fn
        self.keep_key = keep_key
        self.max_buffer_size = buffer_size
        self.group_size = group_size
        self.guaranteed_group_size = group_size if guaranteed_group_size is None else guaranteed_group_size
        self.drop_remaining = drop_remaining

    def __iter__(self) -> Iterator[Any]:
        waiting: dict[Any, list[Any]] = {}
        count = 0
        for element in self.datapipe:
            key = self.group_key_fn(element)
            group = waiting.setdefault(key, [])
            group.append(element)
            count += 1
            if self.group_size is not None and len(group) == self.group_size:
                yield self._given(key, waiting.pop(key))
                count -= len(group)
            if count == self.max_buffer_size:
                largest = max(waiting, key=lambda each: len(waiting[each]))
                group = waiting.pop(largest)
                count -= len(group)
                if self.guaranteed_group_size is None or len(group) >= self.guaranteed_group_size:
                    yield self._given(largest, group)
                elif not self.drop_remaining:
                    raise RuntimeError("Failed to group items", str(group))
        for key, group in waiting.items():
            yield self._given(key, group)

    def _given(self, key: Any, group: list[Any]) -> Any:
        chunk = DataChunk(group)
        return (key, chunk) if self.keep_key else chunk
