"""Several streams of one: each with all elements, or each with its own."""

from __future__ import annotations

import copy
import warnings
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, Literal

from runtime.utils.data.datapipes.datapipe import IterDataPipe, length_of
from runtime.utils.data.datapipes.decorators import functional_datapipe
from runtime.utils.data.datapipes.functions import check_function


class _Source:
    """The stream that the parts share, and what waits for each of them.

    A round begins when a part that is in it already begins again; then all parts start from the beginning.
    """

    def __init__(self, pipe: IterDataPipe[Any], count: int, buffer_size: int) -> None:
        self.pipe = pipe
        self.count = count
        self.buffer_size = buffer_size
        self.number: int | None = None
        self.clear()
        if buffer_size < 0:
            warnings.warn(
                "Unlimited buffer size is set, please be aware of OOM at random places", UserWarning, stacklevel=4
            )

    def clear(self) -> None:
        """Forget all that was read."""
        self.elements: Iterator[Any] | None = None
        self.has_ended = False
        self.waiting: list[deque[Any]] = [deque() for _ in range(self.count)]
        self.open = [False] * self.count

    def begin(self, part: _ChildDataPipe) -> int:
        """Let a part begin; the number of its round."""
        if self.number is None:
            self.number = 0
        elif self.number == part._valid_iterator_id:
            self.number += 1
            if not (self.has_ended and not any(self.open)):
                warnings.warn(
                    "Some child DataPipes are not exhausted when __iter__ is called. We are resetting the buffer and "
                    "each child DataPipe will read from the start again.",
                    UserWarning,
                    stacklevel=5,
                )
            self.clear()
        return self.number

    def part(self, place: int) -> Iterator[Any]:
        """The elements of a part."""
        if self.elements is None and not self.has_ended:
            self.elements = iter(self.pipe)
            self.open = [True] * self.count
        number = self.number
        try:
            while self.open[place] and number == self.number:
                if self.waiting[place]:
                    yield self.waiting[place].popleft()
                elif self.elements is None or not self._read():
                    return
        finally:
            if number == self.number:
                self.open[place] = False
                self.waiting[place].clear()

    def _read(self) -> bool:
        """Read one element for those that it is for; False at the end."""
        assert self.elements is not None
        try:
            element = next(self.elements)
        except StopIteration:
            self.elements, self.has_ended = None, True
            return False
        self.put(element)
        return True

    def put(self, element: Any) -> None:
        """Let an element wait for those that it is for."""
        raise NotImplementedError

    def length(self) -> int:
        """The length of a part."""
        raise NotImplementedError

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "elements": None, "waiting": None, "open": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self.clear()


class _ChildDataPipe(IterDataPipe[Any]):
    """One of the streams."""

    def __init__(self, source: _Source, place: int) -> None:
        self.source = source
        self.main_datapipe = source.pipe
        self.instance_id = place

    def __iter__(self) -> Iterator[Any]:
        return _Late(self)

    def __len__(self) -> int:
        return self.source.length()

    def _begin_round(self) -> int:
        self._valid_iterator_id = self.source.begin(self)
        return self._valid_iterator_id

    def _is_in_round(self, number: int) -> bool:
        return number == self._valid_iterator_id == self.source.number


class _Late:
    """The elements of a part, asked for after its round has begun."""

    def __init__(self, part: _ChildDataPipe) -> None:
        self._part = part
        self._elements: Iterator[Any] | None = None

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        if self._elements is None:
            self._elements = self._part.source.part(self._part.instance_id)
        return next(self._elements)


class _Forked(_Source):
    """Every element for all."""

    def __init__(
        self, pipe: IterDataPipe[Any], count: int, buffer_size: int, copied: Callable[[Any], Any] | None
    ) -> None:
        super().__init__(pipe, count, buffer_size)
        self.copied = copied

    def put(self, element: Any) -> None:
        for place, waiting in enumerate(self.waiting):
            if self.open[place]:
                waiting.append(element if self.copied is None else self.copied(element))
        if 0 <= self.buffer_size < max(map(len, self.waiting)):
            raise BufferError(f"ForkerIterDataPipe buffer overflow, buffer size {self.buffer_size} is insufficient.")

    def length(self) -> int:
        return length_of(self.pipe, self)


class _Divided(_Source):
    """Each element for the one that a function says."""

    def __init__(
        self,
        pipe: IterDataPipe[Any],
        count: int,
        buffer_size: int,
        classifier: Callable[[Any], int | None],
        drop_none: bool,
    ) -> None:
        super().__init__(pipe, count, buffer_size)
        self.classifier = classifier
        self.drop_none = drop_none

    def put(self, element: Any) -> None:
        place = self.classifier(element)
        if place is None and self.drop_none:
            return
        if place is None or not 0 <= place < self.count:
            raise ValueError(
                f"Output of the classification fn should be between 0 and {self.count - 1}. {place} is returned."
            )
        self.waiting[place].append(element)
        if 0 <= self.buffer_size < sum(map(len, self.waiting)) - 1:
            raise BufferError(
                f"DemultiplexerIterDataPipe buffer overflow, buffer size {self.buffer_size} is insufficient."
            )

    def length(self) -> int:
        raise TypeError("the streams of `demux` have no length")


@functional_datapipe("fork")
class ForkerIterDataPipe(IterDataPipe[Any]):
    """Several streams with the elements of one, which is read once.

    Args:
        datapipe: the elements.
        num_instances: how many streams.
        buffer_size: how many elements one may be behind another; -1 for any.
        copy: whether each gets a "shallow" or a "deep" copy of its own.

    Raises:
        BufferError: one is further behind.
        ValueError: there is to be no stream, or copies of another kind.
    """

    def __new__(
        cls,
        datapipe: IterDataPipe[Any],
        num_instances: int,
        buffer_size: int = 1000,
        copy: Literal["shallow", "deep"] | None = None,
    ) -> Any:
        """The streams; of one, the pipe itself."""
        _check_count(num_instances)
        if num_instances == 1:
            return datapipe
        if copy not in _COPIES:
            raise ValueError(f"Unknown copy method `{copy}` requested, choose one of None, `shallow` or `deep`.")
        source = _Forked(datapipe, num_instances, buffer_size, _COPIES[copy])
        return [_ChildDataPipe(source, place) for place in range(num_instances)]


_COPIES: dict[str | None, Callable[[Any], Any] | None] = {None: None, "shallow": copy.copy, "deep": copy.deepcopy}


@functional_datapipe("demux")
class DemultiplexerIterDataPipe(IterDataPipe[Any]):
    """Several streams, among which the elements of one are divided.

    Args:
        datapipe: the elements.
        num_instances: how many streams.
        classifier_fn: the number of the stream that an element is for.
        drop_none: leave those out that it says None of.
        buffer_size: how many elements may wait; -1 for any.

    Raises:
        BufferError: more wait.
        ValueError: there is to be no stream, or there is none of a number.
    """

    def __new__(
        cls,
        datapipe: IterDataPipe[Any],
        num_instances: int,
        classifier_fn: Callable[[Any], int | None],
        drop_none: bool = False,
        buffer_size: int = 1000,
    ) -> Any:
        """The streams."""
        _check_count(num_instances)
        check_function(classifier_fn)
        source = _Divided(datapipe, num_instances, buffer_size, classifier_fn, drop_none)
        return [_ChildDataPipe(source, place) for place in range(num_instances)]


def _check_count(count: int) -> None:
    if count < 1:
        raise ValueError(f"Expected `num_instances` larger than 0, but {count} is found")
