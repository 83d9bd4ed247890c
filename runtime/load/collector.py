"""The garbage collector of Python while the package is imported."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def paused() -> Iterator[None]:
    """A block in which the collector does not look for cycles: all that modules make stays.

    After it these objects are among the oldest, so no later collection of young ones goes through them.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if not gc.get_freeze_count():  # else the user froze some, and they would be no longer
            gc.freeze()
            gc.unfreeze()
        if enabled:
            gc.enable()
