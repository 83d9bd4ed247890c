"""The native core of the engine: whether it is there, and which calls took its fast path."""

from __future__ import annotations

from gradwright.native.explaining import explain
from runtime.native import is_available, why_not

__all__ = ["explain", "is_available", "why_not"]
