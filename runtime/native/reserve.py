"""How much memory of large tensors is kept for new ones: `set_memory_reserve`, `get_memory_reserve`, `reserved_memory`.

To use fresh memory for the first time costs more than most element-wise work over it.  So what large results of the
native core leave behind waits, up to a bound, for the next ones.  Without the core NumPy makes all arrays, and nothing
is kept; the bound is kept all the same, so that a program reads what it has set.
"""

from __future__ import annotations

import operator
from typing import SupportsIndex

from runtime.native import core

__all__ = ["get_memory_reserve", "reserved_memory", "set_memory_reserve"]

_MOST = 2**63 - 1
_unused_bound = 0  # where there is no core


def set_memory_reserve(num_bytes: SupportsIndex, /) -> None:
    """Keep up to this many bytes of freed large tensors for new ones; 0 gives back all there is, and keeps nothing.

    The default is 256 MiB, or a sixteenth of the machine's memory where that is less. Tensors of 128 KiB and
    more are large.

    Raises:
        TypeError: `num_bytes` is no int.
        ValueError: it is negative, or does not fit into 64 bits.
    """
    global _unused_bound
    bound = operator.index(num_bytes)
    if not 0 <= bound <= _MOST:
        raise ValueError(f"set_memory_reserve expects a number of bytes, but got {bound}")
    if core is None:
        _unused_bound = bound
    else:
        core.keep_memory(bound)


def get_memory_reserve() -> int:
    """How many bytes may be kept."""
    return _unused_bound if core is None else core.kept_memory()[0]


def reserved_memory() -> int:
    """How many bytes are kept now: no tensor uses them, and they are not given back to the system."""
    return 0 if core is None else core.kept_memory()[1]
