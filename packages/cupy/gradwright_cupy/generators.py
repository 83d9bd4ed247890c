"""The sources of random numbers, one for each GPU, and their seeds."""

from __future__ import annotations

import secrets
from typing import Any, ClassVar

import cupy

_FIRST_SEED = 0


class _State:
    everywhere = _FIRST_SEED  # of GPUs that were not named
    seeds: ClassVar[dict[int, int]] = {}
    sources: ClassVar[dict[int, Any]] = {}


def _index() -> int:
    return int(cupy.cuda.runtime.getDevice())


def current() -> Any:
    """What draws on the current GPU."""
    index = _index()
    if index not in _State.sources:
        _State.sources[index] = cupy.random.Generator(cupy.random.Philox4x3210(initial_seed()))
    return _State.sources[index]


def initial_seed() -> int:
    """The seed that the numbers of the current GPU started from."""
    return _State.seeds.get(_index(), _State.everywhere)


def manual_seed(seed: int) -> None:
    """Start the numbers of the current GPU again from a seed."""
    _State.seeds[_index()] = int(seed) % 2**64
    _State.sources.pop(_index(), None)


def manual_seed_all(seed: int) -> None:
    """Start the numbers of all GPUs again from a seed."""
    _State.everywhere = int(seed) % 2**64
    _State.seeds.clear()
    _State.sources.clear()


def seed() -> None:
    """Start the numbers of the current GPU again from an unforeseeable seed."""
    manual_seed(secrets.randbits(53))


def seed_all() -> None:
    """Start the numbers of all GPUs again from an unforeseeable seed."""
    manual_seed_all(secrets.randbits(53))
