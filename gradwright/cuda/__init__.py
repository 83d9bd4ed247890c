"""`cuda`, which is not there: what asks says so, what frees or seeds does nothing, and what computes raises."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Never

from gradwright.absent import refusing
from gradwright.cuda import amp as amp
from runtime.base.errors import AcceleratorError as AcceleratorError
from runtime.base.errors import OutOfMemoryError as OutOfMemoryError

NOT_BUILT = "Gradwright has no CUDA: Torch not compiled with CUDA enabled"
default_generators: tuple[Never, ...] = ()
has_half = True
has_magma = False


class CudaError(RuntimeError):
    """An error of a CUDA device."""


def is_available() -> bool:
    """Whether there is a device: no."""
    return False


def is_initialized() -> bool:
    """Whether a device was used: no."""
    return False


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Whether a device computes with bfloat16: there is none."""
    return False


def is_tf32_supported() -> bool:
    """Whether a device computes with TF32: there is none."""
    return False


def device_count() -> int:
    """The number of devices: 0."""
    return 0


def get_arch_list() -> list[str]:
    """The architectures that there is code for: none."""
    return []


def get_gencode_flags() -> str:
    """The flags of the compiler for them: none."""
    return ""


def manual_seed(seed: int) -> None:
    """Set the seed of the current device: there is none to set it for."""


manual_seed_all = manual_seed


def seed() -> None:
    """Set a random seed for the current device: there is none to set it for."""


seed_all = seed


def get_rng_state_all() -> list[Any]:
    """The states of the generators of all devices: none."""
    return []


def set_rng_state_all(new_states: Iterable[Any]) -> None:
    """Set the states of the generators of all devices.

    Raises:
        AssertionError: there are states, but no devices.
    """
    if list(new_states):
        raise AssertionError(NOT_BUILT)


def empty_cache() -> None:
    """Give unused memory of devices back: there is none."""


def memory_allocated(device: Any = None) -> int:
    """The bytes of a device that are used: 0."""
    return 0


max_memory_allocated = max_memory_reserved = max_memory_cached = memory_reserved = memory_cached = memory_allocated


def memory_stats(device: Any = None) -> OrderedDict[str, Any]:
    """What is known of a device's memory: nothing."""
    return OrderedDict()


class device:
    """The current device in a `with` block; without devices a block like any other."""

    def __init__(self, device: Any) -> None:
        self.idx = device

    def __enter__(self) -> None:
        pass

    def __exit__(self, *error: object) -> None:
        pass


device_of = device


def stream(stream: Any) -> AbstractContextManager[None]:
    """A block whose work goes to a stream; without one, a block like any other."""
    if stream is not None:
        raise AssertionError(NOT_BUILT)
    return nullcontext()


_NEEDS_A_DEVICE = (
    "CUDAGraph", "Event", "ExternalStream", "MemPool", "Stream", "can_device_access_peer", "cudart",
    "current_blas_handle", "current_device", "current_stream", "default_stream", "get_allocator_backend",
    "get_device_capability", "get_device_name", "get_device_properties", "get_per_process_memory_fraction",
    "get_rng_state", "get_sync_debug_mode", "graph", "init", "initial_seed", "ipc_collect",
    "make_graphed_callables", "mem_get_info", "memory_snapshot", "memory_summary",
    "reset_accumulated_memory_stats", "reset_max_memory_allocated", "reset_max_memory_cached",
    "reset_peak_memory_stats", "set_device", "set_per_process_memory_fraction", "set_rng_state", "set_stream",
    "set_sync_debug_mode", "synchronize", "temperature", "utilization",
)  # fmt: skip
globals().update(refusing(_NEEDS_A_DEVICE, __name__, AssertionError, NOT_BUILT))
