"""Whether automatic casting is on, by the kind of device; for each thread."""

from __future__ import annotations

import threading

from runtime.base import dtypes
from runtime.base.dtypes import dtype as DType

__all__ = [
    "autocast_decrement_nesting",
    "autocast_increment_nesting",
    "clear_autocast_cache",
    "get_autocast_cpu_dtype",
    "get_autocast_dtype",
    "get_autocast_gpu_dtype",
    "is_autocast_cache_enabled",
    "is_autocast_cpu_enabled",
    "is_autocast_enabled",
    "set_autocast_cache_enabled",
    "set_autocast_cpu_dtype",
    "set_autocast_dtype",
    "set_autocast_gpu_dtype",
]


class _State(threading.local):
    def __init__(self) -> None:
        self.enabled: dict[str, bool] = {}
        self.dtypes: dict[str, DType] = {}
        self.nesting = 0
        self.cache = True


state = _State()


def is_autocast_enabled(device_type: str = "cuda") -> bool:
    """Whether operators on a kind of device are cast."""
    return state.enabled.get(device_type, False)


def is_autocast_cpu_enabled() -> bool:
    """Whether operators on the CPU are cast."""
    return is_autocast_enabled("cpu")


def get_autocast_dtype(device_type: str) -> DType:
    """The dtype that they are cast to."""
    return state.dtypes.get(device_type, dtypes.bfloat16 if device_type in ("cpu", "xla") else dtypes.float16)


def set_autocast_dtype(device_type: str, dtype: DType) -> None:
    """Choose it for blocks that name none."""
    state.dtypes[device_type] = dtype


def get_autocast_cpu_dtype() -> DType:
    """The dtype that operators on the CPU are cast to."""
    return get_autocast_dtype("cpu")


def get_autocast_gpu_dtype() -> DType:
    """The dtype that operators on CUDA devices would be cast to."""
    return get_autocast_dtype("cuda")


def set_autocast_cpu_dtype(dtype: DType) -> None:
    """Choose it for the CPU."""
    set_autocast_dtype("cpu", dtype)


def set_autocast_gpu_dtype(dtype: DType) -> None:
    """Choose it for CUDA devices."""
    set_autocast_dtype("cuda", dtype)


def is_autocast_cache_enabled() -> bool:
    """Whether casts of parameters may be kept for a block; none are, which changes no result."""
    return state.cache


def set_autocast_cache_enabled(enabled: bool) -> None:
    """Allow it."""
    state.cache = enabled


def autocast_increment_nesting() -> int:
    """Count a block that begins."""
    state.nesting += 1
    return state.nesting


def autocast_decrement_nesting() -> int:
    """Count a block that ends."""
    state.nesting -= 1
    return state.nesting


def clear_autocast_cache() -> None:
    """Forget casts that were kept: none were."""
