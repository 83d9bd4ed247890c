"""Whether there are devices of Apple's: no."""

from __future__ import annotations


def is_available() -> bool:
    """Whether there is such a device: no."""
    return False


def is_built() -> bool:
    """Whether there is code for one: no."""
    return False
