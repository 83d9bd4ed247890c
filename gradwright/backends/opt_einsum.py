"""Settings of the order in which `einsum` multiplies: programs may set them; it multiplies from left to right."""

from __future__ import annotations

enabled = False
strategy: str | None = None


def is_available() -> bool:
    """Whether the package that finds a better order is used: no."""
    return False
