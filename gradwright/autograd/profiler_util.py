"""The parts that profiles are made of, under the name of PyTorch's module for them."""

from __future__ import annotations

from gradwright.autograd.profiler.event_list import EventList
from gradwright.autograd.profiler.events import (
    MEMORY_EVENT_NAME,
    DeviceType,
    FunctionEvent,
    FunctionEventAvg,
    Interval,
    Kernel,
)

__all__ = ["MEMORY_EVENT_NAME", "DeviceType", "EventList", "FunctionEvent", "FunctionEventAvg", "Interval", "Kernel"]
