"""Where the time goes: profiles of operators and of the Nodes of a backward, with PyTorch's names."""

from __future__ import annotations

from gradwright.autograd.profiler.event_list import EventList
from gradwright.autograd.profiler.events import DeviceType, FunctionEvent, FunctionEventAvg, Interval, Kernel
from gradwright.autograd.profiler.external import emit_itt, emit_nvtx
from gradwright.autograd.profiler.nvprof import EnforceUnique, load_nvprof, parse_nvprof_trace
from gradwright.autograd.profiler.session import profile, record_function

__all__ = [
    "DeviceType",
    "EnforceUnique",
    "EventList",
    "FunctionEvent",
    "FunctionEventAvg",
    "Interval",
    "Kernel",
    "emit_itt",
    "emit_nvtx",
    "load_nvprof",
    "parse_nvprof_trace",
    "profile",
    "record_function",
]
