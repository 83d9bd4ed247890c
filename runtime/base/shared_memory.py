"""Memory that processes share: a forked one sees what another writes."""

from __future__ import annotations

import mmap
from typing import Any

import numpy as np

from runtime.base.memory import owner_of


class SharedMemory(mmap.mmap):
    """Pages whose writes other processes see, by which memory is known to be shared."""


def shared_bytes(count: int) -> np.ndarray[Any, Any]:
    """New memory that forked processes share."""
    return np.frombuffer(SharedMemory(-1, count), np.uint8) if count else np.empty(0, np.uint8)


def is_shared(array: np.ndarray[Any, Any]) -> bool:
    """Whether an array lies in memory that forked processes share."""
    base = owner_of(array).base
    return isinstance(base, memoryview) and isinstance(base.obj, SharedMemory)
