"""Memory that processes share: a forked one sees what another writes, and files that are mapped into memory."""

from __future__ import annotations

import mmap
import os
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


def bytes_of_file(path: str, count: int, shared: bool) -> np.ndarray[Any, Any]:
    """The first bytes of a file as memory.

    Args:
        path: of the file; where it is shared and there is none, it is made.
        count: how many bytes; a shared file that is shorter becomes as long.
        shared: whether writes go to the file.

    Raises:
        RuntimeError: it cannot be opened or mapped, or is too short.
    """
    mode = "read-write" if shared else "read-only"
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT if shared else os.O_RDONLY, 0o666)
    except OSError as error:
        raise RuntimeError(f"unable to open file <{path}> in {mode} mode: {error.strerror} ({error.errno})") from None
    try:
        size = os.fstat(handle).st_size
        if count < 0:
            raise RuntimeError(f"unable to mmap {count} bytes from file <{path}>")
        if count > size:
            if not shared:
                raise RuntimeError(f"file <{path}> size <{size}> is smaller than the required mapping size <{count}>")
            os.ftruncate(handle, count)
        if not count:
            return np.empty(0, np.uint8)
        pages: mmap.mmap = SharedMemory(handle, count) if shared else mmap.mmap(handle, count, access=mmap.ACCESS_COPY)
    finally:
        os.close(handle)
    return np.frombuffer(pages, np.uint8)
