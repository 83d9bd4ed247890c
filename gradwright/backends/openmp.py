"""Whether kernels run in threads of OpenMP: they have threads of their own."""

from __future__ import annotations


def is_available() -> bool:
    """Whether kernels use OpenMP: no."""
    return False
