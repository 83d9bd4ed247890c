"""`xpu`, which is not there: what asks says so, what frees or seeds does nothing, and what computes raises."""

from __future__ import annotations

from gradwright.absent import refusing
from gradwright.cuda import (
    device,
    device_count,
    device_of,
    empty_cache,
    get_arch_list,
    get_gencode_flags,
    get_rng_state_all,
    is_available,
    is_bf16_supported,
    is_initialized,
    is_tf32_supported,
    manual_seed,
    manual_seed_all,
    max_memory_allocated,
    max_memory_reserved,
    memory_allocated,
    memory_reserved,
    memory_stats,
    seed,
    seed_all,
)

__all__ = [
    "device",
    "device_count",
    "device_of",
    "empty_cache",
    "get_arch_list",
    "get_gencode_flags",
    "get_rng_state_all",
    "is_available",
    "is_bf16_supported",
    "is_initialized",
    "is_tf32_supported",
    "manual_seed",
    "manual_seed_all",
    "max_memory_allocated",
    "max_memory_reserved",
    "memory_allocated",
    "memory_reserved",
    "memory_stats",
    "seed",
    "seed_all",
]

_NEEDS_A_DEVICE = (
    "Event", "Stream", "current_device", "current_stream", "get_device_capability", "get_device_name",
    "get_device_properties", "get_rng_state", "init", "initial_seed", "mem_get_info", "set_device", "set_rng_state",
    "set_stream", "synchronize",
)  # fmt: skip
globals().update(
    refusing(_NEEDS_A_DEVICE, __name__, AssertionError, "Gradwright has no XPU: Torch not compiled with XPU enabled")
)
