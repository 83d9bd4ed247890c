"""How many threads work on one large array: `set_num_threads` and `get_num_threads`.

Threads are the native core's. Without it all loops are NumPy's, which run in the thread that calls them; the number is
kept all the same, so that a program reads what it has set.
"""

from __future__ import annotations

import os

import numpy as np

from runtime.native import core

__all__ = ["get_num_threads", "set_num_threads"]

# PyTorch, too, takes this number, as OpenMP reads it: the first of a list that is for nested loops.
_ENVIRONMENT = "OMP_NUM_THREADS"
_MOST = 2**31 - 1


def default_threads() -> int:
    """One thread for each processor that this process may use, or fewer where the environment says so."""
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    wanted = os.environ.get(_ENVIRONMENT, "").partition(",")[0].strip()
    return min(int(wanted), processors) if wanted.isdecimal() and int(wanted) > 0 else processors


def set_num_threads(num_threads: int, /) -> None:
    """Let operators on large tensors use up to this many threads.

    Results do not depend on the number. The default is the number of processors that the process may use, or
    `OMP_NUM_THREADS` where that is smaller. Matrix products are BLAS's, which has threads and settings of its own.

    Raises:
        RuntimeError: `num_threads` is no int, or not positive.
        ValueError: it does not fit into 32 bits.
    """
    if isinstance(num_threads, bool) or not isinstance(num_threads, (int, np.integer)):
        raise RuntimeError(f"set_num_threads expects an int, but got {type(num_threads).__name__}")
    if not -_MOST <= num_threads <= _MOST:
        raise ValueError("Overflow when unpacking long")
    if num_threads <= 0:
        raise RuntimeError("set_num_threads expects a positive integer")
    _use(int(num_threads))


def get_num_threads() -> int:
    """How many threads operators on large tensors may use."""
    return _threads


def _use(count: int) -> None:
    global _threads
    _threads = count
    if core is not None:
        core.set_num_threads(count)


_threads = 1
_use(default_threads())
