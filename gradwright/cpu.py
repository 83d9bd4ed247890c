"""The one device that there is, asked as devices are: it is always there, and has done what it was told to."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

__all__ = [
    "Stream",
    "current_device",
    "current_stream",
    "device_count",
    "is_available",
    "is_initialized",
    "set_device",
    "stream",
    "synchronize",
]


class Stream:
    """The order in which the CPU works: that of the program."""

    def __init__(self, priority: int = -1) -> None:
        pass

    def synchronize(self) -> None:
        """Wait until the work is done, as it is."""


_stream = Stream()


def is_available() -> bool:
    """Whether there is a CPU: yes."""
    return True


def is_initialized() -> bool:
    """Whether it was used: yes."""
    return True


def synchronize(device: Any = None) -> None:
    """Wait until the work is done, as it is."""


def current_device() -> str:
    """The name of the device."""
    return "cpu"


def current_stream(device: Any = None) -> Stream:
    """The stream of this thread."""
    return _stream


def stream(stream: Stream) -> AbstractContextManager[None]:
    """A block whose work goes to a stream; there is one order only."""
    return nullcontext()


def set_device(device: Any) -> None:
    """Choose a CPU: there is one."""


def device_count() -> int:
    """The number of devices: 1."""
    return 1
