"""The arrays of the device `cuda`: CuPy's, and their functions under the names of the Python array API standard."""

from __future__ import annotations

from typing import Any

import cupy
import numpy as np
from array_api_compat import cupy as namespace
from cupy import ndarray as Array

__all__ = ["Array", "copies", "from_numpy", "index_of", "namespace", "to_numpy"]


copies = True  # `from_numpy` does, from pinned memory without another copy before


def from_numpy(array: np.ndarray[Any, Any]) -> Array:
    """A copy on the current GPU."""
    return cupy.asarray(array)


def to_numpy(array: Array) -> np.ndarray[Any, Any]:
    """A copy in main memory, for which the work of the current stream is waited for."""
    return cupy.asnumpy(array)


def index_of(array: Array | None) -> int:
    """The number of the GPU that an array lies on; without one, that of the current GPU."""
    return int(cupy.cuda.runtime.getDevice() if array is None else array.device.id)
