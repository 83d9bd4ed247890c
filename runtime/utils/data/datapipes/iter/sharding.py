"""The part of a stream that one process of several takes."""

from __future__ import annotations

from collections.abc import Iterator
from enum import IntEnum
from itertools import islice
from typing import Any

from runtime.utils.data.datapipes.datapipe import IterDataPipe, length_of
from runtime.utils.data.datapipes.decorators import functional_datapipe


class SHARDING_PRIORITIES(IntEnum):
    """Among what processes a stream is divided: machines first, then the workers of each."""

    DEFAULT = 1
    DISTRIBUTED = 2
    MULTIPROCESSING = 3


@functional_datapipe("sharding_filter")
class ShardingFilterIterDataPipe(IterDataPipe[Any]):
    """Each n-th element, where a DataLoader has n workers: another one in each; all, where nothing is divided.

    Args:
        source_datapipe: the elements.
        sharding_group_filter: divide among these processes only.
    """

    def __init__(
        self, source_datapipe: IterDataPipe[Any], sharding_group_filter: SHARDING_PRIORITIES | None = None
    ) -> None:
        self.source_datapipe = source_datapipe
        self.sharding_group_filter = sharding_group_filter
        self.groups: dict[int, tuple[int, int]] = {}
        self.num_of_instances, self.instance_id = 1, 0

    def apply_sharding(
        self,
        num_of_instances: int,
        instance_id: int,
        sharding_group: SHARDING_PRIORITIES = SHARDING_PRIORITIES.DEFAULT,
    ) -> None:
        """Take the part of one process.

        Raises:
            RuntimeError: a group stands beside the default one.
            ValueError: there are fewer processes.
        """
        if instance_id >= num_of_instances:
            raise ValueError(f"instance_id({instance_id}) should be smaller than num_of_instances({num_of_instances})")
        groups = {*self.groups, sharding_group}
        if SHARDING_PRIORITIES.DEFAULT in groups and len(groups) > 1:
            raise RuntimeError("ShardingFilter cannot mix DEFAULT and non DEFAULT groups")
        self.groups[sharding_group] = num_of_instances, instance_id
        self.num_of_instances, self.instance_id = 1, 0
        for group in sorted(self.groups, reverse=True):
            if self.sharding_group_filter in (None, group):
                count, place = self.groups[group]
                self.instance_id += self.num_of_instances * place
                self.num_of_instances *= count

    def __iter__(self) -> Iterator[Any]:
        yield from islice(self.source_datapipe, self.instance_id, None, self.num_of_instances)

    def __len__(self) -> int:
        return len(range(self.instance_id, length_of(self.source_datapipe, self), self.num_of_instances))
