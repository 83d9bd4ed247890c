"""Whether automatic casting is on, by the kind of device; for each thread."""

from __future__ import annotations

from runtime.base import dtypes
from runtime.base.dtypes import dtype as DType
from runtime.base.threads import ThreadState
from runtime.base.types import Device

__all__ = [
    "autocast_decrement_nesting",
    "autocast_increment_nesting",
    "clear_autocast_cache",
    "get_autocast_dtype",
    "is_autocast_cache_enabled",
    "is_autocast_enabled",
    "set_autocast_cache_enabled",
    "set_autocast_dtype",
]


ACCELERATORS = ("cuda", "hpu", "ipu", "maia", "mps", "mtia", "privateuseone", "xla", "xpu")
_BFLOAT16 = ("cpu", "hpu", "maia", "xla")


class _State(ThreadState):
    def __init__(self) -> None:
        self.enabled: dict[str, bool] = {}
        self.dtypes: dict[str, DType] = {}
        self.nesting = 0
        self.cache = True


state = _State()


def known_device(device_type: str) -> str:
    """The kind of device, which may be one that is not there.

    Raises:
        RuntimeError: there is none of that name, or nothing is cast for it.
        TypeError: it is no string.
    """
    if not isinstance(device_type, str):
        raise TypeError(f"argument 'device_type' must be str, not {type(device_type).__name__}")
    name = device_type.partition(":")[0]
    if name in ACCELERATORS:
        return name
    if (name := Device(device_type).type) == "meta":
        raise RuntimeError("there is no autocast for the device type 'meta'")
    return name


def is_autocast_enabled(device_type: str = "cuda") -> bool:
    """Whether operators on a kind of device are cast."""
    return state.enabled.get(known_device(device_type), False)


def get_autocast_dtype(device_type: str) -> DType:
    """The dtype that they are cast to."""
    name = known_device(device_type)
    return state.dtypes.get(name, dtypes.bfloat16 if name in _BFLOAT16 else dtypes.float16)


def set_autocast_dtype(device_type: str, dtype: DType) -> None:
    """Choose it for blocks that name none."""
    if not isinstance(dtype, DType):
        raise TypeError(f"set_autocast_dtype(): argument 'dtype' must be a dtype, not {type(dtype).__name__}")
    state.dtypes[known_device(device_type)] = dtype


def is_autocast_cache_enabled() -> bool:
    """Whether casts of parameters may be kept for a block; none are, which changes no result."""
    return state.cache


def set_autocast_cache_enabled(enabled: bool) -> None:
    """Allow it."""
    if not isinstance(enabled, bool):
        raise TypeError(f"enabled must be a bool (got {type(enabled).__name__})")
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
