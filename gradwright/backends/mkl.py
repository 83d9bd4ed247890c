"""Whether operators run in Intel's library: they run in NumPy, SciPy and the native core."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

VERBOSE_OFF, VERBOSE_ON = 0, 1


def is_available() -> bool:
    """Whether operators use the library: no."""
    return False


def verbose(enable: int) -> AbstractContextManager[None]:
    """Let the library tell what it does in a `with` block: it does nothing."""
    return nullcontext()
