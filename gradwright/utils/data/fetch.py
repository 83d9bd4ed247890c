"""How a batch is made of indices: by index, or from a stream."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from gradwright.utils.data.dataset import IterableDataset


@dataclass(frozen=True)
class Recipe:
    """What makes a batch of indices.

    Attributes:
        dataset: where samples come from.
        is_batched: whether an index is a list of indices, of one batch.
        collate: makes a batch of a list of samples; of one sample, where `is_batched` is not set.
        drop_last: leave the end of a stream out that fills no batch.
    """

    dataset: Any
    is_batched: bool
    collate: Callable[[Any], Any]
    drop_last: bool

    @property
    def is_stream(self) -> bool:
        """Whether indices say no more than how many samples come."""
        return isinstance(self.dataset, IterableDataset)

    def start(self) -> Callable[[Any], Any]:
        """A function that makes the batch of an index; it raises StopIteration at the end of a stream."""
        return self._of_stream() if self.is_stream else self._of_indices

    def _of_indices(self, index: Any) -> Any:
        if not self.is_batched:
            return self.collate(self.dataset[index])
        several = getattr(self.dataset, "__getitems__", None)
        return self.collate(several(index) if several else [self.dataset[one] for one in index])

    def _of_stream(self) -> Callable[[Any], Any]:
        samples = iter(self.dataset)

        def fetch(index: Any) -> Any:
            if not self.is_batched:
                return self.collate(next(samples))
            batch = [sample for _, sample in zip(index, samples, strict=False)]
            if not batch or (self.drop_last and len(batch) < len(index)):
                raise StopIteration
            return self.collate(batch)

        return fetch
