"""Pipes that are streams."""

from __future__ import annotations

from runtime.utils.data.datapipes.iter.combining import ConcaterIterDataPipe as Concater
from runtime.utils.data.datapipes.iter.combining import MultiplexerIterDataPipe as Multiplexer
from runtime.utils.data.datapipes.iter.combining import ZipperIterDataPipe as Zipper
from runtime.utils.data.datapipes.iter.elements import CollatorIterDataPipe as Collator
from runtime.utils.data.datapipes.iter.elements import FilterIterDataPipe as Filter
from runtime.utils.data.datapipes.iter.elements import IterableWrapperIterDataPipe as IterableWrapper
from runtime.utils.data.datapipes.iter.elements import MapperIterDataPipe as Mapper
from runtime.utils.data.datapipes.iter.grouping import BatcherIterDataPipe as Batcher
from runtime.utils.data.datapipes.iter.grouping import GrouperIterDataPipe as Grouper
from runtime.utils.data.datapipes.iter.grouping import UnBatcherIterDataPipe as UnBatcher
from runtime.utils.data.datapipes.iter.ordering import SamplerIterDataPipe as Sampler
from runtime.utils.data.datapipes.iter.ordering import ShufflerIterDataPipe as Shuffler
from runtime.utils.data.datapipes.iter.sharding import ShardingFilterIterDataPipe as ShardingFilter
from runtime.utils.data.datapipes.iter.splitting import DemultiplexerIterDataPipe as Demultiplexer
from runtime.utils.data.datapipes.iter.splitting import ForkerIterDataPipe as Forker

__all__ = [
    "Batcher",
    "Collator",
    "Concater",
    "Demultiplexer",
    "Filter",
    "Forker",
    "Grouper",
    "IterableWrapper",
    "Mapper",
    "Multiplexer",
    "Sampler",
    "ShardingFilter",
    "Shuffler",
    "UnBatcher",
    "Zipper",
]
