"""Flags of Intel's library of kernels: it is not used, so that nothing looks at them."""

from __future__ import annotations

from gradwright.backends.mkl import VERBOSE_OFF, VERBOSE_ON, is_available, verbose

__all__ = ["VERBOSE_OFF", "VERBOSE_ON", "allow_tf32", "deterministic", "enabled", "is_available", "verbose"]

enabled = True
deterministic = False
allow_tf32 = True
