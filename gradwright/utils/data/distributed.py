"""A sampler for several processes that each train on a part of the data."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sized

from gradwright.distributed.backends import is_available
from gradwright.distributed.groups import get_rank, get_world_size
from gradwright.utils.data.sampler import Sampler
from runtime import ops
from runtime.random import Generator

__all__ = ["DistributedSampler"]


class DistributedSampler(Sampler[int]):
    """The indices of one of several processes; together they have all, and each has as many.

    Args:
        dataset: what is sampled.
        num_replicas: how many processes there are; by default those of `gradwright.distributed`.
        rank: which one this is, from 0; by default its rank there.
        shuffle: whether the order is by chance; `set_epoch` gives another one.
        seed: of that order, the same in all processes.
        drop_last: leave indices out so that all have as many; otherwise some indices come twice.

    Raises:
        RuntimeError: `num_replicas` or `rank` is not given, and no backend is there that knows them.
        ValueError: `rank` is out of its range, or `init_process_group` was not called.
    """

    def __init__(
        self,
        dataset: Sized,
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
    ) -> None:
        if num_replicas is None or rank is None:
            if not is_available():
                raise RuntimeError("Requires distributed package to be available: give num_replicas and rank")
            num_replicas = get_world_size() if num_replicas is None else num_replicas
            rank = get_rank() if rank is None else rank
        if rank >= num_replicas or rank < 0:
            raise ValueError(f"Invalid rank {rank}, rank should be in the interval [0, {num_replicas - 1}]")
        self.dataset = dataset
        self.num_replicas = num_replicas
        self.rank = rank
        self.epoch = 0
        self.drop_last = drop_last
        part = len(dataset) / num_replicas
        self.num_samples = math.floor(part) if drop_last else math.ceil(part)
        self.total_size = self.num_samples * num_replicas
        self.shuffle = shuffle
        self.seed = seed

    def __iter__(self) -> Iterator[int]:
        size = len(self.dataset)
        indices = list(range(size))
        if self.shuffle:
            generator = Generator().manual_seed(self.seed + self.epoch)
            indices = ops.randperm(size, generator=generator).tolist()
        if not self.drop_last and indices:
            indices *= math.ceil(self.total_size / size)
        return iter(indices[self.rank : self.total_size : self.num_replicas])

    def __len__(self) -> int:
        return self.num_samples

    def set_epoch(self, epoch: int) -> None:
        """Choose the order of an epoch."""
        self.epoch = epoch
