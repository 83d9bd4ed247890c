"""Settings of all pipes that a pipe is made of: whether they shuffle, their seeds, and which part they take."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Iterator
from typing import Any

from runtime.random import Generator
from runtime.utils.data.datapipes.datapipe import IterDataPipe, MapDataPipe
from runtime.utils.data.datapipes.iter.ordering import ShufflerIterDataPipe
from runtime.utils.data.datapipes.iter.sharding import SHARDING_PRIORITIES
from runtime.utils.data.sampler import random_seed

__all__ = ["all_pipes", "apply_random_seed", "apply_sharding", "apply_shuffle_settings"]


def _sources(value: Any) -> Iterator[Any]:
    """The pipes in a value: itself, or those in a container."""
    if isinstance(value, (IterDataPipe, MapDataPipe)):
        yield value
    elif isinstance(value, (list, tuple, set)):
        for each in value:
            yield from _sources(each)
    elif isinstance(value, dict):
        for each in value.values():
            yield from _sources(each)


def sources_of(pipe: Any) -> Iterator[Any]:
    """The pipes that a pipe has in its attributes."""
    yield from _sources(vars(pipe))


def all_pipes(pipe: Any) -> list[Any]:
    """A pipe and all that it is made of, each once, every pipe before those that it is made of."""
    found: dict[int, Any] = {}

    def visit(each: Any) -> None:
        if id(each) not in found:
            found[id(each)] = each
            for source in sources_of(each):
                visit(source)

    visit(pipe)
    return list(found.values())


def _has_methods(pipe: Any, *names: str) -> bool:
    return all(inspect.ismethod(getattr(pipe, name, None)) for name in names)


def apply_shuffle_settings(datapipe: Any, shuffle: bool | None = None) -> Any:
    """Turn shuffling on or off in a pipe; where nothing in it shuffles and it should, one that does is returned."""
    if shuffle is None:
        return datapipe
    shufflers = [each for each in all_pipes(datapipe) if _has_methods(each, "set_shuffle", "set_seed")]
    if shuffle and not shufflers:
        warnings.warn(
            "`shuffle=True` was set, but the datapipe does not contain a `Shuffler`. Adding one at the end. Be aware "
            "that the default buffer size might not be sufficient for your task.",
            UserWarning,
            stacklevel=3,
        )
        datapipe = ShufflerIterDataPipe(datapipe)
        shufflers = [datapipe]
    for each in shufflers:
        each.set_shuffle(shuffle)
    return datapipe


def apply_random_seed(datapipe: Any, rng: Generator) -> Any:
    """Give all pipes that go by chance seeds of a generator."""
    for each in all_pipes(datapipe):
        if _has_methods(each, "set_seed"):
            each.set_seed(random_seed(rng))
    return datapipe


def apply_sharding(
    datapipe: Any,
    num_of_instances: int,
    instance_id: int,
    sharding_group: SHARDING_PRIORITIES = SHARDING_PRIORITIES.DEFAULT,
) -> Any:
    """Let a pipe take the part of one process.

    Raises:
        RuntimeError: what is divided would be divided once more.
    """

    def visit(pipe: Any, divided: Any) -> None:
        if _has_methods(pipe, "apply_sharding"):
            if divided is not None:
                raise RuntimeError(
                    "Sharding twice on a single pipeline is likely unintended and will cause data loss. Sharding "
                    f"already applied to {divided} while trying to apply to {pipe}"
                )
            divided = pipe
            if len(inspect.signature(pipe.apply_sharding).parameters) < 3:
                pipe.apply_sharding(num_of_instances, instance_id)
            else:
                pipe.apply_sharding(num_of_instances, instance_id, sharding_group=sharding_group)
        for source in sources_of(pipe):
            visit(source, divided)

    visit(datapipe, None)
    return datapipe
