"""Processes that work together: there are none, so `is_available()` is False and no group can be made."""

from __future__ import annotations

from gradwright.absent import refusing

__all__ = ["get_pg_count", "is_available", "is_initialized"]


def is_available() -> bool:
    """Whether processes can work together: no."""
    return False


def is_initialized() -> bool:
    """Whether a group of processes was made: no."""
    return False


is_gloo_available = is_mpi_available = is_nccl_available = is_torchelastic_launched = is_ucc_available = is_available


def get_pg_count() -> int:
    """The number of groups: 0."""
    return 0


_NEEDS_A_GROUP = (
    "all_gather", "all_gather_into_tensor", "all_gather_object", "all_reduce", "all_to_all", "all_to_all_single",
    "barrier", "broadcast", "broadcast_object_list", "destroy_process_group", "gather", "gather_object", "get_backend",
    "get_rank", "get_world_size", "init_process_group", "irecv", "isend", "monitored_barrier", "new_group", "recv",
    "reduce", "reduce_scatter", "reduce_scatter_tensor", "scatter", "scatter_object_list", "send",
)  # fmt: skip
globals().update(
    refusing(
        _NEEDS_A_GROUP,
        __name__,
        ValueError,
        "Default process group has not been initialized: Gradwright has no distributed package",
    )
)
