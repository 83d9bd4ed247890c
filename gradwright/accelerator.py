"""The accelerator that programs ask for without a name: there is none."""

from __future__ import annotations

from gradwright.absent import refusing
from gradwright.cuda import device_count, is_available
from runtime.base.types import Device

__all__ = ["current_accelerator", "device_count", "is_available"]


def current_accelerator(check_available: bool = False) -> Device | None:
    """The device of the accelerator: None."""
    return None


_NEEDS_A_DEVICE = (
    "current_device_idx", "current_device_index", "current_stream", "empty_cache", "empty_host_cache",
    "get_device_capability", "get_memory_info", "max_memory_allocated", "max_memory_reserved", "memory_allocated",
    "memory_reserved", "memory_stats", "reset_accumulated_memory_stats", "reset_peak_memory_stats", "set_device_idx",
    "set_device_index", "set_stream", "synchronize",
)  # fmt: skip
globals().update(
    refusing(_NEEDS_A_DEVICE, __name__, RuntimeError, "Cannot access accelerator device when none is available.")
)
