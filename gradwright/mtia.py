"""`mtia`, which is not there: what asks says so, and what computes raises."""

from __future__ import annotations

from gradwright.absent import refusing
from gradwright.cuda import (
    device_count,
    get_rng_state_all,
    is_available,
    is_initialized,
    manual_seed,
    manual_seed_all,
    max_memory_allocated,
    memory_allocated,
    memory_stats,
    seed,
    seed_all,
)

__all__ = [
    "device_count",
    "get_rng_state_all",
    "is_available",
    "is_initialized",
    "manual_seed",
    "manual_seed_all",
    "max_memory_allocated",
    "memory_allocated",
    "memory_stats",
    "seed",
    "seed_all",
]

_NEEDS_A_DEVICE = (
    "current_device", "current_stream", "default_stream", "empty_cache", "get_device_capability",
    "get_device_properties", "set_device", "set_rng_state", "set_stream",
    "snapshot", "stream", "synchronize",
)  # fmt: skip
globals().update(
    refusing(_NEEDS_A_DEVICE, __name__, RuntimeError, "Gradwright has no MTIA: there is no device of this kind")
)
globals().update(
    refusing(
        ("get_rng_state", "init", "initial_seed"),
        __name__,
        AssertionError,
        "Gradwright has no MTIA: Torch not compiled with MTIA enabled",
    )
)
