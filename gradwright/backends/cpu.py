"""What the CPU can do."""

from __future__ import annotations


def get_cpu_capability() -> str:
    """The instructions that kernels are compiled for: those of every CPU of this kind."""
    return "DEFAULT"
