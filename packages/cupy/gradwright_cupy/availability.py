"""Whether there is a GPU that CuPy can use."""

from __future__ import annotations

import functools


@functools.cache
def why_unavailable() -> str | None:
    """Why there is no device `cuda`, in words; None where there is one."""
    try:
        import cupy
    except ImportError as error:
        return f"CuPy can not be imported: {error}"
    try:
        count = cupy.cuda.runtime.getDeviceCount()
    except RuntimeError as error:  # CuPy's errors of the driver are such
        return f"CuPy finds no driver: {error}"
    return None if count else "CuPy finds no GPU"
