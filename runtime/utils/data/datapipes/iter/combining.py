"""One stream of several."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from runtime.utils.data.datapipes.datapipe import IterDataPipe, length_of
from runtime.utils.data.datapipes.decorators import functional_datapipe


@functional_datapipe("concat")
class ConcaterIterDataPipe(IterDataPipe[Any]):
    """The elements of one stream after those of another.

    Raises:
        TypeError: they are not all streams.
        ValueError: there is none.
    """

    def __init__(self, *datapipes: IterDataPipe[Any]) -> None:
        if not datapipes:
            raise ValueError("Expected at least one DataPipe, but got nothing")
        if not all(isinstance(each, IterDataPipe) for each in datapipes):
            raise TypeError("Expected all inputs to be `IterDataPipe`")
        self.datapipes = datapipes

    def __iter__(self) -> Iterator[Any]:
        for each in self.datapipes:
            yield from each

    def __len__(self) -> int:
        return sum(length_of(each, self) for each in self.datapipes)


@functional_datapipe("mux")
class MultiplexerIterDataPipe(IterDataPipe[Any]):
    """One element of each stream, and again, as long as all have some."""

    def __init__(self, *datapipes: IterDataPipe[Any]) -> None:
        self.datapipes = datapipes

    def __iter__(self) -> Iterator[Any]:
        for row in zip(*map(iter, self.datapipes), strict=False):
            yield from row

    def __len__(self) -> int:
        return min(length_of(each, self) for each in self.datapipes) * len(self.datapipes)


@functional_datapipe("zip")
class ZipperIterDataPipe(IterDataPipe[tuple[Any, ...]]):
    """Tuples of one element of each stream, as long as all have some.

    Raises:
        TypeError: they are not all streams.
    """

    def __init__(self, *datapipes: IterDataPipe[Any]) -> None:
        if not all(isinstance(each, IterDataPipe) for each in datapipes):
            raise TypeError("All inputs are required to be `IterDataPipe` for `ZipIterDataPipe`.")
        self.datapipes = datapipes

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        yield from zip(*map(iter, self.datapipes), strict=False)

    def __len__(self) -> int:
        return min(length_of(each, self) for each in self.datapipes)
