"""`mps`, which is not there: what asks says so, and what computes raises."""

from __future__ import annotations

from gradwright.absent import refusing
from gradwright.cuda import device_count, is_available, manual_seed

__all__ = ["device_count", "is_available", "manual_seed"]

_NEEDS_A_DEVICE = (
    "Event", "compile_shader", "current_allocated_memory", "driver_allocated_memory", "empty_cache", "get_rng_state",
    "recommended_max_memory", "seed", "set_per_process_memory_fraction", "set_rng_state", "synchronize",
)  # fmt: skip
globals().update(
    refusing(_NEEDS_A_DEVICE, __name__, RuntimeError, "Gradwright has no MPS: there is no device of this kind")
)
